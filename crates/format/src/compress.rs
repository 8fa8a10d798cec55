//! The compressors, with their contexts kept: one per chunk for writing, one per thread for reading.

use std::cell::RefCell;

use crate::error::FormatError;
use crate::options::Compression;

/// A section stays uncompressed unless compression saves at least one part in this many: below that, decompressing costs
/// a reader more than the bytes it saves from being read.
pub(crate) const MIN_SAVING_PART: usize = 8;

/// After this many sections in a row that compression did not help, the next [`SKIPPED`] are not tried.
const FAILURES_BEFORE_SKIP: u32 = 2;
const SKIPPED: u32 = 6;

/// Compresses the sections of one chunk.
pub(crate) struct Compressor {
    compression: Compression,
    zstd: Option<zstd::bulk::Compressor<'static>>,
    failures: u32,
    skip: u32,
    buffer: Vec<u8>,
}

impl Compressor {
    pub(crate) fn new(compression: Compression, level: i32) -> Self {
        let zstd = match compression {
            Compression::Zstd => zstd::bulk::Compressor::new(level.clamp(-7, 22)).ok(),
            Compression::None | Compression::Lz4 => None,
        };
        Self { compression, zstd, failures: 0, skip: 0, buffer: Vec::new() }
    }

    /// Forgets that compression did not help, since what follows is of another kind.
    pub(crate) fn expect_new_kind(&mut self) {
        self.failures = 0;
        self.skip = 0;
    }

    /// The bytes to store for `raw` and how they are compressed.
    pub(crate) fn compress<'a>(&'a mut self, raw: &'a [u8]) -> (&'a [u8], Compression) {
        if self.skip > 0 {
            self.skip -= 1;
            return (raw, Compression::None);
        }
        // Whatever does not get this small is not wanted.
        let limit = raw.len() - raw.len().div_ceil(MIN_SAVING_PART);
        if self.compression == Compression::None || limit == 0 {
            return (raw, Compression::None);
        }
        match self.try_compress(raw) {
            Some(size) if size <= limit => {
                self.failures = 0;
                (&self.buffer[..size], self.compression)
            }
            _ => {
                self.failures += 1;
                if self.failures >= FAILURES_BEFORE_SKIP {
                    self.skip = SKIPPED;
                }
                (raw, Compression::None)
            }
        }
    }

    fn try_compress(&mut self, raw: &[u8]) -> Option<usize> {
        match self.compression {
            Compression::None => None,
            Compression::Lz4 => {
                let bound = lz4_flex::block::get_maximum_output_size(raw.len());
                if self.buffer.len() < bound {
                    self.buffer.resize(bound, 0);
                }
                lz4_flex::block::compress_into(raw, &mut self.buffer).ok()
            }
            Compression::Zstd => {
                let bound = zstd::zstd_safe::compress_bound(raw.len());
                if self.buffer.len() < bound {
                    self.buffer.resize(bound, 0);
                }
                self.zstd.as_mut()?.compress_to_buffer(raw, &mut self.buffer[..]).ok()
            }
        }
    }
}

thread_local! {
    static ZSTD: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Decompresses `stored` to exactly `out`.
pub(crate) fn decompress(
    compression: Compression,
    stored: &[u8],
    out: &mut [u8],
) -> Result<(), FormatError> {
    let name = compression.as_str();
    let failed = |message: String| FormatError::Decompress { compression: name, message };
    let written = match compression {
        Compression::None => {
            if stored.len() != out.len() {
                return Err(FormatError::corrupt(
                    "an uncompressed section's lengths differ",
                    stored.len(),
                ));
            }
            out.copy_from_slice(stored);
            return Ok(());
        }
        Compression::Lz4 => {
            lz4_flex::block::decompress_into(stored, out).map_err(|e| failed(e.to_string()))?
        }
        Compression::Zstd => ZSTD.with(|slot| {
            let mut slot = slot.borrow_mut();
            let decompressor = match &mut *slot {
                Some(decompressor) => decompressor,
                empty => empty
                    .insert(zstd::bulk::Decompressor::new().map_err(|e| failed(e.to_string()))?),
            };
            decompressor.decompress_to_buffer(stored, out).map_err(|e| failed(e.to_string()))
        })?,
    };
    if written != out.len() {
        return Err(FormatError::truncated("a decompressed section", out.len(), written));
    }
    Ok(())
}
