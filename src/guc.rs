//! Settings, typed; each description gives unit and effect.

use core::ffi::CStr;
use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting, PostgresGucEnum};

/// Choices of `pgcolumnar.compression`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PostgresGucEnum)]
pub enum CompressionSetting {
    #[name = c"none"]
    None,
    #[name = c"lz4"]
    Lz4,
    #[name = c"zstd"]
    Zstd,
}

/// Choices of `pgcolumnar.bloom_filters`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PostgresGucEnum)]
pub enum BloomSetting {
    #[name = c"none"]
    None,
    #[name = c"auto"]
    Auto,
    #[name = c"all"]
    All,
}

/// Choices of `pgcolumnar.force_encoding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PostgresGucEnum)]
pub enum EncodingSetting {
    #[name = c"auto"]
    Auto,
    #[name = c"plain"]
    Plain,
    #[name = c"constant"]
    Constant,
    #[name = c"run_length"]
    RunLength,
    #[name = c"bit_packed"]
    BitPacked,
    #[name = c"delta"]
    Delta,
    #[name = c"dictionary"]
    Dictionary,
    #[name = c"alp"]
    Alp,
}

/// `pgcolumnar.enable_vectorized`: use batch execution nodes.
pub static ENABLE_VECTORIZED: GucSetting<bool> = GucSetting::<bool>::new(true);
/// `pgcolumnar.compression`: default compression of new row groups.
pub static COMPRESSION: GucSetting<CompressionSetting> =
    GucSetting::<CompressionSetting>::new(CompressionSetting::Zstd);
/// `pgcolumnar.compression_level`: default zstd level of new row groups.
pub static COMPRESSION_LEVEL: GucSetting<i32> = GucSetting::<i32>::new(3);
/// `pgcolumnar.row_group_rows`: default rows of a new row group.
pub static ROW_GROUP_ROWS: GucSetting<i32> = GucSetting::<i32>::new(122_880);
/// `pgcolumnar.vector_rows`: default rows of a vector.
pub static VECTOR_ROWS: GucSetting<i32> = GucSetting::<i32>::new(8192);
/// `pgcolumnar.bloom_filters`: default Bloom filters of new row groups.
pub static BLOOM_FILTERS: GucSetting<BloomSetting> =
    GucSetting::<BloomSetting>::new(BloomSetting::Auto);
/// `pgcolumnar.bulk_without_decoding`: fill row groups although logical decoding does not see them.
pub static BULK_WITHOUT_DECODING: GucSetting<bool> = GucSetting::<bool>::new(false);
/// `pgcolumnar.bulk_threshold`: rows a transaction puts on row pages before it fills row groups.
pub static BULK_THRESHOLD: GucSetting<i32> = GucSetting::<i32>::new(4096);
/// `pgcolumnar.merge_threshold`: rows on row pages from which VACUUM moves them to row groups.
pub static MERGE_THRESHOLD: GucSetting<i32> = GucSetting::<i32>::new(1000);
/// `pgcolumnar.cache_size`: decompressed vectors a backend keeps, in kB.
pub static CACHE_SIZE: GucSetting<i32> = GucSetting::<i32>::new(65_536);
/// `pgcolumnar.write_buffer`: rows a transaction collects for row groups, in kB over all tables.
pub static WRITE_BUFFER: GucSetting<i32> = GucSetting::<i32>::new(262_144);
/// `pgcolumnar.force_encoding`: encoding of new vectors, for tests.
pub static FORCE_ENCODING: GucSetting<EncodingSetting> =
    GucSetting::<EncodingSetting>::new(EncodingSetting::Auto);
/// `pgcolumnar.max_threads`: threads that encode, or run batches of a query, beside the backend.
pub static MAX_THREADS: GucSetting<i32> = GucSetting::<i32>::new(-1);

/// Fewest and most rows of a row group.
pub const ROW_GROUP_ROWS_RANGE: (i32, i32) = (256, 1_048_576);
/// Fewest and most rows of a vector.
pub const VECTOR_ROWS_RANGE: (i32, i32) = (64, 131_072);
/// Lowest and highest zstd level.
pub const COMPRESSION_LEVEL_RANGE: (i32, i32) = (1, 19);

