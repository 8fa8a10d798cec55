//! TPC-H's eight tables, made by the crate tpchgen (Apache-2.0), a rewrite of the council's generator.
//!
//! The data are fixed by the scale factor: there is no seed. A chunk is one of tpchgen's parts, whose concatenation is
//! the whole table.

mod columns;

use std::fmt::{Display, Write};

use tpchgen::dates::TPCHDate;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};

pub use crate::tpch::columns::TABLES;

use crate::encoder::Encoder;
use crate::pipeline::Chunks;

/// About this many rows a chunk.
const CHUNK: u64 = 8192;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Region,
    Nation,
    Supplier,
    Part,
    PartSupp,
    Customer,
    Orders,
    LineItem,
}

/// One table at one scale factor.
#[derive(Debug)]
pub struct Tpch {
    kind: Kind,
    scale: f64,
    chunks: i32,
}

impl Tpch {
    /// The table `name` at `scale`.
    pub fn new(name: &str, scale: f64) -> Result<Self, String> {
        // Rows at scale factor 1; 0 for a table of fixed size.
        let (kind, rows) = match name {
            "region" => (Kind::Region, 0),
            "nation" => (Kind::Nation, 0),
            "supplier" => (Kind::Supplier, 10_000),
            "part" => (Kind::Part, 200_000),
            "partsupp" => (Kind::PartSupp, 800_000),
            "customer" => (Kind::Customer, 150_000),
            "orders" => (Kind::Orders, 1_500_000),
            "lineitem" => (Kind::LineItem, 6_000_000),
            _ => {
                let names: Vec<_> = TABLES.iter().map(|t| t.name).collect();
                return Err(format!("unknown table {name}: {}", names.join(", ")));
            }
        };
        let chunks = ((f64::from(rows) * scale) as u64 / CHUNK).clamp(1, 1 << 24);
        Ok(Self { kind, scale, chunks: i32::try_from(chunks).expect("at most 2^24") })
    }
}

impl Chunks for Tpch {
    fn count(&self) -> u64 {
        self.chunks as u64
    }

    fn fill(&self, chunk: u64, rows: &mut Encoder) {
        let part = i32::try_from(chunk).expect("fewer than 2^24 chunks") + 1;
        let mut out = Row { rows, scratch: String::new() };
        match self.kind {
            Kind::Region => out.region(),
            Kind::Nation => out.nation(),
            Kind::Supplier => out.supplier(&SupplierGenerator::new(self.scale, part, self.chunks)),
            Kind::Part => out.part(&PartGenerator::new(self.scale, part, self.chunks)),
            Kind::PartSupp => out.partsupp(&PartSuppGenerator::new(self.scale, part, self.chunks)),
            Kind::Customer => out.customer(&CustomerGenerator::new(self.scale, part, self.chunks)),
            Kind::Orders => out.orders(&OrderGenerator::new(self.scale, part, self.chunks)),
            Kind::LineItem => out.lineitem(&LineItemGenerator::new(self.scale, part, self.chunks)),
        }
    }
}

/// An encoder, and room for what tpchgen can only display.
struct Row<'a> {
    rows: &'a mut Encoder,
    scratch: String,
}

