//! What VACUUM says: its messages, and where it was when an error struck.

use super::driver::Vacuum;
use super::versions;
use crate::am::relation_name;
use core::cell::RefCell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::fmt::Write;
use pgrx::{PgLogLevel, PgSqlErrorCode, pg_sys};

unsafe extern "C-unwind" {
    fn errcontext_msg(format: *const c_char, ...) -> c_int;
}

/// Sends a message.
pub fn emit(level: PgLogLevel, message: String) {
    pgrx::ereport!(level, PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION, message);
}

/// Sends a message of level DEBUG2.
pub fn debug(message: String) {
    emit(PgLogLevel::DEBUG2, message);
}

/// Names of the table, kept apart from the relcache.
#[derive(Clone, Debug)]
pub struct Names {
    /// Database.
    pub database: String,
    /// Schema.
    pub schema: String,
    /// Table.
    pub relation: String,
}

impl Names {
    /// Names of an open relation.
    ///
    /// # Safety
    /// `rel` is open.
    pub unsafe fn of(rel: pg_sys::Relation) -> Self {
        let text = |name: *mut c_char| {
            if name.is_null() {
                String::new()
            } else {
                // SAFETY: the server returns NUL-terminated copies.
                unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
            }
        };
        // SAFETY: as the caller's.
        unsafe {
            Self {
                database: text(pg_sys::get_database_name(pg_sys::MyDatabaseId)),
                schema: text(pg_sys::get_namespace_name((*(*rel).rd_rel).relnamespace)),
                relation: relation_name(rel),
            }
        }
    }

    /// `database.schema.table`.
    pub fn qualified(&self) -> String {
        format!("{}.{}.{}", self.database, self.schema, self.relation)
    }
}

/// What the vacuum is doing, for the context line of an error.
#[derive(Clone, Debug)]
pub enum ErrorPhase {
    /// Nothing to say.
    Unknown,
    /// First pass, at a block.
    Scan(Option<u32>),
    /// Second pass, at a block.
    Reclaim(Option<u32>),
    /// Deleting entries of an index.
    Index(String),
    /// Cleaning up an index.
    IndexCleanup(String),
    /// Truncating to a number of blocks.
    Truncate(u32),
}

/// What the entry of the stack points at.
pub struct ContextState {
    table: String,
    phase: RefCell<ErrorPhase>,
    callback: pg_sys::ErrorContextCallback,
}

/// The vacuum's entry of the server's error context stack; popped when dropped.
///
/// An error leaves it on the stack, as in C: the guard around the callback raises the error anew, and only then is the line
/// added that reaches the user. Whoever catches the error restores the stack. The state lives in the memory context of the
/// vacuum, which is reset after that.
pub struct ErrorContext(*mut ContextState);

impl ErrorContext {
    /// Pushes an entry.
    pub fn push(names: &Names) -> Self {
        let state =
            pgrx::PgMemoryContexts::CurrentMemoryContext.leak_and_drop_on_delete(ContextState {
                table: format!("{}.{}", names.schema, names.relation),
                phase: RefCell::new(ErrorPhase::Unknown),
                callback: pg_sys::ErrorContextCallback::default(),
            });
        // SAFETY: the stack is this backend's; the state stays where it is while the entry is on it.
        unsafe {
            (*state).callback.callback = Some(describe);
            (*state).callback.arg = state.cast();
            (*state).callback.previous = pg_sys::error_context_stack;
            pg_sys::error_context_stack = &raw mut (*state).callback;
        }
        Self(state)
    }

    /// Says what comes next.
    pub fn set(&self, phase: ErrorPhase) {
        // SAFETY: the state outlives the guard.
        *unsafe { &*self.0 }.phase.borrow_mut() = phase;
    }
}

impl Drop for ErrorContext {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: this entry is the top of the stack: those above it are popped by their own calls.
            unsafe { pg_sys::error_context_stack = (*self.0).callback.previous };
        }
    }
}

/// Adds the context line (`vacuum_error_callback`).
unsafe extern "C-unwind" fn describe(state: *mut c_void) {
    // SAFETY: the entry is popped before the state is dropped.
    let state = unsafe { &*state.cast::<ContextState>() };
    let Ok(phase) = state.phase.try_borrow() else { return };
    let table = &state.table;
    let line = match &*phase {
        ErrorPhase::Unknown => return,
        ErrorPhase::Scan(Some(block)) => {
            format!("while scanning block {block} of relation \"{table}\"")
        }
        ErrorPhase::Scan(None) => format!("while scanning relation \"{table}\""),
        ErrorPhase::Reclaim(Some(block)) => {
            format!("while vacuuming block {block} of relation \"{table}\"")
        }
        ErrorPhase::Reclaim(None) => format!("while vacuuming relation \"{table}\""),
        ErrorPhase::Index(index) => {
            format!("while vacuuming index \"{index}\" of relation \"{table}\"")
        }
        ErrorPhase::IndexCleanup(index) => {
            format!("while cleaning up index \"{index}\" of relation \"{table}\"")
        }
        ErrorPhase::Truncate(blocks) => {
            format!("while truncating relation \"{table}\" to {blocks} blocks")
        }
    };
    let Ok(line) = std::ffi::CString::new(line) else { return };
    // SAFETY: called by the server while it assembles an error; the format has one string.
    unsafe { errcontext_msg(c"%s".as_ptr(), line.as_ptr()) };
}

