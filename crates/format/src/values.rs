//! Values one after another: all there is to a plain vector, and the values of dictionaries, runs and constants.
//!
//! ```text
//! by value   len * width bytes, little-endian
//! Fixed      len * width bytes
//! Bytes      lengths as packed numbers (see `packed`) | the bytes of all values
//! ```
//!
//! They are the last part of their section and fill it to its end.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, Float32Array, Float64Array,
    Int8Array, Int16Array, Int32Array, Int64Array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};

use crate::error::FormatError;
use crate::native::Native;
use crate::packed;
use crate::section::Reader;
use crate::types::{ColumnSpec, PhysicalType, Value};

/// Decoded values without their validity.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    W1(ScalarBuffer<i8>),
    W2(ScalarBuffer<i16>),
    W4(ScalarBuffer<i32>),
    W8(ScalarBuffer<i64>),
    Fixed { width: usize, data: Buffer },
    Bytes { offsets: ScalarBuffer<i32>, data: Buffer },
}

/// A by-value width's share of [`Values`].
pub(crate) trait Typed: Native {
    fn of(values: &Values) -> &ScalarBuffer<Self>;
    fn wrap(values: ScalarBuffer<Self>) -> Values;
}

macro_rules! typed {
    ($native:ty, $variant:ident) => {
        impl Typed for $native {
            #[inline]
            fn of(values: &Values) -> &ScalarBuffer<Self> {
                match values {
                    Values::$variant(v) => v,
                    other => unreachable!("values of another width: {other:?}"),
                }
            }
            fn wrap(values: ScalarBuffer<Self>) -> Values {
                Values::$variant(values)
            }
        }
    };
}

typed!(i8, W1);
typed!(i16, W2);
typed!(i32, W4);
typed!(i64, W8);

/// Appends byte strings given by their position.
pub(crate) fn write_bytes<'a>(out: &mut Vec<u8>, len: usize, value: impl Fn(usize) -> &'a [u8]) {
    let lengths: Vec<u32> = (0..len).map(|i| value(i).len() as u32).collect();
    packed::write_u32(out, &lengths);
    out.reserve(lengths.iter().map(|l| *l as usize).sum());
    for i in 0..len {
        out.extend_from_slice(value(i));
    }
}

impl Values {
    /// Reads `len` values up to the section's end.
    pub(crate) fn read(
        spec: ColumnSpec,
        len: usize,
        reader: &mut Reader,
    ) -> Result<Self, FormatError> {
        const WHAT: &str = "plain values";
        let values = match spec.physical {
            PhysicalType::Bool | PhysicalType::Int8 => Self::W1(reader.take_scalars(len, WHAT)?),
            PhysicalType::Int16 => Self::W2(reader.take_scalars(len, WHAT)?),
            PhysicalType::Int32 | PhysicalType::Float32 => {
                Self::W4(reader.take_scalars(len, WHAT)?)
            }
            PhysicalType::Int64 | PhysicalType::Float64 => {
                Self::W8(reader.take_scalars(len, WHAT)?)
            }
            PhysicalType::Fixed(0) => {
                return Err(FormatError::corrupt("a fixed width of no bytes", 0u64));
            }
            PhysicalType::Fixed(width) => {
                let width = usize::from(width);
                let bytes = len.checked_mul(width).ok_or(FormatError::corrupt(WHAT, len))?;
                Self::Fixed { width, data: reader.take(bytes, WHAT)? }
            }
            PhysicalType::Bytes => {
                let lengths = reader.take_packed(len, "lengths of values")?;
                let data = reader.take_rest();
                let mut offsets: Vec<i32> = Vec::new();
                offsets
                    .try_reserve_exact(len + 1)
                    .map_err(|_| FormatError::OutOfMemory { bytes: len as u64 * 4 })?;
                let mut end = 0u64;
                offsets.push(0);
                let reference = lengths.reference();
                // Saturating, so that no sum of corrupt lengths comes out right by wrapping. Where the total is
                // right each offset is at most the total, which fits.
                lengths.for_each_block(|block| {
                    offsets.extend(block.iter().map(|distance| {
                        end = end.saturating_add(reference.saturating_add(*distance));
                        end as i32
                    }));
                });
                if end != data.len() as u64 {
                    return Err(FormatError::corrupt(
                        "the lengths of values do not add up to their bytes",
                        end,
                    ));
                }
                Self::Bytes { offsets: offsets.into(), data }
            }
        };
        reader.finish()?;
        Ok(values)
    }

