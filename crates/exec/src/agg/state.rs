//! The states of an aggregate, of whatever kind.

use std::sync::Arc;

use super::cells::Cells;
use super::extremes::{
    AllTrue, AnyTrue, BitAnd, BitOr, BitXor, MaxDecimal, MaxFloat, MaxInt, MinDecimal, MinFloat,
    MinInt,
};
use super::input::Groups;
use super::memory::{ahead, allocated, grow};
use super::moments::{MomentsExact, MomentsFloat};
use super::narrow::{NarrowAvg, NarrowAvgFloat, NarrowSum, Narrowed};
use super::spec::{AggKind, NumType, ValueType};
use super::strings::StringCells;
use super::sums::{AvgDecimal, SumDecimal, SumFloat};
use super::wire::{Reader, put_signed};
use crate::column::{Column, Data};
use crate::error::ExecError;

/// The states of one aggregate, a state a group.
#[derive(Debug)]
pub(super) struct State {
    cells: AnyCells,
    /// Of decimals.
    scale: u8,
}

#[derive(Debug)]
enum AnyCells {
    Count(Vec<i64>),
    SumInt(Narrowed<NarrowSum>),
    SumFloat(Cells<SumFloat>),
    SumDecimal(Cells<SumDecimal>),
    AvgInt(Narrowed<NarrowAvg>),
    AvgFloat(Narrowed<NarrowAvgFloat>),
    AvgDecimal(Cells<AvgDecimal>),
    MinInt(Cells<MinInt>),
    MaxInt(Cells<MaxInt>),
    MinFloat(Cells<MinFloat>),
    MaxFloat(Cells<MaxFloat>),
    MinDecimal(Cells<MinDecimal>),
    MaxDecimal(Cells<MaxDecimal>),
    Strings(StringCells),
    AllTrue(Cells<AllTrue>),
    AnyTrue(Cells<AnyTrue>),
    BitAnd(Cells<BitAnd>),
    BitOr(Cells<BitOr>),
    BitXor(Cells<BitXor>),
    MomentsInt(Cells<MomentsExact>),
    MomentsDecimal(Cells<MomentsExact>),
    MomentsFloat(Cells<MomentsFloat>),
    /// The states are elsewhere.
    Elsewhere,
}

/// Does the same to all states that are [`Cells`] or [`Narrowed`].
macro_rules! with_cells {
    ($any:expr, $cells:ident => $do:expr, { $($special:tt)* }) => {
        match $any {
            $($special)*
            AnyCells::SumInt($cells) => $do,
            AnyCells::SumFloat($cells) => $do,
            AnyCells::SumDecimal($cells) => $do,
            AnyCells::AvgInt($cells) => $do,
            AnyCells::AvgFloat($cells) => $do,
            AnyCells::AvgDecimal($cells) => $do,
            AnyCells::MinInt($cells) => $do,
            AnyCells::MaxInt($cells) => $do,
            AnyCells::MinFloat($cells) => $do,
            AnyCells::MaxFloat($cells) => $do,
            AnyCells::MinDecimal($cells) => $do,
            AnyCells::MaxDecimal($cells) => $do,
            AnyCells::AllTrue($cells) => $do,
            AnyCells::AnyTrue($cells) => $do,
            AnyCells::BitAnd($cells) => $do,
            AnyCells::BitOr($cells) => $do,
            AnyCells::BitXor($cells) => $do,
            AnyCells::MomentsInt($cells) => $do,
            AnyCells::MomentsDecimal($cells) => $do,
            AnyCells::MomentsFloat($cells) => $do,
        }
    };
}

