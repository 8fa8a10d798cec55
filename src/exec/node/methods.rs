//! The callbacks that the executor calls, and their registration.
//!
//! The server knows methods by their name when it reads a plan in a parallel worker. Another extension in the same server
//! has a node called ColumnarScan too; names are therefore looked up when the first plan is made, and one that is taken
//! gets a prefix. A worker registers what it may be handed, see [`note_use`].

use super::state::NodeState;
use super::{explain, parallel, state};
use core::ffi::{CStr, c_void};
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
    EstimateDSMCustomScan: Some(estimate_shared),
    InitializeDSMCustomScan: Some(initialize_shared),
    ReInitializeDSMCustomScan: Some(reinitialize_shared),
    InitializeWorkerCustomScan: Some(attach_shared),
    ShutdownCustomScan: Some(shut_down),
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

/// Registers all methods, in a parallel worker that is handed a plan with them.
fn register_all() {
    scan_methods();
    aggregate_methods();
    top_methods();
}

/// On in sessions that run batch nodes. The server hands settings to parallel workers after it has loaded their libraries
/// and before it reads their plan: the moment to register.
static mut IN_USE: bool = false;

/// Defines the setting behind [`IN_USE`].
pub fn define_setting() {
    // SAFETY: called once, when the library is loaded.
    unsafe {
        pg_sys::DefineCustomBoolVariable(
            c"pgcolumnar.nodes_in_use".as_ptr(),
            c"Set by pgcolumnar itself in sessions that run batch nodes.".as_ptr(),
            c"Parallel workers learn by it that they may be handed such nodes.".as_ptr(),
            &raw mut IN_USE,
            false,
            pg_sys::GucContext::PGC_USERSET,
            (pg_sys::GUC_NO_SHOW_ALL
                | pg_sys::GUC_NOT_IN_SAMPLE
                | pg_sys::GUC_DISALLOW_IN_FILE
                | pg_sys::GUC_NO_RESET_ALL) as i32,
            None,
            Some(in_use_assigned),
            None,
        );
    }
}

/// Tells parallel workers of this session about batch nodes.
pub fn note_use() {
    // SAFETY: reads a variable of this backend; sets a setting outside of parallel mode.
    unsafe {
        if IN_USE || pg_sys::ParallelWorkerNumber >= 0 || pg_sys::IsInParallelMode() {
            return;
        }
        pg_sys::SetConfigOption(
            c"pgcolumnar.nodes_in_use".as_ptr(),
            c"on".as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
        );
    }
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
    fn in_use_assigned(on: bool, _extra: *mut c_void) => if on && pg_sys::ParallelWorkerNumber >= 0 { register_all() };
    fn create_scan(_plan: *mut pg_sys::CustomScan) -> *mut pg_sys::Node => create(Kind::Scan);
    fn create_aggregate(_plan: *mut pg_sys::CustomScan) -> *mut pg_sys::Node => create(Kind::Aggregate);
    fn create_top(_plan: *mut pg_sys::CustomScan) -> *mut pg_sys::Node => create(Kind::TopN);
    fn begin(node: State, _estate: *mut pg_sys::EState, eflags: i32) => {
        note_use();
        state::begin(node.cast(), eflags)
    };
    fn end(node: State) => state::end(node.cast());
    fn rescan(node: State) => state::rescan(node.cast());
    fn estimate_shared(_node: State, _context: *mut pg_sys::ParallelContext) -> pg_sys::Size => parallel::estimate();
    fn initialize_shared(node: State, _context: *mut pg_sys::ParallelContext, shared: *mut c_void)
        => parallel::initialize(node.cast(), shared.cast());
    fn reinitialize_shared(node: State, _context: *mut pg_sys::ParallelContext, _shared: *mut c_void)
        => parallel::reinitialize(node.cast());
    fn attach_shared(node: State, _toc: *mut pg_sys::shm_toc, shared: *mut c_void)
        => parallel::attach(node.cast(), shared.cast());
    fn shut_down(node: State) => parallel::shut_down(node.cast());
    fn explain_node(node: State, ancestors: *mut pg_sys::List, es: *mut pg_sys::ExplainState)
        => explain::explain(node.cast(), ancestors, es);
    fn substitute(node: State) -> *mut pg_sys::TupleTableSlot => state::substitute(node.cast());
    fn access(node: *mut pg_sys::ScanState) -> *mut pg_sys::TupleTableSlot => state::next(node.cast());
    fn recheck(node: *mut pg_sys::ScanState, slot: *mut pg_sys::TupleTableSlot) -> bool => state::recheck(node.cast(), slot);
}

/// A row is fetched by `access`, filtered by what kernels left over, and projected: core's ExecScan does that, and also
/// what EvalPlanQual asks for.
unsafe extern "C-unwind" fn exec(node: State) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: no value with a destructor lives in this frame; the callbacks guard themselves.
    unsafe {
        let own = (*node).ss.ss_ScanTupleSlot;
        if state::is_substituted(node.cast()) {
            // EvalPlanQual stores a row of the table, which wants a slot of the access method.
            (*node).ss.ss_ScanTupleSlot = substitute(node);
        }
        let slot = c_ExecScan(node.cast(), Some(access), Some(recheck));
        (*node).ss.ss_ScanTupleSlot = own;
        slot
    }
}

unsafe extern "C-unwind" {
    #[link_name = "ExecScan"]
    fn c_ExecScan(
        node: *mut pg_sys::ScanState,
        access: pg_sys::ExecScanAccessMtd,
        recheck: pg_sys::ExecScanRecheckMtd,
    ) -> *mut pg_sys::TupleTableSlot;
}
