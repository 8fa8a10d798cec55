//! Version differences of the server and C macros that have no binding, under their C names.
#![allow(unsafe_code, non_snake_case)]

pub mod read_stream;

use pgrx::pg_sys;

/// `vacuum_get_cutoffs`/`vacuum_set_xid_limits`, `TU_UpdateIndexes`, `RelFileLocator` under one name.
#[cfg(feature = "pg15")]
pub type RelFileLocator = pg_sys::RelFileNode;
#[cfg(not(feature = "pg15"))]
pub type RelFileLocator = pg_sys::RelFileLocator;

/// What `tuple_update` reports about indexes: a flag before PostgreSQL 16, an enum since.
#[cfg(feature = "pg15")]
pub type UpdateIndexes = bool;
#[cfg(not(feature = "pg15"))]
pub type UpdateIndexes = pg_sys::TU_UpdateIndexes::Type;

/// `InvalidSubTransactionId`.
const INVALID_SUBTRANSACTION: pg_sys::SubTransactionId = 0;

/// A page of a shared buffer.
pub type Page = *mut u8;

/// Bytes of a page header (`SizeOfPageHeaderData`).
pub const PAGE_HEADER: usize = 24;
/// Most tuples a row page can hold, and most offsets of one block a TID bitmap accepts.
pub const MAX_HEAP_TUPLES_PER_PAGE: usize = 291;
/// Bytes of a page.
pub const BLCKSZ: usize = pg_sys::BLCKSZ as usize;

unsafe extern "C-unwind" {
    #[link_name = "PredicateLockRelation"]
    fn c_PredicateLockRelation(rel: pg_sys::Relation, snapshot: pg_sys::Snapshot);
    #[link_name = "PredicateLockTID"]
    fn c_PredicateLockTID(
        rel: pg_sys::Relation,
        tid: pg_sys::ItemPointer,
        snapshot: pg_sys::Snapshot,
        xid: pg_sys::TransactionId,
    );
    #[link_name = "CheckForSerializableConflictIn"]
    fn c_CheckForSerializableConflictIn(
        rel: pg_sys::Relation,
        tid: pg_sys::ItemPointer,
        block: pg_sys::BlockNumber,
    );
    #[link_name = "CheckForSerializableConflictOut"]
    fn c_CheckForSerializableConflictOut(
        rel: pg_sys::Relation,
        xid: pg_sys::TransactionId,
        snapshot: pg_sys::Snapshot,
    );
    #[link_name = "TransferPredicateLocksToHeapRelation"]
    fn c_TransferPredicateLocksToHeapRelation(rel: pg_sys::Relation);
    #[link_name = "begin_heap_rewrite"]
    fn c_begin_heap_rewrite(
        old: pg_sys::Relation,
        new: pg_sys::Relation,
        oldest_xmin: pg_sys::TransactionId,
        freeze_xid: pg_sys::TransactionId,
        cutoff_multi: pg_sys::MultiXactId,
    ) -> RewriteState;
    #[link_name = "end_heap_rewrite"]
    fn c_end_heap_rewrite(state: RewriteState);
    #[link_name = "rewrite_heap_tuple"]
    fn c_rewrite_heap_tuple(state: RewriteState, old: pg_sys::HeapTuple, new: pg_sys::HeapTuple);
    #[link_name = "rewrite_heap_dead_tuple"]
    fn c_rewrite_heap_dead_tuple(state: RewriteState, old: pg_sys::HeapTuple) -> bool;
    #[link_name = "build_aggregate_transfn_expr"]
    fn c_build_aggregate_transfn_expr(
        agg_input_types: *mut pg_sys::Oid,
        agg_num_inputs: i32,
        agg_num_direct_inputs: i32,
        agg_variadic: bool,
        agg_state_type: pg_sys::Oid,
        agg_input_collation: pg_sys::Oid,
        transfn_oid: pg_sys::Oid,
        invtransfn_oid: pg_sys::Oid,
        transfnexpr: *mut *mut pg_sys::Expr,
        invtransfnexpr: *mut *mut pg_sys::Expr,
    );
    #[link_name = "build_aggregate_serialfn_expr"]
    fn c_build_aggregate_serialfn_expr(
        serialfn_oid: pg_sys::Oid,
        serialfnexpr: *mut *mut pg_sys::Expr,
    );
    #[link_name = "build_aggregate_finalfn_expr"]
    fn c_build_aggregate_finalfn_expr(
        agg_input_types: *mut pg_sys::Oid,
        num_finalfn_inputs: i32,
        agg_state_type: pg_sys::Oid,
        agg_result_type: pg_sys::Oid,
        agg_input_collation: pg_sys::Oid,
        finalfn_oid: pg_sys::Oid,
        finalfnexpr: *mut *mut pg_sys::Expr,
    );
    #[link_name = "log_smgrcreate"]
    fn c_log_smgrcreate(locator: *const RelFileLocator, fork: pg_sys::ForkNumber::Type);
}

