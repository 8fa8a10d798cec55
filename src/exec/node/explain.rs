//! What EXPLAIN shows of a node.

use super::methods::Kind;
use super::state::NodeState;
use crate::exec::plan::list;
use crate::exec::plan::shape::Top;
use crate::ports;
use columnar_exec::phases::PHASES;
use core::ffi::CStr;
use pgrx::pg_sys;

/// ExplainCustomScan.
///
/// # Safety
/// As the callback.
pub unsafe fn explain(
    node: *mut NodeState,
    ancestors: *mut pg_sys::List,
    es: *mut pg_sys::ExplainState,
) {
    // SAFETY: the node was initialised.
    unsafe {
        let inner = NodeState::inner(node);
        let plan = (*node).css.ss.ps.plan;
        let context = pg_sys::set_deparse_context_plan((*es).deparse_cxt, plan, ancestors);
        let prefix = (*es).verbose || ports::rtable_size(es) > 1;
        let show = |expr: *mut pg_sys::Node| {
            let text = pg_sys::deparse_expression(expr, context, prefix, false);
            CStr::from_ptr(text).to_string_lossy().into_owned()
        };
        let setup = &inner.setup;
        let custom = plan.cast::<pg_sys::CustomScan>();
        let over_table = (*custom).custom_scan_tlist.is_null();
        if let (Some(top), true) = (&setup.shape.top, over_table) {
            let keys = list::pointers::<pg_sys::Node>((*custom).custom_exprs);
            let keys: Vec<String> = keys.into_iter().map(show).collect();
            if (*node).kind == Kind::DistinctOn {
                list_of(es, c"Distinct Key", keys[..setup.shape.keys].iter().cloned());
            }
            sort_keys(es, top, &keys);
        } else if !over_table {
            let items: Vec<*mut pg_sys::Node> =
                list::pointers::<pg_sys::TargetEntry>((*custom).custom_scan_tlist)
                    .into_iter()
                    .map(|entry| (*entry).expr.cast())
                    .collect();
            if setup.shape.partial {
                let (name, value) = (c"Partial Mode", c"Partial");
                pg_sys::ExplainPropertyText(name.as_ptr(), value.as_ptr(), es);
            }
            let keys = setup.shape.keys;
            if !setup.shape.sets.is_empty() {
                let keys: Vec<String> = items[..keys].iter().map(|key| show(*key)).collect();
                grouping_sets(es, &setup.shape.sets, &keys);
            } else if keys > 0 {
                list_of(es, c"Group Key", items[..keys].iter().map(|key| show(*key)));
            }
            let filters = &items[setup.shape.computed_columns()..];
            if !filters.is_empty() {
                list_of(es, c"Columnar Filter", filters.iter().map(|filter| show(*filter)));
            }
            if let Some(top) = &setup.shape.top {
                sort_keys(es, top, &items.iter().map(|item| show(*item)).collect::<Vec<_>>());
            }
        }
        if over_table && !setup.filter_nodes.is_empty() && (*es).verbose {
            list_of(es, c"Columnar Filter", setup.filter_nodes.iter().map(|filter| show(*filter)));
        }
        if (*es).verbose {
            let mut attributes: Vec<usize> = setup.requests.iter().map(|r| r.attribute).collect();
            attributes.sort_unstable();
            attributes.dedup();
            let rel = (*node).rel;
            let names = attributes.iter().map(|&attribute| {
                let name = &(*ports::TupleDescAttr((*rel).rd_att, attribute)).attname;
                CStr::from_ptr(name.data.as_ptr()).to_string_lossy().into_owned()
            });
            list_of(es, c"Columns", names);
            if !setup.reasons.is_empty() {
                list_of(es, c"Not In Batches", setup.reasons.iter().cloned());
            }
        }
        if (*es).analyze {
            analyzed(node, es);
        }
    }
}

