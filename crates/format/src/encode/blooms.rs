//! Which Bloom filters a chunk is given.
//!
//! None where they would tell little that is not known without: few distinct values, or vectors whose bounds hardly overlap,
//! as those of sorted columns. Where values hardly repeat from vector to vector, each vector has a filter of its own: they
//! take little more than one over the chunk, tell which vector to read, and together answer for the chunk. Else there is
//! one over the chunk.

use std::cmp::Ordering;
use std::ops::Range;

use super::writer::ChunkWriter;
use crate::bloom::{self, BloomBuilder};
use crate::bounds;
use crate::meta::VectorMeta;
use crate::options::BloomFilters;
use crate::types::{BoundsOrder, ColumnSpec};

/// Chunks with fewer distinct values have no filter: they are small, and a row group is likely to have all of them.
const LEAST_DISTINCT: usize = 32;

/// Filters that were not asked for take at most a part in so many of the chunk's bytes.
const PART_OF_BYTES: usize = 32;

/// Vectors from which on their bounds tell how a column is sorted.
const LEAST_VECTORS: usize = 4;

/// Counts distinct hashes: as many as set that many of its bits (linear counting, Whang et al., 1990).
struct Counter {
    words: Vec<u64>,
    set: usize,
}

impl Counter {
    fn new(values: usize) -> Self {
        Self { words: vec![0; values.div_ceil(8).next_power_of_two()], set: 0 }
    }

    #[inline]
    fn insert(&mut self, hash: u64) {
        let bit = hash as usize & (self.words.len() * 64 - 1);
        let word = &mut self.words[bit / 64];
        self.set += (*word >> (bit % 64) & 1 == 0) as usize;
        *word |= 1 << (bit % 64);
    }

    fn count(&self) -> usize {
        let bits = (self.words.len() * 64) as f64;
        let unset = bits - self.set as f64;
        (bits * (bits / unset.max(1.0)).ln()).round() as usize
    }
}

/// The values of one vector.
struct Part {
    hashes: Range<usize>,
    distinct: usize,
}

/// Gives a chunk whose vectors are written the filters that it is to have. `hashes` appends the hashes of a vector's values.
pub(super) fn write(
    writer: &mut ChunkWriter,
    vectors: &[Range<usize>],
    hashes: impl Fn(Range<usize>, &mut Vec<u64>),
) {
    let limit = match writer.options.bloom_filters {
        BloomFilters::None => return,
        BloomFilters::Auto => writer.bytes.len() / PART_OF_BYTES,
        BloomFilters::All => usize::MAX,
    };
    let known = writer.distinct.map(|distinct| distinct as usize);
    if !bloom::eligible(writer.spec)
        || known
            .is_some_and(|known| known < LEAST_DISTINCT || BloomBuilder::size_for(known) > limit)
        || BloomBuilder::size_for(LEAST_DISTINCT) > limit
        || bounds_tell_all(writer.spec, &writer.vectors)
    {
        return;
    }
    let mut all = Vec::new();
    let mut counter = Counter::new(vectors.iter().map(Range::len).sum());
    let mut parts = Vec::with_capacity(vectors.len());
    for (range, meta) in vectors.iter().zip(&writer.vectors) {
        let start = all.len();
        if meta.null_count < meta.rows {
            hashes(range.clone(), &mut all);
        }
        let mut own = Counter::new(range.len());
        for hash in &all[start..] {
            own.insert(*hash);
            counter.insert(*hash);
        }
        parts.push(Part { hashes: start..all.len(), distinct: own.count() });
        // No fewer than bits are set: most columns that are too wide are told by their first vectors.
        if BloomBuilder::size_for(counter.set) > limit {
            return;
        }
    }
    let distinct = known.unwrap_or_else(|| counter.count());
    if distinct < LEAST_DISTINCT {
        return;
    }
    let separate: usize = parts.iter().map(|part| part.distinct).sum();
    let size: usize = parts.iter().map(|part| BloomBuilder::size_for(part.distinct)).sum();
    if parts.len() > 1 && separate <= 2 * distinct && size <= limit {
        for (vector, part) in parts.into_iter().enumerate().filter(|(_, p)| !p.hashes.is_empty()) {
            let filter = filled(part.distinct, &all[part.hashes]);
            let section = writer.bloom(&filter);
            writer.vectors[vector].bloom = Some(section);
        }
    } else if BloomBuilder::size_for(distinct) <= limit {
        let filter = filled(distinct, &all);
        writer.bloom = Some(writer.bloom(&filter));
    }
}

fn filled(distinct: usize, hashes: &[u64]) -> BloomBuilder {
    let mut filter = BloomBuilder::new(distinct);
    hashes.iter().for_each(|hash| filter.insert(*hash));
    filter
}

/// Whether the bounds of a vector overlap with those of two others at most, on average.
fn bounds_tell_all(spec: ColumnSpec, vectors: &[VectorMeta]) -> bool {
    let mut lower = Vec::with_capacity(vectors.len());
    let mut upper = Vec::with_capacity(vectors.len());
    for vector in vectors.iter().filter(|vector| vector.null_count < vector.rows) {
        let (Some(min), Some(max)) = (&vector.min, &vector.max) else { return false };
        lower.push(min);
        upper.push(max);
    }
    if lower.len() < LEAST_VECTORS {
        return false;
    }
    let order = |a: &&bounds::Bound, b: &&bounds::Bound| compare(spec.order, a, b);
    lower.sort_by(order);
    upper.sort_by(order);
    let mut ended = 0;
    // Each pair that overlaps is met where the later of the two begins.
    let mut pairs = 0;
    for (at, min) in lower.iter().enumerate() {
        while upper.get(ended).is_some_and(|max| order(max, min).is_lt()) {
            ended += 1;
        }
        pairs += at.saturating_sub(ended);
    }
    pairs <= lower.len()
}

fn compare(order: BoundsOrder, a: &bounds::Bound, b: &bounds::Bound) -> Ordering {
    bounds::order(order, a, b).unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bloom::hash_of_int;

    #[test]
    fn distinct_values_are_counted() {
        for (values, distinct) in [(10, 3), (8192, 8192), (8192, 100), (122_880, 40_000)] {
            let mut counter = Counter::new(values);
            (0..values).for_each(|value| counter.insert(hash_of_int((value % distinct) as i64)));
            let error = counter.count().abs_diff(distinct);
            assert!(error * 50 <= distinct, "{} instead of {distinct}", counter.count());
        }
    }
}