/// Opaque state of a heap rewrite (access/rewriteheap.h).
pub type RewriteState = *mut core::ffi::c_void;

macro_rules! guarded {
    ($($(#[$doc:meta])* $name:ident => $c:ident ( $($arg:ident : $ty:ty),* ) $(-> $ret:ty)?;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As the C function of the same name.
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn $name($($arg: $ty),*) $(-> $ret)? {
            // SAFETY: the caller keeps the C contract; the boundary turns an ERROR into a Rust panic.
            unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| $c($($arg),*)) }
        }
    )*};
}

guarded! {
    /// Takes a predicate lock on a whole relation (storage/predicate.h).
    PredicateLockRelation => c_PredicateLockRelation(rel: pg_sys::Relation, snapshot: pg_sys::Snapshot);
    /// Takes a predicate lock on one row.
    PredicateLockTID => c_PredicateLockTID(rel: pg_sys::Relation, tid: pg_sys::ItemPointer, snapshot: pg_sys::Snapshot, xid: pg_sys::TransactionId);
    /// Checks a write against the predicate locks of readers.
    CheckForSerializableConflictIn => c_CheckForSerializableConflictIn(rel: pg_sys::Relation, tid: pg_sys::ItemPointer, block: pg_sys::BlockNumber);
    /// Checks a read against a concurrent writer.
    CheckForSerializableConflictOut => c_CheckForSerializableConflictOut(rel: pg_sys::Relation, xid: pg_sys::TransactionId, snapshot: pg_sys::Snapshot);
    /// Makes predicate locks on rows and pages locks on the relation.
    TransferPredicateLocksToHeapRelation => c_TransferPredicateLocksToHeapRelation(rel: pg_sys::Relation);
    /// Starts a heap rewrite (access/rewriteheap.h).
    begin_heap_rewrite => c_begin_heap_rewrite(old: pg_sys::Relation, new: pg_sys::Relation, oldest_xmin: pg_sys::TransactionId, freeze_xid: pg_sys::TransactionId, cutoff_multi: pg_sys::MultiXactId) -> RewriteState;
    /// Ends a heap rewrite.
    end_heap_rewrite => c_end_heap_rewrite(state: RewriteState);
    /// Writes one tuple to the new heap, keeping its visibility.
    rewrite_heap_tuple => c_rewrite_heap_tuple(state: RewriteState, old: pg_sys::HeapTuple, new: pg_sys::HeapTuple);
    /// Tells the rewrite of a dead tuple.
    rewrite_heap_dead_tuple => c_rewrite_heap_dead_tuple(state: RewriteState, old: pg_sys::HeapTuple) -> bool;
    /// The call of a transition function with its actual types (parser/parse_agg.h).
    build_aggregate_transfn_expr => c_build_aggregate_transfn_expr(agg_input_types: *mut pg_sys::Oid, agg_num_inputs: i32, agg_num_direct_inputs: i32, agg_variadic: bool, agg_state_type: pg_sys::Oid, agg_input_collation: pg_sys::Oid, transfn_oid: pg_sys::Oid, invtransfn_oid: pg_sys::Oid, transfnexpr: *mut *mut pg_sys::Expr, invtransfnexpr: *mut *mut pg_sys::Expr);
    /// The call of a final function with its actual types.
    build_aggregate_finalfn_expr => c_build_aggregate_finalfn_expr(agg_input_types: *mut pg_sys::Oid, num_finalfn_inputs: i32, agg_state_type: pg_sys::Oid, agg_result_type: pg_sys::Oid, agg_input_collation: pg_sys::Oid, finalfn_oid: pg_sys::Oid, finalfnexpr: *mut *mut pg_sys::Expr);
    /// The call of a function that makes bytes of a state.
    build_aggregate_serialfn_expr => c_build_aggregate_serialfn_expr(serialfn_oid: pg_sys::Oid, serialfnexpr: *mut *mut pg_sys::Expr);
    /// Logs the creation of a fork.
    log_smgrcreate => c_log_smgrcreate(locator: *const RelFileLocator, fork: pg_sys::ForkNumber::Type);
}