impl State {
    /// No groups.
    pub fn new(kind: AggKind) -> Self {
        let mut scale = 0;
        let cells = match kind {
            AggKind::CountStar | AggKind::Count => AnyCells::Count(Vec::new()),
            AggKind::Sum(NumType::Int) => AnyCells::SumInt(Narrowed::new()),
            AggKind::Sum(NumType::Float) => AnyCells::SumFloat(Cells::new()),
            AggKind::Sum(NumType::Decimal(s)) => {
                scale = s;
                AnyCells::SumDecimal(Cells::new())
            }
            AggKind::Avg(NumType::Int) => AnyCells::AvgInt(Narrowed::new()),
            AggKind::Avg(NumType::Float) => AnyCells::AvgFloat(Narrowed::new()),
            AggKind::Avg(NumType::Decimal(s)) => {
                scale = s;
                AnyCells::AvgDecimal(Cells::new())
            }
            AggKind::Min(ValueType::Int) => AnyCells::MinInt(Cells::new()),
            AggKind::Max(ValueType::Int) => AnyCells::MaxInt(Cells::new()),
            AggKind::Min(ValueType::Float) => AnyCells::MinFloat(Cells::new()),
            AggKind::Max(ValueType::Float) => AnyCells::MaxFloat(Cells::new()),
            AggKind::Min(ValueType::Decimal(s)) => {
                scale = s;
                AnyCells::MinDecimal(Cells::new())
            }
            AggKind::Max(ValueType::Decimal(s)) => {
                scale = s;
                AnyCells::MaxDecimal(Cells::new())
            }
            AggKind::Min(ValueType::Bytes) => AnyCells::Strings(StringCells::new(false)),
            AggKind::Max(ValueType::Bytes) => AnyCells::Strings(StringCells::new(true)),
            AggKind::BoolAnd | AggKind::Min(ValueType::Bool) => AnyCells::AllTrue(Cells::new()),
            AggKind::BoolOr | AggKind::Max(ValueType::Bool) => AnyCells::AnyTrue(Cells::new()),
            AggKind::BitAnd => AnyCells::BitAnd(Cells::new()),
            AggKind::BitOr => AnyCells::BitOr(Cells::new()),
            AggKind::BitXor => AnyCells::BitXor(Cells::new()),
            AggKind::Moments(NumType::Int) => AnyCells::MomentsInt(Cells::new()),
            AggKind::Moments(NumType::Float) => AnyCells::MomentsFloat(Cells::new()),
            AggKind::Moments(NumType::Decimal(s)) => {
                scale = s;
                AnyCells::MomentsDecimal(Cells::new())
            }
            AggKind::Transition => AnyCells::Elsewhere,
        };
        Self { cells, scale }
    }

    /// Bytes allocated.
    pub fn memory_size(&self) -> usize {
        with_cells!(&self.cells, cells => cells.memory_size(), {
            AnyCells::Count(counts) => allocated(counts),
            AnyCells::Elsewhere => 0,
            AnyCells::Strings(cells) => cells.memory_size(),
        })
    }

    /// Bytes beyond those that `more` groups need.
    pub fn memory_ahead(&self, more: usize) -> usize {
        with_cells!(&self.cells, cells => cells.memory_ahead(more), {
            AnyCells::Elsewhere => 0,
            AnyCells::Count(counts) => ahead(counts, more),
            AnyCells::Strings(cells) => cells.memory_ahead(more),
        })
    }

    /// Whether all groups took in a value, as far as that matters to [`Self::grow`].
    pub fn is_complete(&self) -> bool {
        with_cells!(&self.cells, cells => cells.is_complete(), {
            AnyCells::Count(_) | AnyCells::Strings(_) | AnyCells::Elsewhere => true,
        })
    }

    /// Adds groups up to `groups`. If not `complete`, groups may be left without a value by the update that comes next.
    pub fn grow(&mut self, groups: usize, complete: bool) -> Result<(), ExecError> {
        with_cells!(&mut self.cells, cells => cells.grow(groups, complete), {
            AnyCells::Count(counts) => grow(counts, groups, 0),
            AnyCells::Elsewhere => Ok(()),
            AnyCells::Strings(cells) => cells.grow(groups),
        })
    }

    /// Takes in `rows` rows, none NULL, with a value a row ([`super::input::dense`]).
    pub fn update(
        &mut self,
        groups: Groups<'_>,
        arg: Option<&Column>,
        rows: usize,
    ) -> Result<(), ExecError> {
        if let AnyCells::Count(counts) = &mut self.cells {
            match groups {
                Groups::One => counts[0] += rows as i64,
                Groups::Of(groups) => groups.iter().for_each(|&group| counts[group as usize] += 1),
            }
            return Ok(());
        }
        let Some(arg) = arg else {
            return Err(ExecError::Unsupported);
        };
        let scale = self.scale;
        match (&mut self.cells, &arg.data) {
            (AnyCells::SumInt(cells), Data::Int(values)) => cells.update(groups, values),
            (AnyCells::SumFloat(cells), Data::Float(values)) => cells.update(groups, values),
            (AnyCells::SumDecimal(cells), Data::Decimal(values, found)) if *found == scale => {
                cells.update(groups, values)
            }
            (AnyCells::AvgInt(cells), Data::Int(values)) => cells.update(groups, values),
            (AnyCells::AvgFloat(cells), Data::Float(values)) => cells.update(groups, values),
            (AnyCells::AvgDecimal(cells), Data::Decimal(values, found)) if *found == scale => {
                cells.update(groups, values)
            }
            (AnyCells::MinInt(cells), Data::Int(values)) => cells.update(groups, values),
            (AnyCells::MaxInt(cells), Data::Int(values)) => cells.update(groups, values),
            (AnyCells::MinFloat(cells), Data::Float(values)) => cells.update(groups, values),
            (AnyCells::MaxFloat(cells), Data::Float(values)) => cells.update(groups, values),
            (AnyCells::MinDecimal(cells), Data::Decimal(values, found)) if *found == scale => {
                cells.update(groups, values)
            }
            (AnyCells::MaxDecimal(cells), Data::Decimal(values, found)) if *found == scale => {
                cells.update(groups, values)
            }
            (AnyCells::Strings(cells), _) => cells.update(groups, arg, rows),
            (AnyCells::AllTrue(cells), Data::Bool(values)) => cells.update(groups, values),
            (AnyCells::AnyTrue(cells), Data::Bool(values)) => cells.update(groups, values),
            (AnyCells::BitAnd(cells), Data::Int(values)) => cells.update(groups, values),
            (AnyCells::BitOr(cells), Data::Int(values)) => cells.update(groups, values),
            (AnyCells::BitXor(cells), Data::Int(values)) => cells.update(groups, values),
            (AnyCells::MomentsInt(cells), Data::Int(values)) => {
                let values: Vec<i128> = values.iter().map(|&value| i128::from(value)).collect();
                cells.update(groups, &values)
            }
            (AnyCells::MomentsFloat(cells), Data::Float(values)) => cells.update(groups, values),
            // The squares have twice the scale.
            (AnyCells::MomentsDecimal(cells), Data::Decimal(values, found))
                if *found == scale && scale < 128 =>
            {
                cells.update(groups, values)
            }
            _ => Err(ExecError::Unsupported),
        }
    }

