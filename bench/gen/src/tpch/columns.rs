//! The tables of TPC-H's specification (clause 1.4). Fixed-length text is `char(n)` there; `text` here compares alike.

use crate::schema::{Column, Table};

/// The tables in load order.
pub const TABLES: &[Table] = &[
    Table { name: "region", columns: &[REGION], time: &[], full: &["r_regionkey"] },
    Table { name: "nation", columns: &[NATION], time: &[], full: &["n_nationkey"] },
    Table { name: "supplier", columns: &[SUPPLIER], time: &[], full: &["s_suppkey"] },
    Table { name: "part", columns: &[PART], time: &[], full: &["p_partkey"] },
    Table {
        name: "partsupp",
        columns: &[PARTSUPP],
        time: &[],
        full: &["ps_partkey, ps_suppkey", "ps_suppkey"],
    },
    Table { name: "customer", columns: &[CUSTOMER], time: &[], full: &["c_custkey"] },
    Table {
        name: "orders",
        columns: &[ORDERS],
        time: &["o_orderdate"],
        full: &["o_orderkey", "o_custkey"],
    },
    Table {
        name: "lineitem",
        columns: &[LINEITEM],
        time: &["l_shipdate"],
        full: &["l_orderkey, l_linenumber", "l_partkey, l_suppkey"],
    },
];

const REGION: &[Column] = &[
    ("r_regionkey", "integer NOT NULL"),
    ("r_name", "text NOT NULL"),
    ("r_comment", "text NOT NULL"),
];

const NATION: &[Column] = &[
    ("n_nationkey", "integer NOT NULL"),
    ("n_name", "text NOT NULL"),
    ("n_regionkey", "integer NOT NULL"),
    ("n_comment", "text NOT NULL"),
];

const SUPPLIER: &[Column] = &[
    ("s_suppkey", "bigint NOT NULL"),
    ("s_name", "text NOT NULL"),
    ("s_address", "text NOT NULL"),
    ("s_nationkey", "integer NOT NULL"),
    ("s_phone", "text NOT NULL"),
    ("s_acctbal", "numeric(15,2) NOT NULL"),
    ("s_comment", "text NOT NULL"),
];

const PART: &[Column] = &[
    ("p_partkey", "bigint NOT NULL"),
    ("p_name", "text NOT NULL"),
    ("p_mfgr", "text NOT NULL"),
    ("p_brand", "text NOT NULL"),
    ("p_type", "text NOT NULL"),
    ("p_size", "integer NOT NULL"),
    ("p_container", "text NOT NULL"),
    ("p_retailprice", "numeric(15,2) NOT NULL"),
    ("p_comment", "text NOT NULL"),
];

const PARTSUPP: &[Column] = &[
    ("ps_partkey", "bigint NOT NULL"),
    ("ps_suppkey", "bigint NOT NULL"),
    ("ps_availqty", "integer NOT NULL"),
    ("ps_supplycost", "numeric(15,2) NOT NULL"),
    ("ps_comment", "text NOT NULL"),
];

const CUSTOMER: &[Column] = &[
    ("c_custkey", "bigint NOT NULL"),
    ("c_name", "text NOT NULL"),
    ("c_address", "text NOT NULL"),
    ("c_nationkey", "integer NOT NULL"),
    ("c_phone", "text NOT NULL"),
    ("c_acctbal", "numeric(15,2) NOT NULL"),
    ("c_mktsegment", "text NOT NULL"),
    ("c_comment", "text NOT NULL"),
];

const ORDERS: &[Column] = &[
    ("o_orderkey", "bigint NOT NULL"),
    ("o_custkey", "bigint NOT NULL"),
    ("o_orderstatus", "text NOT NULL"),
    ("o_totalprice", "numeric(15,2) NOT NULL"),
    ("o_orderdate", "date NOT NULL"),
    ("o_orderpriority", "text NOT NULL"),
    ("o_clerk", "text NOT NULL"),
    ("o_shippriority", "integer NOT NULL"),
    ("o_comment", "text NOT NULL"),
];

const LINEITEM: &[Column] = &[
    ("l_orderkey", "bigint NOT NULL"),
    ("l_partkey", "bigint NOT NULL"),
    ("l_suppkey", "bigint NOT NULL"),
    ("l_linenumber", "integer NOT NULL"),
    ("l_quantity", "numeric(15,2) NOT NULL"),
    ("l_extendedprice", "numeric(15,2) NOT NULL"),
    ("l_discount", "numeric(15,2) NOT NULL"),
    ("l_tax", "numeric(15,2) NOT NULL"),
    ("l_returnflag", "text NOT NULL"),
    ("l_linestatus", "text NOT NULL"),
    ("l_shipdate", "date NOT NULL"),
    ("l_commitdate", "date NOT NULL"),
    ("l_receiptdate", "date NOT NULL"),
    ("l_shipinstruct", "text NOT NULL"),
    ("l_shipmode", "text NOT NULL"),
    ("l_comment", "text NOT NULL"),
];
