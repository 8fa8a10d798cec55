//! Bloom filters: whether a value may be among those of a chunk or of a vector. "No" is certain.
//!
//! A split-block Bloom filter as the Parquet format defines it ("Parquet Bloom Filter", after Putze, Sanders and Singler,
//! "Cache-, Hash- and Space-Efficient Bloom Filters", 2007), but for the hash: xxh3 of 64 bits without a seed, of the eight
//! little-endian bytes of an integer read with sign, or of the bytes of a string. A value sets one bit in each of the eight
//! words of one block.
//!
//! ```text
//! filter   block * (8 * u32)
//! hash     upper half: which block | lower half: which bit of each word
//! ```
//!
//! A filter answers for values that are equal exactly if their stored forms are. What has other equal values (floats,
//! numeric, text under a collation that is not deterministic) is not looked up.

use xxhash_rust::xxh3::xxh3_64;

use crate::bounds;
use crate::error::FormatError;
use crate::meta::{ChunkMeta, bloom_context};
use crate::options::Compression;
use crate::section::{SectionMeta, section_checksum};
use crate::types::{ColumnSpec, PhysicalType};

/// Bytes of a block.
pub(crate) const BLOCK: usize = 32;
const WORDS: usize = BLOCK / 4;

/// The most bytes of a filter. More values than it has room for make it answer "perhaps" more often.
pub(crate) const MAX_BLOOM_BYTES: u32 = 2 << 20;

/// What each word's bit is taken from; the constants of the Parquet format.
const SALTS: [u32; WORDS] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// The hash of an integer, date or time: of its stored bytes read with sign, whatever the column's order.
#[inline]
pub fn hash_of_int(value: i64) -> u64 {
    xxh3_64(&value.to_le_bytes())
}

/// The hash of a byte string.
#[inline]
pub fn hash_of_bytes(value: &[u8]) -> u64 {
    xxh3_64(value)
}

/// Whether columns of this specification may have filters: those with bounds, whose equality is that of the stored form;
/// but not floats (two zeros) and booleans (two values).
pub(crate) fn eligible(spec: ColumnSpec) -> bool {
    bounds::kept(spec) && !spec.physical.is_float() && spec.physical != PhysicalType::Bool
}

#[inline]
fn place(hash: u64, blocks: usize) -> usize {
    ((hash >> 32).wrapping_mul(blocks as u64) >> 32) as usize
}

#[inline]
fn bits(hash: u64) -> [u32; WORDS] {
    SALTS.map(|salt| 1 << ((hash as u32).wrapping_mul(salt) >> 27))
}

/// A filter being filled.
#[derive(Debug)]
pub(crate) struct BloomBuilder {
    blocks: Vec<[u32; WORDS]>,
}

impl BloomBuilder {
    /// The bytes of a filter for so many distinct values: 10.5 bits each, which is wrong once in a hundred times.
    pub(crate) fn size_for(distinct: usize) -> usize {
        let blocks = distinct.saturating_mul(21).div_ceil(2 * BLOCK * 8);
        blocks.clamp(1, MAX_BLOOM_BYTES as usize / BLOCK) * BLOCK
    }

    pub(crate) fn new(distinct: usize) -> Self {
        Self { blocks: vec![[0; WORDS]; Self::size_for(distinct) / BLOCK] }
    }

    #[inline]
    pub(crate) fn insert(&mut self, hash: u64) {
        let place = place(hash, self.blocks.len());
        for (word, bit) in self.blocks[place].iter_mut().zip(bits(hash)) {
            *word |= bit;
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.blocks)
    }
}

/// A filter read from a chunk.
#[derive(Clone, Debug)]
struct Bloom {
    blocks: Vec<[u32; WORDS]>,
}

impl Bloom {
    fn open(spec: ColumnSpec, meta: &SectionMeta, stored: &[u8]) -> Result<Self, FormatError> {
        const WHAT: &str = "a Bloom filter";
        let computed = section_checksum(stored, meta.len, Compression::None, bloom_context(spec));
        if computed != meta.checksum {
            let (stored, computed) = (meta.checksum.into(), computed.into());
            return Err(FormatError::Checksum { what: WHAT, stored, computed });
        }
        let (whole, rest) = stored.as_chunks::<BLOCK>();
        if whole.is_empty() || !rest.is_empty() {
            return Err(FormatError::corrupt("a Bloom filter's length", stored.len()));
        }
        let mut blocks: Vec<[u32; WORDS]> = Vec::new();
        blocks
            .try_reserve_exact(whole.len())
            .map_err(|_| FormatError::OutOfMemory { bytes: stored.len() as u64 })?;
        blocks
            .extend(whole.iter().map(|block| bytemuck::cast::<[u8; BLOCK], [u32; WORDS]>(*block)));
        Ok(Self { blocks })
    }

