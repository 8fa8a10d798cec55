//! Groups as bytes of temporary files.
//!
//! ```text
//! block     magic | section | section | ... | end          one a call of spill
//! section   GROUPS | count | keys of each group | states of each aggregate that has no set
//!           PAIRS  | aggregate | count | group (counted from the start of the block) and value of each pair
//! ```
//! Sections are small, so that reading a block needs little memory beside the table it is read into.

use super::aggregator::Aggregator;
use super::distinct::DistinctSet;
use super::memory::{grow, refill, reserve};
use super::merge::partition_of;
use super::rows::{KeyRows, canonical, split};
use super::spec::ValueType;
use super::state::State;
use super::table::CHUNK;
use super::wire::{Reader, damaged, put, put_bool, put_bytes, put_float, put_signed, put_wide};
use super::word;
use crate::error::ExecError;

const MAGIC: u8 = 0xc7;
const END: u8 = 0;
const GROUPS: u8 = 1;
const PAIRS: u8 = 2;

impl Aggregator {
    /// Appends all groups to `out` by hash partition (their number is a power of two) and forgets them.
    ///
    /// Each level partitions by other bits of the hash: a partition that is too large is read back and spilled at the next
    /// level. Without keys, what partitions is the values of distinct aggregates, and all else goes to partition 0: what
    /// is read from the partitions is to be closed and merged with each other.
    pub fn spill(&mut self, level: u32, out: &mut [Vec<u8>]) -> Result<(), ExecError> {
        let partitions = out.len();
        assert!(partitions.is_power_of_two());
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); partitions];
        // Of each group, its place in its partition, and the partition; for pairs.
        let mut places = Vec::new();
        let mut part_of = Vec::new();
        let with_pairs = self.aggregates.iter().any(|aggregate| aggregate.distinct.is_some());
        if self.is_grouped() {
            for group in 0..self.groups() {
                let part = partition_of(&self.table.rows, group, level, partitions);
                if with_pairs {
                    reserve(&mut places, 1)?;
                    places.push(lists[part].len() as u32);
                    reserve(&mut part_of, 1)?;
                    part_of.push(part as u32);
                }
                reserve(&mut lists[part], 1)?;
                lists[part].push(group as u32);
            }
        } else {
            lists[0].push(0);
        }
        for (list, out) in lists.iter().zip(out.iter_mut()) {
            out.push(MAGIC);
            for groups in list.chunks(CHUNK) {
                self.write_groups(groups, out)?;
            }
        }
        drop(lists);
        for (at, aggregate) in self.aggregates.iter().enumerate() {
            if let Some(set) = &aggregate.distinct {
                let part = |place: usize| match part_of.get(group_of(set, place)) {
                    Some(&part) => part as usize,
                    None => partition_of(&set.table.rows, place, level, partitions),
                };
                write_pairs(at, set, &places, part, out)?;
            }
        }
        out.iter_mut().for_each(|out| out.push(END));
        self.clear();
        Ok(())
    }

    /// Forgets all groups and gives their memory back.
    fn clear(&mut self) {
        let closed: Vec<bool> =
            self.aggregates.iter().map(|aggregate| aggregate.distinct.is_none()).collect();
        let fresh = Self::new(std::sync::Arc::clone(&self.spec));
        *self = fresh;
        for (aggregate, closed) in self.aggregates.iter_mut().zip(closed) {
            if closed {
                aggregate.distinct = None;
            }
        }
    }

    fn write_groups(&self, groups: &[u32], out: &mut Vec<u8>) -> Result<(), ExecError> {
        // The vectors below grow by doubling; this reserve is for the error.
        reserve(out, groups.len() * 8 * (self.table.rows.width() + self.aggregates.len()))?;
        out.push(GROUPS);
        put(groups.len() as u64, out);
        let rows = &self.table.rows;
        for &group in groups {
            for key in 0..rows.types.len() {
                write_key(rows, group as usize, key, out);
            }
        }
        for aggregate in self.aggregates.iter().filter(|aggregate| aggregate.distinct.is_none()) {
            aggregate.state.write(groups, out);
        }
        Ok(())
    }

    /// Takes in what [`Self::spill`] wrote: one block or several after another. Bytes that are something else are an error.
    pub fn absorb(&mut self, bytes: &[u8]) -> Result<(), ExecError> {
        let mut reader = Reader::new(bytes);
        // Our group of each group of the block.
        let mut remap = Vec::new();
        while reader.left() > 0 {
            if reader.byte()? != MAGIC {
                return Err(damaged());
            }
            remap.clear();
            loop {
                match reader.byte()? {
                    GROUPS => self.read_groups(&mut reader, &mut remap)?,
                    PAIRS => self.read_pairs(&mut reader, &remap)?,
                    END => break,
                    _ => return Err(damaged()),
                }
            }
        }
        Ok(())
    }

    fn read_groups(
        &mut self,
        reader: &mut Reader<'_>,
        remap: &mut Vec<u32>,
    ) -> Result<(), ExecError> {
        let count = reader.number()? as usize;
        if count > CHUNK || (!self.is_grouped() && count != 1) {
            return Err(damaged());
        }
        let before = remap.len();
        if self.is_grouped() {
            let mut rows = KeyRows::new(&self.spec.keys);
            read_rows(&mut rows, reader, count, 0)?;
            self.table.find_rows(&rows, 0..count, None, remap)?;
        } else {
            remap.push(0);
        }
        let from: Vec<u32> = (0..count as u32).collect();
        let groups = self.groups();
        for aggregate in &mut self.aggregates {
            if aggregate.distinct.is_some() {
                // Whether all get a value is only known to the pairs.
                aggregate.state.grow(groups, false)?;
                continue;
            }
            let state = State::read(aggregate.spec.kind, reader, count)?;
            aggregate.state.grow(groups, state.is_complete())?;
            aggregate.state.merge(&state, &from, &remap[before..])?;
        }
        Ok(())
    }

    fn read_pairs(&mut self, reader: &mut Reader<'_>, remap: &[u32]) -> Result<(), ExecError> {
        let at = reader.number()? as usize;
        let count = reader.number()? as usize;
        let grouped = self.is_grouped();
        let aggregate = self.aggregates.get_mut(at).ok_or_else(damaged)?;
        if count > CHUNK || aggregate.distinct.is_none() {
            return Err(damaged());
        }
        let kind = aggregate.spec.distinct.ok_or_else(damaged)?;
        let mut set = DistinctSet::new(grouped, kind);
        read_rows(&mut set.table.rows, reader, count, usize::from(grouped))?;
        if grouped {
            let known = |place| set.table.rows.word(place, 0) < remap.len() as u64;
            if !(0..count).all(known) {
                return Err(damaged());
            }
        }
        let places: Vec<u32> = (0..count as u32).collect();
        aggregate.take_pairs(&set, &places, grouped.then_some(remap))
    }
}

