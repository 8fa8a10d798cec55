//! What the catalogs say of an aggregate, and whether it may be called: as ExecInitAgg() of PostgreSQL's executor.

use super::calls::{Address, Final, Function};
use crate::exec::translate::aggregates::is_normal;
use crate::exec::translate::functions::function_name;
use crate::ports;
use pgrx::pg_sys::{self, AclResult, Datum, ObjectType, Oid, SysCacheIdentifier};

/// `AGGFNOID` columns (catalog/pg_aggregate.h).
const TRANSITION: i16 = 4;
const FINAL: i16 = 5;
const SERIAL: i16 = 7;
const FINAL_EXTRA: i16 = 12;
const INITIAL: i16 = 21;
/// `PROVOLATILE_VOLATILE`.
const VOLATILE: u8 = b'v';

/// The functions of an aggregate.
pub struct Functions {
    pub function: Function,
    pub last: Option<Final>,
    /// Whether one of them is volatile.
    pub volatile: bool,
}

/// Raises the ERROR for an aggregate that the user may not call.
///
/// # Safety
/// The aggregate is of a plan that is being initialised.
pub unsafe fn check_permission(aggref: &pg_sys::Aggref) {
    // SAFETY: as the caller's.
    unsafe { check(aggref.aggfnoid, pg_sys::GetUserId(), ObjectType::OBJECT_AGGREGATE) };
}

unsafe fn check(function: Oid, role: Oid, kind: ObjectType::Type) {
    // SAFETY: reads the catalogs.
    unsafe {
        let answer = ports::function_aclcheck(function, role);
        if answer != AclResult::ACLCHECK_OK {
            pg_sys::aclcheck_error(answer, kind, pg_sys::get_func_name(function));
        }
    }
}

/// Looks the functions of an aggregate up, to be called with `node`.
///
/// # Safety
/// As [`check_permission`]; `node` has its contexts. What is allocated in the current memory context lives as long as the
/// node.
pub unsafe fn functions(aggref: &pg_sys::Aggref, node: *mut pg_sys::AggState) -> Functions {
    // SAFETY: as the caller's; the catalogs' rows are released.
    unsafe {
        let transition_type = aggref.aggtranstype;
        let row = Row::of(SysCacheIdentifier::AGGFNOID, aggref.aggfnoid);
        let oid = |column| Oid::from(row.get(column).map_or(0, |value| value.value() as u32));
        let partial = aggref.aggsplit != pg_sys::AggSplit::AGGSPLIT_SIMPLE;
        // A state is handed on as it is, or as bytes where it lies in memory of its own.
        let last = match (partial, transition_type == pg_sys::INTERNALOID) {
            (false, _) => oid(FINAL),
            (true, true) => oid(SERIAL),
            (true, false) => Oid::INVALID,
        };
        let transition = oid(TRANSITION);
        let extra = !partial && row.get(FINAL_EXTRA).is_some_and(|value| value.value() as u8 != 0);
        let initial = row.get(INITIAL).map(|text| initial_value(text, transition_type));
        row.release();
        let owner = Row::of(SysCacheIdentifier::PROCOID, aggref.aggfnoid);
        let role = owner.get(pg_sys::Anum_pg_proc_proowner as i16);
        let role = Oid::from(role.map_or(0, |value| value.value() as u32));
        owner.release();
        let has_last = last != Oid::INVALID;
        if has_last {
            check(last, role, ObjectType::OBJECT_FUNCTION);
        }
        check(transition, role, ObjectType::OBJECT_FUNCTION);
        let mut inputs = oids(aggref.aggargtypes);
        let direct = length_of(aggref.aggdirectargs);
        // Ordered-set aggregates pass what they are ordered by.
        let normal = is_normal(aggref);
        let passed = if normal { inputs.len() } else { length_of(aggref.args) };
        let final_args = if extra { inputs.len() } else { direct } + 1;
        let last = has_last.then(|| {
            let mut expr = core::ptr::null_mut();
            if partial {
                ports::build_aggregate_serialfn_expr(last, &raw mut expr);
            } else {
                ports::build_aggregate_finalfn_expr(
                    inputs.as_mut_ptr(),
                    final_args as i32,
                    transition_type,
                    aggref.aggtype,
                    aggref.inputcollid,
                    last,
                    &raw mut expr,
                );
            }
            let (info, frame, address) = prepare(last, expr, final_args, aggref, node);
            for i in direct + 1..final_args {
                (*(*frame).args.as_mut_ptr().add(i)).isnull = true;
            }
            let (len, _) = length(aggref.aggtype);
            let strict = (*info).fn_strict;
            let without = final_args - 1 - direct;
            Final { address, frame, without, never: strict && without > 0, strict, len }
        });
        let mut expr = core::ptr::null_mut();
        ports::build_aggregate_transfn_expr(
            inputs.as_mut_ptr(),
            inputs.len() as i32,
            direct as i32,
            aggref.aggvariadic,
            transition_type,
            aggref.inputcollid,
            transition,
            Oid::INVALID,
            &raw mut expr,
            core::ptr::null_mut(),
        );
        let (info, frame, address) = prepare(transition, expr, passed + 1, aggref, node);
        let strict = (*info).fn_strict;
        let fits = |first: &Oid| pg_sys::IsBinaryCoercible(*first, transition_type);
        if strict && initial.is_none() && !inputs.get(direct).is_some_and(fits) {
            // Checked when it was defined, but the function may have become strict since.
            pgrx::ereport!(
                pgrx::PgLogLevel::ERROR,
                pgrx::PgSqlErrorCode::ERRCODE_INVALID_FUNCTION_DEFINITION,
                format!(
                    "aggregate {} needs to have compatible input type and transition type",
                    aggref.aggfnoid.to_u32()
                )
            );
        }
        let (len, by_value) = length(transition_type);
        let is_volatile = |frame: pg_sys::FunctionCallInfo| {
            pg_sys::func_volatile((*(*frame).flinfo).fn_oid) as u8 == VOLATILE
        };
        let volatile =
            is_volatile(frame) || last.as_ref().is_some_and(|last| is_volatile(last.frame));
        let states = (*(*node).curaggcontext).ecxt_per_tuple_memory;
        let temporary = (*(*node).tmpcontext).ecxt_per_tuple_memory;
        let function =
            Function { address, frame, strict, by_value, len, initial, states, temporary };
        Functions { function, last, volatile }
    }
}

