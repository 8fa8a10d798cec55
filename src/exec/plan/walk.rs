//! Walks over the planner's expressions.

use super::list;
use crate::ports;
use core::ffi::c_void;
use pgrx::pg_sys;

/// `FirstLowInvalidHeapAttributeNumber`: attribute numbers in bitmap sets are counted from here.
const OFFSET: i32 = pg_sys::FirstLowInvalidHeapAttributeNumber;

/// The number of columns that a scan of a relation reads; `None` where it is asked for a system column that a batch does
/// not know.
///
/// # Safety
/// `rel` is a base relation of a query being planned.
pub unsafe fn columns(rel: *const pg_sys::RelOptInfo) -> Option<usize> {
    // SAFETY: as the caller's.
    unsafe {
        let mut set = core::ptr::null_mut();
        let relid = (*rel).relid;
        pg_sys::pull_varattnos((*(*rel).reltarget).exprs.cast(), relid, &raw mut set);
        for restriction in list::pointers::<pg_sys::RestrictInfo>((*rel).baserestrictinfo) {
            pg_sys::pull_varattnos((*restriction).clause.cast(), relid, &raw mut set);
        }
        let numbers = attributes(set);
        if !numbers.iter().all(|&number| known(number)) {
            return None;
        }
        if numbers.contains(&0) {
            return Some((*rel).max_attr.max(0) as usize);
        }
        Some(numbers.iter().filter(|number| **number > 0).count())
    }
}

/// Whether a batch knows an attribute: columns, the whole row, ctid and tableoid.
pub fn known(attribute: i32) -> bool {
    attribute >= 0
        || attribute == pg_sys::SelfItemPointerAttributeNumber
        || attribute == pg_sys::TableOidAttributeNumber
}

/// The attribute numbers of a set.
///
/// # Safety
/// `set` is a bitmap set as pull_varattnos makes it.
pub unsafe fn attributes(set: *const pg_sys::Bitmapset) -> Vec<i32> {
    let mut numbers = Vec::new();
    let mut member = -1;
    loop {
        // SAFETY: as the caller's.
        member = unsafe { pg_sys::bms_next_member(set, member) };
        if member < 0 {
            return numbers;
        }
        numbers.push(member + OFFSET);
    }
}

/// Whether an expression is made of the given ones and constants: no other Var is left in it.
///
/// # Safety
/// All are live expression trees.
pub unsafe fn is_made_of(node: *mut pg_sys::Node, parts: &[*mut pg_sys::Node]) -> bool {
    let mut search = Search { parts };
    // SAFETY: as the caller's.
    unsafe { !finds_foreign(node, (&raw mut search).cast()) }
}

struct Search<'a> {
    parts: &'a [*mut pg_sys::Node],
}

unsafe extern "C-unwind" fn finds_foreign(node: *mut pg_sys::Node, context: *mut c_void) -> bool {
    // SAFETY: called with live nodes and the search of `is_made_of`.
    unsafe {
        if node.is_null() {
            return false;
        }
        let search = &*context.cast::<Search<'_>>();
        if search.parts.iter().any(|part| pg_sys::equal((*part).cast(), node.cast())) {
            return false;
        }
        match (*node).type_ {
            pg_sys::NodeTag::T_Var
            | pg_sys::NodeTag::T_PlaceHolderVar
            | pg_sys::NodeTag::T_Aggref
            | pg_sys::NodeTag::T_GroupingFunc
            | pg_sys::NodeTag::T_WindowFunc
            | pg_sys::NodeTag::T_SubPlan
            | pg_sys::NodeTag::T_AlternativeSubPlan => true,
            _ => ports::expression_tree_walker(node, Some(finds_foreign), context),
        }
    }
}

/// The calls of an expression that are evaluated over groups (of type `tag`, T_Aggref or T_GroupingFunc), each once.
///
/// # Safety
/// `node` is a live expression tree.
pub unsafe fn group_calls(
    node: *mut pg_sys::Node,
    tag: pg_sys::NodeTag,
    found: &mut Vec<*mut pg_sys::Node>,
) {
    // SAFETY: as the caller's.
    unsafe {
        let flags = pg_sys::PVC_INCLUDE_AGGREGATES
            | pg_sys::PVC_RECURSE_WINDOWFUNCS
            | pg_sys::PVC_INCLUDE_PLACEHOLDERS;
        let vars = pg_sys::pull_var_clause(node, flags as i32);
        for var in list::pointers::<pg_sys::Node>(vars) {
            if (*var).type_ == tag
                && !found.iter().any(|known| pg_sys::equal((*known).cast(), var.cast()))
            {
                found.push(var);
            }
        }
    }
}
