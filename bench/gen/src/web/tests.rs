//! Tests of the whole table.

use std::collections::{HashMap, HashSet};

use super::*;
use crate::encoder::Format;
use crate::pipeline::tests::{assert_deterministic, collect, every};

fn made(rows: u64, seed: u64, stride: u64) -> Vec<u8> {
    collect(&Web::new(rows, seed, stride), Format::Text, 1).0
}

/// Values by column name.
fn columns(bytes: &[u8]) -> HashMap<&'static str, Vec<&str>> {
    let names: Vec<_> = row::COLUMNS.iter().copied().flatten().map(|(n, _)| *n).collect();
    assert_eq!(names.len(), 105);
    let mut columns = vec![Vec::new(); names.len()];
    for line in std::str::from_utf8(bytes).unwrap().lines() {
        let mut fields = line.split('\t');
        for (column, field) in columns.iter_mut().zip(&mut fields) {
            column.push(field);
        }
        assert_eq!(fields.next(), None, "{line}");
    }
    assert!(columns.iter().all(|c| c.len() == columns[0].len()));
    names.into_iter().zip(columns).collect()
}

fn distinct(values: &[&str]) -> usize {
    values.iter().collect::<HashSet<_>>().len()
}

fn share(values: &[&str], is: &str) -> f64 {
    values.iter().filter(|v| **v == is).count() as f64 / values.len() as f64
}

#[test]
fn threads_change_nothing() {
    assert_deterministic(&Web::new(9_000, 1, 1));
}

#[test]
fn seeds_and_sizes_differ() {
    let checksum = |rows, seed| collect(&Web::new(rows, seed, 1), Format::Text, 1).1.checksum;
    assert_ne!(checksum(500, 1), checksum(500, 2));
    assert_eq!(collect(&Web::new(0, 1, 1), Format::Text, 3).1.rows, 0);
    assert_eq!(collect(&Web::new(1, 1, 1), Format::Text, 3).1.rows, 1);
}

#[test]
fn a_sample_is_every_kth_row() {
    let all = made(9_001, 1, 1);
    assert!(every(&all, 7) == made(9_001, 1, 7));
    assert!(every(&all, 10_000) == made(9_001, 1, 10_000));
}

#[test]
fn ordered_by_counter_date_and_user() {
    let bytes = made(12_000, 1, 1);
    let c = columns(&bytes);
    let key = |i: usize| {
        let number = |name: &str| c[name][i].parse::<i64>().unwrap();
        (number("counter_id"), c["event_date"][i], number("user_id"))
    };
    assert!((1..12_000).all(|i| key(i - 1) <= key(i)));
}

#[test]
fn distributions() {
    let bytes = made(60_000, 1, 1);
    let c = columns(&bytes);
    assert!((4_900..=5_700).contains(&distinct(&c["counter_id"])));
    assert_eq!(distinct(&c["event_date"]), 31);
    assert!(
        (0.18..0.24).contains(&(distinct(&c["url"]) as f64 / 60_000.0)),
        "{}",
        distinct(&c["url"])
    );
    assert!((0.19..0.21).contains(&share(&c["referer"], "")));
    assert!(
        (0.86..0.89).contains(&share(&c["search_phrase"], "")),
        "{}",
        share(&c["search_phrase"], "")
    );
    assert!((0.992..0.996).contains(&share(&c["ad_engine_id"], "0")));
    assert!(
        (0.93..0.97).contains(&share(&c["phone_model"], "")),
        "{}",
        share(&c["phone_model"], "")
    );
    assert!(
        (0.08..0.20).contains(&(distinct(&c["user_id"]) as f64 / 60_000.0)),
        "{}",
        distinct(&c["user_id"])
    );
    assert_eq!(distinct(&c["view_id"]), 60_000);
    assert!(distinct(&c["region_id"]) > 3_000);
    let zeros = c.values().filter(|values| share(values, "0") > 0.5).count();
    assert!(zeros >= 40, "{zeros} columns mostly zero");
    let empty = c.values().filter(|values| share(values, "") > 0.8).count();
    assert!(empty >= 12, "{empty} columns mostly empty");
    assert!(c["goal_time"].contains(&"\\N") && c["order_amount"].contains(&"\\N"));
}

#[test]
fn numbers_fit_their_types() {
    let bytes = made(20_000, 2, 1);
    let c = columns(&bytes);
    for (name, kind) in row::COLUMNS.iter().copied().flatten() {
        let range = match kind.split(' ').next().unwrap() {
            "smallint" => i64::from(i16::MIN)..=i64::from(i16::MAX),
            "integer" => i64::from(i32::MIN)..=i64::from(i32::MAX),
            "bigint" => i64::MIN..=i64::MAX,
            _ => continue,
        };
        for value in &c[name] {
            let nullable = !kind.ends_with("NOT NULL");
            assert!(
                nullable && *value == "\\N" || range.contains(&value.parse().unwrap()),
                "{name}: {value}"
            );
        }
    }
}

#[test]
fn rows_are_as_wide_as_asked() {
    let bytes = made(20_000, 1, 1);
    let width = bytes.len() / 20_000;
    assert!((600..800).contains(&width), "{width} bytes a row");
}

/// The constants that bench/web/queries.sql names are in every table, whatever the seed.
#[test]
fn queries_find_what_they_name() {
    let queries = include_str!("../../../web/queries.sql");
    let counter = layout::Layout::id(layout::heaviest()).to_string();
    let hash = page::hash(page::START_PAGE).to_string();
    let resident = visitor::RESIDENT.to_string();
    for constant in [&counter, &hash, &resident] {
        assert!(queries.contains(constant.as_str()), "{constant} is in no query");
    }
    for seed in [1, 9] {
        let bytes = made(60_000, seed, 1);
        let c = columns(&bytes);
        assert!(share(&c["counter_id"], &counter) > 0.1);
        assert!((0.04..0.06).contains(&share(&c["referer_hash"], &hash)));
        let views = share(&c["user_id"], &resident) * 60_000.0;
        assert!((50.0..3_000.0).contains(&views), "{views} views of the resident");
        assert!(c["url"].iter().any(|u| u.contains(words::RARE_SECTION)));
        assert!(c["title"].iter().any(|t| t.contains(words::RARE_TITLE_WORD)));
    }
    assert!(queries.contains(words::RARE_SECTION) && queries.contains(words::RARE_TITLE_WORD));
}
