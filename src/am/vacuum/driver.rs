//! One VACUUM of one table from its cutoffs to its statistics.

use super::dead::DeadItems;
use super::hooks::{self, GroupCounts, GroupVacuum, Horizon, Target};
use super::report::{self, ErrorPhase, Names, Report};
use super::versions::{self, RelStats, progress};
use crate::am::relation_name;
use pgrx::{PgLogLevel, PgSqlErrorCode, pg_sys};

/// State of a running vacuum (`LVRelState`).
pub(super) struct Vacuum {
    pub target: Target,
    pub params: *mut pg_sys::VacuumParams,
    pub groups: Box<dyn GroupVacuum>,
    pub vistest: *mut pg_sys::GlobalVisState,
    pub horizon: Horizon,
    pub dead: DeadItems,
    pub indexes: Indexes,
    pub counts: Counts,
    pub names: Names,
    pub report: Report,
    /// Index entries are deleted and line pointers reclaimed.
    pub vacuum_indexes: bool,
    /// `amvacuumcleanup` is called.
    pub cleanup_indexes: bool,
    /// The end of the file may be cut.
    pub truncate: bool,
    /// A few dead line pointers may be left for the next vacuum.
    pub may_bypass: bool,
    /// The wraparound failsafe has fired.
    pub failsafe: bool,
}

/// The table's open indexes.
pub(super) struct Indexes {
    list: *mut pg_sys::Relation,
    pub relations: Vec<pg_sys::Relation>,
    pub names: Vec<String>,
    /// What each index reported; null before its first call.
    pub results: Vec<*mut pg_sys::IndexBulkDeleteResult>,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Blocks when the vacuum began.
    pub original_pages: u32,
    /// Blocks now.
    pub pages: u32,
    pub scanned_pages: u32,
    pub removed_pages: u32,
    pub frozen_pages: u32,
    pub dead_item_pages: u32,
    pub missed_dead_pages: u32,
    /// Last block that must stay, plus one.
    pub nonempty_pages: u32,
    pub index_rounds: u32,
    pub deleted: i64,
    pub frozen: i64,
    pub dead_items: i64,
    pub live: i64,
    pub recently_dead: i64,
    pub missed_dead: i64,
    /// Live rows of the table, row groups included.
    pub live_rows: f64,
    /// Row versions that remain, row groups included.
    pub remaining_rows: f64,
}

impl Vacuum {
    /// Opens the indexes and computes the cutoffs.
    ///
    /// # Safety
    /// As [`super::vacuum`].
    pub unsafe fn begin(
        rel: pg_sys::Relation,
        params: *mut pg_sys::VacuumParams,
        strategy: pg_sys::BufferAccessStrategy,
    ) -> Self {
        // SAFETY: as the caller's.
        unsafe {
            let verbose = (*params).options & pg_sys::VACOPT_VERBOSE != 0;
            let report = Report::start(verbose, (*params).log_min_duration);
            pg_sys::pgstat_progress_start_command(
                pg_sys::ProgressCommandType::PROGRESS_COMMAND_VACUUM,
                (*rel).rd_id,
            );
            let names = Names::of(rel);
            let indexes = Indexes::open(rel);
            versions::set_failsafe(false);
            let cleanup = (*params).index_cleanup;
            let enabled = cleanup != pg_sys::VacOptValue::VACOPTVALUE_DISABLED;
            // The cutoffs come before the size: ids that arrive later are younger than OldestXmin.
            let (cutoffs, mut aggressive) = versions::cutoffs(rel, params);
            let pages =
                pg_sys::RelationGetNumberOfBlocksInFork(rel, pg_sys::ForkNumber::MAIN_FORKNUM);
            aggressive |= (*params).options & pg_sys::VACOPT_DISABLE_PAGE_SKIPPING != 0;
            Self {
                target: Target {
                    rel,
                    cutoffs,
                    strategy,
                    aggressive,
                    verbose,
                    has_indexes: !indexes.relations.is_empty(),
                },
                params,
                groups: hooks::group_part(rel),
                vistest: pg_sys::GlobalVisTestFor(rel),
                horizon: Horizon { xid: cutoffs.OldestXmin, multi: cutoffs.OldestMxact },
                dead: DeadItems::new(rel, versions::work_memory()),
                indexes,
                counts: Counts { original_pages: pages, pages, ..Counts::default() },
                names,
                report,
                vacuum_indexes: enabled,
                cleanup_indexes: enabled,
                truncate: (*params).truncate != pg_sys::VacOptValue::VACOPTVALUE_DISABLED,
                may_bypass: cleanup != pg_sys::VacOptValue::VACOPTVALUE_ENABLED,
                failsafe: false,
            }
        }
    }

    /// Does the work.
    ///
    /// # Safety
    /// As [`super::vacuum`].
    pub unsafe fn run(mut self) {
        let context = report::ErrorContext::push(&self.names);
        // SAFETY: as the caller's.
        unsafe {
            if self.target.verbose {
                let how =
                    if self.target.aggressive { "aggressively vacuuming" } else { "vacuuming" };
                report::emit(PgLogLevel::INFO, format!("{how} \"{}\"", self.names.qualified()));
            }
            self.refuse_parallel_temporary();
            self.check_failsafe();
            self.groups.begin(&self.target);
            self.scan_pages(&context);
            context.set(ErrorPhase::Unknown);
            if self.groups.pages_done(&self.target, &mut self.horizon) {
                self.counts.pages = pg_sys::RelationGetNumberOfBlocksInFork(
                    self.target.rel,
                    pg_sys::ForkNumber::MAIN_FORKNUM,
                );
                self.counts.nonempty_pages = self.find_nonempty_end();
            }
            self.count_rows();
            if self.cleanup_indexes {
                self.clean_up_indexes(&context);
                self.update_index_stats();
            }
            self.indexes.close();
            if self.should_truncate() {
                self.truncate_end(&context);
            }
            drop(context);
            progress::phase(pg_sys::PROGRESS_VACUUM_PHASE_FINAL_CLEANUP);
            self.finish();
        }
    }