/// The group of a pair; no group's number where there are no keys.
fn group_of(set: &DistinctSet, place: usize) -> usize {
    if set.value == 0 { usize::MAX } else { set.table.rows.word(place, 0) as usize }
}

/// Writes the pairs of a set to the partitions that `part` gives.
fn write_pairs(
    aggregate: usize,
    set: &DistinctSet,
    places: &[u32],
    part: impl Fn(usize) -> usize,
    out: &mut [Vec<u8>],
) -> Result<(), ExecError> {
    let rows = &set.table.rows;
    let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); out.len()];
    let flush = |list: &mut Vec<u32>, out: &mut Vec<u8>| -> Result<(), ExecError> {
        reserve(out, list.len() * 10)?;
        out.push(PAIRS);
        put(aggregate as u64, out);
        put(list.len() as u64, out);
        for &pair in list.iter() {
            let pair = pair as usize;
            if set.value > 0 {
                put(u64::from(places[group_of(set, pair)]), out);
            }
            write_key(rows, pair, set.value, out);
        }
        list.clear();
        Ok(())
    };
    for pair in 0..rows.len {
        let part = part(pair);
        waiting[part].push(pair as u32);
        if waiting[part].len() == CHUNK {
            flush(&mut waiting[part], &mut out[part])?;
        }
    }
    for (list, out) in waiting.iter_mut().zip(out).filter(|(list, _)| !list.is_empty()) {
        flush(list, out)?;
    }
    Ok(())
}

fn write_key(rows: &KeyRows, row: usize, key: usize, out: &mut Vec<u8>) {
    let null = rows.is_null(row, key);
    put_bool(null, out);
    if null {
        return;
    }
    match rows.types[key] {
        ValueType::Bool => put_bool(rows.word(row, key) != 0, out),
        ValueType::Int => put_signed(rows.word(row, key) as i64, out),
        ValueType::Float => put_float(rows.float(row, key), out),
        ValueType::Decimal(_) => put_wide(rows.decimal(row, key), out),
        ValueType::Bytes => {
            put_bytes(word::bytes(rows.word(row, key), &rows.arena, &mut [0; 8]), out);
        }
    }
}

/// Reads `count` rows, of which the first `plain` keys are numbers of groups.
fn read_rows(
    rows: &mut KeyRows,
    reader: &mut Reader<'_>,
    count: usize,
    plain: usize,
) -> Result<(), ExecError> {
    let mut row = Vec::new();
    for place in 0..count {
        refill(&mut row, rows.width(), 0)?;
        for key in 0..rows.types.len() {
            let at = rows.offsets[key];
            if key < plain {
                row[at] = reader.number()?;
                continue;
            }
            if reader.bool()? {
                // Rows have NULL bits from the first NULL on.
                rows.widen()?;
                grow(&mut row, rows.width(), 0)?;
                row[rows.key_words + key / 64] |= 1 << (key % 64);
                continue;
            }
            row[at] = match rows.types[key] {
                ValueType::Bool => u64::from(reader.bool()?),
                ValueType::Int => reader.signed()? as u64,
                ValueType::Float => {
                    let value = reader.float()?;
                    if value.to_bits() == (-0.0f64).to_bits() {
                        rows.negative_zeros[key].push(place as u32);
                    }
                    canonical(value)
                }
                ValueType::Decimal(_) => {
                    let (low, high) = split(reader.wide()?);
                    row[at + 1] = high;
                    low
                }
                ValueType::Bytes => word::store(reader.bytes()?, &mut rows.arena)?,
            };
        }
        reserve(&mut rows.words, row.len())?;
        rows.words.extend_from_slice(&row);
        rows.len += 1;
    }
    Ok(())
}
