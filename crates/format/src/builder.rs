//! The values of one column while a row group is filled.

use crate::bitmap::Bitmap;
use crate::types::{ColumnSpec, PhysicalType, Value};
use crate::vector::Vector;

/// Values as collected: by-value types in their own width, floats as their bits, NULL as 0 or as no bytes.
#[derive(Clone, Debug)]
pub(crate) enum Store {
    W1(Vec<i8>),
    W2(Vec<i16>),
    W4(Vec<i32>),
    W8(Vec<i64>),
    Fixed { width: usize, data: Vec<u8> },
    Bytes { ends: Vec<u64>, data: Vec<u8> },
}

/// Values being collected for one column chunk. Push functions panic on a value the column's type does not have,
/// which is a mistake of the caller.
#[derive(Clone, Debug)]
pub struct ColumnBuilder {
    pub(crate) spec: ColumnSpec,
    pub(crate) store: Store,
    pub(crate) validity: Bitmap,
    rows: usize,
}

impl ColumnBuilder {
    /// An empty column.
    pub fn new(spec: ColumnSpec) -> Self {
        let store = match spec.physical {
            PhysicalType::Bool | PhysicalType::Int8 => Store::W1(Vec::new()),
            PhysicalType::Int16 => Store::W2(Vec::new()),
            PhysicalType::Int32 | PhysicalType::Float32 => Store::W4(Vec::new()),
            PhysicalType::Int64 | PhysicalType::Float64 => Store::W8(Vec::new()),
            PhysicalType::Fixed(width) => {
                assert!(width > 0, "a fixed-width value has at least one byte");
                Store::Fixed { width: width.into(), data: Vec::new() }
            }
            PhysicalType::Bytes => Store::Bytes { ends: Vec::new(), data: Vec::new() },
        };
        Self { spec, store, validity: Bitmap::default(), rows: 0 }
    }

    /// What the column holds.
    pub fn spec(&self) -> ColumnSpec {
        self.spec
    }

    /// Rows pushed.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether no row was pushed.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// NULLs pushed.
    pub fn null_count(&self) -> usize {
        self.validity.null_count()
    }

    /// Appends a NULL.
    pub fn push_null(&mut self) {
        match &mut self.store {
            Store::W1(v) => v.push(0),
            Store::W2(v) => v.push(0),
            Store::W4(v) => v.push(0),
            Store::W8(v) => v.push(0),
            Store::Fixed { width, data } => data.resize(data.len() + *width, 0),
            Store::Bytes { ends, data } => ends.push(data.len() as u64),
        }
        self.validity.push_null(self.rows);
        self.rows += 1;
    }

    #[inline]
    fn pushed(&mut self) {
        self.validity.push_valid(self.rows);
        self.rows += 1;
    }

    /// Appends an integer, cut to the column's width. Bool takes whatever is not 0 as true.
    #[inline]
    pub fn push_i64(&mut self, value: i64) {
        match (&mut self.store, self.spec.physical) {
            (Store::W8(v), PhysicalType::Int64) => v.push(value),
            (Store::W4(v), PhysicalType::Int32) => v.push(value as i32),
            (Store::W2(v), _) => v.push(value as i16),
            (Store::W1(v), PhysicalType::Int8) => v.push(value as i8),
            (Store::W1(v), _) => v.push(i8::from(value != 0)),
            _ => panic!("an integer was pushed to a column of {:?}", self.spec.physical),
        }
        self.pushed();
    }

    /// Appends a single.
    #[inline]
    pub fn push_f32(&mut self, value: f32) {
        match (&mut self.store, self.spec.physical) {
            (Store::W4(v), PhysicalType::Float32) => v.push(value.to_bits() as i32),
            _ => panic!("a float was pushed to a column of {:?}", self.spec.physical),
        }
        self.pushed();
    }

    /// Appends a double.
    #[inline]
    pub fn push_f64(&mut self, value: f64) {
        match (&mut self.store, self.spec.physical) {
            (Store::W8(v), PhysicalType::Float64) => v.push(value.to_bits() as i64),
            _ => panic!("a double was pushed to a column of {:?}", self.spec.physical),
        }
        self.pushed();
    }

