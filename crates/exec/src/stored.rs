//! Columns of a batch as they are stored: bytes that the backend's thread copied from pages, decoded when asked for.

use std::sync::{Arc, OnceLock};

use arrow_array::{Array, BinaryArray, FixedSizeBinaryArray};
use arrow_buffer::Buffer;
use columnar_format::{
    ColumnSpec, Dictionary, FormatError, SectionMeta, Value, Vector, VectorMeta,
};

use crate::batch::ColumnSource;
use crate::column::{Codes, Column, Data, Scalar, Span, StringDictionary, Strings};
use crate::error::ExecError;
use crate::numeric;

/// How the values of a column are held in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// As [`Data::Bool`].
    Bool,
    /// As [`Data::Int`].
    Int,
    /// As [`Data::Int`] without sign: of so many bytes.
    Unsigned(u8),
    /// As [`Data::Float`].
    Float,
    /// As [`Data::Decimal`] of that scale: stored are the bytes of numeric.
    Decimal(u8),
    /// As [`Data::Bytes`] or [`Data::Dict`].
    Bytes,
}

/// A chunk's dictionary, opened by the first thread that needs it and shared by the vectors of the chunk.
#[derive(Debug)]
pub struct SharedDictionary {
    spec: ColumnSpec,
    section: SectionMeta,
    bytes: Vec<u8>,
    opened: OnceLock<Result<Opened, FormatError>>,
}

#[derive(Debug)]
struct Opened {
    stored: Arc<Dictionary>,
    strings: Option<Arc<StringDictionary>>,
}

impl SharedDictionary {
    /// A dictionary that is not opened yet; `bytes` are those of its section.
    pub fn new(spec: ColumnSpec, section: SectionMeta, bytes: Vec<u8>) -> Self {
        Self { spec, section, bytes, opened: OnceLock::new() }
    }

    fn open(&self) -> Result<&Opened, FormatError> {
        let open = || {
            let stored = Arc::new(Dictionary::open(self.spec, &self.section, &self.bytes)?);
            let strings = self.spec.physical.is_bytes().then(|| {
                Arc::new(StringDictionary::new(strings_of(stored.array().as_ref(), stored.len())))
            });
            Ok(Opened { stored, strings })
        };
        self.opened.get_or_init(open).as_ref().map_err(Clone::clone)
    }
}

/// The rows of a batch in one column.
#[derive(Debug)]
pub enum StoredColumn {
    /// Not brought along; it is a bug to ask for it.
    Absent,
    /// In memory already.
    Ready(Column),
    /// A vector's section. The batch is `rows` of its rows from `first` on.
    Vector {
        spec: ColumnSpec,
        meta: VectorMeta,
        bytes: Vec<u8>,
        dictionary: Option<Arc<SharedDictionary>>,
        first: usize,
    },
}

/// A batch whose columns are stored.
#[derive(Debug)]
pub struct StoredBatch {
    /// Number of the row group, for errors; 0 for rows of row pages.
    pub group: u32,
    /// Rows, selected or not.
    pub rows: usize,
    /// The columns in the order of the pipeline.
    pub columns: Vec<StoredColumn>,
    /// How each is held in memory.
    pub kinds: Arc<[ColumnKind]>,
    /// Index of each in its table, for errors.
    pub table_columns: Arc<[usize]>,
}

impl ColumnSource for StoredBatch {
    fn load(&self, column: usize) -> Result<Column, ExecError> {
        match &self.columns[column] {
            StoredColumn::Absent => panic!("column {column} was not read"),
            StoredColumn::Ready(ready) => Ok(ready.clone()),
            StoredColumn::Vector { spec, meta, bytes, dictionary, first } => {
                let damaged = |error| ExecError::Format {
                    group: self.group,
                    column: self.table_columns[column],
                    error,
                };
                let opened = match dictionary {
                    Some(shared) => Some(shared.open().map_err(damaged)?),
                    None => None,
                };
                let stored = opened.map(|opened| Arc::clone(&opened.stored));
                let vector = Vector::open(*spec, meta, bytes, stored).map_err(damaged)?;
                let strings = opened.and_then(|opened| opened.strings.as_ref());
                let whole = decode(&vector, self.kinds[column], strings)?;
                Ok(slice(whole, *first, self.rows))
            }
        }
    }
}

