//! A section: a run of bytes that is compressed and checksummed as one, a chunk's dictionary or one of its vectors.
//!
//! The checksum is of the stored bytes and, as its seed, of what the metadata says of them, so that a section is never
//! read by another section's metadata and no length is believed before it is checked.

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::bits;
use crate::compress::{Compressor, decompress};
use crate::error::FormatError;
use crate::options::Compression;
use crate::packed::Packed;

/// The largest section before compression: Arrow's offsets are 32-bit with sign.
pub(crate) const MAX_SECTION: u32 = i32::MAX as u32;

/// Where a section lies and how it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionMeta {
    /// The first byte, counted from the chunk's.
    pub offset: u64,
    /// Bytes stored.
    pub len: u32,
    /// Bytes once decompressed.
    pub raw_len: u32,
    /// How they are compressed.
    pub compression: Compression,
    /// xxh3 of the stored bytes, low half; [`section_checksum`].
    pub checksum: u32,
}

impl SectionMeta {
    /// The bytes of this section within its chunk's.
    pub fn slice<'a>(&self, chunk: &'a [u8]) -> Result<&'a [u8], FormatError> {
        let start = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(self.len as usize);
        chunk.get(start..end).ok_or(FormatError::truncated(
            "a section of the chunk",
            end,
            chunk.len(),
        ))
    }
}

/// The checksum of a section; `context` says what the section is ([`crate::VectorMeta::context`]).
#[doc(hidden)]
pub fn section_checksum(
    stored: &[u8],
    raw_len: u32,
    compression: Compression,
    context: u64,
) -> u32 {
    let seed = (u64::from(raw_len) | (compression as u64) << 32)
        ^ context.rotate_left(17).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    xxh3_64_with_seed(stored, seed) as u32
}

/// Appends `raw` to a chunk as a section.
pub(crate) fn write_section(
    chunk: &mut Vec<u8>,
    compressor: &mut Compressor,
    raw: &[u8],
    context: u64,
) -> SectionMeta {
    assert!(
        raw.len() <= MAX_SECTION as usize,
        "a section of {} bytes exceeds the format's limit",
        raw.len()
    );
    let offset = chunk.len() as u64;
    let raw_len = raw.len() as u32;
    let (stored, compression) = compressor.compress(raw);
    chunk.extend_from_slice(stored);
    SectionMeta {
        offset,
        len: stored.len() as u32,
        raw_len,
        compression,
        checksum: section_checksum(stored, raw_len, compression, context),
    }
}

/// A section's bytes, decompressed and aligned to 8, read from the front.
pub(crate) struct Reader {
    buffer: Buffer,
    position: usize,
}

impl Reader {
    /// Checks and decompresses a section.
    pub(crate) fn open(
        meta: &SectionMeta,
        stored: &[u8],
        context: u64,
        what: &'static str,
    ) -> Result<Self, FormatError> {
        if stored.len() != meta.len as usize {
            return Err(FormatError::truncated(what, meta.len as usize, stored.len()));
        }
        if meta.raw_len > MAX_SECTION {
            return Err(FormatError::TooLarge {
                what,
                value: meta.raw_len.into(),
                limit: MAX_SECTION.into(),
            });
        }
        let computed = section_checksum(stored, meta.raw_len, meta.compression, context);
        if computed != meta.checksum {
            return Err(FormatError::Checksum {
                what,
                stored: meta.checksum.into(),
                computed: computed.into(),
            });
        }
        let len = meta.raw_len as usize;
        if meta.compression == Compression::None && meta.len != meta.raw_len {
            return Err(FormatError::corrupt(
                "an uncompressed section's lengths differ",
                meta.raw_len,
            ));
        }
        let mut words: Vec<u64> = Vec::new();
        let count = len.div_ceil(8);
        words
            .try_reserve_exact(count)
            .map_err(|_| FormatError::OutOfMemory { bytes: len as u64 })?;
        words.resize(count, 0);
        decompress(
            meta.compression,
            stored,
            &mut bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..len],
        )?;
        let buffer = Buffer::from_vec(words).slice_with_length(0, len);
        Ok(Self { buffer, position: 0 })
    }

    pub(crate) fn remaining(&self) -> usize {
        self.buffer.len() - self.position
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, len: usize, what: &'static str) -> Result<Buffer, FormatError> {
        if len > self.remaining() {
            return Err(FormatError::truncated(what, len, self.remaining()));
        }
        let taken = self.buffer.slice_with_length(self.position, len);
        self.position += len;
        Ok(taken)
    }

    /// The next `len` bytes and what pads them to 8.
    pub(crate) fn take_padded(
        &mut self,
        len: usize,
        what: &'static str,
    ) -> Result<Buffer, FormatError> {
        let taken = self.take(len, what)?;
        let padding = (8 - len % 8) % 8;
        self.take(padding, what)?;
        Ok(taken)
    }

    /// The next `len` numbers. Only called where the position is aligned for them: every part before is padded to 8.
    pub(crate) fn take_scalars<T: ArrowNativeType>(
        &mut self,
        len: usize,
        what: &'static str,
    ) -> Result<ScalarBuffer<T>, FormatError> {
        let bytes = len.checked_mul(size_of::<T>()).ok_or(FormatError::corrupt(what, len))?;
        if !self.position.is_multiple_of(align_of::<T>()) {
            return Err(FormatError::corrupt("a misaligned part of a section", self.position));
        }
        Ok(ScalarBuffer::new(self.take(bytes, what)?, 0, len))
    }

    pub(crate) fn take_u64(&mut self, what: &'static str) -> Result<u64, FormatError> {
        Ok(self.take_scalars::<u64>(1, what)?[0])
    }

    /// The next `len` bit-packed numbers, see [`crate::packed`].
    pub(crate) fn take_packed(
        &mut self,
        len: usize,
        what: &'static str,
    ) -> Result<Packed, FormatError> {
        let width = self.take_u64(what)?;
        if width > 64 {
            return Err(FormatError::corrupt("a bit width above 64", width));
        }
        let reference = self.take_u64(what)?;
        let words = self.take_scalars(bits::words_for(len, width as u8), what)?;
        Ok(Packed::new(width as u8, reference, words, len))
    }

    /// Everything not read yet.
    pub(crate) fn take_rest(&mut self) -> Buffer {
        let rest = self.buffer.slice(self.position);
        self.position = self.buffer.len();
        rest
    }

    /// Checks that nothing is left.
    pub(crate) fn finish(&self) -> Result<(), FormatError> {
        match self.remaining() {
            0 => Ok(()),
            rest => Err(FormatError::corrupt("bytes after the end of a section's content", rest)),
        }
    }
}
