//! The command line.

use std::path::PathBuf;

use crate::encoder::Format;
use crate::schema::{IndexSet, Table};
use crate::{cpu, flights, tpch, web};

/// What `--help` prints.
pub const USAGE: &str = "\
pgcolumnar-bench-gen: the benchmark's data, deterministic by seed

  web  --rows N              web analytics, 105 columns, ordered by counter, date and user
  cpu  --rows N [--hosts H]  cpu metrics of H hosts (default 100) every 10 s, in time order; N is hosts x steps
  tpch --scale F --table T   one of TPC-H's eight tables (tpchgen's own seed; no --seed, no --stride)

    --seed S        default 1
    --threads T     default 1; changes no byte of the output
    --format F      text (default) or csv, as COPY reads them
    --out FILE      where the rows go; - is stdout, the default
    --stride K      of the N rows the first of every K: ceil(N / K) rows
    --checksum      prints `rows N checksum H`, H being XXH3-128 of the rows in text format; without --out no rows are
                    written; with --out - the line goes to stderr

  tables  web|cpu|tpch|flights                 names of the tables, in load order
  schema  web|cpu|tpch|flights [--table T]     CREATE TABLE ... {using};
  indexes web|cpu|tpch|flights --set none|time|full [--table T]

Replace {using} by nothing or by `USING columnar`. Where a set has one table, or --table names one, its name is {table}.
";

/// A set of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    Web,
    Cpu,
    Tpch,
    Flights,
}

impl Set {
    fn parse(name: &str) -> Result<Self, String> {
        match name {
            "web" => Ok(Self::Web),
            "cpu" => Ok(Self::Cpu),
            "tpch" => Ok(Self::Tpch),
            "flights" => Ok(Self::Flights),
            _ => Err(format!("unknown set {name}: web, cpu, tpch or flights")),
        }
    }

    /// The tables in load order.
    pub fn tables(self) -> &'static [Table] {
        match self {
            Self::Web => web::TABLES,
            Self::Cpu => cpu::TABLES,
            Self::Tpch => tpch::TABLES,
            Self::Flights => flights::TABLES,
        }
    }
}

/// Which rows to make.
#[derive(Clone, Debug, PartialEq)]
pub enum Dataset {
    Web,
    Cpu { hosts: u64 },
    Tpch { scale: f64, table: String },
}

/// Where the rows go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    Nothing,
    Stdout,
    File(PathBuf),
}

/// A request for rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Generate {
    pub dataset: Dataset,
    /// Rows before sampling; not used by TPC-H.
    pub rows: u64,
    pub seed: u64,
    pub threads: usize,
    pub format: Format,
    pub stride: u64,
    pub checksum: bool,
    pub output: Output,
}

/// What the program is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    Help,
    Tables { set: Set },
    Schema { set: Set, table: Option<String> },
    Indexes { set: Set, table: Option<String>, variant: IndexSet },
    Generate(Generate),
}

/// Parses the arguments after the program's name.
pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut arguments = arguments;
    let Some(verb) = arguments.next() else { return Ok(Command::Help) };
    match verb.as_str() {
        "--help" | "-h" | "help" => Ok(Command::Help),
        "tables" | "schema" | "indexes" => {
            let name = arguments.next().ok_or_else(|| format!("{verb} needs a set"))?;
            describe(&verb, Set::parse(&name)?, arguments)
        }
        "web" | "cpu" | "tpch" => generate(&verb, arguments),
        _ => Err(format!("unknown command {verb}\n\n{USAGE}")),
    }
}

fn describe(
    verb: &str,
    set: Set,
    mut arguments: impl Iterator<Item = String>,
) -> Result<Command, String> {
    let (mut table, mut variant) = (None, None);
    while let Some(name) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{name} needs a value"));
        match (verb, name.as_str()) {
            ("schema" | "indexes", "--table") => table = Some(value()?),
            ("indexes", "--set") => variant = Some(IndexSet::parse(&value()?)?),
            _ => return Err(format!("{verb} does not know {name}")),
        }
    }
    Ok(match verb {
        "tables" => Command::Tables { set },
        "schema" => Command::Schema { set, table },
        _ => Command::Indexes { set, table, variant: variant.ok_or("indexes needs --set")? },
    })
}