/// Physical file identity of a relation (`rd_locator`, `rd_node` before 16) as plain numbers.
pub fn relation_locator(rel: pg_sys::Relation) -> (u32, u32, u32) {
    // SAFETY: `rel` is an open relation of the caller.
    #[cfg(feature = "pg15")]
    unsafe {
        let node = (*rel).rd_node;
        (node.spcNode.to_u32(), node.dbNode.to_u32(), node.relNode.to_u32())
    }
    // SAFETY: `rel` is an open relation of the caller.
    #[cfg(not(feature = "pg15"))]
    unsafe {
        let locator = (*rel).rd_locator;
        (locator.spcOid.to_u32(), locator.dbOid.to_u32(), locator.relNumber.to_u32())
    }
}

/// `HeapTupleHeaderGetXmin`: the inserting transaction, `FrozenTransactionId` where frozen.
///
/// # Safety
/// `header` points at a tuple header on a pinned page or in memory.
pub unsafe fn HeapTupleHeaderGetXmin(header: pg_sys::HeapTupleHeader) -> pg_sys::TransactionId {
    // SAFETY: as the caller's; a heap tuple's choice is t_heap.
    unsafe {
        let frozen = pg_sys::HEAP_XMIN_COMMITTED | pg_sys::HEAP_XMIN_INVALID;
        if u32::from((*header).t_infomask) & frozen == frozen {
            pg_sys::FrozenTransactionId
        } else {
            (*header).t_choice.t_heap.t_xmin
        }
    }
}

/// Start of a pinned buffer's page.
///
/// # Safety
/// `buffer` is pinned by this backend.
pub unsafe fn buffer_page(buffer: pg_sys::Buffer) -> Page {
    // SAFETY: the caller holds a pin.
    unsafe { pg_sys::BufferGetPage(buffer).cast() }
}

/// `RelationIsLogicallyLogged`: changes are decoded by logical replication.
///
/// # Safety
/// `rel` is an open relation.
pub unsafe fn RelationIsLogicallyLogged(rel: pg_sys::Relation) -> bool {
    // SAFETY: globals and the relcache entry are valid while the relation is open.
    unsafe {
        pg_sys::wal_level >= pg_sys::WalLevel::WAL_LEVEL_LOGICAL as i32 && RelationNeedsWAL(rel)
    }
}

/// `RelationNeedsWAL`.
///
/// # Safety
/// `rel` is an open relation.
pub unsafe fn RelationNeedsWAL(rel: pg_sys::Relation) -> bool {
    // SAFETY: the relcache entry is valid while the relation is open.
    unsafe {
        let permanent = (*(*rel).rd_rel).relpersistence
            == pg_sys::RELPERSISTENCE_PERMANENT as core::ffi::c_char;
        #[cfg(feature = "pg15")]
        let skipped = (*rel).rd_createSubid != INVALID_SUBTRANSACTION
            || (*rel).rd_firstRelfilenodeSubid != INVALID_SUBTRANSACTION;
        #[cfg(not(feature = "pg15"))]
        let skipped = (*rel).rd_createSubid != INVALID_SUBTRANSACTION
            || (*rel).rd_firstRelfilelocatorSubid != INVALID_SUBTRANSACTION;
        permanent && (pg_sys::wal_level >= pg_sys::WalLevel::WAL_LEVEL_REPLICA as i32 || !skipped)
    }
}

/// `TupleDescAttr`: a column of a tuple descriptor.
///
/// # Safety
/// `desc` is a valid descriptor with more than `column` columns.
pub unsafe fn TupleDescAttr(
    desc: pg_sys::TupleDesc,
    column: usize,
) -> *mut pg_sys::FormData_pg_attribute {
    // SAFETY: as the caller's.
    unsafe {
        // The full attributes follow the compact ones (access/tupdesc.h).
        #[cfg(feature = "pg18")]
        return (*desc)
            .compact_attrs
            .as_mut_ptr()
            .add((*desc).natts as usize)
            .cast::<pg_sys::FormData_pg_attribute>()
            .add(column);
        #[cfg(not(feature = "pg18"))]
        return (*desc).attrs.as_mut_ptr().add(column);
    }
}

/// `index_beginscan` without instrumentation.
///
/// # Safety
/// As the C function of the same name.
pub unsafe fn index_beginscan(
    rel: pg_sys::Relation,
    index: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    nkeys: i32,
    norderbys: i32,
) -> pg_sys::IndexScanDesc {
    // SAFETY: as the caller's.
    unsafe {
        pg_sys::index_beginscan(
            rel,
            index,
            snapshot,
            #[cfg(feature = "pg18")]
            core::ptr::null_mut(),
            nkeys,
            norderbys,
        )
    }
}

