//! What the workers of a ColumnarAgg gathered, as tables to hand out: merged in memory, or read back from temporary files.

use crate::exec::error;
use crate::exec::run::{PARTITIONS, Run};
use crate::exec::spill::Spill;
use crate::threads;
use columnar_exec::ExecError;
use columnar_exec::agg::{Aggregator, Found, GroupSpec, Kept, TopKey};
use columnar_exec::pipeline::{Sink, State};
use std::collections::VecDeque;
use std::sync::Arc;

/// Groups in all workers' tables from which on they are merged by several threads.
const PARALLEL_MERGE: usize = 20_000;
/// Tables that are looked up in each other: each in all before it, so that more are merged by partitions.
const MOST_IN_PLACE: usize = 4;
/// Groups that a thread looks up at once.
const LOOKUP: usize = 1 << 15;
/// Groups among which a thread looks for the first of an order.
const RANGE: usize = 1 << 17;
/// Eighths of the memory for groups that tables and the tables they are merged into take at most, for the short time that
/// both are there.
const MERGE_EIGHTHS: usize = 11;
/// Groups that a piece of a spill brings at most, about.
const PIECE_GROUPS: usize = 2048;
/// Partitions of a partition that does not fit into memory.
const SUBPARTITIONS: usize = 16;
/// How deep partitions are cut.
const MAX_LEVEL: u32 = 6;

/// The tables of all grouping sets.
pub struct Tables {
    /// With the number of the set; those in memory first, so that their memory is free when files are read.
    sources: VecDeque<(usize, Source)>,
}

impl Tables {
    /// What a run's workers gathered.
    pub fn new(run: &mut Run, states: Vec<State>) -> Result<Self, ExecError> {
        let pipeline = Arc::clone(run.pipeline());
        let Sink::Aggregate { sets, .. } = &pipeline.sink else {
            panic!("an aggregating node has another sink");
        };
        let mut tables: Vec<Vec<Aggregator>> = sets.iter().map(|_| Vec::new()).collect();
        for state in states {
            if let State::Aggregate(of_worker) = state {
                tables.iter_mut().zip(of_worker).for_each(|(set, table)| set.push(table));
            }
        }
        let limit = run.limit().bytes;
        let mut spills = core::mem::take(&mut run.spills);
        spills.resize_with(sets.len(), || None);
        let (mut sources, mut spilled) = (VecDeque::new(), Vec::new());
        let mut failed = None;
        for (number, ((set, tables), spill)) in sets.iter().zip(tables).zip(spills).enumerate() {
            if failed.is_some() {
                spill.into_iter().for_each(|mut spill| spill.close());
                continue;
            }
            let source = match Source::new(Arc::clone(&set.spec), tables, spill, limit) {
                Ok(source) => source,
                Err(e) => {
                    failed = Some(e);
                    continue;
                }
            };
            run.spilled += source.spilled.iter().map(|level| level.spill.bytes).sum::<u64>();
            if source.spilled.is_empty() {
                sources.push_back((number, source));
            } else {
                spilled.push((number, source));
            }
        }
        sources.extend(spilled);
        let mut all = Self { sources };
        match failed {
            None => Ok(all),
            Some(e) => {
                all.clear();
                Err(e)
            }
        }
    }

    /// The next table, with the number of its set.
    pub fn next(&mut self) -> Option<(usize, Kept)> {
        loop {
            let (set, source) = self.sources.front_mut()?;
            if let Some(table) = source.next() {
                return Some((*set, table));
            }
            self.sources.pop_front();
        }
    }

    /// Whether some are brought together only when they are handed out.
    pub fn merge_later(&self) -> bool {
        let later = |source: &Source| source.merging.is_some() || !source.spilled.is_empty();
        self.sources.iter().any(|(_, source)| later(source))
    }

    /// Lets go of what was not handed out.
    pub fn clear(&mut self) {
        for (_, source) in &mut self.sources {
            source.spilled.iter_mut().for_each(|level| level.spill.close());
        }
        self.sources.clear();
    }
}

/// Tables of a set that are still to be handed out.
struct Source {
    spec: Arc<GroupSpec>,
    tables: VecDeque<Kept>,
    merging: Option<Rounds>,
    spilled: Vec<Level>,
    limit: usize,
}

/// Tables that are merged some partitions at a time, since all partitions beside them would take too much memory.
struct Rounds {
    parts: Vec<Aggregator>,
    next: usize,
    count: usize,
}

