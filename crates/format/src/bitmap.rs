//! Which rows hold a value, while a column is collected. Costs nothing until the first NULL.

/// Bit set: the row has a value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bitmap {
    words: Vec<u64>,
    nulls: usize,
}

impl Bitmap {
    /// Records that row `row`, the next, is NULL.
    pub(crate) fn push_null(&mut self, row: usize) {
        if self.nulls == 0 {
            // All rows before have a value.
            self.words.resize(row / 64, u64::MAX);
            if !row.is_multiple_of(64) {
                self.words.push((1 << (row % 64)) - 1);
            }
        }
        if row.is_multiple_of(64) {
            self.words.push(0);
        }
        self.nulls += 1;
    }

    /// Records that row `row`, the next, has a value.
    #[inline]
    pub(crate) fn push_valid(&mut self, row: usize) {
        if self.nulls == 0 {
            return;
        }
        if row.is_multiple_of(64) {
            self.words.push(0);
        }
        let last = self.words.len() - 1;
        self.words[last] |= 1 << (row % 64);
    }

    #[inline]
    pub(crate) fn is_valid(&self, row: usize) -> bool {
        self.nulls == 0 || self.words[row / 64] >> (row % 64) & 1 == 1
    }

    pub(crate) fn null_count(&self) -> usize {
        self.nulls
    }

    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.nulls = 0;
    }

    pub(crate) fn byte_size(&self) -> usize {
        self.words.capacity() * 8
    }

    /// The bits of rows `start..start + len` moved to the front, and how many are clear; empty where none is.
    pub(crate) fn slice(&self, start: usize, len: usize) -> (Vec<u64>, usize) {
        if self.nulls == 0 || len == 0 {
            return (Vec::new(), 0);
        }
        let (first, shift) = (start / 64, start % 64);
        let mut words: Vec<u64> = (0..len.div_ceil(64))
            .map(|i| {
                let low = self.words[first + i] >> shift;
                let high = if shift == 0 {
                    0
                } else {
                    self.words.get(first + i + 1).map_or(0, |w| w << (64 - shift))
                };
                low | high
            })
            .collect();
        if !len.is_multiple_of(64)
            && let Some(last) = words.last_mut()
        {
            *last &= (1 << (len % 64)) - 1;
        }
        let set: usize = words.iter().map(|w| w.count_ones() as usize).sum();
        if set == len { (Vec::new(), 0) } else { (words, len - set) }
    }
}

/// Whether bit `row` is set in what [`Bitmap::slice`] gave.
#[inline]
pub(crate) fn bit(words: &[u64], row: usize) -> bool {
    words.is_empty() || words[row / 64] >> (row % 64) & 1 == 1
}