    /// Value `index`, not NULL.
    #[inline]
    pub(crate) fn get(&self, spec: ColumnSpec, index: usize) -> Value<'_> {
        match self {
            Self::W1(v) => value_of(spec, v[index]),
            Self::W2(v) => value_of(spec, v[index]),
            Self::W4(v) => value_of(spec, v[index]),
            Self::W8(v) => value_of(spec, v[index]),
            Self::Fixed { .. } | Self::Bytes { .. } => Value::Bytes(self.bytes(index)),
        }
    }

    /// Value `index` of a Fixed or Bytes column.
    #[inline]
    pub(crate) fn bytes(&self, index: usize) -> &[u8] {
        match self {
            Self::Fixed { width, data } => &data.as_slice()[index * width..(index + 1) * width],
            Self::Bytes { offsets, data } => {
                &data.as_slice()[offsets[index] as usize..offsets[index + 1] as usize]
            }
            _ => &[],
        }
    }

    /// Bytes of the longest value.
    pub(crate) fn max_width(&self) -> usize {
        match self {
            Self::W1(_) => 1,
            Self::W2(_) => 2,
            Self::W4(_) => 4,
            Self::W8(_) => 8,
            Self::Fixed { width, .. } => *width,
            Self::Bytes { offsets, .. } => {
                offsets.windows(2).map(|w| (w[1] - w[0]) as usize).max().unwrap_or(0)
            }
        }
    }

    pub(crate) fn memory_size(&self) -> usize {
        match self {
            Self::W1(v) => v.len(),
            Self::W2(v) => v.len() * 2,
            Self::W4(v) => v.len() * 4,
            Self::W8(v) => v.len() * 8,
            Self::Fixed { data, .. } => data.len(),
            Self::Bytes { offsets, data } => offsets.len() * 4 + data.len(),
        }
    }

    /// As an Arrow array; the values are shared, not copied.
    pub(crate) fn into_array(self, physical: PhysicalType, nulls: Option<NullBuffer>) -> ArrayRef {
        match (self, physical) {
            (Self::W1(v), PhysicalType::Bool) => Arc::new(BooleanArray::new(
                BooleanBuffer::collect_bool(v.len(), |i| v[i] != 0),
                nulls,
            )),
            (Self::W1(v), _) => Arc::new(Int8Array::new(v, nulls)),
            (Self::W2(v), _) => Arc::new(Int16Array::new(v, nulls)),
            (Self::W4(v), PhysicalType::Float32) => {
                let len = v.len();
                Arc::new(Float32Array::new(ScalarBuffer::new(v.into_inner(), 0, len), nulls))
            }
            (Self::W4(v), _) => Arc::new(Int32Array::new(v, nulls)),
            (Self::W8(v), PhysicalType::Float64) => {
                let len = v.len();
                Arc::new(Float64Array::new(ScalarBuffer::new(v.into_inner(), 0, len), nulls))
            }
            (Self::W8(v), _) => Arc::new(Int64Array::new(v, nulls)),
            (Self::Fixed { width, data }, _) => {
                Arc::new(FixedSizeBinaryArray::new(width as i32, data, nulls))
            }
            (Self::Bytes { offsets, data }, _) => {
                Arc::new(BinaryArray::new(OffsetBuffer::new(offsets), data, nulls))
            }
        }
    }
}

/// A by-value value as the column's type reads it.
#[inline]
pub(crate) fn value_of<T: Native>(spec: ColumnSpec, value: T) -> Value<'static> {
    match spec.physical {
        PhysicalType::Float32 => Value::Float32(f32::from_bits(value.widen() as u32)),
        PhysicalType::Float64 => Value::Float64(f64::from_bits(value.widen() as u64)),
        PhysicalType::Bool => Value::Int(i64::from(value.widen() != 0)),
        _ if spec.is_unsigned() => Value::Int(value.widen_unsigned()),
        _ => Value::Int(value.widen()),
    }
}