/// Defines all settings.
pub fn register() {
    GucRegistry::define_bool_guc(
        c"pgcolumnar.enable_vectorized",
        c"Use batch execution for queries on columnar tables.",
        c"When off, plans over columnar tables use PostgreSQL's own nodes.",
        &ENABLE_VECTORIZED,
        GucContext::Userset,
        GucFlags::default(),
    );
    GucRegistry::define_bool_guc(
        c"pgcolumnar.bulk_without_decoding",
        c"Fill row groups directly although wal_level is logical, for tables in no publication.",
        c"Logical decoding does not see such rows. When off, rows are written as rows, and VACUUM moves them later.",
        &BULK_WITHOUT_DECODING,
        GucContext::Suset,
        GucFlags::default(),
    );
    GucRegistry::define_enum_guc(
        c"pgcolumnar.compression",
        c"Compression of new row groups of tables without an option of their own.",
        c"One of none, lz4, zstd. It is applied on top of the encoding where it saves at least an eighth.",
        &COMPRESSION,
        GucContext::Userset,
        GucFlags::default(),
    );
    GucRegistry::define_enum_guc(
        c"pgcolumnar.bloom_filters",
        c"Columns that have Bloom filters in new row groups of tables without a list of their own.",
        c"One of none, auto (where they take at most 3 % of the column), all (where they are of use).",
        &BLOOM_FILTERS,
        GucContext::Userset,
        GucFlags::default(),
    );
    GucRegistry::define_enum_guc(
        c"pgcolumnar.force_encoding",
        c"Encoding of new vectors, for tests.",
        c"With auto, the smallest encoding is chosen; others are used where they can hold the vector.",
        &FORCE_ENCODING,
        GucContext::Userset,
        GucFlags::default(),
    );
    int(
        c"pgcolumnar.compression_level",
        c"zstd level of new row groups of tables without an option of their own.",
        c"Higher levels take longer to write and are smaller; reading costs the same.",
        &COMPRESSION_LEVEL,
        COMPRESSION_LEVEL_RANGE,
        GucFlags::default(),
    );
    int(
        c"pgcolumnar.row_group_rows",
        c"Rows of a new row group of tables without an option of their own.",
        c"A group is closed earlier when its values take 64 MB.",
        &ROW_GROUP_ROWS,
        ROW_GROUP_ROWS_RANGE,
        GucFlags::default(),
    );
    int(
        c"pgcolumnar.vector_rows",
        c"Rows of a vector, the unit that is decoded at a time, of tables without an option of their own.",
        c"Smaller vectors make point reads cheaper and compress less.",
        &VECTOR_ROWS,
        VECTOR_ROWS_RANGE,
        GucFlags::default(),
    );
    int(
        c"pgcolumnar.bulk_threshold",
        c"Rows that a transaction inserts into a table as rows before it goes on in column chunks.",
        c"0 writes column chunks from the first row on. VACUUM turns rows into column chunks later.",
        &BULK_THRESHOLD,
        (0, i32::MAX),
        GucFlags::default(),
    );
    int(
        c"pgcolumnar.merge_threshold",
        c"Rows stored as rows from which VACUUM turns them into column chunks.",
        c"Tables with fewer rows outside of row groups are left as they are.",
        &MERGE_THRESHOLD,
        (1, i32::MAX),
        GucFlags::default(),
    );
    int(
        c"pgcolumnar.cache_size",
        c"Memory in which a backend keeps decompressed vectors for later reads.",
        c"Used by row-at-a-time plans, most of all by index scans.",
        &CACHE_SIZE,
        (64, i32::MAX),
        GucFlags::UNIT_KB,
    );
    int(
        c"pgcolumnar.write_buffer",
        c"Memory in which a transaction collects inserted rows for row groups, over all tables.",
        c"When it is full, the largest group begun for another table is written before it is complete.",
        &WRITE_BUFFER,
        (1024, i32::MAX),
        GucFlags::UNIT_KB,
    );
    int(
        c"pgcolumnar.max_threads",
        c"Threads a backend uses beside its own.",
        c"0 uses none; -1 takes max_parallel_workers_per_gather. Never more than there are processors.",
        &MAX_THREADS,
        (-1, 1024),
        GucFlags::default(),
    );
    reserve_prefix();
}

/// Makes unknown settings of this name an ERROR.
#[allow(unsafe_code)]
fn reserve_prefix() {
    // SAFETY: a NUL-terminated constant.
    unsafe { pgrx::pg_sys::MarkGUCPrefixReserved(c"pgcolumnar".as_ptr()) };
}

fn int(
    name: &'static CStr,
    short: &'static CStr,
    long: &'static CStr,
    setting: &'static GucSetting<i32>,
    range: (i32, i32),
    flags: GucFlags,
) {
    GucRegistry::define_int_guc(
        name,
        short,
        long,
        setting,
        range.0,
        range.1,
        GucContext::Userset,
        flags,
    );
}
