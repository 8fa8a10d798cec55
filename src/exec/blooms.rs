//! Looks values up in the Bloom filters of an open row group. A chunk's filters are read when a filter's equality first gets
//! past the zone maps, and kept while the group is open.

use crate::am::group::{Column, Group};
use columnar_exec::Scalar;
use columnar_exec::stored::{self, ColumnKind};
use columnar_format::{ChunkBlooms, ColumnSpec, hash_of_bytes, hash_of_int};
use core::cell::{Cell, RefCell};
use pgrx::pg_sys;
use std::rc::Rc;

/// The Bloom filters of a group's chunks, by request.
#[derive(Debug)]
pub struct GroupBlooms {
    chunks: RefCell<Vec<Chunk>>,
    /// Bytes read and not yet counted.
    bytes: Cell<u64>,
}

#[derive(Clone, Debug)]
enum Chunk {
    NotRead,
    /// `None`: it has none.
    Read(Option<Rc<ChunkBlooms>>),
}

/// What a value is looked up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LookUp {
    Hash(u64),
    /// No column of the stored type holds it.
    Nowhere,
    /// Filters do not tell of such values.
    Unknown,
}

impl GroupBlooms {
    /// Of so many requests; nothing is read yet.
    pub fn new(requests: usize) -> Self {
        Self { chunks: RefCell::new(vec![Chunk::NotRead; requests]), bytes: Cell::new(0) }
    }

    /// Bytes read since this was last asked.
    pub fn take_bytes(&self) -> u64 {
        self.bytes.take()
    }

    /// Whether a chunk, or the vector of it that holds a row, may hold a value.
    pub fn may_hold(
        &self,
        rel: pg_sys::Relation,
        group: &Group,
        (request, attribute, kind): (usize, usize, ColumnKind),
        column: &Column,
        row: Option<u32>,
        value: &Scalar,
    ) -> bool {
        if column.meta.blooms().is_none() {
            return true;
        }
        let hash = match look_up(column.meta.spec, kind, value) {
            LookUp::Hash(hash) => hash,
            LookUp::Nowhere => return false,
            LookUp::Unknown => return true,
        };
        let blooms = match &self.chunks.borrow()[request] {
            Chunk::Read(blooms) => Some(blooms.clone()),
            Chunk::NotRead => None,
        };
        let blooms = blooms.unwrap_or_else(|| {
            let read = group.blooms(rel, attribute, column).map(|(blooms, bytes)| {
                self.bytes.set(self.bytes.get() + bytes);
                Rc::new(blooms)
            });
            self.chunks.borrow_mut()[request] = Chunk::Read(read.clone());
            read
        });
        blooms.is_none_or(|blooms| match row {
            None => blooms.may_hold(hash),
            Some(row) => blooms.vector_may_hold(column.locate(row).0, hash),
        })
    }
}

fn look_up(spec: ColumnSpec, kind: ColumnKind, value: &Scalar) -> LookUp {
    let physical = spec.physical;
    match (value, kind) {
        (Scalar::Int(value), ColumnKind::Int | ColumnKind::Unsigned(_))
            if physical.is_integer() =>
        {
            let width = physical.width().unwrap_or(8);
            let shift = 64 - 8 * width as u32;
            // What the stored bytes would be, read with sign, and what is read of them.
            let stored = *value << shift >> shift;
            let read = match kind {
                ColumnKind::Unsigned(_) => stored::unsigned(stored, width as u8),
                _ => stored,
            };
            if read == *value { LookUp::Hash(hash_of_int(stored)) } else { LookUp::Nowhere }
        }
        (Scalar::Bytes(bytes), ColumnKind::Bytes) if physical.is_bytes() => {
            LookUp::Hash(hash_of_bytes(bytes))
        }
        _ => LookUp::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use columnar_format::{BoundsOrder, PhysicalType};

    #[test]
    fn integers_are_looked_up_as_they_are_stored() {
        let int4 = ColumnSpec::new(PhysicalType::Int32, BoundsOrder::Signed);
        let oid = ColumnSpec::new(PhysicalType::Int32, BoundsOrder::Unsigned);
        let ask = |spec, kind, value| look_up(spec, kind, &Scalar::Int(value));
        for spec in [int4, oid] {
            assert_eq!(ask(spec, ColumnKind::Int, -5), LookUp::Hash(hash_of_int(-5)));
            assert_eq!(ask(spec, ColumnKind::Int, 1 << 31), LookUp::Nowhere);
            let high = u32::MAX.into();
            assert_eq!(ask(spec, ColumnKind::Unsigned(4), high), LookUp::Hash(hash_of_int(-1)));
            assert_eq!(ask(spec, ColumnKind::Unsigned(4), -1), LookUp::Nowhere);
            assert_eq!(ask(spec, ColumnKind::Unsigned(4), 1 << 40), LookUp::Nowhere);
        }
        let int8 = ColumnSpec::new(PhysicalType::Int64, BoundsOrder::Signed);
        assert_eq!(ask(int8, ColumnKind::Int, i64::MIN), LookUp::Hash(hash_of_int(i64::MIN)));
        assert_eq!(look_up(int8, ColumnKind::Int, &Scalar::Float(1.0)), LookUp::Unknown);
        assert_eq!(look_up(int8, ColumnKind::Int, &Scalar::Null), LookUp::Unknown);
    }
}
