//! An opened vector. All that can be wrong with stored bytes is found by [`Vector::open`]; nothing after it fails.

mod arrow;
mod bulk;
mod open;

use std::sync::Arc;

use arrow_buffer::NullBuffer;

use crate::dictionary::Dictionary;
use crate::encoding::alp::Alp;
use crate::encoding::delta::Delta;
use crate::encoding::run_length::Runs;
use crate::options::Encoding;
use crate::packed::Packed;
use crate::types::{ColumnSpec, PhysicalType, Value};
use crate::values::{Values, value_of};

/// A vector that was checked and decompressed, but not decoded.
#[derive(Clone, Debug)]
pub struct Vector {
    spec: ColumnSpec,
    rows: usize,
    /// Present where some rows are NULL, not where all are.
    nulls: Option<NullBuffer>,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    AllNull,
    Plain(Values),
    /// One value.
    Constant(Values),
    RunLength(Runs),
    BitPacked(Packed),
    Delta(Delta),
    /// Of Float32 or Float64.
    Alp(Alp),
    /// Every code is below the dictionary's length.
    Dictionary(Packed, Arc<Dictionary>),
}

impl Vector {
    /// What the column holds.
    pub fn spec(&self) -> ColumnSpec {
        self.spec
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// NULLs.
    pub fn null_count(&self) -> usize {
        match &self.body {
            Body::AllNull => self.rows,
            _ => self.nulls.as_ref().map_or(0, NullBuffer::null_count),
        }
    }

    /// The validity where some rows are NULL; `None` where none is or, see [`Vector::null_count`], all are.
    pub fn nulls(&self) -> Option<&NullBuffer> {
        self.nulls.as_ref()
    }

    /// How the vector is laid out.
    pub fn encoding(&self) -> Encoding {
        match &self.body {
            Body::AllNull | Body::Constant(_) => Encoding::Constant,
            Body::Plain(_) => Encoding::Plain,
            Body::RunLength(_) => Encoding::RunLength,
            Body::BitPacked(_) => Encoding::BitPacked,
            Body::Delta(_) => Encoding::Delta,
            Body::Alp(_) => Encoding::Alp,
            Body::Dictionary(..) => Encoding::Dictionary,
        }
    }

    /// The dictionary of a dictionary-encoded vector.
    pub fn dictionary(&self) -> Option<&Arc<Dictionary>> {
        match &self.body {
            Body::Dictionary(_, dictionary) => Some(dictionary),
            _ => None,
        }
    }

    /// The one value of a constant vector; NULL where all rows are. `None` where rows may differ.
    pub fn constant(&self) -> Option<Value<'_>> {
        match &self.body {
            Body::AllNull => Some(Value::Null),
            Body::Constant(values) if self.nulls.is_none() => Some(values.get(self.spec, 0)),
            _ => None,
        }
    }

    /// The row after the last of each run, of a run-length vector. Runs run on through NULLs.
    pub fn run_ends(&self) -> Option<&[u32]> {
        match &self.body {
            Body::RunLength(runs) => Some(&runs.ends),
            _ => None,
        }
    }

    /// Whether row `index` is NULL; panics beyond the end.
    #[inline]
    pub fn is_null(&self, index: usize) -> bool {
        match &self.nulls {
            Some(nulls) => nulls.is_null(index),
            None => {
                assert!(index < self.rows, "row {index} of {}", self.rows);
                matches!(self.body, Body::AllNull)
            }
        }
    }

    /// Row `index`; panics beyond the end. Constant time, but for a binary search of RunLength and 64 steps of Delta.
    #[inline]
    pub fn get(&self, index: usize) -> Value<'_> {
        if self.is_null(index) {
            return Value::Null;
        }
        match &self.body {
            Body::AllNull => Value::Null,
            Body::Plain(values) => values.get(self.spec, index),
            Body::Constant(values) => values.get(self.spec, 0),
            Body::RunLength(runs) => runs.values.get(self.spec, runs.run_of(index)),
            Body::BitPacked(packed) => self.number(packed.get(index) as i64),
            Body::Delta(delta) => self.number(delta.get(index)),
            Body::Alp(alp) if self.spec.physical == PhysicalType::Float32 => {
                value_of(self.spec, alp.get::<i32>(index))
            }
            Body::Alp(alp) => value_of(self.spec, alp.get::<i64>(index)),
            Body::Dictionary(codes, dictionary) => {
                dictionary.values().get(self.spec, codes.get(index) as usize)
            }
        }
    }

    /// A number computed from packed ones, cut to the column's width.
    #[inline]
    fn number(&self, value: i64) -> Value<'static> {
        match self.spec.physical.width() {
            Some(1) => value_of(self.spec, value as i8),
            Some(2) => value_of(self.spec, value as i16),
            Some(4) => value_of(self.spec, value as i32),
            _ => value_of(self.spec, value),
        }
    }

    /// Bytes of memory held, the dictionary's not counted.
    pub fn memory_size(&self) -> usize {
        let body = match &self.body {
            Body::AllNull => 0,
            Body::Plain(values) | Body::Constant(values) => values.memory_size(),
            Body::RunLength(runs) => runs.ends.len() * 4 + runs.values.memory_size(),
            Body::BitPacked(packed) | Body::Dictionary(packed, _) => packed.words().len() * 8,
            Body::Delta(delta) => delta.memory_size(),
            Body::Alp(alp) => alp.memory_size(),
        };
        size_of::<Self>() + body + self.nulls.as_ref().map_or(0, |n| n.len() / 8)
    }

    /// Bytes of all values once decoded: what [`Vector::decode`] will allocate, about.
    pub fn decoded_size(&self) -> usize {
        let width = match (&self.body, self.spec.physical) {
            (_, PhysicalType::Bytes) => 4,
            (_, other) => other.width().unwrap_or(0),
        };
        let heap = match (&self.body, self.spec.physical) {
            (Body::Plain(Values::Bytes { data, .. }), _) => data.len(),
            (Body::Constant(values), PhysicalType::Bytes) => values.bytes(0).len() * self.rows,
            (Body::RunLength(runs), PhysicalType::Bytes) => {
                let mut total = 0;
                runs.for_each(|run, count| total += runs.values.bytes(run).len() * count);
                total
            }
            (Body::Dictionary(codes, dictionary), PhysicalType::Bytes) => {
                let mut total = 0;
                let reference = codes.reference();
                codes.for_each_block(|block| {
                    total += block
                        .iter()
                        .map(|c| dictionary.values().bytes((c + reference) as usize).len())
                        .sum::<usize>();
                });
                total
            }
            _ => 0,
        };
        width * self.rows + heap
    }
}
