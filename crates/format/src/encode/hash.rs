//! Distinct values of a chunk, numbered in the order they first come. A table of open addressing; entries hold the
//! number and half of the hash, so that most probes that fail do not look at the value.

use xxhash_rust::xxh3::xxh3_64;

/// Numbers distinct things by their hashes.
pub(super) struct Table {
    /// Upper half: upper half of the hash. Lower half: number + 1, 0 where free.
    slots: Vec<u64>,
    len: u32,
}

impl Table {
    pub(super) fn new() -> Self {
        Self { slots: vec![0; 1024], len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// The number of the thing with this hash that `same` finds equal; a new one (the second result) if none is.
    #[inline]
    pub(super) fn number(&mut self, hash: u64, same: impl Fn(u32) -> bool) -> (u32, bool) {
        let mask = self.slots.len() - 1;
        let tag = hash & 0xffff_ffff_0000_0000;
        // The middle bits place it, the upper ones are its tag; both halves of the table's hashes differ then.
        let mut place = (hash >> 8) as usize & mask;
        loop {
            let slot = self.slots[place];
            if slot == 0 {
                break;
            }
            let number = slot as u32 - 1;
            if slot & 0xffff_ffff_0000_0000 == tag && same(number) {
                return (number, false);
            }
            place = (place + 1) & mask;
        }
        self.len += 1;
        self.slots[place] = tag | u64::from(self.len);
        (self.len - 1, true)
    }

    /// Whether the table must be rebuilt larger before the next number is given.
    pub(super) fn is_full(&self) -> bool {
        self.len as usize * 2 > self.slots.len()
    }

    /// Rebuilds the table larger; `hash` gives the hash of a number.
    pub(super) fn grow(&mut self, hash: impl Fn(u32) -> u64) {
        let size = self.slots.len() * 4;
        self.slots.clear();
        self.slots.resize(size, 0);
        let mask = size - 1;
        for number in 0..self.len {
            let hash = hash(number);
            let mut place = (hash >> 8) as usize & mask;
            while self.slots[place] != 0 {
                place = (place + 1) & mask;
            }
            self.slots[place] = hash & 0xffff_ffff_0000_0000 | u64::from(number + 1);
        }
    }
}

#[inline]
pub(super) fn of_number(value: i64) -> u64 {
    let mixed = (value as u64 ^ (value as u64 >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

#[inline]
pub(super) fn of_bytes(value: &[u8]) -> u64 {
    xxh3_64(value)
}

/// A chunk's dictionary as it is built.
pub(super) struct Numbered {
    /// A row that has each distinct value.
    pub(super) firsts: Vec<u32>,
    /// Each row's number.
    pub(super) codes: Vec<u32>,
}

/// Numbers the values of `rows` rows, or gives up once there are more than `limit`.
///
/// `hash` is of a row's value, `same` compares those of two rows. NULL rows repeat the number before them.
pub(super) fn number_rows(
    rows: usize,
    limit: usize,
    is_valid: impl Fn(usize) -> bool,
    hash: impl Fn(usize) -> u64,
    same: impl Fn(usize, usize) -> bool,
) -> Option<Numbered> {
    let mut table = Table::new();
    let mut firsts: Vec<u32> = Vec::new();
    let mut codes: Vec<u32> = Vec::with_capacity(rows);
    // The last row numbered, since values often repeat.
    let mut last: Option<(usize, u32)> = None;
    for row in 0..rows {
        if !is_valid(row) {
            codes.push(last.map_or(0, |(_, code)| code));
            continue;
        }
        if let Some((before, code)) = last
            && same(before, row)
        {
            codes.push(code);
            continue;
        }
        let (code, new) =
            table.number(hash(row), |number| same(firsts[number as usize] as usize, row));
        if new {
            if firsts.len() == limit {
                return None;
            }
            firsts.push(row as u32);
            if table.is_full() {
                table.grow(|number| hash(firsts[number as usize] as usize));
            }
        }
        codes.push(code);
        last = Some((row, code));
    }
    Some(Numbered { firsts, codes })
}

/// Rows looked at to foresee how many distinct values a chunk has.
const SAMPLE: usize = 4096;

/// Distinct values in a sample of the rows, and the sample's size (NULLs are left out).
pub(super) fn sample(
    rows: usize,
    is_valid: impl Fn(usize) -> bool,
    hash: impl Fn(usize) -> u64,
) -> (usize, usize) {
    let step = rows.div_ceil(SAMPLE).max(1);
    let mut table = Table::new();
    let mut hashes: Vec<u64> = Vec::with_capacity(SAMPLE);
    let mut taken = 0;
    for row in (0..rows).step_by(step).filter(|row| is_valid(*row)) {
        taken += 1;
        let hash = hash(row);
        // Two values of one hash count as one, which a sample may.
        let (_, new) = table.number(hash, |number| hashes[number as usize] == hash);
        if new {
            hashes.push(hash);
            if table.is_full() {
                table.grow(|number| hashes[number as usize]);
            }
        }
    }
    (table.len(), taken)
}
