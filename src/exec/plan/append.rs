//! Grouping, aggregation and DISTINCT above an Append: the members of a partitioned table, or of an inheritance tree, are
//! grouped one by one, and their groups brought together by a node of core's.
//!
//! ```text
//! Finalize HashAggregate        combines transition states; HAVING
//!   Append                      pruned when it starts, as one of scans is
//!     ColumnarAgg               members of the access method
//!     Partial HashAggregate     others, and where a path of core's costs less (an index)
//!       Seq Scan
//! ```
//!
//! Follows create_partitionwise_grouping_paths() of planner.c, with these deviations: `enable_partitionwise_aggregate` need
//! not be on, keys are never sorted, and groups are always brought together, whatever the partition key is.
//!
//! Refused: what core aggregates in one step only (DISTINCT and ORDER BY among arguments, functions that do not combine),
//! keys that are not hashed, members of UNION ALL, and trees without a member that a ColumnarAgg takes.

use super::aggregate::{self, Grouping};
use super::reasons::{self, Step};
use super::{list, make_node, rte_of};
use crate::exec::translate::Refusal;
use crate::ports;
use core::ptr;
use pgrx::pg_sys;

/// What is done of a member, and then of what comes from the members.
struct Steps {
    member: pg_sys::AggSplit::Type,
    whole: pg_sys::AggSplit::Type,
    /// Costs of the aggregates in each.
    member_costs: pg_sys::AggClauseCosts,
    whole_costs: pg_sys::AggClauseCosts,
    /// What rows are hashed by.
    clause: *mut pg_sys::List,
    /// What they are together.
    step: Step,
}

/// A relation of the tree, and what it is asked for in its own columns.
struct Member {
    rel: *mut pg_sys::RelOptInfo,
    /// What the scan hands out.
    scanned: *mut pg_sys::PathTarget,
    /// What the grouping hands out.
    grouped: *mut pg_sys::PathTarget,
    /// A list of keys.
    keys: *mut pg_sys::List,
}

/// Offers aggregation.
///
/// # Safety
/// Called by the planner's hook with the arguments of its stage.
pub unsafe fn add_group_path(
    root: *mut pg_sys::PlannerInfo,
    input: *mut pg_sys::RelOptInfo,
    output: *mut pg_sys::RelOptInfo,
    extra: &pg_sys::GroupPathExtraData,
) {
    // SAFETY: the planner's nodes are alive.
    unsafe {
        let parse = (*root).parse;
        let flags = extra.flags as u32;
        let hashed = !(*parse).groupClause.is_null();
        let usable = flags & pg_sys::GROUPING_CAN_PARTIAL_AGG != 0
            && (!hashed || flags & pg_sys::GROUPING_CAN_USE_HASH != 0);
        if !is_tree(root, input) {
            return;
        }
        if !(*parse).groupingSets.is_null() {
            let why = "grouping sets over several tables";
            return reasons::note(root, input, Step::Grouping, &Refusal::Shape(why));
        }
        if !usable {
            let why = "keys that are not hashed, or aggregates of which parts do not combine";
            return reasons::note(root, input, Step::Grouping, &Refusal::Shape(why));
        }
        let having = extra.havingQual;
        let keys = aggregate::keys((*parse).groupClause, extra.targetList);
        let Some(folds) = aggregate::folds((*output).reltarget, having, &keys) else { return };
        let grouped = pg_sys::create_empty_pathtarget();
        // Also keys that the planner found redundant: expressions of the query may need them.
        for clause in list::pointers::<pg_sys::SortGroupClause>((*parse).groupClause) {
            let key = pg_sys::get_sortgroupclause_expr(clause, extra.targetList);
            pg_sys::add_column_to_pathtarget(grouped, key.cast(), (*clause).tleSortGroupRef);
        }
        for fold in folds {
            let copy = make_node::<pg_sys::Aggref>(pg_sys::NodeTag::T_Aggref);
            copy.write(*fold.cast::<pg_sys::Aggref>());
            pg_sys::mark_partial_aggref(copy, pg_sys::AggSplit::AGGSPLIT_INITIAL_SERIAL);
            pg_sys::add_column_to_pathtarget(grouped, copy.cast(), 0);
        }
        pg_sys::set_pathtarget_cost_width(root, grouped);
        let (member, whole) =
            (pg_sys::AggSplit::AGGSPLIT_INITIAL_SERIAL, pg_sys::AggSplit::AGGSPLIT_FINAL_DESERIAL);
        let costs = |split| {
            let mut costs = pg_sys::AggClauseCosts::default();
            if (*parse).hasAggs {
                ports::get_agg_clause_costs(root, split, &raw mut costs);
            }
            costs
        };
        let steps = Steps {
            member,
            whole,
            member_costs: costs(member),
            whole_costs: costs(whole),
            clause: ports::processed_groupClause(root),
            step: Step::Grouping,
        };
        let scanned = (*input).reltarget;
        let all = Member { rel: input, scanned, grouped, keys: list::of_pointers(keys) };
        offer(root, &all, &steps, output, (*output).reltarget, having.cast());
    }
}

