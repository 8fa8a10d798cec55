//! Whole-vector access without Arrow.

use std::sync::Arc;

use super::{Body, Vector};
use crate::dictionary::Dictionary;
use crate::encoding::alp::Float;
use crate::native::Native;
use crate::types::PhysicalType;

impl Vector {
    /// Appends all rows of a by-value vector, mapped. `T` must be the column's width. NULL rows give anything.
    pub(super) fn fill<T: Float, O: Copy + Default>(&self, out: &mut Vec<O>, map: impl Fn(T) -> O) {
        out.reserve(self.rows);
        match &self.body {
            Body::AllNull => out.resize(out.len() + self.rows, O::default()),
            Body::Plain(values) => out.extend(T::of(values).iter().map(|v| map(*v))),
            Body::Constant(values) => out.resize(out.len() + self.rows, map(T::of(values)[0])),
            Body::RunLength(runs) => {
                let values = T::of(&runs.values);
                runs.for_each(|run, count| out.resize(out.len() + count, map(values[run])));
            }
            Body::BitPacked(packed) => packed.extend_into(out, |v| map(T::truncate(v as i64))),
            Body::Delta(delta) => delta.extend_into(out, |v| map(T::truncate(v))),
            Body::Alp(alp) => alp.extend_into(out, map),
            Body::Dictionary(codes, dictionary) => {
                let values = T::of(dictionary.values());
                codes.extend_into(out, |code| map(values[code as usize]));
            }
        }
    }

    /// Appends all rows of an integer or Bool vector, widened as [`crate::Value::Int`]; NULL rows give any number.
    /// Floats give their bits. Panics on byte strings.
    pub fn decode_ints(&self, out: &mut Vec<i64>) {
        let unsigned = self.spec.is_unsigned();
        match (self.spec.physical, unsigned) {
            (PhysicalType::Bool, _) => self.fill::<i8, i64>(out, |v| i64::from(v != 0)),
            (PhysicalType::Int8, false) => self.fill::<i8, i64>(out, Native::widen),
            (PhysicalType::Int8, true) => self.fill::<i8, i64>(out, Native::widen_unsigned),
            (PhysicalType::Int16, false) => self.fill::<i16, i64>(out, Native::widen),
            (PhysicalType::Int16, true) => self.fill::<i16, i64>(out, Native::widen_unsigned),
            (PhysicalType::Int32, false) => self.fill::<i32, i64>(out, Native::widen),
            (PhysicalType::Int32, true) | (PhysicalType::Float32, _) => {
                self.fill::<i32, i64>(out, Native::widen_unsigned)
            }
            (PhysicalType::Int64 | PhysicalType::Float64, _) => self.fill::<i64, i64>(out, |v| v),
            (PhysicalType::Fixed(_) | PhysicalType::Bytes, _) => {
                panic!("byte strings were read as integers")
            }
        }
    }

    /// Appends all rows of a float vector, singles widened; NULL rows give any number. Panics on other types.
    pub fn decode_floats(&self, out: &mut Vec<f64>) {
        match self.spec.physical {
            PhysicalType::Float32 => {
                self.fill::<i32, f64>(out, |v| f64::from(f32::from_bits(v as u32)))
            }
            PhysicalType::Float64 => self.fill::<i64, f64>(out, |v| f64::from_bits(v as u64)),
            other => panic!("{other:?} was read as floats"),
        }
    }

    /// Appends the codes of a dictionary-encoded vector and gives its dictionary; NULL rows have any code.
    /// Of another vector, appends nothing and gives `None`.
    pub fn decode_codes(&self, out: &mut Vec<u32>) -> Option<&Arc<Dictionary>> {
        match &self.body {
            Body::Dictionary(codes, dictionary) => {
                codes.extend_into(out, |code| code as u32);
                Some(dictionary)
            }
            _ => None,
        }
    }

    /// Calls `take` with each row of a Fixed or Bytes vector in order, `None` for NULL. Panics on other types.
    pub fn for_each_bytes<'a>(&'a self, mut take: impl FnMut(usize, Option<&'a [u8]>)) {
        assert!(self.spec.physical.is_bytes(), "{:?} was read as byte strings", self.spec.physical);
        match &self.nulls {
            None => {
                if let Body::AllNull = self.body {
                    (0..self.rows).for_each(|row| take(row, None));
                } else {
                    self.for_each_place(|row, bytes| take(row, Some(bytes)));
                }
            }
            Some(nulls) => {
                self.for_each_place(|row, bytes| take(row, nulls.is_valid(row).then_some(bytes)))
            }
        }
    }

    /// Each row's bytes in order, those of NULL rows being anything.
    pub(super) fn for_each_place<'a>(&'a self, mut take: impl FnMut(usize, &'a [u8])) {
        match &self.body {
            Body::Plain(values) => (0..self.rows).for_each(|row| take(row, values.bytes(row))),
            Body::Constant(values) => {
                let value = values.bytes(0);
                (0..self.rows).for_each(|row| take(row, value));
            }
            Body::RunLength(runs) => {
                let mut row = 0;
                runs.for_each(|run, count| {
                    let value = runs.values.bytes(run);
                    (row..row + count).for_each(|row| take(row, value));
                    row += count;
                });
            }
            Body::Dictionary(codes, dictionary) => {
                let values = dictionary.values();
                let reference = codes.reference();
                let mut row = 0;
                codes.for_each_block(|block| {
                    for code in block {
                        take(row, values.bytes((code + reference) as usize));
                        row += 1;
                    }
                });
            }
            Body::AllNull | Body::BitPacked(_) | Body::Delta(_) | Body::Alp(_) => {}
        }
    }
}