/// All rows of a vector.
fn decode(
    vector: &Vector,
    kind: ColumnKind,
    strings: Option<&Arc<StringDictionary>>,
) -> Result<Column, ExecError> {
    let rows = vector.len();
    // Stored as oid, now an integer of the same width.
    let width = match (kind, vector.spec().is_unsigned()) {
        (ColumnKind::Int, true) => vector.spec().physical.width(),
        _ => None,
    };
    if let Some(value) = vector.constant() {
        let value = match (scalar(value, kind)?, width) {
            (Scalar::Int(value), Some(width)) => Scalar::Int(signed(value, width)),
            (value, _) => value,
        };
        return Ok(Column::constant(value, rows));
    }
    let nulls = match vector.nulls() {
        Some(nulls) if vector.null_count() > 0 => {
            Some(Arc::new(nulls.iter().map(|valid| !valid).collect::<Vec<bool>>()))
        }
        _ => None,
    };
    let data = match kind {
        ColumnKind::Bool => {
            let mut values = Vec::new();
            vector.decode_ints(&mut values);
            Data::Bool(Arc::new(values.into_iter().map(|v| v != 0).collect()))
        }
        ColumnKind::Int => {
            let mut values = Vec::new();
            vector.decode_ints(&mut values);
            if let Some(width) = width {
                values.iter_mut().for_each(|value| *value = signed(*value, width));
            }
            Data::Int(Arc::new(values))
        }
        ColumnKind::Unsigned(width) => {
            let mut values = Vec::new();
            vector.decode_ints(&mut values);
            values.iter_mut().for_each(|value| *value = unsigned(*value, width));
            Data::Int(Arc::new(values))
        }
        ColumnKind::Float => {
            let mut values = Vec::new();
            vector.decode_floats(&mut values);
            Data::Float(Arc::new(values))
        }
        ColumnKind::Bytes => match strings {
            Some(dictionary) if vector.dictionary().is_some() => {
                let mut codes = Vec::new();
                vector.decode_codes(&mut codes);
                Data::Dict(Codes { codes: Arc::new(codes), dictionary: Arc::clone(dictionary) })
            }
            _ => Data::Bytes(strings_of(vector.decode().as_ref(), rows)),
        },
        ColumnKind::Decimal(scale) => Data::Decimal(Arc::new(decimals(vector, scale)?), scale),
    };
    Ok(Column::with_nulls(data, nulls, rows))
}

/// The low bytes of an integer, without sign.
pub fn unsigned(value: i64, width: u8) -> i64 {
    match width {
        1 => i64::from(value as u8),
        2 => i64::from(value as u16),
        4 => i64::from(value as u32),
        _ => value,
    }
}

/// The low bytes of an integer, with sign.
fn signed(value: i64, width: usize) -> i64 {
    match width {
        1 => i64::from(value as i8),
        2 => i64::from(value as i16),
        4 => i64::from(value as i32),
        _ => value,
    }
}

/// The numbers of a numeric column.
fn decimals(vector: &Vector, scale: u8) -> Result<Vec<i128>, ExecError> {
    let mut values = Vec::with_capacity(vector.len());
    if let Some(dictionary) = vector.dictionary() {
        let mut distinct = Vec::with_capacity(dictionary.len());
        for code in 0..dictionary.len() {
            let Value::Bytes(bytes) = dictionary.get(code) else {
                return Err(ExecError::Unsupported);
            };
            distinct.push(decimal(bytes, scale)?);
        }
        let mut codes = Vec::new();
        vector.decode_codes(&mut codes);
        values.extend(codes.iter().map(|&code| distinct.get(code as usize).copied().unwrap_or(0)));
        return Ok(values);
    }
    let mut failed = None;
    vector.for_each_bytes(|_, bytes| match bytes {
        None => values.push(0),
        Some(bytes) => match decimal(bytes, scale) {
            Ok(value) => values.push(value),
            Err(error) => {
                values.push(0);
                failed = Some(error);
            }
        },
    });
    failed.map_or(Ok(values), Err)
}

fn decimal(bytes: &[u8], scale: u8) -> Result<i128, ExecError> {
    match numeric::decode(bytes) {
        Some((value, found)) if found == scale || value == i128::MIN => Ok(value),
        _ => Err(ExecError::Unsupported),
    }
}

fn scalar(value: Value<'_>, kind: ColumnKind) -> Result<Scalar, ExecError> {
    Ok(match (value, kind) {
        (Value::Null, _) => Scalar::Null,
        (Value::Int(v), ColumnKind::Bool) => Scalar::Bool(v != 0),
        (Value::Int(v), ColumnKind::Unsigned(width)) => Scalar::Int(unsigned(v, width)),
        (Value::Int(v), _) => Scalar::Int(v),
        (Value::Float32(v), _) => Scalar::Float(v.into()),
        (Value::Float64(v), _) => Scalar::Float(v),
        (Value::Bytes(bytes), ColumnKind::Decimal(scale)) => {
            Scalar::Decimal(decimal(bytes, scale)?, scale)
        }
        (Value::Bytes(bytes), _) => Scalar::Bytes(bytes.into()),
    })
}

/// The strings of an Arrow array of byte strings; its bytes are shared.
fn strings_of(array: &dyn Array, rows: usize) -> Strings {
    if let Some(array) = array.as_any().downcast_ref::<BinaryArray>() {
        let offsets = array.value_offsets();
        let spans = offsets
            .windows(2)
            .map(|w| Span { start: w[0] as u32, len: (w[1] - w[0]) as u32 })
            .collect();
        return Strings { spans: Arc::new(spans), data: array.values().clone() };
    }
    if let Some(array) = array.as_any().downcast_ref::<FixedSizeBinaryArray>() {
        let width = array.value_length() as u32;
        let spans = (0..rows as u32).map(|row| Span { start: row * width, len: width }).collect();
        return Strings { spans: Arc::new(spans), data: array.values().clone() };
    }
    Strings { spans: Arc::new(vec![Span { start: 0, len: 0 }; rows]), data: Buffer::from(&[]) }
}

/// `rows` rows from `first` on.
fn slice(column: Column, first: usize, rows: usize) -> Column {
    if first == 0 && rows == column.len {
        return column;
    }
    if let Data::Const(value) = column.data {
        return Column::constant(value, rows);
    }
    let selection: Vec<u32> = (first as u32..(first + rows) as u32).collect();
    column.gather(&selection)
}
