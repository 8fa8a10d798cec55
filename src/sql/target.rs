//! The table a function is called for: opened, checked to be one of ours, and the caller's right to it.

use super::argument;
use crate::am::{handler, relation_name, write};
use core::ffi::{CStr, c_int};
use core::ptr;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode, function_name, pg_sys};

/// A relation held open with an AccessShareLock, which is released with it.
#[derive(Debug)]
pub struct Target {
    rel: pg_sys::Relation,
}

/// Raises an ERROR, with a detail if there is one.
pub fn fail(code: PgSqlErrorCode, message: String, detail: Option<&str>) -> ! {
    let mut report = ErrorReport::new(code, message, function_name!());
    if let Some(detail) = detail {
        report = report.set_detail(detail);
    }
    report.report(PgLogLevel::ERROR);
    unreachable!()
}

impl Target {
    /// Opens the relation of a call's first argument.
    ///
    /// # Safety
    /// `fcinfo` is that of the running call, whose first argument is a regclass.
    pub unsafe fn open(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        // SAFETY: as the caller's; a relation that is gone is null.
        unsafe {
            let Some(table) = argument(fcinfo, 0) else {
                fail(
                    PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                    "the table must not be NULL".into(),
                    None,
                )
            };
            let oid = pg_sys::Oid::from(table.value() as u32);
            let rel = pg_sys::try_relation_open(oid, pg_sys::AccessShareLock as c_int);
            if rel.is_null() {
                fail(
                    PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
                    format!("relation with OID {} does not exist", oid.to_u32()),
                    None,
                );
            }
            Self { rel }
        }
    }

    /// Opens a table of ours to report on its storage, with the rows this transaction still buffers written.
    ///
    /// # Safety
    /// As of [`Target::open`].
    pub unsafe fn open_to_inspect(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        // SAFETY: as the caller's.
        unsafe {
            let target = Self::open(fcinfo);
            target.require_columnar();
            target.require_select();
            target.require_readable();
            write::flush(target.rel);
            target
        }
    }

    /// The open relation.
    pub fn rel(&self) -> pg_sys::Relation {
        self.rel
    }

    /// Its OID.
    pub fn oid(&self) -> pg_sys::Oid {
        // SAFETY: the relation is open.
        unsafe { (*self.rel).rd_id }
    }

    fn kind(&self) -> u8 {
        // SAFETY: the relation is open.
        unsafe { (*(*self.rel).rd_rel).relkind as u8 }
    }

    fn name(&self) -> String {
        // SAFETY: the relation is open.
        unsafe { relation_name(self.rel) }
    }

    /// Whether it is a table or materialized view, of any access method.
    pub fn is_table(&self) -> bool {
        matches!(self.kind(), b'r' | b'm')
    }

    /// Whether it has this access method.
    pub fn is_columnar(&self) -> bool {
        let routine = handler::pgcolumnar_handler(ptr::null_mut());
        // SAFETY: the relation is open; a relation without storage has a null routine.
        let own = unsafe { (*self.rel).rd_tableam };
        self.is_table() && ptr::eq(own, routine.cast_mut_ptr())
    }

    /// Raises an ERROR unless it has this access method.
    pub fn require_columnar(&self) {
        if self.is_columnar() {
            return;
        }
        let detail = match self.kind() {
            b'p' => {
                "It is a partitioned table, which stores no rows itself: name one of its partitions."
            }
            b'i' | b'I' => "It is an index.",
            b'v' => "It is a view.",
            b'S' => "It is a sequence.",
            b'f' => "It is a foreign table.",
            b't' => "It is a TOAST table.",
            b'c' => "It is a composite type.",
            _ => &format!("Its access method is {}.", self.access_method()),
        };
        let message = format!("\"{}\" is not a pgcolumnar table", self.name());
        fail(PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE, message, Some(detail))
    }

    fn access_method(&self) -> String {
        // SAFETY: the relation is open; the name is palloc'd and NUL-terminated.
        unsafe {
            let name = pg_sys::get_am_name((*(*self.rel).rd_rel).relam);
            if name.is_null() {
                return "unknown".into();
            }
            CStr::from_ptr(name).to_string_lossy().into_owned()
        }
    }

    /// Raises an ERROR unless the user owns it, as a superuser does (`object_ownercheck`).
    pub fn require_owner(&self) {
        // SAFETY: the relation is open.
        unsafe {
            if !pg_sys::has_privs_of_role(pg_sys::GetUserId(), (*(*self.rel).rd_rel).relowner) {
                self.refuse(pg_sys::AclResult::ACLCHECK_NOT_OWNER);
            }
        }
    }

    /// Raises an ERROR unless the user may read all its rows: by owning it, or by SELECT and no policy that hides some.
    fn require_select(&self) {
        // SAFETY: the relation is open.
        unsafe {
            let user = pg_sys::GetUserId();
            // 32 bits wide before PostgreSQL 16.
            #[allow(clippy::useless_conversion)]
            let allowed = pg_sys::pg_class_aclcheck(self.oid(), user, pg_sys::ACL_SELECT.into());
            if allowed != pg_sys::AclResult::ACLCHECK_OK
                && !pg_sys::has_privs_of_role(user, (*(*self.rel).rd_rel).relowner)
            {
                self.refuse(allowed);
            }
            let policies = pg_sys::check_enable_rls(self.oid(), pg_sys::InvalidOid, true);
            if policies == pg_sys::CheckEnableRlsResult::RLS_ENABLED as c_int {
                fail(
                    PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                    format!("permission denied for table {}", self.name()),
                    Some(
                        "Row-level security hides rows of it from you, and its storage would show them.",
                    ),
                );
            }
        }
    }

    /// Raises an ERROR if its rows are in another session's local buffers.
    fn require_readable(&self) {
        // SAFETY: the relation is open.
        unsafe {
            let temporary =
                (*(*self.rel).rd_rel).relpersistence as u8 == pg_sys::RELPERSISTENCE_TEMP;
            if temporary && !(*self.rel).rd_islocaltemp {
                fail(
                    PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                    "cannot access temporary tables of other sessions".into(),
                    None,
                );
            }
        }
    }

    unsafe fn refuse(&self, reason: pg_sys::AclResult::Type) {
        // SAFETY: the relation is open.
        unsafe {
            let class = (*self.rel).rd_rel;
            let kind = pg_sys::get_relkind_objtype((*class).relkind);
            pg_sys::aclcheck_error(reason, kind, (*class).relname.data.as_ptr());
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // While unwinding, the transaction's end closes the relation.
        if !std::thread::panicking() {
            // SAFETY: opened by `open`.
            unsafe { pg_sys::relation_close(self.rel, pg_sys::AccessShareLock as c_int) };
        }
    }
}