/// Offers DISTINCT.
///
/// # Safety
/// As [`add_group_path`].
pub unsafe fn add_distinct_path(
    root: *mut pg_sys::PlannerInfo,
    input: *mut pg_sys::RelOptInfo,
    output: *mut pg_sys::RelOptInfo,
) {
    // SAFETY: the planner's nodes are alive.
    unsafe {
        let clause = (*(*root).parse).distinctClause;
        if !is_tree(root, input) || !pg_sys::grouping_is_hashable(clause) {
            return;
        }
        let grouped = (*input).reltarget;
        let keys = aggregate::keys(clause, (*root).processed_tlist);
        if aggregate::folds(grouped, ptr::null_mut(), &keys).is_none() {
            return;
        }
        let (simple, none) = (pg_sys::AggSplit::AGGSPLIT_SIMPLE, pg_sys::AggClauseCosts::default());
        let steps = Steps {
            member: simple,
            whole: simple,
            member_costs: none,
            whole_costs: none,
            clause,
            step: Step::Distinct,
        };
        let keys = list::of_pointers(keys);
        let all = Member { rel: input, scanned: grouped, grouped, keys };
        offer(root, &all, &steps, output, grouped, ptr::null_mut());
    }
}

/// Whether a relation is a table with members.
unsafe fn is_tree(root: *mut pg_sys::PlannerInfo, rel: *mut pg_sys::RelOptInfo) -> bool {
    // SAFETY: the planner's nodes are alive.
    unsafe {
        if !aggregate::is_table(rel) {
            return false;
        }
        let rte = rte_of(root, rel);
        (*rte).rtekind == pg_sys::RTEKind::RTE_RELATION && (*rte).inh && !pg_sys::is_dummy_rel(rel)
    }
}

unsafe fn offer(
    root: *mut pg_sys::PlannerInfo,
    all: &Member,
    steps: &Steps,
    output: *mut pg_sys::RelOptInfo,
    target: *mut pg_sys::PathTarget,
    having: *mut pg_sys::List,
) {
    // SAFETY: the planner's nodes are alive.
    unsafe {
        let mut members = Vec::new();
        members_of(root, all, &mut members);
        let mut paths = Vec::new();
        for member in &members {
            let Some(path) = member_path(root, member, steps) else { return };
            paths.push(path);
        }
        // Without a ColumnarAgg this is for core to decide.
        if !paths.iter().any(|path| aggregate::is_ours(*path)) {
            return;
        }
        let none = ptr::null_mut();
        let paths = list::of_pointers(paths);
        // The rel of the Append is the table itself, and those of the paths below are its members: by that the plan is pruned.
        let append = pg_sys::create_append_path(
            root,
            all.rel,
            paths,
            none,
            none,
            none.cast(),
            0,
            false,
            -1.0,
        );
        (*append).path.pathtarget = all.grouped;
        let path = pg_sys::create_agg_path(
            root,
            output,
            append.cast(),
            target,
            strategy(all),
            steps.whole,
            steps.clause,
            having,
            &raw const steps.whole_costs,
            groups(root, all),
        );
        pg_sys::add_path(output, path.cast());
    }
}