/// The information of a function and a frame for its calls.
unsafe fn prepare(
    function: Oid,
    expr: *mut pg_sys::Expr,
    args: usize,
    aggref: &pg_sys::Aggref,
    node: *mut pg_sys::AggState,
) -> (*mut pg_sys::FmgrInfo, pg_sys::FunctionCallInfo, Address) {
    // SAFETY: both blocks are zeroed and of their types' sizes, the frame with room for its arguments.
    unsafe {
        let info: *mut pg_sys::FmgrInfo = pg_sys::palloc0(size_of::<pg_sys::FmgrInfo>()).cast();
        pg_sys::fmgr_info(function, info);
        (*info).fn_expr = expr.cast();
        let room = size_of::<pg_sys::FunctionCallInfoBaseData>()
            + args * size_of::<pg_sys::NullableDatum>();
        let frame: pg_sys::FunctionCallInfo = pg_sys::palloc0(room).cast();
        (*frame).flinfo = info;
        (*frame).context = node.cast();
        (*frame).fncollation = aggref.inputcollid;
        (*frame).nargs = args as i16;
        let Some(address) = (*info).fn_addr else {
            panic!("function {} has no code", function_name(function));
        };
        (info, frame, address)
    }
}

/// typlen and typbyval.
unsafe fn length(type_id: Oid) -> (i16, bool) {
    let (mut len, mut by_value) = (0, false);
    // SAFETY: reads the catalogs into locals.
    unsafe { pg_sys::get_typlenbyval(type_id, &raw mut len, &raw mut by_value) };
    (len, by_value)
}

/// The initial value, which the catalog has as text.
unsafe fn initial_value(text: Datum, type_id: Oid) -> Datum {
    let (mut input, mut param) = (Oid::INVALID, Oid::INVALID);
    // SAFETY: the text is one of a catalog's row.
    unsafe {
        pg_sys::getTypeInputInfo(type_id, &raw mut input, &raw mut param);
        let text = pg_sys::text_to_cstring(text.cast_mut_ptr());
        let value = pg_sys::OidInputFunctionCall(input, text, param, -1);
        pg_sys::pfree(text.cast());
        value
    }
}

unsafe fn oids(list: *const pg_sys::List) -> Vec<Oid> {
    if list.is_null() {
        return Vec::new();
    }
    // SAFETY: a list has `length` cells.
    unsafe { (0..(*list).length as usize).map(|i| (*(*list).elements.add(i)).oid_value).collect() }
}

/// Entries of a list, which may be null.
pub fn length_of(list: *const pg_sys::List) -> usize {
    // SAFETY: a list that is not null has a length.
    if list.is_null() { 0 } else { unsafe { (*list).length as usize } }
}

/// A row of a catalog.
struct Row {
    cache: i32,
    tuple: pg_sys::HeapTuple,
}

impl Row {
    unsafe fn of(cache: SysCacheIdentifier::Type, key: Oid) -> Self {
        let cache = cache as i32;
        // SAFETY: both caches have an oid for their key.
        let tuple = unsafe { pg_sys::SearchSysCache1(cache, key.into()) };
        if tuple.is_null() {
            pgrx::error!("cache lookup failed for aggregate {}", key.to_u32());
        }
        Self { cache, tuple }
    }

    /// A column; `None` for NULL.
    unsafe fn get(&self, column: i16) -> Option<Datum> {
        let mut is_null = false;
        // SAFETY: the tuple is the cache's.
        let value =
            unsafe { pg_sys::SysCacheGetAttr(self.cache, self.tuple, column, &raw mut is_null) };
        (!is_null).then_some(value)
    }

    unsafe fn release(self) {
        // SAFETY: the tuple came from the cache.
        unsafe { pg_sys::ReleaseSysCache(self.tuple) };
    }
}
