//! From stubs back to rows: which line pointers of row pages are the stubs of rows of groups.
//!
//! A live stub is told by its flag, but one that was updated and pruned leaves a redirecting line pointer behind, which
//! only the marks of the groups know.

use super::Group;
use super::cache;
use super::marks::Mark;
use crate::am::tid;
use pgrx::pg_sys;
use std::collections::HashMap;
use std::rc::Rc;

/// All stubs of a relation by physical TID (see [`tid::encode`]).
#[derive(Debug, Default)]
pub struct StubIndex(HashMap<u64, (Rc<Group>, u32)>);

impl StubIndex {
    /// Reads the marks of all groups.
    ///
    /// # Safety
    /// `rel` is an open relation of this access method.
    pub unsafe fn read(rel: pg_sys::Relation) -> Self {
        let mut index = Self::default();
        // SAFETY: as the caller's.
        unsafe {
            let Some(directory) = cache::open(rel) else { return index };
            for group in &directory.groups {
                group.refresh(rel);
                for (row, mark) in group.marks_in(0, group.rows()) {
                    if let Mark::Stub { block, offset } = mark {
                        let key = tid::encode(&tid::item_pointer(block, offset));
                        index.0.insert(key, (group.clone(), row));
                    }
                }
            }
        }
        index
    }

    /// The row whose stub has a physical TID.
    pub fn row(&self, physical: &pg_sys::ItemPointerData) -> Option<(&Rc<Group>, u32)> {
        self.0.get(&tid::encode(physical)).map(|(group, row)| (group, *row))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// External TID under which indexes know the chain that begins at a physical TID.
    ///
    /// # Safety
    /// `rel` is the relation this index was read from.
    pub unsafe fn index_tid(
        &self,
        rel: pg_sys::Relation,
        root: &pg_sys::ItemPointerData,
    ) -> pg_sys::ItemPointerData {
        if let Some((group, row)) = self.row(root)
            // SAFETY: as the caller's.
            && let Some(tid) = unsafe { group.tid_of(rel, row) }
        {
            return tid;
        }
        tid::to_external(rel, root)
    }
}