    fn may_hold(&self, hash: u64) -> bool {
        self.blocks[place(hash, self.blocks.len())]
            .iter()
            .zip(bits(hash))
            .all(|(word, bit)| word & bit != 0)
    }
}

/// The filters of a chunk: one over all its values, or one for each of its vectors that has values.
#[derive(Clone, Debug)]
pub struct ChunkBlooms {
    chunk: Option<Bloom>,
    vectors: Vec<OfVector>,
}

#[derive(Clone, Debug)]
enum OfVector {
    /// Nothing but NULL.
    NoValues,
    Unknown,
    Known(Bloom),
}

impl ChunkBlooms {
    /// Opens the filters of a chunk. `bytes` are those of [`ChunkMeta::blooms`].
    ///
    /// # Errors
    /// What is corrupt in the bytes.
    pub fn open(meta: &ChunkMeta, bytes: &[u8]) -> Result<Self, FormatError> {
        let start = meta.blooms().map_or(0, |(offset, _)| offset);
        let open = |section: &SectionMeta| {
            let section = SectionMeta { offset: section.offset.saturating_sub(start), ..*section };
            Bloom::open(meta.spec, &section, section.slice(bytes)?)
        };
        let chunk = meta.bloom.as_ref().map(&open).transpose()?;
        let of_vector = |vector: &crate::VectorMeta| match &vector.bloom {
            _ if vector.null_count >= vector.rows => Ok(OfVector::NoValues),
            Some(section) => open(section).map(OfVector::Known),
            None => Ok(OfVector::Unknown),
        };
        let vectors = meta.vectors.iter().map(of_vector).collect::<Result<_, _>>()?;
        Ok(Self { chunk, vectors })
    }

    /// Whether the chunk may hold a value of this hash.
    pub fn may_hold(&self, hash: u64) -> bool {
        self.chunk.as_ref().is_none_or(|bloom| bloom.may_hold(hash))
            && (0..self.vectors.len()).any(|vector| self.vector_may_hold(vector, hash))
    }

    /// Whether a vector may hold a value of this hash, as far as its own filter tells.
    pub fn vector_may_hold(&self, vector: usize, hash: u64) -> bool {
        match self.vectors.get(vector) {
            Some(OfVector::NoValues) => false,
            Some(OfVector::Known(bloom)) => bloom.may_hold(hash),
            Some(OfVector::Unknown) | None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(values: impl Iterator<Item = i64>, distinct: usize) -> Bloom {
        let mut builder = BloomBuilder::new(distinct);
        values.for_each(|value| builder.insert(hash_of_int(value)));
        Bloom { blocks: builder.blocks }
    }

    #[test]
    fn what_was_inserted_is_held() {
        for distinct in [1, 2, 100, 10_000] {
            let bloom = filter(0..10_000, distinct);
            assert!((0..10_000).all(|value| bloom.may_hold(hash_of_int(value))));
        }
    }

    #[test]
    fn one_in_a_hundred_is_held_wrongly() {
        for distinct in [500, 8192, 122_880] {
            let bloom = filter(0..distinct, distinct as usize);
            let wrong = (0..50_000).filter(|v| bloom.may_hold(hash_of_int(-1 - v))).count();
            assert!(wrong < 900, "{wrong} of 50,000 with {distinct} values");
        }
    }

    #[test]
    fn sizes_have_limits() {
        assert_eq!(BloomBuilder::size_for(0), BLOCK);
        assert_eq!(BloomBuilder::size_for(24), BLOCK);
        assert_eq!(BloomBuilder::size_for(25), 2 * BLOCK);
        assert_eq!(BloomBuilder::size_for(usize::MAX), MAX_BLOOM_BYTES as usize);
    }

    /// Stored filters depend on every one of these.
    #[test]
    fn hashes_and_bits_never_change() {
        assert_eq!(hash_of_int(42), HASH_OF_42);
        assert_eq!(hash_of_bytes(b"pgcolumnar"), HASH_OF_NAME);
        assert_eq!(hash_of_int(-1), hash_of_bytes(&[0xff; 8]));
        let mut builder = BloomBuilder::new(100);
        builder.insert(hash_of_int(42));
        let set: Vec<(usize, u32)> = (builder.blocks.iter().flatten().copied().enumerate())
            .filter(|(_, word)| *word != 0)
            .collect();
        assert_eq!(set, BITS_OF_42);
    }

    const HASH_OF_42: u64 = 15_395_265_915_043_915_720;
    const HASH_OF_NAME: u64 = 5_111_098_264_296_683_068;
    const BITS_OF_42: [(usize, u32); WORDS] = [
        (32, 1 << 20),
        (33, 1 << 29),
        (34, 1 << 27),
        (35, 1 << 23),
        (36, 1 << 20),
        (37, 1 << 25),
        (38, 1),
        (39, 1 << 5),
    ];
}
