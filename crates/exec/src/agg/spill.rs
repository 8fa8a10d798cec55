//! Groups as bytes of temporary files.
//!
//! ```text
//! piece     magic | section | section | ... | end
//! section   GROUPS | count | keys of each group | states of each aggregate that has no set
//!           KEYS   | count | keys of each group
//!           PAIRS  | aggregate | count | group (counted from the start of the piece) and value of each pair
//! ```
//! A spill is written in small pieces, which leave one after another, so that it needs little memory beside the table. Each
//! piece stands for itself: whoever reads pieces may spill what was read after any of them. So pairs come with the keys of
//! their groups.

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
const KEYS: u8 = 3;

/// Bytes that a piece takes about, where groups are large.
const PIECE: usize = 1 << 18;

/// Takes the pieces of a spill with the partition of each. An error ends the spill.
pub type PieceSink<'a> = dyn FnMut(usize, Vec<u8>) -> Result<(), ExecError> + 'a;

impl Aggregator {
    /// Hands all groups out by hash partition (their number is a power of two) and forgets them.
    ///
    /// Each level partitions by other bits of the hash: a partition that is too large is read back and spilled at the next
    /// level. Without keys, what partitions is the values of distinct aggregates, and all else goes to partition 0: what
    /// is read from the partitions is to be closed and merged with each other.
    pub fn spill(
        &mut self,
        level: u32,
        partitions: usize,
        out: &mut PieceSink<'_>,
    ) -> Result<(), ExecError> {
        assert!(partitions.is_power_of_two());
        // Of each group, its partition; for pairs.
        let mut part_of = Vec::new();
        if self.is_grouped() {
            if self.aggregates.iter().any(|aggregate| aggregate.distinct.is_some()) {
                reserve(&mut part_of, self.groups())?;
            }
            let with_pairs = part_of.capacity() > 0;
            let rows = &self.table.rows;
            let parts = (0..self.groups()).map(|group| {
                let part = partition_of(rows, group, level, partitions);
                if with_pairs {
                    part_of.push(part as u32);
                }
                part
            });
            let write = |groups: &[u32], piece: &mut Vec<u8>| self.write_groups(groups, piece);
            let count = per_piece(self.memory_size(), self.groups());
            write_pieces(parts, partitions, count, write, out)?;
        } else {
            write_pieces([0].into_iter(), 1, 1, |all, piece| self.write_groups(all, piece), out)?;
        }
        for (at, aggregate) in self.aggregates.iter().enumerate() {
            let Some(set) = &aggregate.distinct else { continue };
            let rows = &set.table.rows;
            let parts = (0..rows.len).map(|pair| match part_of.get(group_of(set, pair)) {
                Some(&part) => part as usize,
                None => partition_of(rows, pair, level, partitions),
            });
            let write =
                |pairs: &[u32], piece: &mut Vec<u8>| self.write_pairs(at, set, pairs, piece);
            let count = per_piece(set.memory_size(), rows.len);
            write_pieces(parts, partitions, count, write, out)?;
        }
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
        self.write_keys(groups.iter(), groups.len(), out);
        for aggregate in self.aggregates.iter().filter(|aggregate| aggregate.distinct.is_none()) {
            aggregate.state.write(groups, out);
        }
        Ok(())
    }

