//! How a table's new row groups are written: its own options over the settings.

use crate::guc::{self, CompressionSetting, EncodingSetting};
use columnar_format::{Compression, EncodeOptions, Encoding};
use pgrx::pg_sys;

/// Options in force for one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableOptions {
    pub row_group_rows: u32,
    pub encode: EncodeOptions,
}

/// The options of a table.
///
/// # Safety
/// `rel` is an open relation of this access method.
pub unsafe fn of(_rel: pg_sys::Relation) -> TableOptions {
    let compression = match guc::COMPRESSION.get() {
        CompressionSetting::None => Compression::None,
        CompressionSetting::Lz4 => Compression::Lz4,
        CompressionSetting::Zstd => Compression::Zstd,
    };
    TableOptions {
        row_group_rows: guc::ROW_GROUP_ROWS.get() as u32,
        encode: EncodeOptions {
            compression,
            compression_level: guc::COMPRESSION_LEVEL.get(),
            vector_rows: guc::VECTOR_ROWS.get() as usize,
            forced_encoding: forced_encoding(),
        },
    }
}

fn forced_encoding() -> Option<Encoding> {
    match guc::FORCE_ENCODING.get() {
        EncodingSetting::Auto => None,
        EncodingSetting::Plain => Some(Encoding::Plain),
        EncodingSetting::Constant => Some(Encoding::Constant),
        EncodingSetting::RunLength => Some(Encoding::RunLength),
        EncodingSetting::BitPacked => Some(Encoding::BitPacked),
        EncodingSetting::Delta => Some(Encoding::Delta),
        EncodingSetting::Dictionary => Some(Encoding::Dictionary),
        EncodingSetting::Alp => Some(Encoding::Alp),
    }
}