/// Measurements since the vacuum began.
pub struct Report {
    wanted: bool,
    log_min_duration: i32,
    usage: versions::Rusage,
    start: pg_sys::TimestampTz,
    wal: pg_sys::WalUsage,
    buffers: pg_sys::BufferUsage,
    read_time: i64,
    write_time: i64,
}

impl Report {
    /// Starts measuring.
    pub fn start(verbose: bool, log_min_duration: i32) -> Self {
        let wanted = verbose || (versions::is_autovacuum() && log_min_duration >= 0);
        // SAFETY: plain counters of this backend.
        unsafe {
            Self {
                wanted,
                log_min_duration,
                usage: versions::rusage_start(),
                start: pg_sys::GetCurrentTimestamp(),
                wal: pg_sys::pgWalUsage,
                buffers: pg_sys::pgBufferUsage,
                read_time: pg_sys::pgStatBlockReadTime,
                write_time: pg_sys::pgStatBlockWriteTime,
            }
        }
    }

    /// When the vacuum began.
    pub fn started(&self) -> pg_sys::TimestampTz {
        self.start
    }
}

/// The closing message of VACUUM VERBOSE and of autovacuum's log.
pub(super) fn finish(vacuum: &Vacuum, (xid_updated, multi_updated): (bool, bool)) {
    let report = &vacuum.report;
    if !report.wanted {
        return;
    }
    // SAFETY: reads the clock.
    let elapsed = unsafe { pg_sys::GetCurrentTimestamp() } - report.start;
    let verbose = vacuum.target.verbose;
    if !verbose
        && report.log_min_duration > 0
        && elapsed < i64::from(report.log_min_duration) * 1000
    {
        return;
    }
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = describe_rows(vacuum, &mut text, xid_updated, multi_updated)
        .and_then(|()| describe_indexes(vacuum, &mut text))
        .and_then(|()| describe_usage(report, &mut text, elapsed));
    emit(if verbose { PgLogLevel::INFO } else { PgLogLevel::LOG }, text);
}

fn describe_rows(
    vacuum: &Vacuum,
    text: &mut String,
    xid_updated: bool,
    multi_updated: bool,
) -> core::fmt::Result {
    let (counts, cutoffs) = (&vacuum.counts, &vacuum.target.cutoffs);
    let what = match (vacuum.target.verbose, vacuum.is_wraparound(), vacuum.target.aggressive) {
        (true, _, _) => "finished vacuuming",
        (_, true, true) => "automatic aggressive vacuum to prevent wraparound of table",
        (_, true, false) => "automatic vacuum to prevent wraparound of table",
        (_, false, true) => "automatic aggressive vacuum of table",
        (_, false, false) => "automatic vacuum of table",
    };
    writeln!(
        text,
        "{what} \"{}\": index scans: {}",
        vacuum.names.qualified(),
        counts.index_rounds
    )?;
    writeln!(
        text,
        "pages: {} removed, {} remain, {} scanned ({:.2}% of total)",
        counts.removed_pages,
        counts.pages,
        counts.scanned_pages,
        percent(counts.scanned_pages, counts.original_pages)
    )?;
    writeln!(
        text,
        "tuples: {} removed, {} remain, {} are dead but not yet removable",
        counts.deleted, counts.remaining_rows as i64, counts.recently_dead
    )?;
    if counts.missed_dead > 0 {
        writeln!(
            text,
            "tuples missed: {} dead from {} pages not removed due to cleanup lock contention",
            counts.missed_dead, counts.missed_dead_pages
        )?;
    }
    // SAFETY: reads the shared counter.
    let next = unsafe { pg_sys::ReadNextTransactionId() };
    writeln!(
        text,
        "removable cutoff: {}, which was {} XIDs old when operation ended",
        cutoffs.OldestXmin.into_inner(),
        age(next, cutoffs.OldestXmin)
    )?;
    if xid_updated {
        writeln!(
            text,
            "new relfrozenxid: {}, which is {} XIDs ahead of previous value",
            vacuum.horizon.xid.into_inner(),
            age(vacuum.horizon.xid, cutoffs.relfrozenxid)
        )?;
    }
    if multi_updated {
        writeln!(
            text,
            "new relminmxid: {}, which is {} MXIDs ahead of previous value",
            vacuum.horizon.multi.into_inner(),
            age(vacuum.horizon.multi, cutoffs.relminmxid)
        )?;
    }
    writeln!(
        text,
        "frozen: {} pages from table ({:.2}% of total) had {} tuples frozen",
        counts.frozen_pages,
        percent(counts.frozen_pages, counts.original_pages),
        counts.frozen
    )
}

