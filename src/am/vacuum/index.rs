//! Index vacuuming and cleanup, one index after the other.

use super::dead::{DeadItems, is_dead};
use super::driver::Vacuum;
use super::report::{self, ErrorContext, ErrorPhase};
use super::versions::{self, RelStats, progress};
use pgrx::pg_sys;

impl Vacuum {
    /// Deletes the entries of the dead TIDs from every index; false where the failsafe stopped it before the last one.
    ///
    /// # Safety
    /// The indexes are open.
    pub unsafe fn vacuum_all_indexes(&mut self, context: &ErrorContext) -> bool {
        if self.check_failsafe() {
            return false;
        }
        progress::phase(pg_sys::PROGRESS_VACUUM_PHASE_VACUUM_INDEX);
        let total = self.indexes.relations.len();
        progress::indexes(total, 0);
        // SAFETY: the relcache entry is valid while the relation is open.
        let rows = f64::from(unsafe { (*(*self.target.rel).rd_rel).reltuples });
        let mut finished = true;
        for i in 0..total {
            context.set(ErrorPhase::Index(self.indexes.names[i].clone()));
            let mut info = self.index_info(self.indexes.relations[i], rows, true);
            let dead: *mut DeadItems = &raw mut self.dead;
            // SAFETY: the callback only reads the list, which outlives the call.
            unsafe {
                let result = self.indexes.results[i];
                self.indexes.results[i] =
                    pg_sys::index_bulk_delete(&raw mut info, result, Some(is_dead), dead.cast());
            }
            report::debug(format!(
                "scanned index \"{}\" to remove {} row versions",
                self.indexes.names[i],
                self.dead.len()
            ));
            progress::indexes(total, i + 1);
            if self.check_failsafe() {
                finished = false;
                break;
            }
        }
        context.set(ErrorPhase::Scan(None));
        self.counts.index_rounds += 1;
        progress::indexes(0, 0);
        progress::index_rounds(self.counts.index_rounds);
        finished
    }

    /// Calls `amvacuumcleanup` of every index.
    ///
    /// # Safety
    /// The indexes are open.
    pub unsafe fn clean_up_indexes(&mut self, context: &ErrorContext) {
        let total = self.indexes.relations.len();
        if total == 0 {
            return;
        }
        progress::phase(pg_sys::PROGRESS_VACUUM_PHASE_INDEX_CLEANUP);
        progress::indexes(total, 0);
        let estimated = self.counts.scanned_pages < self.counts.original_pages;
        for i in 0..total {
            context.set(ErrorPhase::IndexCleanup(self.indexes.names[i].clone()));
            let rows = self.counts.remaining_rows;
            let mut info = self.index_info(self.indexes.relations[i], rows, estimated);
            // SAFETY: the result is the index's own or null.
            unsafe {
                let result = self.indexes.results[i];
                self.indexes.results[i] = pg_sys::vac_cleanup_one_index(&raw mut info, result);
            }
            progress::indexes(total, i + 1);
        }
        context.set(ErrorPhase::Unknown);
        progress::indexes(0, 0);
    }

    /// Writes what exact results say to the indexes' `pg_class` rows.
    ///
    /// # Safety
    /// The indexes are open.
    pub unsafe fn update_index_stats(&mut self) {
        for (&index, &result) in self.indexes.relations.iter().zip(&self.indexes.results) {
            // SAFETY: a result that is not null was allocated by the index.
            unsafe {
                if result.is_null() || (*result).estimated_count {
                    continue;
                }
                let stats = RelStats {
                    pages: (*result).num_pages,
                    tuples: (*result).num_index_tuples,
                    ..RelStats::default()
                };
                versions::update_relstats(index, &stats);
            }
        }
    }

    fn index_info(
        &self,
        index: pg_sys::Relation,
        rows: f64,
        estimated_count: bool,
    ) -> pg_sys::IndexVacuumInfo {
        pg_sys::IndexVacuumInfo {
            index,
            #[cfg(not(feature = "pg15"))]
            heaprel: self.target.rel,
            analyze_only: false,
            report_progress: false,
            estimated_count,
            message_level: pg_sys::DEBUG2 as i32,
            num_heap_tuples: rows,
            strategy: self.target.strategy,
        }
    }
}
