//! The callbacks that the executor calls, and their registration.
//!
//! The server knows methods by their name when it reads a plan in a parallel worker, and only there. Another extension in the
//! same server has a node called ColumnarScan too, and may be loaded at any time. So a backend registers nothing; a node whose
//! name is taken gets a prefix; and a worker, which loads the libraries of its leader, registers what it may be handed, see
//! [`note_use`].

use super::state::NodeState;
use super::{explain, parallel, state};
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_void};
use pgrx::pg_sys;

/// Which node a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Scan,
    Aggregate,
    TopN,
    DistinctOn,
}

/// A kind of node as the server knows it: under a name, or under another where something else has that name.
struct ScanMethods {
    methods: UnsafeCell<pg_sys::CustomScanMethods>,
    name: &'static CStr,
    other: &'static CStr,
}

// SAFETY: names and functions; the name in use is changed by the backend's own thread, which alone reads it.
unsafe impl Sync for ScanMethods {}

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

static SCAN: ScanMethods = ScanMethods::new(c"ColumnarScan", c"PgcolumnarScan", create_scan);
static AGGREGATE: ScanMethods =
    ScanMethods::new(c"ColumnarAgg", c"PgcolumnarAgg", create_aggregate);
static TOP: ScanMethods = ScanMethods::new(c"ColumnarTopN", c"PgcolumnarTopN", create_top);
static DISTINCT_ON: ScanMethods =
    ScanMethods::new(c"ColumnarDistinctOn", c"PgcolumnarDistinctOn", create_distinct_on);
static ALL: [&ScanMethods; 4] = [&SCAN, &AGGREGATE, &TOP, &DISTINCT_ON];

/// Methods of ColumnarScan.
pub fn scan_methods() -> *const pg_sys::CustomScanMethods {
    SCAN.settled()
}

/// Methods of ColumnarAgg.
pub fn aggregate_methods() -> *const pg_sys::CustomScanMethods {
    AGGREGATE.settled()
}

/// Methods of ColumnarTopN.
pub fn top_methods() -> *const pg_sys::CustomScanMethods {
    TOP.settled()
}

/// Methods of ColumnarDistinctOn.
pub fn distinct_on_methods() -> *const pg_sys::CustomScanMethods {
    DISTINCT_ON.settled()
}

impl ScanMethods {
    const fn new(
        name: &'static CStr,
        other: &'static CStr,
        create: unsafe extern "C-unwind" fn(*mut pg_sys::CustomScan) -> *mut pg_sys::Node,
    ) -> Self {
        let methods = pg_sys::CustomScanMethods {
            CustomName: name.as_ptr(),
            CreateCustomScanState: Some(create),
        };
        Self { methods: UnsafeCell::new(methods), name, other }
    }

    /// The methods, under a name that nothing else has by now.
    fn settled(&'static self) -> *const pg_sys::CustomScanMethods {
        let methods = self.methods.get();
        // SAFETY: called on the backend's own thread.
        unsafe {
            let known = pg_sys::GetCustomScanMethods(self.name.as_ptr(), true);
            if !known.is_null() && !core::ptr::eq(known, methods) {
                (*methods).CustomName = self.other.as_ptr();
            }
        }
        methods
    }
}

/// Registers all methods, in a parallel worker that is handed a plan with them.
fn register_all() {
    for methods in ALL {
        // SAFETY: the methods live as long as the process, which does this once.
        unsafe { pg_sys::RegisterCustomScanMethods(methods.settled()) };
    }
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

/// Tells parallel workers of this session about batch nodes. The names that a plan is handed to them with are those that are
/// free now.
pub fn note_use() {
    for methods in ALL {
        methods.settled();
    }
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
    fn create_distinct_on(_plan: *mut pg_sys::CustomScan) -> *mut pg_sys::Node => create(Kind::DistinctOn);
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