/// How the tables of all workers are brought together.
enum Merge {
    /// Where they are, looked up in each other.
    InPlace,
    /// In memory, all at once.
    Whole,
    /// In memory, in so many partitions, as many at a time as there are tables.
    Rounds(usize),
    /// By way of files.
    Files,
}

/// A level of partitions on files.
struct Level {
    spill: Spill,
    next: usize,
    depth: u32,
}

/// Brings tables together where they are, looking up by several threads.
fn merge_in_place(tables: Vec<Aggregator>) -> Result<VecDeque<Kept>, ExecError> {
    let find = |table: &Aggregator, other: &Aggregator, groups: &[u32]| {
        let pieces: Vec<&[u32]> = groups.chunks(LOOKUP).collect();
        let found = threads::map_while_wanted(&pieces, |piece, wanted| {
            table.find_in(other, piece, &|| still(wanted))
        });
        let mut all = Found::default();
        for piece in found {
            all.append(piece?)?;
        }
        Ok(all)
    };
    let check = || {
        pgrx::check_for_interrupts!();
        Ok(())
    };
    Ok(Aggregator::merge_in_place(tables, &find, &check)?.into())
}

/// Ends work that is not wanted any more.
fn still(wanted: &threads::Wanted<'_>) -> Result<(), ExecError> {
    if wanted.is() { Ok(()) } else { Err(ExecError::Cancelled) }
}

/// The groups of a table that can be among the first `n` of an order, ascending; looked for by several threads.
pub fn first_groups(kept: &Kept, order: &[TopKey], n: usize) -> Result<Vec<u32>, ExecError> {
    let total = kept.table.groups();
    let ranges: Vec<_> =
        (0..total).step_by(RANGE).map(|from| from..total.min(from + RANGE)).collect();
    let found = threads::map_while_wanted(&ranges, |range, wanted| {
        let among = kept.groups.as_deref();
        kept.table.top(order, n, range.clone(), among, &|| still(wanted))
    });
    let mut all = Vec::new();
    for range in found {
        all.extend(range?);
    }
    Ok(all)
}

/// Brings the tables of all workers together: in partitions, by several threads, where they are large.
fn merge(spec: &GroupSpec, mut tables: Vec<Aggregator>) -> Result<VecDeque<Kept>, ExecError> {
    let total: usize = tables.iter().map(Aggregator::groups).sum();
    let bytes: usize = tables.iter().map(Aggregator::memory_size).sum();
    let distinct = spec.aggregates.iter().any(|aggregate| aggregate.distinct.is_some());
    if tables.len() > 1 && (total >= PARALLEL_MERGE || distinct && bytes >= PARALLEL_MERGE * 16) {
        let parts: Vec<&Aggregator> = tables.iter().collect();
        let count = tables.len().next_power_of_two();
        let numbers: Vec<usize> = (0..count).collect();
        tables = merge_partitions(&parts, &numbers, count)?;
        if !spec.keys.is_empty() {
            return Ok(tables.into_iter().map(Kept::from).collect());
        }
        // One group: the partitions are of the values of DISTINCT aggregates.
        tables.iter_mut().for_each(Aggregator::close);
    }
    tables.sort_by_key(Aggregator::groups);
    let mut all = tables.pop();
    if let Some(all) = &mut all {
        for table in tables {
            all.merge(table)?;
        }
    }
    Ok(all.into_iter().map(Kept::from).collect())
}

/// Merges some of `count` partitions of tables, each on a thread.
fn merge_partitions(
    parts: &[&Aggregator],
    partitions: &[usize],
    count: usize,
) -> Result<Vec<Aggregator>, ExecError> {
    let merged = threads::map_while_wanted(partitions, |&partition, wanted| {
        Aggregator::merge_partition(parts, partition, count, &|| still(wanted))
    });
    merged.into_iter().collect()
}

impl Rounds {
    /// The next partitions; none when all were merged.
    fn next(&mut self) -> Result<Vec<Aggregator>, ExecError> {
        let parts: Vec<&Aggregator> = self.parts.iter().collect();
        let until = self.count.min(self.next + parts.len());
        let numbers: Vec<usize> = (self.next..until).collect();
        self.next = until;
        merge_partitions(&parts, &numbers, self.count)
    }
}