    /// PARALLEL has no effect; where heap says so, this does too.
    unsafe fn refuse_parallel_temporary(&self) {
        // SAFETY: the relcache entry and the parameters outlive the vacuum.
        let (temporary, workers) = unsafe {
            let persistence = (*(*self.target.rel).rd_rel).relpersistence;
            (
                persistence == pg_sys::RELPERSISTENCE_TEMP as core::ffi::c_char,
                (*self.params).nworkers,
            )
        };
        if temporary && workers > 0 && self.indexes.relations.len() > 1 && self.vacuum_indexes {
            pgrx::ereport!(
                PgLogLevel::WARNING,
                PgSqlErrorCode::ERRCODE_WARNING,
                format!(
                    "disabling parallel option of vacuum on \"{}\" --- cannot vacuum temporary tables in parallel",
                    self.names.relation
                )
            );
        }
    }

    fn count_rows(&mut self) {
        let GroupCounts { live, recently_dead } = self.groups.counts();
        let counts = &mut self.counts;
        // SAFETY: the relation is open.
        let row_pages = unsafe {
            pg_sys::vac_estimate_reltuples(
                self.target.rel,
                counts.original_pages,
                counts.scanned_pages,
                counts.live as f64,
            )
        };
        counts.live_rows = row_pages.max(0.0) + live;
        counts.remaining_rows =
            counts.live_rows + recently_dead + (counts.recently_dead + counts.missed_dead) as f64;
        counts.recently_dead += recently_dead as i64;
    }

    /// `pg_class`, statistics, the closing message.
    unsafe fn finish(mut self) {
        // SAFETY: the relation is open and locked.
        unsafe {
            let (all_visible, all_frozen) = self.groups.visible_pages(&self.target);
            let all_visible = all_visible.min(self.counts.pages);
            let stats = RelStats {
                pages: self.counts.pages,
                tuples: self.counts.live_rows,
                all_visible,
                all_frozen: all_frozen.min(all_visible),
                has_index: self.target.has_indexes,
                frozen_xid: self.horizon.xid,
                min_multi: self.horizon.multi,
            };
            let updated = versions::update_relstats(self.target.rel, &stats);
            versions::report_vacuum(
                self.target.rel,
                self.counts.live_rows as i64,
                self.counts.recently_dead + self.counts.missed_dead,
                self.report.started(),
            );
            pg_sys::pgstat_progress_end_command();
            report::finish(&self, updated);
            for &result in self.indexes.results.iter().filter(|result| !result.is_null()) {
                pg_sys::pfree(result.cast());
            }
        }
    }

    /// Whether the wraparound failsafe is active; fires it where the table's ids are too old.
    pub fn check_failsafe(&mut self) -> bool {
        if self.failsafe || !versions::failsafe_check(&self.target.cutoffs) {
            return self.failsafe;
        }
        self.failsafe = true;
        self.target.strategy = core::ptr::null_mut();
        self.vacuum_indexes = false;
        self.cleanup_indexes = false;
        self.truncate = false;
        progress::indexes(0, 0);
        pgrx::pg_sys::panic::ErrorReport::new(
            PgSqlErrorCode::ERRCODE_WARNING,
            format!(
                "bypassing nonessential maintenance of table \"{}\" as a failsafe after {} index scans",
                self.names.qualified(),
                self.counts.index_rounds
            ),
            pgrx::function_name!(),
        )
        .set_detail("The table's relfrozenxid or relminmxid is too far in the past.")
        .set_hint(
            "Consider increasing configuration parameter \"maintenance_work_mem\" or \"autovacuum_work_mem\".\n\
             You might also need to consider other ways for VACUUM to keep up with the allocation of transaction IDs.",
        )
        .report(PgLogLevel::WARNING);
        versions::set_failsafe(true);
        true
    }

    /// Options of the command, for the closing message.
    pub fn is_wraparound(&self) -> bool {
        // SAFETY: the server's parameters outlive the vacuum.
        unsafe { (*self.params).is_wraparound }
    }
}

impl Indexes {
    unsafe fn open(rel: pg_sys::Relation) -> Self {
        let (mut count, mut list) = (0, core::ptr::null_mut());
        // SAFETY: the relation is open; the server fills `count` entries of the list.
        unsafe {
            pg_sys::vac_open_indexes(
                rel,
                pg_sys::RowExclusiveLock as i32,
                &raw mut count,
                &raw mut list,
            );
            let relations: Vec<_> = (0..count as usize).map(|i| *list.add(i)).collect();
            let names = relations.iter().map(|&index| relation_name(index)).collect();
            let results = vec![core::ptr::null_mut(); relations.len()];
            Self { list, relations, names, results }
        }
    }

    /// Closes the indexes; their locks stay until the transaction ends.
    unsafe fn close(&mut self) {
        // SAFETY: the list came from vac_open_indexes, which leaves it null where there is no index.
        unsafe {
            pg_sys::vac_close_indexes(
                self.relations.len() as i32,
                self.list,
                pg_sys::NoLock as i32,
            );
        }
        self.relations.clear();
    }
}
