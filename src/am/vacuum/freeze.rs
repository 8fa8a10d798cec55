//! Freezing a page's tuples on PostgreSQL 15 and 16, with heapam's own plans and WAL records.

use super::hooks::{Horizon, Target};
use super::page::LockedPage;
use crate::ports;
use pgrx::pg_sys;

#[cfg(feature = "pg15")]
pub use v15::Plan;
#[cfg(feature = "pg16")]
pub use v16::Plan;

#[cfg(feature = "pg15")]
mod v15 {
    use super::{Horizon, LockedPage, Target, pg_sys, ports};
    use core::ffi::c_int;

    /// `xl_heap_freeze_tuple` (access/heapam_xlog.h).
    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default)]
    pub struct FreezeTuple {
        xmax: pg_sys::TransactionId,
        offset: pg_sys::OffsetNumber,
        t_infomask2: u16,
        t_infomask: u16,
        frzflags: u8,
    }

    const _: () = assert!(size_of::<FreezeTuple>() == 12 && align_of::<FreezeTuple>() == 4);

    unsafe extern "C-unwind" {
        fn heap_prepare_freeze_tuple(
            tuple: pg_sys::HeapTupleHeader,
            relfrozenxid: pg_sys::TransactionId,
            relminmxid: pg_sys::TransactionId,
            cutoff_xid: pg_sys::TransactionId,
            cutoff_multi: pg_sys::TransactionId,
            frz: *mut FreezeTuple,
            totally_frozen: *mut bool,
            relfrozenxid_out: *mut pg_sys::TransactionId,
            relminmxid_out: *mut pg_sys::MultiXactId,
        ) -> bool;
        fn heap_execute_freeze_tuple(tuple: pg_sys::HeapTupleHeader, frz: *mut FreezeTuple);
        fn log_heap_freeze(
            rel: pg_sys::Relation,
            buffer: pg_sys::Buffer,
            cutoff_xid: pg_sys::TransactionId,
            tuples: *mut FreezeTuple,
            ntuples: c_int,
        ) -> pg_sys::XLogRecPtr;
    }

    /// What to freeze on a page.
    pub struct Plan {
        tuples: Vec<FreezeTuple>,
        kept: Horizon,
    }

    impl Plan {
        /// An empty plan.
        pub fn new(_target: &Target, horizon: &Horizon) -> Self {
            Self { tuples: Vec::new(), kept: *horizon }
        }

        /// Plans one tuple.
        ///
        /// # Safety
        /// The tuple lies on the page locked for cleanup and is not dead to everyone.
        pub unsafe fn add(
            &mut self,
            target: &Target,
            offset: u16,
            header: pg_sys::HeapTupleHeader,
        ) {
            let mut freeze = FreezeTuple::default();
            let mut totally = false;
            let (cutoffs, kept) = (&target.cutoffs, &mut self.kept);
            // SAFETY: as the caller's; the boundary turns an ERROR about corrupt ids into a panic.
            let wanted = unsafe {
                pg_sys::ffi::pg_guard_ffi_boundary(|| {
                    heap_prepare_freeze_tuple(
                        header,
                        cutoffs.relfrozenxid,
                        cutoffs.relminmxid,
                        cutoffs.FreezeLimit,
                        cutoffs.MultiXactCutoff,
                        &raw mut freeze,
                        &raw mut totally,
                        &raw mut kept.xid,
                        &raw mut kept.multi,
                    )
                })
            };
            if wanted {
                freeze.offset = offset;
                self.tuples.push(freeze);
            }
        }

        /// Freezes; returns the number of tuples.
        ///
        /// # Safety
        /// The page is the plan's and its lock was held all along.
        pub unsafe fn execute(
            mut self,
            target: &Target,
            page: &LockedPage,
            horizon: &mut Horizon,
        ) -> i64 {
            *horizon = self.kept;
            if self.tuples.is_empty() {
                return 0;
            }
            // SAFETY: in the critical section nothing allocates and no Rust code can fail; an ERROR becomes a PANIC, as
            // with heap.
            unsafe {
                pg_sys::CritSectionCount += 1;
                pg_sys::MarkBufferDirty(page.buffer());
                for freeze in &mut self.tuples {
                    let item = pg_sys::PageGetItemId(page.page().cast(), freeze.offset);
                    let header = page.page().add((*item).lp_off() as usize);
                    heap_execute_freeze_tuple(header.cast(), freeze);
                }
                if ports::RelationNeedsWAL(target.rel) {
                    let lsn = log_heap_freeze(
                        target.rel,
                        page.buffer(),
                        target.cutoffs.FreezeLimit,
                        self.tuples.as_mut_ptr(),
                        self.tuples.len() as c_int,
                    );
                    crate::am::vacuum::versions::set_lsn(page.buffer(), lsn);
                }
                pg_sys::CritSectionCount -= 1;
            }
            self.tuples.len() as i64
        }
    }
}