/// Collects the leaves of the tree below a relation, but for those proven to be empty.
unsafe fn members_of(root: *mut pg_sys::PlannerInfo, parent: &Member, found: &mut Vec<Member>) {
    // SAFETY: the planner's nodes are alive; its array has an entry for each member that is in the list.
    unsafe {
        for link in list::pointers::<pg_sys::AppendRelInfo>((*root).append_rel_list) {
            if (*link).parent_relid != (*parent.rel).relid {
                continue;
            }
            let rel = *(*root).simple_rel_array.add((*link).child_relid as usize);
            if rel.is_null() || pg_sys::is_dummy_rel(rel) {
                continue;
            }
            let mut link = link;
            let mut adjust = |list: *mut pg_sys::List| -> *mut pg_sys::List {
                pg_sys::adjust_appendrel_attrs(root, list.cast(), 1, &raw mut link).cast()
            };
            let mut target = |of: *mut pg_sys::PathTarget| {
                let copy = pg_sys::copy_pathtarget(of);
                (*copy).exprs = adjust((*of).exprs);
                copy
            };
            let (scanned, grouped) = (target(parent.scanned), target(parent.grouped));
            let member = Member { rel, scanned, grouped, keys: adjust(parent.keys) };
            if (*rte_of(root, rel)).inh {
                members_of(root, &member, found);
            } else {
                found.push(member);
            }
        }
    }
}

/// The cheapest way to group a member; `None` where there is none.
unsafe fn member_path(
    root: *mut pg_sys::PlannerInfo,
    member: &Member,
    steps: &Steps,
) -> Option<*mut pg_sys::Path> {
    // SAFETY: the planner's nodes are alive.
    unsafe {
        let rel = member.rel;
        let below = (*rel).cheapest_total_path;
        if below.is_null() || !(*below).param_info.is_null() {
            return None;
        }
        let groups = groups(root, member);
        let below = pg_sys::create_projection_path(root, rel, below, member.scanned);
        let core: *mut pg_sys::Path = pg_sys::create_agg_path(
            root,
            rel,
            below.cast(),
            member.grouped,
            strategy(member),
            steps.member,
            steps.clause,
            ptr::null_mut(),
            &raw const steps.member_costs,
            groups,
        )
        .cast();
        let grouping = Grouping {
            input: rel,
            processed: steps.clause,
            tlist: ptr::null_mut(),
            keys: list::pointers(member.keys),
            refs: Vec::new(),
            sets: ptr::null_mut(),
            core: list::of_pointers([core]),
            target: member.grouped,
            having: ptr::null_mut(),
            partial: steps.member != pg_sys::AggSplit::AGGSPLIT_SIMPLE,
        };
        let ours = match aggregate::path(root, &grouping, rel, groups) {
            Ok(Some(ours)) => ours,
            Ok(None) => return Some(core),
            Err(why) => {
                reasons::note(root, rel, steps.step, &why);
                return Some(core);
            }
        };
        let cheaper = pg_sys::compare_path_costs(ours, core, pg_sys::CostSelector::TOTAL_COST) <= 0;
        Some(if cheaper { ours } else { core })
    }
}

fn strategy(member: &Member) -> pg_sys::AggStrategy::Type {
    if member.keys.is_null() {
        pg_sys::AggStrategy::AGG_PLAIN
    } else {
        pg_sys::AggStrategy::AGG_HASHED
    }
}

/// The estimated number of groups.
unsafe fn groups(root: *mut pg_sys::PlannerInfo, member: &Member) -> f64 {
    if member.keys.is_null() {
        return 1.0;
    }
    let none = ptr::null_mut();
    // SAFETY: the planner's nodes are alive; the keys are of the relation.
    unsafe {
        pg_sys::estimate_num_groups(root, member.keys, (*member.rel).rows, none, ptr::null_mut())
    }
}
