//! Vectors to Arrow arrays.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, Int32Array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};

use super::{Body, Vector};
use crate::encoding::alp::Float;
use crate::types::PhysicalType;
use crate::values::Values;

impl Vector {
    /// All rows as an Arrow array: BooleanArray, Int8Array to Int64Array, Float32Array, Float64Array,
    /// FixedSizeBinaryArray or BinaryArray. Plain vectors are not copied, but Bool is.
    pub fn decode(&self) -> ArrayRef {
        let nulls = self.arrow_nulls();
        if let (PhysicalType::Bool, Body::BitPacked(packed)) = (self.spec.physical, &self.body)
            && packed.width() == 1
            && packed.reference() == 0
        {
            let bits = BooleanBuffer::new(packed.words().inner().clone(), 0, self.rows);
            return Arc::new(BooleanArray::new(bits, nulls));
        }
        self.materialize().into_array(self.spec.physical, nulls)
    }

    /// All rows as codes and the chunk's dictionary, of a dictionary-encoded vector.
    pub fn decode_dictionary(&self) -> Option<DictionaryArray<Int32Type>> {
        let Body::Dictionary(codes, dictionary) = &self.body else {
            return None;
        };
        let mut keys: Vec<i32> = Vec::new();
        codes.extend_into(&mut keys, |code| code as i32);
        let keys = Int32Array::new(keys.into(), self.nulls.clone());
        Some(DictionaryArray::new(keys, Arc::clone(dictionary.array())))
    }

    /// The values of the runs of a run-length vector, as [`Vector::run_ends`] counts them.
    pub fn run_values(&self) -> Option<ArrayRef> {
        match &self.body {
            Body::RunLength(runs) => Some(runs.values.clone().into_array(self.spec.physical, None)),
            _ => None,
        }
    }

    fn arrow_nulls(&self) -> Option<NullBuffer> {
        match &self.body {
            Body::AllNull => Some(NullBuffer::new_null(self.rows)),
            _ => self.nulls.clone(),
        }
    }

    fn materialize(&self) -> Values {
        if let Body::Plain(values) = &self.body {
            return values.clone();
        }
        match self.spec.physical {
            PhysicalType::Bool | PhysicalType::Int8 => self.numbers::<i8>(),
            PhysicalType::Int16 => self.numbers::<i16>(),
            PhysicalType::Int32 | PhysicalType::Float32 => self.numbers::<i32>(),
            PhysicalType::Int64 | PhysicalType::Float64 => self.numbers::<i64>(),
            PhysicalType::Fixed(width) => {
                let width = usize::from(width);
                let mut data: Vec<u8> = Vec::with_capacity(width * self.rows);
                if let Body::AllNull = self.body {
                    data.resize(width * self.rows, 0);
                }
                self.for_each_place(|_, bytes| data.extend_from_slice(bytes));
                Values::Fixed { width, data: Buffer::from_vec(data) }
            }
            PhysicalType::Bytes => {
                let mut offsets: Vec<i32> = Vec::with_capacity(self.rows + 1);
                offsets.push(0);
                let mut data: Vec<u8> = Vec::new();
                if let Body::AllNull = self.body {
                    offsets.resize(self.rows + 1, 0);
                }
                self.for_each_place(|_, bytes| {
                    data.extend_from_slice(bytes);
                    // At most the decoded size, which fits.
                    offsets.push(data.len() as i32);
                });
                Values::Bytes { offsets: offsets.into(), data: Buffer::from_vec(data) }
            }
        }
    }

    fn numbers<T: Float>(&self) -> Values {
        let mut out: Vec<T> = Vec::new();
        self.fill::<T, T>(&mut out, |v| v);
        T::wrap(ScalarBuffer::from(out))
    }
}