fn generate(verb: &str, mut arguments: impl Iterator<Item = String>) -> Result<Command, String> {
    let (mut rows, mut scale, mut table) = (None, None, None);
    let mut hosts = 100;
    let mut output = None;
    let mut made = Generate {
        dataset: Dataset::Web,
        rows: 0,
        seed: 1,
        threads: 1,
        format: Format::Text,
        stride: 1,
        checksum: false,
        output: Output::Stdout,
    };
    while let Some(name) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{name} needs a value"));
        match (verb, name.as_str()) {
            ("web" | "cpu", "--rows") => rows = Some(number(&name, &value()?, 0)?),
            ("web" | "cpu", "--seed") => made.seed = number(&name, &value()?, 0)?,
            ("web" | "cpu", "--stride") => made.stride = number(&name, &value()?, 1)?,
            ("cpu", "--hosts") => hosts = number(&name, &value()?, 1)?,
            ("tpch", "--scale") => scale = Some(scale_factor(&value()?)?),
            ("tpch", "--table") => table = Some(value()?),
            (_, "--threads") => {
                let threads = number(&name, &value()?, 1)?;
                made.threads = usize::try_from(threads.min(1024)).expect("at most 1024");
            }
            (_, "--format") => made.format = Format::parse(&value()?)?,
            (_, "--out") => {
                let path = value()?;
                output = Some(if path == "-" { Output::Stdout } else { Output::File(path.into()) });
            }
            (_, "--checksum") => made.checksum = true,
            _ => return Err(format!("{verb} does not know {name}")),
        }
    }
    made.output = output.unwrap_or(if made.checksum { Output::Nothing } else { Output::Stdout });
    if verb == "tpch" {
        let scale = scale.ok_or("tpch needs --scale")?;
        made.dataset = Dataset::Tpch { scale, table: table.ok_or("tpch needs --table")? };
    } else {
        made.rows = rows.ok_or_else(|| format!("{verb} needs --rows"))?;
        if verb == "cpu" {
            made.dataset = Dataset::Cpu { hosts };
        }
    }
    Ok(Command::Generate(made))
}

fn number(name: &str, text: &str, least: u64) -> Result<u64, String> {
    // 1_500_000 reads better than 1500000.
    let value = text
        .replace('_', "")
        .parse::<u64>()
        .map_err(|_| format!("{name}: {text} is no whole number"))?;
    if value < least { Err(format!("{name} must be at least {least}")) } else { Ok(value) }
}

fn scale_factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(scale) if (0.001..=10_000.0).contains(&scale) => Ok(scale),
        _ => Err(format!("--scale: {text} is not between 0.001 and 10000")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn checksum_alone_writes_no_rows() {
        let Ok(Command::Generate(made)) = parsed("web --rows 1_000 --checksum") else { panic!() };
        assert_eq!((made.rows, made.output), (1000, Output::Nothing));
        let Ok(Command::Generate(made)) = parsed("web --rows 1 --checksum --out -") else {
            panic!()
        };
        assert_eq!(made.output, Output::Stdout);
    }

    #[test]
    fn mistakes_are_refused() {
        for line in [
            "web",
            "web --rows x",
            "web --rows 1 --hosts 3",
            "cpu --rows 1 --hosts 0",
            "web --rows 1 --stride 0",
            "web --rows 1 --format binary",
            "tpch --scale 1",
            "tpch --scale 0 --table orders",
            "tpch --scale 1 --table orders --seed 3",
            "schema oranges",
            "indexes web",
            "indexes web --set some",
            "tables web --set none",
            "bake",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