impl Source {
    /// `tables` are what the workers hold, `spill` what they wrote.
    fn new(
        spec: Arc<GroupSpec>,
        mut tables: Vec<Aggregator>,
        mut spill: Option<Spill>,
        limit: usize,
    ) -> Result<Self, ExecError> {
        let mut source =
            Self { spec, tables: VecDeque::new(), merging: None, spilled: Vec::new(), limit };
        if spill.is_none() {
            match how_to_merge(&source.spec, &tables, limit)? {
                Merge::InPlace => {
                    source.tables = merge_in_place(tables)?;
                    return Ok(source);
                }
                Merge::Whole => {
                    source.tables = merge(&source.spec, tables)?;
                    return Ok(source);
                }
                Merge::Rounds(count) => {
                    source.merging = Some(Rounds { parts: tables, next: 0, count });
                    return Ok(source);
                }
                Merge::Files => spill = Some(Spill::new(PARTITIONS)),
            }
        }
        let Some(mut spill) = spill else { return Ok(source) };
        for table in &mut tables {
            spill.write_groups(table, 1);
        }
        source.spilled.push(Level { spill, next: 0, depth: 1 });
        Ok(source)
    }

    /// The next table.
    fn next(&mut self) -> Option<Kept> {
        loop {
            if let Some(table) = self.tables.pop_front() {
                return Some(table);
            }
            let Some(rounds) = &mut self.merging else { break };
            let merged = rounds.next().unwrap_or_else(|e| error::raise_plain(&e));
            if merged.is_empty() {
                self.merging = None;
            }
            self.tables.extend(merged.into_iter().map(Kept::from));
        }
        if !self.spec.keys.is_empty() {
            return self.next_spilled().map(Kept::from);
        }
        // One group: what was spilled are values of DISTINCT aggregates, each partition by itself distinct.
        let mut all = self.next_spilled()?;
        all.close();
        while let Some(mut table) = self.next_spilled() {
            table.close();
            all.merge(table).unwrap_or_else(|e| error::raise_plain(&e));
        }
        Some(all.into())
    }

    /// The next table from files.
    fn next_spilled(&mut self) -> Option<Aggregator> {
        loop {
            let level = self.spilled.last_mut()?;
            if level.next == level.spill.partitions() {
                self.spilled.pop();
                continue;
            }
            let (partition, depth) = (level.next, level.depth);
            level.next += 1;
            let mut table = Aggregator::new(Arc::clone(&self.spec));
            let mut deeper: Option<Spill> = None;
            let limit = if depth < MAX_LEVEL { self.limit } else { usize::MAX };
            level.spill.read(partition, |bytes| {
                pgrx::check_for_interrupts!();
                table.absorb(bytes).unwrap_or_else(|e| error::raise_plain(&e));
                if table.outgrows(limit, PIECE_GROUPS) && table.groups() >= SUBPARTITIONS {
                    let deeper = deeper.get_or_insert_with(|| Spill::new(SUBPARTITIONS));
                    deeper.write_groups(&mut table, depth + 1);
                }
            });
            match deeper {
                None if table.groups() == 0 => {}
                None => return Some(table),
                Some(mut spill) => {
                    spill.write_groups(&mut table, depth + 1);
                    self.spilled.push(Level { spill, next: 0, depth: depth + 1 });
                }
            }
        }
    }
}

/// How tables are merged without taking too much memory together with what they are merged into; `limit` is the share of
/// each.
fn how_to_merge(spec: &GroupSpec, tables: &[Aggregator], limit: usize) -> Result<Merge, ExecError> {
    let groups: usize = tables.iter().map(Aggregator::groups).sum();
    if (2..=MOST_IN_PLACE).contains(&tables.len())
        && groups >= PARALLEL_MERGE
        && tables.iter().all(Aggregator::merges_in_place)
    {
        return Ok(Merge::InPlace);
    }
    let most = limit.saturating_mul(tables.len()) / 8 * MERGE_EIGHTHS;
    let bytes: usize = tables.iter().map(Aggregator::memory_size).sum();
    if tables.len() < 2 || bytes * 2 <= most {
        return Ok(Merge::Whole);
    }
    let check = || {
        pgrx::check_for_interrupts!();
        Ok(())
    };
    let parts: Vec<&Aggregator> = tables.iter().collect();
    let merged = Aggregator::merged_size(&parts, &check)?;
    if bytes + merged <= most {
        return Ok(Merge::Whole);
    }
    let at_once = tables.len().next_power_of_two();
    for rounds in [2, 4, 8] {
        // Partitions of one group are no tables of their own.
        if !spec.keys.is_empty() && bytes + merged / rounds <= most {
            return Ok(Merge::Rounds(at_once * rounds));
        }
    }
    Ok(Merge::Files)
}
