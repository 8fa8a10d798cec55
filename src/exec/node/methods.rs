//! The callbacks that the executor calls, and their registration.
//!
//! The server knows methods by their name when it reads a plan in a parallel worker. Another extension in the same server
//! has a node called ColumnarScan too; names are therefore looked up when the first plan is made, and one that is taken
//! gets a prefix. A worker registers what it may be handed.

use super::state::NodeState;
use super::{explain, state};
use core::ffi::CStr;
use pgrx::pg_sys;
use std::sync::OnceLock;

/// Which node a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Scan,
    Aggregate,
    TopN,
}

struct ScanMethods(pg_sys::CustomScanMethods);

// SAFETY: constant once made; it holds a name and a function.
unsafe impl Sync for ScanMethods {}
// SAFETY: as above.
unsafe impl Send for ScanMethods {}

struct ExecMethods(pg_sys::CustomExecMethods);

// SAFETY: constant; it holds names and functions.
unsafe impl Sync for ExecMethods {}

static EXEC: ExecMethods = ExecMethods(pg_sys::CustomExecMethods {
    CustomName: c"Columnar".as_ptr(),
    BeginCustomScan: Some(begin),
    ExecCustomScan: Some(exec),
    EndCustomScan: Some(end),
    ReScanCustomScan: Some(rescan),
    MarkPosCustomScan: None,
    RestrPosCustomScan: None,
    EstimateDSMCustomScan: None,
    InitializeDSMCustomScan: None,
    ReInitializeDSMCustomScan: None,
    InitializeWorkerCustomScan: None,
    ShutdownCustomScan: None,
    ExplainCustomScan: Some(explain_node),
});

static SCAN: OnceLock<ScanMethods> = OnceLock::new();
static AGGREGATE: OnceLock<ScanMethods> = OnceLock::new();
static TOP: OnceLock<ScanMethods> = OnceLock::new();

/// Methods of ColumnarScan.
pub fn scan_methods() -> *const pg_sys::CustomScanMethods {
    registered(&SCAN, c"ColumnarScan", c"PgcolumnarScan", create_scan)
}

/// Methods of ColumnarAgg.
pub fn aggregate_methods() -> *const pg_sys::CustomScanMethods {
    registered(&AGGREGATE, c"ColumnarAgg", c"PgcolumnarAgg", create_aggregate)
}

/// Methods of ColumnarTopN.
pub fn top_methods() -> *const pg_sys::CustomScanMethods {
    registered(&TOP, c"ColumnarTopN", c"PgcolumnarTopN", create_top)
}

/// Registers all methods, in a parallel worker that may be handed a plan with them.
pub fn register_in_worker() {
    scan_methods();
    aggregate_methods();
    top_methods();
}

fn registered(
    cell: &'static OnceLock<ScanMethods>,
    name: &'static CStr,
    other: &'static CStr,
    create: unsafe extern "C-unwind" fn(*mut pg_sys::CustomScan) -> *mut pg_sys::Node,
) -> *const pg_sys::CustomScanMethods {
    if let Some(known) = cell.get() {
        return &raw const known.0;
    }
    // SAFETY: looks names up; the methods registered live as long as the process.
    unsafe {
        let taken = !pg_sys::GetCustomScanMethods(name.as_ptr(), true).is_null();
        let name = if taken { other } else { name };
        let methods = cell.get_or_init(|| {
            ScanMethods(pg_sys::CustomScanMethods {
                CustomName: name.as_ptr(),
                CreateCustomScanState: Some(create),
            })
        });
        pg_sys::RegisterCustomScanMethods(&raw const methods.0);
        &raw const methods.0
    }
}

unsafe fn create(kind: Kind) -> *mut pg_sys::Node {
    // SAFETY: the state begins with the server's.
    unsafe {
        let node = pg_sys::palloc0(size_of::<NodeState>()).cast::<NodeState>();
        (*node).css.ss.ps.type_ = pg_sys::NodeTag::T_CustomScanState;
        (*node).css.methods = &raw const EXEC.0;
        (*node).kind = kind;
        node.cast()
    }
}

/// Defines guarded C callbacks.
macro_rules! callbacks {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) $(-> $ret:ty)? => $body:expr;)*) => {$(
        unsafe extern "C-unwind" fn $name($($arg: $ty),*) $(-> $ret)? {
            // SAFETY: the executor calls with live nodes; the guard turns a panic into an ERROR.
            #[allow(unused_unsafe, clippy::macro_metavars_in_unsafe)]
            unsafe { pg_sys::panic::pgrx_extern_c_guard(move || $body) }
        }
    )*};
}

type State = *mut pg_sys::CustomScanState;

callbacks! {
    fn create_scan(_plan: *mut pg_sys::CustomScan) -> *mut pg_sys::Node => create(Kind::Scan);
    fn create_aggregate(_plan: *mut pg_sys::CustomScan) -> *mut pg_sys::Node => create(Kind::Aggregate);
    fn create_top(_plan: *mut pg_sys::CustomScan) -> *mut pg_sys::Node => create(Kind::TopN);
    fn begin(node: State, _estate: *mut pg_sys::EState, eflags: i32) => state::begin(node.cast(), eflags);
    fn end(node: State) => state::end(node.cast());
    fn rescan(node: State) => state::rescan(node.cast());
    fn explain_node(node: State, ancestors: *mut pg_sys::List, es: *mut pg_sys::ExplainState)
        => explain::explain(node.cast(), ancestors, es);
    fn access(node: *mut pg_sys::ScanState) -> *mut pg_sys::TupleTableSlot => state::next(node.cast());
    fn recheck(node: *mut pg_sys::ScanState, slot: *mut pg_sys::TupleTableSlot) -> bool => state::recheck(node.cast(), slot);
}

/// A row is fetched by `access`, filtered by what kernels left over, and projected: core's ExecScan does that, and also
/// what EvalPlanQual asks for.
unsafe extern "C-unwind" fn exec(node: State) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: no value with a destructor lives in this frame; the callbacks guard themselves.
    unsafe { c_ExecScan(node.cast(), Some(access), Some(recheck)) }
}

unsafe extern "C-unwind" {
    #[link_name = "ExecScan"]
    fn c_ExecScan(
        node: *mut pg_sys::ScanState,
        access: pg_sys::ExecScanAccessMtd,
        recheck: pg_sys::ExecScanRecheckMtd,
    ) -> *mut pg_sys::TupleTableSlot;
}
