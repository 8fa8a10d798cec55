//! Property tests: whatever is pushed comes back, whatever the settings.

mod common;

use columnar_format::{
    BloomFilters, Compression, EncodeOptions, Encoding, GroupFooter, GroupFooterBuilder,
};
use common::{SPECS, build, check, options};
use proptest::prelude::*;

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![any::<i64>(), -3..3i64, 1_000_000..1_000_100i64, Just(i64::MIN), Just(i64::MAX)]
}

/// Runs of numbers and NULLs.
fn numbers() -> impl Strategy<Value = Vec<Option<i64>>> {
    let run = (
        prop_oneof![4 => number().prop_map(Some), 1 => Just(None)],
        prop_oneof![Just(1usize), 1..90usize],
    );
    prop::collection::vec(run, 0..60).prop_map(|runs| {
        runs.into_iter().flat_map(|(value, count)| std::iter::repeat_n(value, count)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_pushed_comes_back(
        numbers in numbers(),
        spec in prop::sample::select(SPECS.to_vec()),
        forced in prop::option::of(prop::sample::select(Encoding::ALL.to_vec())),
        compression in prop::sample::select(Compression::ALL.to_vec()),
        rows in 1..700usize,
    ) {
        let chunk = check(&build(spec, &numbers), &options(rows, compression, forced));
        let mut footer = GroupFooterBuilder::new(chunk.meta.rows);
        footer.add(8, chunk.bytes.len() as u64, &chunk.meta);
        let parsed = GroupFooter::parse(footer.finish()).expect("own bytes");
        let (offset, len, meta) = parsed.column(0).expect("own bytes");
        prop_assert_eq!((offset, len), (8, chunk.bytes.len() as u64));
        prop_assert_eq!(meta, chunk.meta);
    }

    #[test]
    fn filters_hold_what_is_pushed(
        numbers in numbers(),
        scattered in prop::collection::vec(prop::option::weighted(0.9, any::<i64>()), 0..700),
        spec in prop::sample::select(SPECS.to_vec()),
        forced in prop::option::of(prop::sample::select(Encoding::ALL.to_vec())),
        rows in 1..700usize,
    ) {
        let options = EncodeOptions {
            bloom_filters: BloomFilters::All,
            ..options(rows, Compression::None, forced)
        };
        check(&build(spec, &numbers), &options);
        let chunk = check(&build(spec, &scattered), &options);
        let mut footer = GroupFooterBuilder::new(chunk.meta.rows);
        footer.add(8, chunk.bytes.len() as u64, &chunk.meta);
        let parsed = GroupFooter::parse(footer.finish()).expect("own bytes");
        prop_assert_eq!(parsed.column(0).expect("own bytes").2, chunk.meta);
    }

    #[test]
    fn byte_strings_of_any_kind_come_back(
        values in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..80)), 0..120),
        forced in prop::option::of(prop::sample::select(Encoding::ALL.to_vec())),
        rows in 1..200usize,
    ) {
        let mut builder = columnar_format::ColumnBuilder::new(SPECS[12]);
        for value in &values {
            match value {
                Some(value) => builder.push_bytes(value),
                None => builder.push_null(),
            }
        }
        check(&builder, &options(rows, Compression::Zstd, forced));
    }
}