    /// Appends a Fixed or Bytes value, of the column's width or below 2 GiB.
    #[inline]
    pub fn push_bytes(&mut self, value: &[u8]) {
        match &mut self.store {
            Store::Bytes { ends, data } => {
                assert!(
                    value.len() < i32::MAX as usize,
                    "a value of {} bytes is too long",
                    value.len()
                );
                data.extend_from_slice(value);
                ends.push(data.len() as u64);
            }
            Store::Fixed { width, data } => {
                assert_eq!(value.len(), *width, "a value's length is not its column's");
                data.extend_from_slice(value);
            }
            _ => panic!("bytes were pushed to a column of {:?}", self.spec.physical),
        }
        self.pushed();
    }

    /// Appends any value.
    pub fn push(&mut self, value: Value<'_>) {
        match value {
            Value::Null => self.push_null(),
            Value::Int(v) => self.push_i64(v),
            Value::Float32(v) => self.push_f32(v),
            Value::Float64(v) => self.push_f64(v),
            Value::Bytes(v) => self.push_bytes(v),
        }
    }

    /// Appends the given rows of a vector of the same physical type, which is how groups are merged.
    pub fn append_from_vector(&mut self, vector: &Vector, rows: &[u32]) {
        assert_eq!(
            vector.spec().physical,
            self.spec.physical,
            "a vector of another type was appended"
        );
        self.reserve(rows.len());
        // From a sixteenth of the rows on, decoding all of them is cheaper than looking up each.
        if self.spec.physical.is_integer() && rows.len() >= vector.len() / 16 {
            let mut numbers = Vec::new();
            vector.decode_ints(&mut numbers);
            for &row in rows {
                if vector.is_null(row as usize) {
                    self.push_null();
                } else {
                    self.push_i64(numbers[row as usize]);
                }
            }
            return;
        }
        for &row in rows {
            self.push(vector.get(row as usize));
        }
    }

    /// Makes room for more rows; not for their bytes.
    pub fn reserve(&mut self, rows: usize) {
        match &mut self.store {
            Store::W1(v) => v.reserve(rows),
            Store::W2(v) => v.reserve(rows),
            Store::W4(v) => v.reserve(rows),
            Store::W8(v) => v.reserve(rows),
            Store::Fixed { width, data } => data.reserve(rows.saturating_mul(*width)),
            Store::Bytes { ends, .. } => ends.reserve(rows),
        }
    }

    /// Bytes of memory held.
    pub fn byte_size(&self) -> usize {
        let values = match &self.store {
            Store::W1(v) => v.capacity(),
            Store::W2(v) => v.capacity() * 2,
            Store::W4(v) => v.capacity() * 4,
            Store::W8(v) => v.capacity() * 8,
            Store::Fixed { data, .. } => data.capacity(),
            Store::Bytes { ends, data } => ends.capacity() * 8 + data.capacity(),
        };
        values + self.validity.byte_size()
    }

    /// Row `index`; panics beyond the end.
    #[inline]
    pub fn get(&self, index: usize) -> Value<'_> {
        assert!(index < self.rows, "row {index} of {}", self.rows);
        if !self.validity.is_valid(index) {
            return Value::Null;
        }
        let unsigned = self.spec.is_unsigned();
        match &self.store {
            Store::W1(v) => {
                Value::Int(if unsigned { i64::from(v[index] as u8) } else { v[index].into() })
            }
            Store::W2(v) => {
                Value::Int(if unsigned { i64::from(v[index] as u16) } else { v[index].into() })
            }
            Store::W4(v) => match self.spec.physical {
                PhysicalType::Float32 => Value::Float32(f32::from_bits(v[index] as u32)),
                _ => {
                    Value::Int(if unsigned { i64::from(v[index] as u32) } else { v[index].into() })
                }
            },
            Store::W8(v) => match self.spec.physical {
                PhysicalType::Float64 => Value::Float64(f64::from_bits(v[index] as u64)),
                _ => Value::Int(v[index]),
            },
            Store::Fixed { width, data } => Value::Bytes(&data[index * width..(index + 1) * width]),
            Store::Bytes { ends, data } => {
                let start = if index == 0 { 0 } else { ends[index - 1] };
                Value::Bytes(&data[start as usize..ends[index] as usize])
            }
        }
    }

    /// Forgets all rows and keeps the memory.
    pub fn clear(&mut self) {
        match &mut self.store {
            Store::W1(v) => v.clear(),
            Store::W2(v) => v.clear(),
            Store::W4(v) => v.clear(),
            Store::W8(v) => v.clear(),
            Store::Fixed { data, .. } => data.clear(),
            Store::Bytes { ends, data } => {
                ends.clear();
                data.clear();
            }
        }
        self.validity.clear();
        self.rows = 0;
    }
}