/// A line for each grouping set, as core shows them.
unsafe fn grouping_sets(es: *mut pg_sys::ExplainState, sets: &[Vec<usize>], keys: &[String]) {
    // SAFETY: the explain state is alive.
    unsafe {
        let (group, keys_name) = (c"Grouping Sets".as_ptr(), c"Hash Keys".as_ptr());
        pg_sys::ExplainOpenGroup(group, group, false, es);
        for set in sets {
            let text = (*es).format == pg_sys::ExplainFormat::EXPLAIN_FORMAT_TEXT;
            pg_sys::ExplainOpenGroup(c"Grouping Set".as_ptr(), core::ptr::null(), true, es);
            pg_sys::ExplainOpenGroup(keys_name, keys_name, false, es);
            if set.is_empty() && text {
                pg_sys::ExplainPropertyText(c"Group Key".as_ptr(), c"()".as_ptr(), es);
            } else {
                let names = strings(set.iter().map(|&key| keys[key].clone()));
                pg_sys::ExplainPropertyListNested(c"Hash Key".as_ptr(), names, es);
            }
            pg_sys::ExplainCloseGroup(keys_name, keys_name, false, es);
            pg_sys::ExplainCloseGroup(c"Grouping Set".as_ptr(), core::ptr::null(), true, es);
        }
        pg_sys::ExplainCloseGroup(group, group, false, es);
    }
}

unsafe fn sort_keys(es: *mut pg_sys::ExplainState, top: &Top, columns: &[String]) {
    // SAFETY: the explain state is alive.
    unsafe {
        let keys = top.keys.iter().map(|key| {
            let direction = if key.descending { " DESC" } else { "" };
            let nulls = match (key.descending, key.nulls_first) {
                (true, false) => " NULLS LAST",
                (false, true) => " NULLS FIRST",
                _ => "",
            };
            format!("{}{direction}{nulls}", columns[key.column])
        });
        if !top.keys.is_empty() {
            list_of(es, c"Sort Key", keys);
        }
        if top.limit > 0 {
            integer(es, c"Rows Kept", i64::from(top.limit));
        }
    }
}

unsafe fn analyzed(node: *mut NodeState, es: *mut pg_sys::ExplainState) {
    // SAFETY: as `explain`.
    unsafe {
        let inner = NodeState::inner(node);
        inner.tally();
        let totals = &inner.totals;
        let counts = &totals.counts;
        integer(es, c"Row Groups", counts.groups as i64);
        integer(es, c"Row Groups Skipped", counts.groups_skipped as i64);
        let in_full = (*es).format != pg_sys::ExplainFormat::EXPLAIN_FORMAT_TEXT;
        if in_full || counts.groups_skipped_bloom > 0 {
            let skipped = counts.groups_skipped_bloom as i64;
            integer(es, c"Row Groups Skipped by Bloom Filter", skipped);
        }
        if counts.groups_answered > 0 {
            integer(es, c"Row Groups Answered by Metadata", counts.groups_answered as i64);
        }
        integer(es, c"Vectors", counts.vectors as i64);
        integer(es, c"Vectors Skipped", counts.vectors_skipped as i64);
        if in_full || counts.vectors_skipped_bloom > 0 {
            let skipped = counts.vectors_skipped_bloom as i64;
            integer(es, c"Vectors Skipped by Bloom Filter", skipped);
        }
        if counts.vectors_answered > 0 {
            integer(es, c"Vectors Answered by Metadata", counts.vectors_answered as i64);
        }
        if counts.vectors_emptied > 0 {
            integer(es, c"Vectors Emptied", counts.vectors_emptied as i64);
        }
        if counts.page_rows > 0 {
            integer(es, c"Rows from Row Pages", counts.page_rows as i64);
        }
        let removed: u64 = totals.removed.iter().sum();
        if !totals.removed.is_empty() {
            integer(es, c"Rows Removed by Columnar Filter", removed as i64);
        }
        integer(es, c"Threads", totals.threads as i64);
        if totals.passes > 1 {
            integer(es, c"Passes", totals.passes as i64);
        }
        if (*node).kind != Kind::Scan {
            kilobytes(es, c"Hash Memory", totals.memory as u64);
            if totals.left_to_core > 0 {
                integer(es, c"Left to PostgreSQL", totals.left_to_core as i64);
            }
            if totals.spilled > 0 {
                kilobytes(es, c"Spilled", totals.spilled);
            }
        }
        if (*es).verbose {
            kilobytes(es, c"Column Data Read", counts.bytes);
        }
        if (*es).timing {
            // A ColumnarTopN over groups has rows grouped.
            let over_table =
                (*(*node).css.ss.ps.plan.cast::<pg_sys::CustomScan>()).custom_scan_tlist.is_null();
            let kind = match (*node).kind {
                Kind::TopN if !over_table => Kind::Aggregate,
                kind => kind,
            };
            times(es, kind, totals.phases);
        }
    }
}