/// `HeapTupleHeaderGetUpdateXid`: the transaction that updated or deleted a tuple, also where xmax is a MultiXactId.
///
/// # Safety
/// `header` points at a tuple header on a pinned page or in memory.
pub unsafe fn HeapTupleHeaderGetUpdateXid(
    header: pg_sys::HeapTupleHeader,
) -> pg_sys::TransactionId {
    // SAFETY: as the caller's; a heap tuple's choice is t_heap.
    unsafe {
        let infomask = u32::from((*header).t_infomask);
        let updated_multi = infomask & pg_sys::HEAP_XMAX_INVALID == 0
            && infomask & pg_sys::HEAP_XMAX_IS_MULTI != 0
            && infomask & pg_sys::HEAP_XMAX_LOCK_ONLY == 0;
        if updated_multi {
            pg_sys::HeapTupleGetUpdateXid(header)
        } else {
            (*header).t_choice.t_heap.t_xmax
        }
    }
}

#[cfg(not(feature = "pg18"))]
unsafe extern "C-unwind" {
    #[link_name = "lc_collate_is_c"]
    fn c_lc_collate_is_c(collation: pg_sys::Oid) -> bool;
    #[link_name = "lc_ctype_is_c"]
    fn c_lc_ctype_is_c(collation: pg_sys::Oid) -> bool;
}

#[cfg(feature = "pg18")]
unsafe extern "C-unwind" {
    #[link_name = "pg_newlocale_from_collation"]
    fn c_pg_newlocale_from_collation(collation: pg_sys::Oid) -> *const LocaleHead;
}

/// The first fields of `pg_locale_struct` (utils/pg_locale.h of PostgreSQL 18).
#[cfg(feature = "pg18")]
#[repr(C)]
struct LocaleHead {
    provider: core::ffi::c_char,
    deterministic: bool,
    collate_is_c: bool,
    ctype_is_c: bool,
}

/// Whether strings are ordered bytewise under a collation (`lc_collate_is_c`; `collate_is_c` of the locale since 18).
pub fn collation_order_is_c(collation: pg_sys::Oid) -> bool {
    // SAFETY: reads the collation cache; the boundary turns an ERROR into a Rust panic.
    #[cfg(feature = "pg18")]
    unsafe {
        (*pg_sys::ffi::pg_guard_ffi_boundary(|| c_pg_newlocale_from_collation(collation)))
            .collate_is_c
    }
    // SAFETY: as above.
    #[cfg(not(feature = "pg18"))]
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| c_lc_collate_is_c(collation))
    }
}

/// Whether only ASCII letters have case under a collation (`lc_ctype_is_c`; `ctype_is_c` of the locale since 18).
pub fn collation_case_is_c(collation: pg_sys::Oid) -> bool {
    // SAFETY: reads the collation cache; the boundary turns an ERROR into a Rust panic.
    #[cfg(feature = "pg18")]
    unsafe {
        (*pg_sys::ffi::pg_guard_ffi_boundary(|| c_pg_newlocale_from_collation(collation)))
            .ctype_is_c
    }
    // SAFETY: as above.
    #[cfg(not(feature = "pg18"))]
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| c_lc_ctype_is_c(collation))
    }
}

/// A callback of [`expression_tree_walker`].
pub type TreeWalker =
    Option<unsafe extern "C-unwind" fn(*mut pg_sys::Node, *mut core::ffi::c_void) -> bool>;

unsafe extern "C-unwind" {
    #[cfg_attr(feature = "pg15", link_name = "expression_tree_walker")]
    #[cfg_attr(not(feature = "pg15"), link_name = "expression_tree_walker_impl")]
    fn c_expression_tree_walker(
        node: *mut pg_sys::Node,
        walker: TreeWalker,
        context: *mut core::ffi::c_void,
    ) -> bool;
}

/// Calls a walker for each child of an expression until it returns true. Not guarded: a walker and what it calls must not
/// hold values with destructors when an ERROR may come.
///
/// # Safety
/// `node` is a live expression tree; the walker takes the context.
pub unsafe fn expression_tree_walker(
    node: *mut pg_sys::Node,
    walker: TreeWalker,
    context: *mut core::ffi::c_void,
) -> bool {
    // SAFETY: as the caller's.
    unsafe { c_expression_tree_walker(node, walker, context) }
}

/// A callback of [`planstate_tree_walker`].
pub type PlanStateWalker =
    Option<unsafe extern "C-unwind" fn(*mut pg_sys::PlanState, *mut core::ffi::c_void) -> bool>;

unsafe extern "C-unwind" {
    #[cfg_attr(feature = "pg15", link_name = "planstate_tree_walker")]
    #[cfg_attr(not(feature = "pg15"), link_name = "planstate_tree_walker_impl")]
    fn c_planstate_tree_walker(
        node: *mut pg_sys::PlanState,
        walker: PlanStateWalker,
        context: *mut core::ffi::c_void,
    ) -> bool;
}