    /// Takes in the sum of so many integers, at least one, into group 0.
    pub fn add_sum(&mut self, sum: i128, count: u64) -> Result<(), ExecError> {
        match &mut self.cells {
            AnyCells::SumInt(cells) => cells.merge(&Narrowed::summed(sum, count), &[0], &[0]),
            AnyCells::AvgInt(cells) => cells.merge(&Narrowed::summed(sum, count), &[0], &[0]),
            _ => Err(ExecError::Unsupported),
        }
    }

    /// Merges the groups `from` of another state of the same kind into the groups `to`.
    pub fn merge(&mut self, other: &Self, from: &[u32], to: &[u32]) -> Result<(), ExecError> {
        macro_rules! pairs {
            ($($kind:ident),*) => {
                match (&mut self.cells, &other.cells) {
                    (AnyCells::Count(counts), AnyCells::Count(others)) => {
                        for (&from, &to) in from.iter().zip(to) {
                            let count = &mut counts[to as usize];
                            *count = count.wrapping_add(others[from as usize]);
                        }
                        Ok(())
                    }
                    (AnyCells::Elsewhere, AnyCells::Elsewhere) => Ok(()),
                    $((AnyCells::$kind(cells), AnyCells::$kind(others)) => {
                        cells.merge(others, from, to)
                    })*
                    _ => Err(ExecError::Unsupported),
                }
            };
        }
        pairs!(
            SumInt,
            SumFloat,
            SumDecimal,
            AvgInt,
            AvgFloat,
            AvgDecimal,
            MinInt,
            MaxInt,
            MinFloat,
            MaxFloat,
            MinDecimal,
            MaxDecimal,
            Strings,
            AllTrue,
            AnyTrue,
            BitAnd,
            BitOr,
            BitXor,
            MomentsInt,
            MomentsDecimal,
            MomentsFloat
        )
    }

    /// Result columns of some groups.
    pub fn output(&self, from: usize, to: usize) -> Vec<Column> {
        let columns = with_cells!(&self.cells, cells => cells.output(from, to, self.scale), {
            AnyCells::Count(counts) => {
                vec![(Data::Int(Arc::new(counts[from..to].to_vec())), None)]
            }
            AnyCells::Strings(cells) => cells.output(from, to),
            AnyCells::Elsewhere => Vec::new(),
        });
        columns
            .into_iter()
            .map(|(data, nulls)| Column::with_nulls(data, nulls.map(Arc::new), to - from))
            .collect()
    }

    /// Writes some groups to a spill file.
    pub fn write(&self, groups: &[u32], out: &mut Vec<u8>) {
        with_cells!(&self.cells, cells => cells.write(groups, out), {
            AnyCells::Count(counts) => {
                groups.iter().for_each(|&group| put_signed(counts[group as usize], out));
            }
            AnyCells::Strings(cells) => cells.write(groups, out),
            AnyCells::Elsewhere => {}
        });
    }

    /// Reads groups.
    pub fn read(kind: AggKind, reader: &mut Reader<'_>, groups: usize) -> Result<Self, ExecError> {
        let mut state = Self::new(kind);
        with_cells!(&mut state.cells, cells => cells.read(reader, groups)?, {
            AnyCells::Count(counts) => {
                for _ in 0..groups {
                    counts.push(reader.signed()?);
                }
            }
            AnyCells::Strings(cells) => {
                let largest = matches!(kind, AggKind::Max(_));
                *cells = StringCells::read(largest, reader, groups)?;
            }
            AnyCells::Elsewhere => {}
        });
        Ok(state)
    }
}