fn describe_indexes(vacuum: &Vacuum, text: &mut String) -> core::fmt::Result {
    let counts = &vacuum.counts;
    let (start, verb) = match (vacuum.vacuum_indexes, vacuum.failsafe) {
        (true, _) if counts.index_rounds == 0 => ("index scan not needed", "had"),
        (true, _) => ("index scan needed", "had"),
        (false, false) => ("index scan bypassed", "have"),
        (false, true) => ("index scan bypassed by failsafe", "have"),
    };
    writeln!(
        text,
        "{start}: {} pages from table ({:.2}% of total) {verb} {} dead item identifiers{}",
        counts.dead_item_pages,
        percent(counts.dead_item_pages, counts.original_pages),
        counts.dead_items,
        if verb == "had" { " removed" } else { "" }
    )?;
    for (name, &result) in vacuum.indexes.names.iter().zip(&vacuum.indexes.results) {
        if result.is_null() {
            continue;
        }
        // SAFETY: allocated by the index and freed after this message.
        let result = unsafe { &*result };
        writeln!(
            text,
            "index \"{name}\": pages: {} in total, {} newly deleted, {} currently deleted, {} reusable",
            result.num_pages, result.pages_newly_deleted, result.pages_deleted, result.pages_free
        )?;
    }
    Ok(())
}

fn describe_usage(report: &Report, text: &mut String, elapsed: i64) -> core::fmt::Result {
    // SAFETY: plain counters of this backend.
    let (wal, buffers, timing) =
        unsafe { (pg_sys::pgWalUsage, pg_sys::pgBufferUsage, pg_sys::track_io_timing) };
    let was = &report.buffers;
    let hits =
        buffers.shared_blks_hit - was.shared_blks_hit + buffers.local_blks_hit - was.local_blks_hit;
    let reads = buffers.shared_blks_read - was.shared_blks_read + buffers.local_blks_read
        - was.local_blks_read;
    let dirtied = buffers.shared_blks_dirtied - was.shared_blks_dirtied
        + buffers.local_blks_dirtied
        - was.local_blks_dirtied;
    if timing {
        // SAFETY: plain counters of this backend.
        let (read, write) = unsafe {
            (
                pg_sys::pgStatBlockReadTime - report.read_time,
                pg_sys::pgStatBlockWriteTime - report.write_time,
            )
        };
        writeln!(
            text,
            "I/O timings: read: {:.3} ms, write: {:.3} ms",
            read as f64 / 1000.0,
            write as f64 / 1000.0
        )?;
    }
    let rate = |blocks: i64| {
        if elapsed <= 0 {
            0.0
        } else {
            blocks as f64 * crate::ports::BLCKSZ as f64 / 1_048_576.0 / (elapsed as f64 / 1e6)
        }
    };
    writeln!(
        text,
        "avg read rate: {:.3} MB/s, avg write rate: {:.3} MB/s",
        rate(reads),
        rate(dirtied)
    )?;
    let word = if cfg!(feature = "pg18") { "reads" } else { "misses" };
    writeln!(text, "buffer usage: {hits} hits, {reads} {word}, {dirtied} dirtied")?;
    write!(
        text,
        "WAL usage: {} records, {} full page images, {} bytes",
        wal.wal_records - report.wal.wal_records,
        wal.wal_fpi - report.wal.wal_fpi,
        wal.wal_bytes - report.wal.wal_bytes
    )?;
    #[cfg(feature = "pg18")]
    write!(text, ", {} buffers full", wal.wal_buffers_full - report.wal.wal_buffers_full)?;
    write!(text, "\nsystem usage: {}", versions::rusage_show(&report.usage))
}

fn percent(part: u32, all: u32) -> f64 {
    if all == 0 { 100.0 } else { 100.0 * f64::from(part) / f64::from(all) }
}

/// Distance between two ids, which wrap around.
fn age(newer: pg_sys::TransactionId, older: pg_sys::TransactionId) -> i32 {
    newer.into_inner().wrapping_sub(older.into_inner()) as i32
}
