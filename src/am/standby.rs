//! Recovery conflicts: queries on a standby that may still need what is about to go.
//!
//! There is no resource manager of our own. The redo of `XLOG_BTREE_REUSE_PAGE` cancels conflicting queries and touches
//! no page (src/backend/access/nbtree/nbtxlog.c), so that record carries our horizon.

use crate::ports;
use pgrx::pg_sys;

/// `XLOG_BTREE_REUSE_PAGE` (access/nbtxlog.h).
const XLOG_BTREE_REUSE_PAGE: u8 = 0xD0;

/// `xl_btree_reuse_page` of PostgreSQL 16 and later; 15 lacks the last field.
#[repr(C)]
struct ReusePage {
    locator: ports::RelFileLocator,
    block: u32,
    horizon: pg_sys::FullTransactionId,
    #[cfg(not(feature = "pg15"))]
    is_catalog: bool,
}

/// Cancels queries on standbys whose snapshot is not beyond `xid`, before what they may see is changed.
///
/// # Safety
/// `rel` is an open relation.
pub unsafe fn conflict(rel: pg_sys::Relation, xid: pg_sys::TransactionId) {
    // SAFETY: the record is plain data of the layout the redo routine reads.
    unsafe {
        if xid.into_inner() < pg_sys::FirstNormalTransactionId.into_inner()
            || !ports::RelationNeedsWAL(rel)
            || pg_sys::wal_level < pg_sys::WalLevel::WAL_LEVEL_REPLICA as i32
        {
            return;
        }
        let next = pg_sys::ReadNextFullTransactionId();
        let mut epoch = next.value >> 32;
        if xid.into_inner() > next.value as u32 {
            epoch -= 1;
        }
        let mut record = ReusePage {
            #[cfg(feature = "pg15")]
            locator: (*rel).rd_node,
            #[cfg(not(feature = "pg15"))]
            locator: (*rel).rd_locator,
            block: 0,
            horizon: pg_sys::FullTransactionId {
                value: (epoch << 32) | u64::from(xid.into_inner()),
            },
            #[cfg(not(feature = "pg15"))]
            is_catalog: false,
        };
        #[cfg(feature = "pg15")]
        let size = 24;
        #[cfg(not(feature = "pg15"))]
        let size = 25;
        pg_sys::XLogBeginInsert();
        pg_sys::XLogRegisterData((&raw mut record).cast(), size);
        pg_sys::XLogInsert(pg_sys::RmgrIds::RM_BTREE_ID as u8, XLOG_BTREE_REUSE_PAGE);
    }
}
