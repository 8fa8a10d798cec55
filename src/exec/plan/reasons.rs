//! Why a step of a query is left to core's nodes. The scans below the step carry it, and EXPLAIN VERBOSE shows it there.

use super::{aggregate, list, scan};
use pgrx::pg_sys;
use std::ffi::CString;
use std::fmt;

/// A step that batches can do.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Grouping,
    Distinct,
    DistinctOn,
    /// ORDER BY with LIMIT.
    Top,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Grouping => "grouping",
            Self::Distinct => "DISTINCT",
            Self::DistinctOn => "DISTINCT ON",
            Self::Top => "ORDER BY with LIMIT",
        })
    }
}

/// Notes why the step above `input` is not done in batches.
///
/// # Safety
/// The planner's nodes are alive.
pub unsafe fn note(
    root: *mut pg_sys::PlannerInfo,
    input: *const pg_sys::RelOptInfo,
    step: Step,
    why: &dyn fmt::Display,
) {
    // SAFETY: the planner's array has as many entries; an entry's paths are alive until the plan is made.
    unsafe {
        let rels = (1..(*root).simple_rel_array_size as usize).map(|at| {
            let rel: *const pg_sys::RelOptInfo = *(*root).simple_rel_array.add(at);
            rel
        });
        let scanned = rels.filter(|rel| !rel.is_null() && is_below(*rel, input));
        let mut text = core::ptr::null_mut::<pg_sys::Node>();
        for rel in scanned.chain([input]) {
            let paths = list::pointers::<pg_sys::Path>((*rel).pathlist);
            let shared = list::pointers::<pg_sys::Path>((*rel).partial_pathlist);
            for path in paths.into_iter().chain(shared) {
                let path = match (*path).type_ {
                    pg_sys::NodeTag::T_ProjectionPath => {
                        (*path.cast::<pg_sys::ProjectionPath>()).subpath
                    }
                    _ => path,
                };
                let Some(known) = list_of(path) else { continue };
                if text.is_null() {
                    text = string(&format!("{step}: {why}"));
                }
                if !pg_sys::list_member(*known, text.cast()) {
                    // Paths of one scan share what was noted so far.
                    *known = pg_sys::lappend(pg_sys::list_copy(*known), text.cast());
                }
            }
        }
    }
}

/// Where a path keeps its reasons; `None` for paths of core's.
unsafe fn list_of(path: *mut pg_sys::Path) -> Option<*mut *mut pg_sys::List> {
    // SAFETY: as the caller's; the list of a ColumnarAgg has four members.
    unsafe {
        let custom = path.cast::<pg_sys::CustomPath>();
        if scan::is_ours(path) {
            Some(&raw mut (*custom).custom_private)
        } else if aggregate::is_ours(path) {
            Some((&raw mut (*(*(*custom).custom_private).elements.add(3)).ptr_value).cast())
        } else {
            None
        }
    }
}

/// Whether a relation of the range table, or the table that it is a member of, is read by `input`.
unsafe fn is_below(rel: *const pg_sys::RelOptInfo, input: *const pg_sys::RelOptInfo) -> bool {
    // SAFETY: as the caller's.
    unsafe {
        let top = (*rel).top_parent_relids;
        let of = if top.is_null() { (*rel).relids } else { top };
        pg_sys::bms_is_subset(of, (*input).relids)
            || pg_sys::bms_is_subset((*rel).relids, (*input).relids)
    }
}

/// A string that a plan may hold.
unsafe fn string(text: &str) -> *mut pg_sys::Node {
    let bytes = CString::new(text).unwrap_or_default();
    // SAFETY: the bytes are copied.
    unsafe { pg_sys::makeString(pg_sys::pstrdup(bytes.as_ptr())).cast() }
}

/// The reasons that a plan holds.
///
/// # Safety
/// `reasons` is a list of strings that [`note`] made.
pub unsafe fn texts(reasons: *const pg_sys::List) -> Vec<String> {
    // SAFETY: as the caller's.
    unsafe {
        let texts = list::pointers::<pg_sys::String>(reasons).into_iter();
        texts
            .map(|text| core::ffi::CStr::from_ptr((*text).sval).to_string_lossy().into_owned())
            .collect()
    }
}
