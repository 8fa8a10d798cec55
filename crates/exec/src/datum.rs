//! Values laid out as PostgreSQL passes them, so that rows are handed out without copying each value again.

use std::sync::Arc;

use crate::column::{Column, Data, Scalar};

/// How values of a type are passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatumKind {
    /// By value: bool and integers of any width.
    Integer,
    /// By value, from [`Data::Float`] narrowed.
    Float4,
    /// By value.
    Float8,
    /// A pointer to a varlena with a header of four bytes.
    Varlena,
    /// A pointer to bytes of the type's length.
    Fixed,
    /// A pointer to bytes that end with NUL.
    CString,
}

/// A column of datums. Pointers among them lead into the column itself.
#[derive(Debug)]
pub struct DatumColumn {
    /// A datum a row; 0 where it is NULL.
    pub words: Vec<u64>,
    /// True where a row is NULL; `None` where no row is.
    pub nulls: Option<Arc<Vec<bool>>>,
    /// What pointers lead to, as words for their alignment.
    _bytes: Vec<u64>,
}

impl DatumColumn {
    /// Lays a column out. Panics where the kind does not fit its data.
    pub fn new(column: &Column, kind: DatumKind) -> Self {
        let rows = column.len;
        let nulls = match &column.data {
            Data::Const(Scalar::Null) => {
                return Self {
                    words: vec![0; rows],
                    nulls: Some(Arc::new(vec![true; rows])),
                    _bytes: Vec::new(),
                };
            }
            Data::Const(_) => None,
            _ => column.nulls.clone(),
        };
        let by_value = |words| Self { words, nulls: nulls.clone(), _bytes: Vec::new() };
        match (&column.data, kind) {
            (Data::Bool(values), _) => by_value(values.iter().map(|v| u64::from(*v)).collect()),
            (Data::Int(values), _) => by_value(values.iter().map(|v| *v as u64).collect()),
            (Data::Float(values), DatumKind::Float4) => {
                by_value(values.iter().map(|v| u64::from((*v as f32).to_bits())).collect())
            }
            (Data::Float(values), _) => by_value(values.iter().map(|v| v.to_bits()).collect()),
            (Data::Const(Scalar::Bool(value)), _) => by_value(vec![u64::from(*value); rows]),
            (Data::Const(Scalar::Int(value)), _) => by_value(vec![*value as u64; rows]),
            (Data::Const(Scalar::Float(value)), DatumKind::Float4) => {
                by_value(vec![u64::from((*value as f32).to_bits()); rows])
            }
            (Data::Const(Scalar::Float(value)), _) => by_value(vec![value.to_bits(); rows]),
            (Data::Const(Scalar::Bytes(bytes)), _) => {
                let mut laid = Layout::new(kind, 1, bytes.len());
                laid.push(bytes);
                let one = laid.finish(None);
                Self { words: vec![one.words[0]; rows], nulls: None, _bytes: one._bytes }
            }
            (Data::Bytes(strings), _) => {
                let total = strings.spans.iter().map(|span| span.len as usize).sum();
                let mut laid = Layout::new(kind, rows, total);
                (0..rows).for_each(|row| {
                    laid.push(strings.get(row));
                });
                laid.finish(nulls)
            }
            (Data::Dict(codes), _) => {
                // Each value of the dictionary that occurs is laid out once.
                let values = &codes.dictionary.values;
                let mut places = vec![usize::MAX; values.spans.len()];
                let mut laid = Layout::new(kind, 0, 0);
                let mut rows_of = Vec::with_capacity(rows);
                for &code in codes.codes.iter() {
                    let place = &mut places[code as usize];
                    if *place == usize::MAX {
                        *place = laid.push(values.get(code as usize));
                    }
                    rows_of.push(*place);
                }
                let distinct = laid.finish(None);
                let words = rows_of.iter().map(|&place| distinct.words[place]).collect();
                Self { words, nulls, _bytes: distinct._bytes }
            }
            (data, kind) => panic!("{data:?} was laid out as {kind:?}"),
        }
    }
}

/// Collects byte strings.
struct Layout {
    kind: DatumKind,
    /// Word at which each begins.
    starts: Vec<usize>,
    words: Vec<u64>,
}

impl Layout {
    fn new(kind: DatumKind, rows: usize, bytes: usize) -> Self {
        let words = Vec::with_capacity(bytes / 8 + rows * 2);
        Self { kind, starts: Vec::with_capacity(rows), words }
    }

    /// Returns the place of the string.
    fn push(&mut self, bytes: &[u8]) -> usize {
        let start = self.words.len();
        self.starts.push(start);
        match self.kind {
            DatumKind::Varlena => {
                // SET_VARSIZE of a little-endian machine, then the bytes in words.
                let header = u64::from((bytes.len() as u32 + 4) << 2);
                let head = bytes.len().min(4);
                let mut first = [0u8; 8];
                first[4..4 + head].copy_from_slice(&bytes[..head]);
                self.words.push(header | u64::from_le_bytes(first));
                self.push_words(&bytes[head..]);
            }
            DatumKind::CString => {
                self.push_words(bytes);
                if bytes.len().is_multiple_of(8) {
                    self.words.push(0);
                }
            }
            _ => self.push_words(bytes),
        }
        self.starts.len() - 1
    }

    fn push_words(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let mut word = [0u8; 8];
            word.copy_from_slice(chunk);
            self.words.push(u64::from_le_bytes(word));
        }
        let rest = chunks.remainder();
        if !rest.is_empty() {
            let mut word = [0u8; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.words.push(u64::from_le_bytes(word));
        }
    }

    fn finish(mut self, nulls: Option<Arc<Vec<bool>>>) -> DatumColumn {
        // An empty string of fixed length would point behind the end.
        self.words.push(0);
        let base = self.words.as_ptr() as usize;
        let words = self.starts.iter().map(|start| (base + start * 8) as u64).collect();
        DatumColumn { words, nulls, _bytes: self.words }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_value() {
        let ints = Column::new(Data::Int(Arc::new(vec![-1, 7])), 2);
        assert_eq!(DatumColumn::new(&ints, DatumKind::Integer).words, [u64::MAX, 7]);
        let floats = Column::new(Data::Float(Arc::new(vec![1.5])), 1);
        let narrow = DatumColumn::new(&floats, DatumKind::Float4);
        assert_eq!(narrow.words, [u64::from(1.5f32.to_bits())]);
        let null = DatumColumn::new(&Column::constant(Scalar::Null, 2), DatumKind::Varlena);
        assert_eq!(null.nulls.as_deref(), Some(&vec![true, true]));
    }

    #[test]
    fn varlenas() {
        let text = Column::constant(Scalar::Bytes(b"hello world"[..].into()), 2);
        let laid = DatumColumn::new(&text, DatumKind::Varlena);
        assert_eq!(laid.words[0], laid.words[1]);
        let bytes: Vec<u8> = laid._bytes.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(bytes[..4], (15u32 << 2).to_le_bytes());
        assert_eq!(&bytes[4..15], b"hello world");
        let word = DatumColumn::new(&text, DatumKind::CString);
        let bytes: Vec<u8> = word._bytes.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(&bytes[..12], b"hello world\0");
    }
}