/// The time of each phase; that of decoding, filters and the sink is the sum over all threads and processes.
unsafe fn times(es: *mut pg_sys::ExplainState, kind: Kind, nanoseconds: [u64; PHASES]) {
    let sink = match kind {
        Kind::Scan => "Output",
        Kind::TopN => "Sort",
        Kind::DistinctOn => "Distinct",
        Kind::Aggregate => "Aggregate",
    };
    let names = ["Read", "Decode", "Filter", sink, "Wait", "Merge"];
    let times = names.into_iter().zip(nanoseconds.map(|time| time as f64 / 1e6));
    // SAFETY: the explain state is alive; what is shown is copied.
    unsafe {
        if (*es).format == pg_sys::ExplainFormat::EXPLAIN_FORMAT_TEXT {
            let taken = times.filter(|(_, time)| *time > 0.0);
            let taken = taken.map(|(name, time)| format!("{}={time:.3}", name.to_lowercase()));
            let text = taken.collect::<Vec<_>>().join(" ");
            let text = std::ffi::CString::new(text).unwrap_or_default();
            if !text.is_empty() {
                pg_sys::ExplainPropertyText(c"Phase Times".as_ptr(), text.as_ptr(), es);
            }
            return;
        }
        let group = c"Phase Times".as_ptr();
        pg_sys::ExplainOpenGroup(group, group, true, es);
        for (name, time) in times {
            let name = std::ffi::CString::new(format!("{name} Time")).unwrap_or_default();
            pg_sys::ExplainPropertyFloat(name.as_ptr(), c"ms".as_ptr(), time, 3, es);
        }
        pg_sys::ExplainCloseGroup(group, group, true, es);
    }
}

unsafe fn list_of(es: *mut pg_sys::ExplainState, name: &CStr, items: impl Iterator<Item = String>) {
    // SAFETY: the explain state is alive; strings are copied into the current memory context.
    unsafe {
        pg_sys::ExplainPropertyList(name.as_ptr(), strings(items), es);
    }
}

/// A list of C strings, in the current memory context.
unsafe fn strings(items: impl Iterator<Item = String>) -> *mut pg_sys::List {
    // SAFETY: strings are copied into the current memory context.
    unsafe {
        list::of_pointers(items.map(|item| {
            let bytes = std::ffi::CString::new(item).unwrap_or_default();
            pg_sys::pstrdup(bytes.as_ptr())
        }))
    }
}

unsafe fn integer(es: *mut pg_sys::ExplainState, name: &CStr, value: i64) {
    // SAFETY: the explain state is alive.
    unsafe { pg_sys::ExplainPropertyInteger(name.as_ptr(), core::ptr::null(), value, es) }
}

unsafe fn kilobytes(es: *mut pg_sys::ExplainState, name: &CStr, bytes: u64) {
    // SAFETY: the explain state is alive.
    unsafe {
        let value = bytes.div_ceil(1024) as i64;
        pg_sys::ExplainPropertyInteger(name.as_ptr(), c"kB".as_ptr(), value, es);
    }
}
