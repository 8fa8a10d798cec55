//! Every encoding with every type and shape of data: what goes in comes out, by every way of reading.

mod common;

use columnar_format::{
    BoundsOrder, ColumnBuilder, ColumnSpec, Compression, EncodeOptions, Encoding, PhysicalType,
    Value, encode_chunk,
};
use common::{SPECS, build, check, open, options, shapes};

#[test]
fn every_encoding_holds_every_type_and_shape() {
    let forced = [None].into_iter().chain(Encoding::ALL.map(Some));
    for encoding in forced {
        for spec in SPECS {
            for (name, numbers) in shapes(1) {
                for (rows, compression) in
                    [(1 << 13, Compression::None), (100, Compression::Zstd), (64, Compression::Lz4)]
                {
                    let builder = build(spec, &numbers);
                    let result = std::panic::catch_unwind(|| {
                        check(&builder, &options(rows, compression, encoding))
                    });
                    assert!(
                        result.is_ok(),
                        "{encoding:?} of {spec:?}, {name}, {rows} rows a vector, {compression:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn vectors_of_one_row_work() {
    for spec in SPECS {
        check(&build(spec, &shapes(2)[17].1[..20]), &options(1, Compression::Zstd, None));
    }
}

/// A forced encoding is used wherever it can be, so that a test that forces one tests it.
#[test]
fn a_forced_encoding_is_used() {
    for encoding in Encoding::ALL {
        for spec in SPECS {
            let numbers: Vec<_> = (0..300).map(|i| Some(i / 10 % 2)).collect();
            let chunk =
                check(&build(spec, &numbers), &options(128, Compression::None, Some(encoding)));
            let applies = match encoding {
                Encoding::Plain | Encoding::RunLength | Encoding::Dictionary => true,
                Encoding::Constant => false,
                Encoding::BitPacked | Encoding::Delta => !spec.physical.is_bytes(),
                Encoding::Alp => spec.physical.is_float(),
            };
            let expected = if applies { encoding } else { Encoding::Plain };
            for vector in &chunk.meta.vectors {
                assert_eq!(vector.encoding, expected, "{spec:?}");
            }
        }
    }
}

/// The encoding chosen for data that is made for it.
#[test]
fn the_fitting_encoding_is_chosen() {
    let int = ColumnSpec::new(PhysicalType::Int64, BoundsOrder::Signed);
    let text = ColumnSpec::new(PhysicalType::Bytes, BoundsOrder::Bytewise);
    let mut random = common::Random(3);
    let rows = 16_384i64;
    let chosen = |spec, numbers: Vec<Option<i64>>| {
        let chunk = check(&build(spec, &numbers), &EncodeOptions::default());
        chunk.meta.vectors[0].encoding
    };
    assert_eq!(chosen(int, vec![Some(5); rows as usize]), Encoding::Constant);
    assert_eq!(chosen(int, vec![None; rows as usize]), Encoding::Constant);
    assert_eq!(
        chosen(int, (0..rows).map(|i| Some(i / 1000 * 977_777_777)).collect()),
        Encoding::RunLength
    );
    assert_eq!(chosen(int, (0..rows).map(|i| Some(i * 1_000_000)).collect()), Encoding::Delta);
    assert_eq!(
        chosen(int, (0..rows).map(|_| Some(random.below(1000) as i64)).collect()),
        Encoding::BitPacked
    );
    assert_eq!(
        chosen(int, (0..rows).map(|_| Some(random.next() as i64)).collect()),
        Encoding::Plain
    );
    let few: Vec<i64> = (0..9).map(|_| random.next() as i64).collect();
    assert_eq!(
        chosen(int, (0..rows).map(|_| Some(few[random.below(9) as usize])).collect()),
        Encoding::Dictionary
    );
    assert_eq!(
        chosen(text, (0..rows).map(|_| Some(few[random.below(9) as usize])).collect()),
        Encoding::Dictionary
    );
    assert_eq!(
        chosen(text, (0..rows).map(|_| Some(random.next() as i64)).collect()),
        Encoding::Plain
    );
    assert_eq!(chosen(text, vec![Some(49); rows as usize]), Encoding::Constant);
    assert_eq!(
        chosen(text, (0..rows).map(|i| Some(i / 1000 * 77 + 49)).collect()),
        Encoding::RunLength
    );
}

#[test]
fn floats_keep_their_bits_and_btree_order() {
    let spec = ColumnSpec::new(PhysicalType::Float64, BoundsOrder::Float);
    let payload = f64::from_bits(0x7ff8_0000_dead_beef);
    let negative_nan = f64::from_bits(0xfff8_0000_0000_0001);
    for encoding in [None].into_iter().chain(Encoding::ALL.map(Some)) {
        let mut builder = ColumnBuilder::new(spec);
        for value in [
            -0.0,
            0.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            payload,
            negative_nan,
            f64::MIN_POSITIVE,
            -0.0,
        ] {
            builder.push_f64(value);
        }
        let chunk = check(&builder, &options(4, Compression::Zstd, encoding));
        assert!(matches!(chunk.meta.max, Some(columnar_format::Bound::Float(v)) if v.is_nan()));
        assert_eq!(chunk.meta.min, Some(columnar_format::Bound::Float(f64::NEG_INFINITY)));
    }
    let mut builder = ColumnBuilder::new(spec);
    builder.push_f64(payload);
    let chunk = check(&builder, &EncodeOptions::default());
    assert!(matches!(chunk.meta.min, Some(columnar_format::Bound::Float(v)) if v.is_nan()));
}

#[test]
fn decimal_floats_become_integers() {
    for physical in [PhysicalType::Float32, PhysicalType::Float64] {
        let spec = ColumnSpec::new(physical, BoundsOrder::Float);
        let mut random = common::Random(6);
        let mut builder = ColumnBuilder::new(spec);
        for i in 0..20_000u32 {
            let value = random.below(90_000) as f64 / 100.0;
            match (i % 500, physical) {
                (77, PhysicalType::Float32) => builder.push_f32(f32::NAN),
                (77, _) => builder.push_f64(-0.0),
                (78, _) => builder.push_null(),
                (_, PhysicalType::Float32) => builder.push_f32(value as f32),
                _ => builder.push_f64(value),
            }
        }
        let chunk = check(&builder, &EncodeOptions::default());
        for vector in &chunk.meta.vectors {
            assert_eq!(vector.encoding, Encoding::Alp);
        }
        assert!(chunk.bytes.len() < 20_000 * 19 / 8, "{}", chunk.bytes.len());
    }
}

#[test]
fn long_byte_bounds_are_cut_outwards() {
    let spec = ColumnSpec::new(PhysicalType::Bytes, BoundsOrder::Bytewise);
    let bound =
        |bytes: &[u8], exact| Some(columnar_format::Bound::Bytes { bytes: bytes.into(), exact });
    let bounds_of = |values: &[&[u8]]| {
        let mut builder = ColumnBuilder::new(spec);
        values.iter().for_each(|v| builder.push_bytes(v));
        let chunk = check(&builder, &EncodeOptions::default());
        (chunk.meta.min, chunk.meta.max)
    };
    assert_eq!(bounds_of(&[b"", b"b"]), (bound(b"", true), bound(b"b", true)));
    assert_eq!(bounds_of(&[&[7; 32]]), (bound(&[7; 32], true), bound(&[7; 32], true)));
    let mut raised = [7; 32];
    raised[31] = 8;
    assert_eq!(bounds_of(&[&[7; 33]]), (bound(&[7; 32], false), bound(&raised, false)));
    let mut long = [255; 40];
    assert_eq!(bounds_of(&[&long]), (bound(&[255; 32], false), None));
    long[3] = 1;
    assert_eq!(bounds_of(&[&long]).1, bound(&[255, 255, 255, 2], false));
}

#[test]
fn long_values_and_empty_ones_mix() {
    let spec = ColumnSpec::new(PhysicalType::Bytes, BoundsOrder::Bytewise);
    let mut builder = ColumnBuilder::new(spec);
    let long: Vec<u8> = (0..1 << 20).map(|i| (i % 251) as u8).collect();
    for i in 0..20 {
        match i % 4 {
            0 => builder.push_bytes(&long[i..]),
            1 => builder.push_bytes(b""),
            2 => builder.push_null(),
            _ => builder.push_bytes(b"short"),
        }
    }
    for compression in Compression::ALL {
        for encoding in [None].into_iter().chain(Encoding::ALL.map(Some)) {
            check(&builder, &options(8, compression, encoding));
        }
    }
}

#[test]
fn a_builder_is_cleared_and_used_again() {
    for spec in SPECS {
        let mut builder = build(spec, &shapes(4)[7].1);
        assert!(builder.byte_size() > 0);
        builder.clear();
        assert!(builder.is_empty());
        common::push_number(&mut builder, 3);
        builder.push_null();
        assert_eq!(builder.len(), 2);
        assert!(!builder.get(0).is_null());
        assert_eq!(builder.get(1), Value::Null);
        check(&builder, &EncodeOptions::default());
    }
}

#[test]
fn selected_rows_are_appended_from_vectors() {
    for spec in SPECS {
        for (_, numbers) in shapes(5) {
            let source = build(spec, &numbers);
            let chunk = encode_chunk(&source, &options(100, Compression::Zstd, None));
            let mut target = build(spec, &[Some(1), None]);
            let mut expected = vec![0, 0];
            let mut start = 0;
            for vector in open(&chunk) {
                let rows: Vec<u32> = (0..vector.len() as u32).filter(|r| r % 3 != 1).collect();
                target.append_from_vector(&vector, &rows);
                expected.extend(rows.iter().map(|r| start + *r as usize));
                start += vector.len();
            }
            for (i, row) in expected.iter().enumerate().skip(2) {
                assert_eq!(target.get(i), source.get(*row), "{spec:?}");
            }
        }
    }
}

/// A sample of such a chunk finds nothing but NULL.
#[test]
fn a_value_among_many_nulls_is_kept() {
    for spec in SPECS {
        let mut numbers = vec![None; 20_000];
        numbers[4_321] = Some(5);
        let chunk = check(&build(spec, &numbers), &EncodeOptions::default());
        assert!(chunk.bytes.len() < 2_000, "{spec:?}: {} bytes", chunk.bytes.len());
    }
}

#[test]
fn vectors_go_to_other_threads() {
    fn sendable<T: Send + Sync>() {}
    sendable::<ColumnBuilder>();
    sendable::<columnar_format::EncodedChunk>();
    sendable::<columnar_format::Dictionary>();
    sendable::<columnar_format::Vector>();
}

#[test]
fn names_are_read_back() {
    for encoding in Encoding::ALL {
        assert_eq!(encoding.as_str().parse(), Ok(encoding));
    }
    for compression in Compression::ALL {
        assert_eq!(compression.as_str().parse(), Ok(compression));
    }
    assert!("gzip".parse::<Compression>().is_err());
}
