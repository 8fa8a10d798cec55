//! What metadata tells of a chunk or of one of its vectors, in the forms that pruning and summaries take.

use crate::am::group::Column;
use columnar_exec::Scalar;
use columnar_exec::prune::ColumnBounds;
use columnar_exec::stored::ColumnKind;
use columnar_exec::summary::Stored;
use columnar_format::{Bound, BoundsOrder, ColumnSpec};

/// What is known of a chunk or a vector.
#[derive(Clone, Copy, Debug)]
pub struct Metadata<'a> {
    spec: ColumnSpec,
    rows: u32,
    nulls: u32,
    min: Option<&'a Bound>,
    max: Option<&'a Bound>,
    sum: Option<i128>,
}

/// Of a chunk.
pub fn of_chunk(column: &Column) -> Metadata<'_> {
    let meta = &column.meta;
    Metadata {
        spec: meta.spec,
        rows: meta.rows,
        nulls: meta.null_count,
        min: meta.min.as_ref(),
        max: meta.max.as_ref(),
        sum: meta.sum,
    }
}

/// Of the vector that holds a row.
pub fn of_vector(column: &Column, row: u32) -> Metadata<'_> {
    let meta = &column.meta.vectors[column.locate(row).0];
    Metadata {
        spec: column.meta.spec,
        rows: meta.rows,
        nulls: meta.null_count,
        min: meta.min.as_ref(),
        max: meta.max.as_ref(),
        sum: None,
    }
}

/// Bounds of a column that has this value in every row.
pub fn bounds_of_value(value: &Scalar, kind: ColumnKind) -> Option<ColumnBounds> {
    let unsigned = matches!(kind, ColumnKind::Unsigned(_));
    let integers = if unsigned { BoundsOrder::Unsigned } else { BoundsOrder::Signed };
    let (bound, order) = match value {
        Scalar::Null => (None, BoundsOrder::None),
        Scalar::Bool(value) => (Some(Bound::Int((*value).into())), BoundsOrder::Signed),
        Scalar::Int(value) => (Some(Bound::Int(*value)), integers),
        Scalar::Float(value) => (Some(Bound::Float(*value)), BoundsOrder::Float),
        Scalar::Bytes(bytes) => {
            let bytes = bytes.as_ref().into();
            (Some(Bound::Bytes { bytes, exact: true }), BoundsOrder::Bytewise)
        }
        Scalar::Decimal(..) => return None,
    };
    let nulls = u32::from(bound.is_none());
    Some(ColumnBounds { min: bound.clone(), max: bound, nulls, rows: 1, order })
}

impl<'a> Metadata<'a> {
    /// For pruning. Bounds of a column that had another type when it was stored are left out if that type's order is not
    /// how its values are compared now: int became oid, or the reverse.
    pub fn bounds(&self, kind: ColumnKind) -> ColumnBounds {
        let unsigned = matches!(kind, ColumnKind::Unsigned(_));
        let ordered = unsigned == (self.spec.order == BoundsOrder::Unsigned);
        let bound = |bound: Option<&Bound>| bound.filter(|_| ordered).cloned();
        ColumnBounds {
            min: bound(self.min),
            max: bound(self.max),
            nulls: self.nulls,
            rows: self.rows,
            order: self.spec.order,
        }
    }

    /// For summaries of so many rows of it.
    pub fn summary(&self, rows: u64) -> Stored<'a> {
        Stored {
            spec: self.spec,
            rows: self.rows,
            nulls: self.nulls,
            min: self.min,
            max: self.max,
            sum: self.sum,
            whole: rows == u64::from(self.rows),
        }
    }
}