#[cfg(feature = "pg16")]
mod v16 {
    use super::{Horizon, LockedPage, Target, pg_sys, ports};

    /// What to freeze on a page.
    pub struct Plan {
        tuples: Vec<pg_sys::HeapTupleFreeze>,
        page: pg_sys::HeapPageFreeze,
    }

    impl Plan {
        /// An empty plan.
        pub fn new(_target: &Target, horizon: &Horizon) -> Self {
            Self {
                tuples: Vec::with_capacity(ports::MAX_HEAP_TUPLES_PER_PAGE),
                page: pg_sys::HeapPageFreeze {
                    freeze_required: false,
                    FreezePageRelfrozenXid: horizon.xid,
                    FreezePageRelminMxid: horizon.multi,
                    NoFreezePageRelfrozenXid: horizon.xid,
                    NoFreezePageRelminMxid: horizon.multi,
                },
            }
        }

        /// Plans one tuple.
        ///
        /// # Safety
        /// The tuple lies on the page locked for cleanup and is not dead to everyone.
        pub unsafe fn add(
            &mut self,
            target: &Target,
            offset: u16,
            header: pg_sys::HeapTupleHeader,
        ) {
            let mut freeze = pg_sys::HeapTupleFreeze::default();
            let mut totally = false;
            // SAFETY: as the caller's.
            let wanted = unsafe {
                pg_sys::heap_prepare_freeze_tuple(
                    header,
                    target.cutoffs.as_server(),
                    &raw mut self.page,
                    &raw mut freeze,
                    &raw mut totally,
                )
            };
            if wanted {
                freeze.offset = offset;
                self.tuples.push(freeze);
            }
        }

        /// Freezes where the limits demand it; returns the number of tuples.
        ///
        /// # Safety
        /// The page is the plan's and its lock was held all along.
        pub unsafe fn execute(
            mut self,
            target: &Target,
            page: &LockedPage,
            horizon: &mut Horizon,
        ) -> i64 {
            if !self.page.freeze_required && !self.tuples.is_empty() {
                horizon.xid = self.page.NoFreezePageRelfrozenXid;
                horizon.multi = self.page.NoFreezePageRelminMxid;
                return 0;
            }
            horizon.xid = self.page.FreezePageRelfrozenXid;
            horizon.multi = self.page.FreezePageRelminMxid;
            if !self.tuples.is_empty() {
                let mut conflict = target.cutoffs.OldestXmin.into_inner();
                loop {
                    // TransactionIdRetreat
                    conflict = conflict.wrapping_sub(1);
                    if conflict >= pg_sys::TransactionId::FIRST_NORMAL.into_inner() {
                        break;
                    }
                }
                // SAFETY: as the caller's.
                unsafe {
                    pg_sys::heap_freeze_execute_prepared(
                        target.rel,
                        page.buffer(),
                        pg_sys::TransactionId::from_inner(conflict),
                        self.tuples.as_mut_ptr(),
                        self.tuples.len() as i32,
                    );
                }
            }
            self.tuples.len() as i64
        }
    }
}
