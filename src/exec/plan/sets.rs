//! GROUPING SETS, ROLLUP and CUBE, which the planner has written out as lists of sort-group numbers.
//!
//! Since PostgreSQL 18 what a target list says of a key is marked as nullable by grouping; what aggregates, filters and
//! GROUPING say of the same column is not. Both kinds are entries of `custom_scan_tlist`, keys first, so that a reference
//! from above finds the key.
//!
//! Refused: more sets than [`MAX_SETS`], each of which needs the buffers of a table; keys that are told apart only by
//! their sort-group numbers, or constants before PostgreSQL 18, since a reference from above is found by its expression.

use super::list;
use pgrx::pg_sys;

/// Most grouping sets that are not the same.
const MAX_SETS: usize = 64;

/// What grouping sets group by and what GROUPING asks about, as places of keys.
pub struct Sets {
    pub sets: Vec<Vec<usize>>,
    pub groupings: Vec<Vec<usize>>,
}

impl Sets {
    /// `refs` are the numbers of the keys, `calls` the GROUPING calls; `sets` is null without grouping sets.
    ///
    /// # Safety
    /// The planner's nodes are alive.
    pub unsafe fn new(
        sets: *const pg_sys::List,
        calls: &[*mut pg_sys::Node],
        refs: &[pg_sys::Index],
    ) -> Option<Self> {
        // SAFETY: as the caller's; sets and arguments are integer lists.
        unsafe {
            if sets.is_null() {
                // Every key is of the only set, whatever is asked about.
                return Some(Self { sets: Vec::new(), groupings: vec![Vec::new(); calls.len()] });
            }
            let places = |numbers: *const pg_sys::List| -> Option<Vec<usize>> {
                let place = |number: i32| refs.iter().position(|known| *known as i32 == number);
                list::integers(numbers).into_iter().map(place).collect()
            };
            let sets: Vec<Vec<usize>> = list::pointers::<pg_sys::List>(sets)
                .into_iter()
                .map(|set| {
                    let mut keys = places(set)?;
                    keys.sort_unstable();
                    keys.dedup();
                    Some(keys)
                })
                .collect::<Option<_>>()?;
            let mut different = sets.clone();
            different.sort();
            different.dedup();
            if different.len() > MAX_SETS {
                return None;
            }
            let groupings = calls
                .iter()
                .map(|call| places((*call.cast::<pg_sys::GroupingFunc>()).refs))
                .collect::<Option<_>>()?;
            Some(Self { sets, groupings })
        }
    }
}

/// Whether references to keys of grouping sets, which are those of `clauses` clauses, are told from references to other keys
/// and from constants.
///
/// # Safety
/// The keys are live expression trees.
pub unsafe fn are_told_apart(keys: &[*mut pg_sys::Node], clauses: usize) -> bool {
    // SAFETY: as the caller's.
    let is_constant =
        |key: &*mut pg_sys::Node| unsafe { (**key).type_ == pg_sys::NodeTag::T_Const };
    keys.len() == clauses && !keys.iter().any(is_constant)
}