/// Calls a walker for each child of a plan's state until it returns true. Not guarded, as [`expression_tree_walker`].
///
/// # Safety
/// `node` is the state of a plan; the walker takes the context.
pub unsafe fn planstate_tree_walker(
    node: *mut pg_sys::PlanState,
    walker: PlanStateWalker,
    context: *mut core::ffi::c_void,
) -> bool {
    // SAFETY: as the caller's.
    unsafe { c_planstate_tree_walker(node, walker, context) }
}

/// How many nodes of a path are of a disabled kind; before version 18 their cost tells.
///
/// # Safety
/// `path` is a live path.
pub unsafe fn disabled_nodes(path: *const pg_sys::Path) -> i32 {
    #[cfg(feature = "pg18")]
    // SAFETY: as the caller's.
    unsafe {
        (*path).disabled_nodes
    }
    #[cfg(not(feature = "pg18"))]
    {
        let _ = path;
        0
    }
}

unsafe extern "C-unwind" {
    #[link_name = "get_agg_clause_costs"]
    fn c_get_agg_clause_costs(
        root: *mut pg_sys::PlannerInfo,
        split: pg_sys::AggSplit::Type,
        costs: *mut pg_sys::AggClauseCosts,
    );
}

guarded! {
    /// Adds up what the aggregates of a query cost (optimizer/prep.h).
    get_agg_clause_costs => c_get_agg_clause_costs(root: *mut pg_sys::PlannerInfo, split: pg_sys::AggSplit::Type, costs: *mut pg_sys::AggClauseCosts);
}

/// `processed_groupClause`: GROUP BY, from PostgreSQL 16 on without keys that others make redundant.
///
/// # Safety
/// `root` is alive.
pub unsafe fn processed_groupClause(root: *const pg_sys::PlannerInfo) -> *mut pg_sys::List {
    // SAFETY: as the caller's.
    unsafe {
        #[cfg(feature = "pg15")]
        {
            (*(*root).parse).groupClause
        }
        #[cfg(not(feature = "pg15"))]
        {
            (*root).processed_groupClause
        }
    }
}

/// `processed_distinctClause`: DISTINCT, from PostgreSQL 16 on without keys that others make redundant.
///
/// # Safety
/// `root` is alive.
pub unsafe fn processed_distinctClause(root: *const pg_sys::PlannerInfo) -> *mut pg_sys::List {
    // SAFETY: as the caller's.
    unsafe {
        #[cfg(feature = "pg15")]
        {
            (*(*root).parse).distinctClause
        }
        #[cfg(not(feature = "pg15"))]
        {
            (*root).processed_distinctClause
        }
    }
}

/// Marks a path as of a disabled kind.
///
/// # Safety
/// `path` is a path being made.
pub unsafe fn disable_path(path: *mut pg_sys::Path) {
    // SAFETY: as the caller's.
    unsafe {
        #[cfg(feature = "pg18")]
        {
            (*path).disabled_nodes += 1;
        }
        #[cfg(not(feature = "pg18"))]
        {
            // disable_cost
            (*path).startup_cost += 1.0e10;
            (*path).total_cost += 1.0e10;
        }
    }
}

/// Entries of the range table that EXPLAIN tells apart by name; from PostgreSQL 18 on without those of GROUP BY.
///
/// # Safety
/// `es` is alive.
pub unsafe fn rtable_size(es: *const pg_sys::ExplainState) -> i32 {
    // SAFETY: as the caller's.
    unsafe {
        #[cfg(feature = "pg18")]
        {
            (*es).rtable_size
        }
        #[cfg(not(feature = "pg18"))]
        {
            if (*es).rtable.is_null() { 0 } else { (*(*es).rtable).length }
        }
    }
}

/// Whether a role may call a function (`object_aclcheck`, `pg_proc_aclcheck` before 16).
///
/// # Safety
/// Called in a transaction.
pub unsafe fn function_aclcheck(
    function: pg_sys::Oid,
    role: pg_sys::Oid,
) -> pg_sys::AclResult::Type {
    // SAFETY: as the caller's.
    unsafe {
        #[cfg(feature = "pg15")]
        {
            pg_sys::pg_proc_aclcheck(function, role, pg_sys::ACL_EXECUTE)
        }
        #[cfg(not(feature = "pg15"))]
        {
            let class = pg_sys::ProcedureRelationId;
            pg_sys::object_aclcheck(class, function, role, pg_sys::ACL_EXECUTE.into())
        }
    }
}