    fn write_keys<'a>(
        &self,
        groups: impl Iterator<Item = &'a u32>,
        count: usize,
        out: &mut Vec<u8>,
    ) {
        put(count as u64, out);
        let rows = &self.table.rows;
        for &group in groups {
            for key in 0..rows.types.len() {
                write_key(rows, group as usize, key, out);
            }
        }
    }

    /// Writes pairs of a set, and the keys of their groups before them.
    fn write_pairs(
        &self,
        aggregate: usize,
        set: &DistinctSet,
        pairs: &[u32],
        out: &mut Vec<u8>,
    ) -> Result<(), ExecError> {
        let group = |pair: &u32| group_of(set, *pair as usize) as u32;
        // By group, so that each group's key is written once.
        let mut sorted = pairs.to_vec();
        reserve(out, pairs.len() * 10)?;
        if self.is_grouped() {
            sorted.sort_by_key(group);
            let mut groups: Vec<u32> = sorted.iter().map(group).collect();
            groups.dedup();
            out.push(KEYS);
            self.write_keys(groups.iter(), groups.len(), out);
        }
        out.push(PAIRS);
        put(aggregate as u64, out);
        put(pairs.len() as u64, out);
        let mut place = 0;
        let mut last = sorted.first().map(group);
        for pair in &sorted {
            if self.is_grouped() {
                place += u64::from(last != Some(group(pair)));
                last = Some(group(pair));
                put(place, out);
            }
            write_key(&set.table.rows, *pair as usize, set.value, out);
        }
        Ok(())
    }

    /// Takes in what [`Self::spill`] wrote: one piece or several after another. Bytes that are something else are an error.
    pub fn absorb(&mut self, bytes: &[u8]) -> Result<(), ExecError> {
        let mut reader = Reader::new(bytes);
        // Our group of each group of the piece.
        let mut remap = Vec::new();
        while reader.left() > 0 {
            if reader.byte()? != MAGIC {
                return Err(damaged());
            }
            remap.clear();
            loop {
                match reader.byte()? {
                    GROUPS => self.read_groups(&mut reader, &mut remap)?,
                    KEYS => self.read_keys(&mut reader, &mut remap)?,
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
        let before = remap.len();
        let count = self.find_keys(reader, remap)?;
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

    /// Groups of pairs: mostly known, unless what was read before was spilled again.
    fn read_keys(
        &mut self,
        reader: &mut Reader<'_>,
        remap: &mut Vec<u32>,
    ) -> Result<(), ExecError> {
        let before = self.groups();
        self.find_keys(reader, remap)?;
        let groups = self.groups();
        for aggregate in &mut self.aggregates {
            aggregate.state.grow(groups, groups == before)?;
        }
        Ok(())
    }

    /// Reads keys, notes our groups of them, and gives their number.
    fn find_keys(
        &mut self,
        reader: &mut Reader<'_>,
        remap: &mut Vec<u32>,
    ) -> Result<usize, ExecError> {
        let count = reader.number()? as usize;
        if count > CHUNK || (!self.is_grouped() && count != 1) {
            return Err(damaged());
        }
        if self.is_grouped() {
            let mut rows = KeyRows::new(&self.spec.keys);
            read_rows(&mut rows, reader, count, 0)?;
            self.table.find_rows(&rows, 0..count, None, remap)?;
        } else {
            remap.push(0);
        }
        Ok(count)
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

/// How many of so many things go into a piece, by the memory that they take.
fn per_piece(memory: usize, things: usize) -> usize {
    (PIECE / (memory / things.max(1)).max(1)).clamp(1, CHUNK)
}

/// Writes things, numbered from 0, of which `parts` gives the partitions, in pieces of at most `count`.
fn write_pieces(
    parts: impl Iterator<Item = usize>,
    partitions: usize,
    count: usize,
    write: impl Fn(&[u32], &mut Vec<u8>) -> Result<(), ExecError>,
    out: &mut PieceSink<'_>,
) -> Result<(), ExecError> {
    let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); partitions];
    let mut flush = |part: usize, list: &mut Vec<u32>| {
        let mut piece = vec![MAGIC];
        write(list, &mut piece)?;
        piece.push(END);
        list.clear();
        out(part, piece)
    };
    for (thing, part) in parts.enumerate() {
        let list = &mut waiting[part];
        list.push(thing as u32);
        if list.len() == count {
            flush(part, list)?;
        }
    }
    for (part, list) in waiting.iter_mut().enumerate().filter(|(_, list)| !list.is_empty()) {
        flush(part, list)?;
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
