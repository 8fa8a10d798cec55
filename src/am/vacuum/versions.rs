//! Version differences of the server's vacuum functions, and those of them that have no binding.

use pgrx::pg_sys;

/// Ages and horizons of one vacuum: `VacuumCutoffs` of PostgreSQL 16 and later, field by field.
#[allow(non_snake_case)]
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Cutoffs {
    /// `pg_class.relfrozenxid` when the vacuum began.
    pub relfrozenxid: pg_sys::TransactionId,
    /// `pg_class.relminmxid` when the vacuum began.
    pub relminmxid: pg_sys::MultiXactId,
    /// Versions deleted before it are dead to everyone.
    pub OldestXmin: pg_sys::TransactionId,
    /// Oldest MultiXactId that can still be needed.
    pub OldestMxact: pg_sys::MultiXactId,
    /// Older transaction ids are frozen.
    pub FreezeLimit: pg_sys::TransactionId,
    /// Older MultiXactIds are replaced.
    pub MultiXactCutoff: pg_sys::MultiXactId,
}

#[cfg(not(feature = "pg15"))]
const _: () = assert!(
    size_of::<Cutoffs>() == size_of::<pg_sys::VacuumCutoffs>()
        && core::mem::offset_of!(Cutoffs, OldestXmin)
            == core::mem::offset_of!(pg_sys::VacuumCutoffs, OldestXmin)
        && core::mem::offset_of!(Cutoffs, FreezeLimit)
            == core::mem::offset_of!(pg_sys::VacuumCutoffs, FreezeLimit)
);

#[cfg(not(feature = "pg15"))]
impl Cutoffs {
    /// As the server's struct.
    pub fn as_server(&self) -> *mut pg_sys::VacuumCutoffs {
        (&raw const *self).cast_mut().cast()
    }
}

/// Storage of the server's `PGRUsage`.
pub type Rusage = [u64; 32];

unsafe extern "C-unwind" {
    #[link_name = "pg_rusage_init"]
    fn c_pg_rusage_init(usage: *mut Rusage);
    #[link_name = "pg_rusage_show"]
    fn c_pg_rusage_show(start: *const Rusage) -> *const core::ffi::c_char;
    /// `autovacuum_work_mem`, in kilobytes; -1 stands for `maintenance_work_mem`.
    static autovacuum_work_mem: core::ffi::c_int;
}

/// Starts a measurement of CPU and elapsed time.
pub fn rusage_start() -> Rusage {
    let mut usage = Rusage::default();
    // SAFETY: the buffer is larger than PGRUsage (160 bytes); the function calls gettimeofday and getrusage only.
    unsafe { c_pg_rusage_init(&raw mut usage) };
    usage
}

/// What was used since the start, in the server's words.
pub fn rusage_show(start: &Rusage) -> String {
    // SAFETY: the result is a NUL-terminated static buffer; the function formats into it and raises no error.
    unsafe { core::ffi::CStr::from_ptr(c_pg_rusage_show(start)) }.to_string_lossy().into_owned()
}

/// Bytes that the list of dead line pointers may take.
pub fn work_memory() -> usize {
    // SAFETY: settings are plain globals.
    let kilobytes = unsafe {
        if is_autovacuum() && autovacuum_work_mem != -1 {
            autovacuum_work_mem
        } else {
            pg_sys::maintenance_work_mem
        }
    };
    kilobytes.max(64) as usize * 1024
}

/// Whether this backend is an autovacuum worker.
pub fn is_autovacuum() -> bool {
    // SAFETY: a plain global.
    unsafe { pg_sys::MyBackendType == pg_sys::BackendType::B_AUTOVAC_WORKER }
}

/// Sleeps as the cost limits demand and answers interrupts.
pub fn vacuum_delay_point() {
    // SAFETY: no lock is held that the callers could not hold over a sleep.
    unsafe {
        #[cfg(feature = "pg18")]
        pg_sys::vacuum_delay_point(false);
        #[cfg(not(feature = "pg18"))]
        pg_sys::vacuum_delay_point();
    }
}

/// Computes the cutoffs; returns whether the vacuum must be aggressive.
///
/// # Safety
/// `rel` is open and `params` are those of the running VACUUM.
pub unsafe fn cutoffs(rel: pg_sys::Relation, params: *mut pg_sys::VacuumParams) -> (Cutoffs, bool) {
    let mut cutoffs = Cutoffs::default();
    // SAFETY: as the caller's.
    unsafe {
        #[cfg(feature = "pg15")]
        let aggressive = {
            cutoffs.relfrozenxid = (*(*rel).rd_rel).relfrozenxid;
            cutoffs.relminmxid = (*(*rel).rd_rel).relminmxid;
            pg_sys::vacuum_set_xid_limits(
                rel,
                (*params).freeze_min_age,
                (*params).freeze_table_age,
                (*params).multixact_freeze_min_age,
                (*params).multixact_freeze_table_age,
                &raw mut cutoffs.OldestXmin,
                &raw mut cutoffs.OldestMxact,
                &raw mut cutoffs.FreezeLimit,
                &raw mut cutoffs.MultiXactCutoff,
            )
        };
        #[cfg(not(feature = "pg15"))]
        let aggressive = pg_sys::vacuum_get_cutoffs(rel, params, (&raw mut cutoffs).cast());
        (cutoffs, aggressive)
    }
}

