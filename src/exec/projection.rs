//! Which columns the expressions of a core scan node read.
//!
//! Core asks a slot for its first N columns, up to the last one that an expression reads: of a row of a group, columns in
//! between would be decoded in vain, each from a vector of its own. When a plan starts, the slots of its scan nodes are
//! told what their targets and conditions read. That holds where the node projects: only its own expressions see the slot
//! then. Where it hands the slot itself on, all columns count.
#![allow(unsafe_code)]

use super::plan::{list, walk};
use crate::am::slot::{self, Needed};
use crate::ports;
use core::ffi::c_void;
use pgrx::pg_sys;

/// Tells the slots of all scan nodes of a plan that has just been started.
///
/// # Safety
/// `plan` is the state of a plan, or null.
pub unsafe fn restrict(plan: *mut pg_sys::PlanState) {
    // SAFETY: as the caller's.
    unsafe {
        if !plan.is_null() {
            visit(plan, core::ptr::null_mut());
        }
    }
}

unsafe extern "C-unwind" fn visit(node: *mut pg_sys::PlanState, context: *mut c_void) -> bool {
    // SAFETY: called with live nodes.
    unsafe {
        restrict_node(node);
        ports::planstate_tree_walker(node, Some(visit), context)
    }
}

unsafe fn restrict_node(node: *mut pg_sys::PlanState) {
    use pg_sys::NodeTag as Tag;
    // SAFETY: the tags tell the types; each of these states begins with a ScanState, each plan with a Scan.
    unsafe {
        let plan = (*node).plan;
        let none = core::ptr::null_mut();
        let (first, second) = match (*node).type_ {
            Tag::T_SeqScanState | Tag::T_SampleScanState => (none, none),
            Tag::T_IndexScanState => {
                let scan = &*plan.cast::<pg_sys::IndexScan>();
                (scan.indexqualorig, scan.indexorderbyorig)
            }
            Tag::T_BitmapHeapScanState => {
                ((*plan.cast::<pg_sys::BitmapHeapScan>()).bitmapqualorig, none)
            }
            Tag::T_TidScanState => ((*plan.cast::<pg_sys::TidScan>()).tidquals, none),
            Tag::T_TidRangeScanState => {
                ((*plan.cast::<pg_sys::TidRangeScan>()).tidrangequals, none)
            }
            _ => return,
        };
        let slot = (*node.cast::<pg_sys::ScanState>()).ss_ScanTupleSlot;
        if (*node).ps_ProjInfo.is_null() || slot.is_null() || !slot::is_ours(slot) {
            return;
        }
        let relid = (*plan.cast::<pg_sys::Scan>()).scanrelid;
        let mut set = core::ptr::null_mut();
        for read in [(*plan).targetlist, (*plan).qual, first, second] {
            for item in list::pointers::<pg_sys::Node>(read) {
                pg_sys::pull_varattnos(item, relid, &raw mut set);
            }
        }
        let numbers = walk::attributes(set);
        pg_sys::bms_free(set);
        if numbers.contains(&0) {
            return;
        }
        let columns = numbers.iter().filter(|number| **number > 0).map(|n| *n as usize - 1);
        let context = (*(*node).state).es_query_cxt;
        let needed = Needed { columns: columns.collect() };
        let needed = pgrx::PgMemoryContexts::For(context).leak_and_drop_on_delete(needed);
        slot::restrict(slot, needed);
    }
}
