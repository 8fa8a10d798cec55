//! Columns of values in memory, one value a row. Cloning one shares its values.

use std::sync::Arc;

use arrow_buffer::Buffer;

/// A column: values, and which rows are NULL.
#[derive(Clone, Debug)]
pub struct Column {
    /// The values; those of NULL rows may be anything.
    pub data: Data,
    /// True where a row is NULL; `None` where no row is. Not used with [`Data::Const`].
    pub nulls: Option<Arc<Vec<bool>>>,
    /// Rows.
    pub len: usize,
}

/// Values of a column.
#[derive(Clone, Debug)]
pub enum Data {
    /// One value for all rows, NULL perhaps.
    Const(Scalar),
    /// Booleans.
    Bool(Arc<Vec<bool>>),
    /// Integers of any width, dates (days since 2000-01-01), timestamps (microseconds since 2000-01-01), times, oids
    /// (without sign), enumerations of one byte.
    Int(Arc<Vec<i64>>),
    /// float8, and float4 widened.
    Float(Arc<Vec<f64>>),
    /// numeric as an integer of that many decimal places, `i128::MIN` for NaN; every value is displayed with that scale.
    Decimal(Arc<Vec<i128>>, u8),
    /// Byte strings: text, bytea, and every type that is only compared for equality of its bytes.
    Bytes(Strings),
    /// Byte strings as codes into a dictionary.
    Dict(Codes),
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// NULL.
    Null,
    /// As [`Data::Bool`].
    Bool(bool),
    /// As [`Data::Int`].
    Int(i64),
    /// As [`Data::Float`].
    Float(f64),
    /// As [`Data::Decimal`].
    Decimal(i128, u8),
    /// As [`Data::Bytes`].
    Bytes(Arc<[u8]>),
}

/// Where a string lies in its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// Bytes.
    pub len: u32,
}

/// Strings in one buffer.
#[derive(Clone, Debug)]
pub struct Strings {
    /// A span a row.
    pub spans: Arc<Vec<Span>>,
    /// The bytes, of 4 GiB at most.
    pub data: Buffer,
}

impl Strings {
    /// The bytes of a row.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        let span = self.spans[row];
        &self.data[span.start as usize..span.start as usize + span.len as usize]
    }
}

/// Dictionary codes.
#[derive(Clone, Debug)]
pub struct Codes {
    /// A code a row, below the dictionary's length. Codes of NULL rows are valid codes too unless the dictionary is empty.
    pub codes: Arc<Vec<u32>>,
    /// What the codes mean.
    pub dictionary: Arc<StringDictionary>,
}

/// Distinct strings, none NULL, in no order.
#[derive(Debug)]
pub struct StringDictionary {
    /// The strings.
    pub values: Strings,
    /// Tells dictionaries apart: unique within a process.
    pub id: u64,
}

impl StringDictionary {
    /// A dictionary with an identity of its own.
    pub fn new(values: Strings) -> Self {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self { values, id: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    /// Distinct strings.
    pub fn len(&self) -> usize {
        self.values.spans.len()
    }

    /// Whether there is no string.
    pub fn is_empty(&self) -> bool {
        self.values.spans.is_empty()
    }
}

impl Column {
    /// A column without NULLs.
    pub fn new(data: Data, len: usize) -> Self {
        Self { data, nulls: None, len }
    }

    /// The same value in every row.
    pub fn constant(value: Scalar, len: usize) -> Self {
        Self { data: Data::Const(value), nulls: None, len }
    }

    /// A column with NULLs where `nulls` is true.
    pub fn with_nulls(data: Data, nulls: Option<Arc<Vec<bool>>>, len: usize) -> Self {
        Self { data, nulls, len }
    }

    /// Whether a row is NULL.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        match (&self.data, &self.nulls) {
            (Data::Const(value), _) => matches!(value, Scalar::Null),
            (_, Some(nulls)) => nulls[row],
            _ => false,
        }
    }

    /// The bytes of a row of [`Data::Bytes`], [`Data::Dict`] or a constant string; `None` where it is NULL.
    /// Panics on other data.
    #[inline]
    pub fn bytes(&self, row: usize) -> Option<&[u8]> {
        if self.is_null(row) {
            return None;
        }
        match &self.data {
            Data::Bytes(strings) => Some(strings.get(row)),
            Data::Dict(codes) => Some(codes.dictionary.values.get(codes.codes[row] as usize)),
            Data::Const(Scalar::Bytes(bytes)) => Some(bytes),
            other => panic!("{other:?} was read as strings"),
        }
    }

    /// The value of a row.
    pub fn get(&self, row: usize) -> Scalar {
        if self.is_null(row) {
            return Scalar::Null;
        }
        match &self.data {
            Data::Const(value) => value.clone(),
            Data::Bool(values) => Scalar::Bool(values[row]),
            Data::Int(values) => Scalar::Int(values[row]),
            Data::Float(values) => Scalar::Float(values[row]),
            Data::Decimal(values, scale) => Scalar::Decimal(values[row], *scale),
            Data::Bytes(strings) => Scalar::Bytes(strings.get(row).into()),
            Data::Dict(codes) => {
                Scalar::Bytes(codes.dictionary.values.get(codes.codes[row] as usize).into())
            }
        }
    }

    /// The rows that `selection` names, in its order.
    pub fn gather(&self, selection: &[u32]) -> Self {
        fn pick<T: Copy>(values: &[T], selection: &[u32]) -> Arc<Vec<T>> {
            Arc::new(selection.iter().map(|&row| values[row as usize]).collect())
        }
        let data = match &self.data {
            Data::Const(value) => Data::Const(value.clone()),
            Data::Bool(values) => Data::Bool(pick(values, selection)),
            Data::Int(values) => Data::Int(pick(values, selection)),
            Data::Float(values) => Data::Float(pick(values, selection)),
            Data::Decimal(values, scale) => Data::Decimal(pick(values, selection), *scale),
            Data::Bytes(strings) => Data::Bytes(Strings {
                spans: pick(&strings.spans, selection),
                data: strings.data.clone(),
            }),
            Data::Dict(codes) => Data::Dict(Codes {
                codes: pick(&codes.codes, selection),
                dictionary: Arc::clone(&codes.dictionary),
            }),
        };
        let nulls = self.nulls.as_ref().map(|nulls| pick(nulls, selection));
        Self { data, nulls, len: selection.len() }
    }
}