/// Whether the table is so close to wraparound that only freezing matters.
pub fn failsafe_check(cutoffs: &Cutoffs) -> bool {
    // SAFETY: reads the shared transaction counters.
    unsafe {
        #[cfg(feature = "pg15")]
        return pg_sys::vacuum_xid_failsafe_check(cutoffs.relfrozenxid, cutoffs.relminmxid);
        #[cfg(not(feature = "pg15"))]
        return pg_sys::vacuum_xid_failsafe_check(cutoffs.as_server());
    }
}

/// Tells the server's cost accounting whether the failsafe is active; when it starts, cost limits stop.
pub fn set_failsafe(active: bool) {
    // SAFETY: plain globals of this backend.
    unsafe {
        #[cfg(not(feature = "pg15"))]
        {
            pg_sys::VacuumFailsafeActive = active;
        }
        if active {
            pg_sys::VacuumCostActive = false;
            pg_sys::VacuumCostBalance = 0;
        }
    }
}

/// Looks at a tuple that is not going to be frozen: lowers the horizons to what it holds and says whether it is older
/// than the freeze limits.
///
/// # Safety
/// `header` lies on a page that is locked at least in share mode.
pub unsafe fn tuple_should_freeze(
    header: pg_sys::HeapTupleHeader,
    cutoffs: &Cutoffs,
    xid: &mut pg_sys::TransactionId,
    multi: &mut pg_sys::MultiXactId,
) -> bool {
    // SAFETY: as the caller's.
    unsafe {
        #[cfg(feature = "pg15")]
        return pg_sys::heap_tuple_would_freeze(
            header,
            cutoffs.FreezeLimit,
            cutoffs.MultiXactCutoff,
            xid,
            multi,
        );
        #[cfg(not(feature = "pg15"))]
        return pg_sys::heap_tuple_should_freeze(header, cutoffs.as_server(), xid, multi);
    }
}

/// Sets the LSN of a page.
///
/// # Safety
/// The buffer is locked exclusively.
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub unsafe fn set_lsn(buffer: pg_sys::Buffer, lsn: pg_sys::XLogRecPtr) {
    // SAFETY: the header is inside the page.
    unsafe {
        let header = crate::ports::buffer_page(buffer).cast::<pg_sys::PageHeaderData>();
        (*header).pd_lsn.xlogid = (lsn >> 32) as u32;
        (*header).pd_lsn.xrecoff = lsn as u32;
    }
}

/// Logs that dead line pointers became unused, and sets the page's LSN. The redo needs no cleanup lock and drops trailing
/// unused line pointers as well.
///
/// # Safety
/// In a critical section, with the buffer locked exclusively; the relation needs WAL.
#[cfg(any(feature = "pg17", feature = "pg18"))]
pub unsafe fn log_reclaim(rel: pg_sys::Relation, buffer: pg_sys::Buffer, unused: &mut [u16]) {
    use core::ptr::null_mut;
    // SAFETY: as the caller's.
    unsafe {
        pg_sys::log_heap_prune_and_freeze(
            rel,
            buffer,
            pg_sys::TransactionId::INVALID,
            false,
            pg_sys::PruneReason::PRUNE_VACUUM_CLEANUP,
            null_mut(),
            0,
            null_mut(),
            0,
            null_mut(),
            0,
            unused.as_mut_ptr(),
            unused.len() as i32,
        );
    }
}

/// As above, before PostgreSQL 17: `XLOG_HEAP2_VACUUM` with `xl_heap_vacuum` (access/heapam_xlog.h).
///
/// # Safety
/// As above.
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub unsafe fn log_reclaim(_rel: pg_sys::Relation, buffer: pg_sys::Buffer, unused: &mut [u16]) {
    const XLOG_HEAP2_VACUUM: u8 = 0x20;
    let mut count = unused.len() as u16;
    // SAFETY: as the caller's; the registered data lives until the record is inserted.
    unsafe {
        pg_sys::XLogBeginInsert();
        pg_sys::XLogRegisterData((&raw mut count).cast(), size_of::<u16>() as _);
        pg_sys::XLogRegisterBuffer(0, buffer, pg_sys::REGBUF_STANDARD as u8);
        pg_sys::XLogRegisterBufData(0, unused.as_mut_ptr().cast(), size_of_val(unused) as _);
        let lsn = pg_sys::XLogInsert(pg_sys::RmgrIds::RM_HEAP2_ID as u8, XLOG_HEAP2_VACUUM);
        set_lsn(buffer, lsn);
    }
}