impl Row<'_> {
    fn display(&mut self, value: &impl Display) {
        self.scratch.clear();
        write!(self.scratch, "{value}").expect("a String takes all");
        self.rows.text(&self.scratch);
    }

    fn date(&mut self, date: TPCHDate) {
        self.rows.date(i64::from(date.to_unix_epoch()));
    }

    fn region(&mut self) {
        for r in RegionGenerator::default() {
            self.rows.integer(r.r_regionkey);
            self.rows.text(r.r_name);
            self.rows.text(r.r_comment);
            self.rows.end_row();
        }
    }

    fn nation(&mut self) {
        for n in NationGenerator::default() {
            self.rows.integer(n.n_nationkey);
            self.rows.text(n.n_name);
            self.rows.integer(n.n_regionkey);
            self.rows.text(n.n_comment);
            self.rows.end_row();
        }
    }

    fn supplier(&mut self, generator: &SupplierGenerator<'_>) {
        for s in generator.iter() {
            self.rows.integer(s.s_suppkey);
            self.display(&s.s_name);
            self.display(&s.s_address);
            self.rows.integer(s.s_nationkey);
            self.display(&s.s_phone);
            self.rows.hundredths(s.s_acctbal.0);
            self.rows.text(&s.s_comment);
            self.rows.end_row();
        }
    }

    fn part(&mut self, generator: &PartGenerator<'_>) {
        for p in generator.iter() {
            self.rows.integer(p.p_partkey);
            self.display(&p.p_name);
            self.display(&p.p_mfgr);
            self.display(&p.p_brand);
            self.rows.text(p.p_type);
            self.rows.integer(i64::from(p.p_size));
            self.rows.text(p.p_container);
            self.rows.hundredths(p.p_retailprice.0);
            self.rows.text(p.p_comment);
            self.rows.end_row();
        }
    }

    fn partsupp(&mut self, generator: &PartSuppGenerator<'_>) {
        for ps in generator.iter() {
            self.rows.integer(ps.ps_partkey);
            self.rows.integer(ps.ps_suppkey);
            self.rows.integer(i64::from(ps.ps_availqty));
            self.rows.hundredths(ps.ps_supplycost.0);
            self.rows.text(ps.ps_comment);
            self.rows.end_row();
        }
    }

    fn customer(&mut self, generator: &CustomerGenerator<'_>) {
        for c in generator.iter() {
            self.rows.integer(c.c_custkey);
            self.display(&c.c_name);
            self.display(&c.c_address);
            self.rows.integer(c.c_nationkey);
            self.display(&c.c_phone);
            self.rows.hundredths(c.c_acctbal.0);
            self.rows.text(c.c_mktsegment);
            self.rows.text(c.c_comment);
            self.rows.end_row();
        }
    }

    fn orders(&mut self, generator: &OrderGenerator<'_>) {
        for o in generator.iter() {
            self.rows.integer(o.o_orderkey);
            self.rows.integer(o.o_custkey);
            self.rows.text(o.o_orderstatus.as_str());
            self.rows.hundredths(o.o_totalprice.0);
            self.date(o.o_orderdate);
            self.rows.text(o.o_orderpriority);
            self.display(&o.o_clerk);
            self.rows.integer(i64::from(o.o_shippriority));
            self.rows.text(o.o_comment);
            self.rows.end_row();
        }
    }

    fn lineitem(&mut self, generator: &LineItemGenerator<'_>) {
        for l in generator.iter() {
            self.rows.integer(l.l_orderkey);
            self.rows.integer(l.l_partkey);
            self.rows.integer(l.l_suppkey);
            self.rows.integer(i64::from(l.l_linenumber));
            self.rows.hundredths(l.l_quantity * 100);
            self.rows.hundredths(l.l_extendedprice.0);
            self.rows.hundredths(l.l_discount.0);
            self.rows.hundredths(l.l_tax.0);
            self.rows.text(l.l_returnflag);
            self.rows.text(l.l_linestatus);
            self.date(l.l_shipdate);
            self.date(l.l_commitdate);
            self.date(l.l_receiptdate);
            self.rows.text(l.l_shipinstruct);
            self.rows.text(l.l_shipmode);
            self.rows.text(l.l_comment);
            self.rows.end_row();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoder::Format;
    use crate::pipeline::tests::{assert_deterministic, collect};

    fn rows(name: &str, scale: f64) -> u64 {
        collect(&Tpch::new(name, scale).unwrap(), Format::Text, 1).1.rows
    }

    /// The specification's cardinalities (clause 4.2.5).
    #[test]
    fn cardinalities() {
        let expected = [
            ("region", 5),
            ("nation", 25),
            ("supplier", 100),
            ("part", 2_000),
            ("partsupp", 8_000),
            ("customer", 1_500),
            ("orders", 15_000),
            ("lineitem", 60_175),
        ];
        for (table, (name, count)) in TABLES.iter().zip(expected) {
            assert_eq!(table.name, name);
            assert_eq!(rows(name, 0.01), count, "{name}");
        }
        assert!(Tpch::new("hits", 1.0).is_err());
    }

    #[test]
    fn chunks_make_the_whole_table() {
        let chunked = Tpch::new("orders", 0.02).unwrap();
        assert!(chunked.count() > 2);
        assert_deterministic(&chunked);
        let whole = Tpch { chunks: 1, ..chunked };
        assert!(collect(&chunked, Format::Text, 2) == collect(&whole, Format::Text, 1));
    }

    /// Our rows are tpchgen's own, in another format.
    #[test]
    fn rows_are_those_of_tpchgen() {
        let (bytes, _) = collect(&Tpch::new("lineitem", 0.001).unwrap(), Format::Text, 1);
        let text = String::from_utf8(bytes).unwrap();
        let mut lines = text.lines();
        for expected in LineItemGenerator::new(0.001, 1, 1) {
            let fields: Vec<_> = lines.next().unwrap().split('\t').map(String::from).collect();
            let mut fields = fields;
            fields[4] = fields[4].trim_end_matches(".00").into();
            assert_eq!(fields.join("|") + "|", expected.to_string());
        }
        assert_eq!(lines.next(), None);
    }
}