/// What VACUUM writes to `pg_class`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RelStats {
    /// Blocks.
    pub pages: u32,
    /// Live rows.
    pub tuples: f64,
    /// Blocks whose rows everyone sees.
    pub all_visible: u32,
    /// Blocks whose rows are all frozen; kept from PostgreSQL 18 on.
    pub all_frozen: u32,
    /// Whether the relation has indexes.
    pub has_index: bool,
    /// New `relfrozenxid`; invalid: keep.
    pub frozen_xid: pg_sys::TransactionId,
    /// New `relminmxid`; invalid: keep.
    pub min_multi: pg_sys::MultiXactId,
}

/// Updates a relation's `pg_class` row in place; returns whether relfrozenxid and relminmxid advanced.
///
/// # Safety
/// `rel` is open and locked against a concurrent vacuum.
pub unsafe fn update_relstats(rel: pg_sys::Relation, stats: &RelStats) -> (bool, bool) {
    let (mut xid_updated, mut multi_updated) = (false, false);
    // SAFETY: as the caller's.
    unsafe {
        pg_sys::vac_update_relstats(
            rel,
            stats.pages,
            stats.tuples,
            stats.all_visible,
            #[cfg(feature = "pg18")]
            stats.all_frozen,
            stats.has_index,
            stats.frozen_xid,
            stats.min_multi,
            &raw mut xid_updated,
            &raw mut multi_updated,
            false,
        );
    }
    (xid_updated, multi_updated)
}

/// Tells the cumulative statistics.
///
/// # Safety
/// `rel` is open.
pub unsafe fn report_vacuum(
    rel: pg_sys::Relation,
    live: i64,
    dead: i64,
    start: pg_sys::TimestampTz,
) {
    #[cfg(not(feature = "pg18"))]
    let _ = start;
    // SAFETY: as the caller's.
    unsafe {
        pg_sys::pgstat_report_vacuum(
            (*rel).rd_id,
            (*(*rel).rd_rel).relisshared,
            live,
            dead,
            #[cfg(feature = "pg18")]
            start,
        );
    }
}

/// Progress of a vacuum under one name for all versions.
pub mod progress {
    use pgrx::pg_sys;

    fn set(index: u32, value: i64) {
        // SAFETY: writes to this backend's own status entry.
        unsafe { pg_sys::pgstat_progress_update_param(index as i32, value) };
    }

    /// The phase (`PROGRESS_VACUUM_PHASE_*`).
    pub fn phase(phase: u32) {
        set(pg_sys::PROGRESS_VACUUM_PHASE, i64::from(phase));
    }

    /// Start of the first pass: blocks of the relation and bytes of the list of dead line pointers.
    pub fn scan(blocks: u32, bytes: usize) {
        phase(pg_sys::PROGRESS_VACUUM_PHASE_SCAN_HEAP);
        set(pg_sys::PROGRESS_VACUUM_TOTAL_HEAP_BLKS, i64::from(blocks));
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        set(pg_sys::PROGRESS_VACUUM_MAX_DEAD_TUPLES, (bytes / size_of::<u64>()) as i64);
        #[cfg(any(feature = "pg17", feature = "pg18"))]
        set(pg_sys::PROGRESS_VACUUM_MAX_DEAD_TUPLE_BYTES, bytes as i64);
    }

    /// Blocks read by the first pass.
    pub fn scanned(blocks: u32) {
        set(pg_sys::PROGRESS_VACUUM_HEAP_BLKS_SCANNED, i64::from(blocks));
    }

    /// Blocks read by the second pass.
    pub fn vacuumed(blocks: u32) {
        set(pg_sys::PROGRESS_VACUUM_HEAP_BLKS_VACUUMED, i64::from(blocks));
    }

    /// Dead line pointers in the list.
    pub fn dead_items(count: usize) {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        set(pg_sys::PROGRESS_VACUUM_NUM_DEAD_TUPLES, count as i64);
        #[cfg(any(feature = "pg17", feature = "pg18"))]
        {
            set(pg_sys::PROGRESS_VACUUM_NUM_DEAD_ITEM_IDS, count as i64);
            set(pg_sys::PROGRESS_VACUUM_DEAD_TUPLE_BYTES, (count * size_of::<u64>()) as i64);
        }
    }

    /// Finished rounds over all indexes.
    pub fn index_rounds(rounds: u32) {
        set(pg_sys::PROGRESS_VACUUM_NUM_INDEX_VACUUMS, i64::from(rounds));
    }

    /// Indexes of this round: all, and those done (kept from PostgreSQL 17 on).
    pub fn indexes(total: usize, done: usize) {
        #[cfg(any(feature = "pg17", feature = "pg18"))]
        {
            set(pg_sys::PROGRESS_VACUUM_INDEXES_TOTAL, total as i64);
            set(pg_sys::PROGRESS_VACUUM_INDEXES_PROCESSED, done as i64);
        }
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        let _ = (total, done);
    }
}
