//! Drives a pipeline over a table: reads morsels, has them worked on here or on threads, and collects what comes out.

use super::error;
use super::pool::{DEPTH, Pool, Reply, SpillLimit};
use super::source::Reader;
use super::spill::Spill;
use crate::threads;
use columnar_exec::phases::{Phase, Stopwatch};
use columnar_exec::pipeline::{Morsel, Outcome, Pipeline, RowBlock, Sink, State, Worker};
use columnar_exec::{ExecError, External};
use pgrx::pg_sys;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows of groups from which on threads are worth their start.
pub const ROWS_FOR_THREADS: u64 = 50_000;
/// What a worker's groups may take whatever the settings are: less would be little more than the buffers of one batch.
pub const LEAST_MEMORY: usize = 2 << 20;
/// The same for each grouping set but the first: the buffers of its table.
const LEAST_SET_MEMORY: usize = 256 << 10;
/// Partitions of a spill.
pub const PARTITIONS: usize = 32;

/// A pipeline at work.
pub struct Run {
    pub reader: Reader,
    pipeline: Arc<Pipeline>,
    engine: Engine,
    /// Blocks that came before their turn; `None` for morsels without rows.
    ready: BTreeMap<u64, Option<RowBlock>>,
    /// Sequence number whose turn it is.
    turn: u64,
    in_flight: usize,
    /// Morsels that may be under way; rises, so that a LIMIT reads little.
    depth: usize,
    exhausted: bool,
    finished: Vec<State>,
    /// Groups on files, by grouping set; shorter where later sets have none.
    pub spills: Vec<Option<Spill>>,
    /// Bytes written to temporary files.
    pub spilled: u64,
    /// The most bytes that the workers' groups took, as far as they were looked at.
    pub memory: usize,
    limit: SpillLimit,
    /// Whether something else does the work where batches cannot hold a value.
    pub replaceable: bool,
    /// Whether that came to pass.
    given_up: bool,
    /// Threads that the settings allow.
    allowed: usize,
    /// Threads used.
    pub threads: usize,
    /// The share of the table that was read when groups outgrew memory that cannot go to files. What was gathered is then of
    /// no use.
    pub outgrown: Option<f64>,
    /// Rows of groups at the start.
    rows: u64,
}

enum Engine {
    /// No morsel has come yet, and none may come: zone maps exclude groups, and metadata answers for them.
    Idle(Option<&'static mut dyn External>),
    Here(Box<Worker<'static>>),
    Threads(Pool),
}

impl Run {
    /// Starts work. `external` must outlive the run.
    pub fn start(
        mut reader: Reader,
        pipeline: Pipeline,
        external: Option<&'static mut dyn External>,
    ) -> Self {
        // Processes that share a scan are its threads.
        let alone = pipeline.uses_external() || reader.is_shared();
        let wanted =
            if alone || reader.rows_left() < ROWS_FOR_THREADS { 0 } else { allowed_threads() };
        let pipeline = Arc::new(pipeline);
        reader.follow(Arc::clone(&pipeline));
        // SAFETY: reads settings.
        #[allow(unsafe_code)]
        let memory = unsafe { pg_sys::get_hash_memory_limit() };
        let sets = match &pipeline.sink {
            Sink::Aggregate { sets, .. } => sets.len(),
            _ => 1,
        };
        let least = LEAST_MEMORY + sets.saturating_sub(1) * LEAST_SET_MEMORY;
        let limit = SpillLimit {
            bytes: (memory / wanted.max(1)).max(least),
            whole: memory,
            partitions: PARTITIONS,
        };
        let turn = reader.next_sequence();
        let rows = reader.rows_left();
        Self {
            reader,
            pipeline,
            engine: Engine::Idle(external),
            ready: BTreeMap::new(),
            turn,
            in_flight: 0,
            depth: 0,
            exhausted: false,
            finished: Vec::new(),
            spills: Vec::new(),
            spilled: 0,
            memory: 0,
            limit,
            replaceable: false,
            given_up: false,
            allowed: wanted,
            threads: 0,
            outgrown: None,
            rows,
        }
    }

    /// Starts threads if there is enough for them to do, fewer where the system gives no more; otherwise work is done here.
    fn set_out(&mut self) {
        let Engine::Idle(external) = &mut self.engine else { return };
        let external = external.take();
        if self.allowed > 0 && self.reader.rows_left() >= ROWS_FOR_THREADS {
            let pool = Pool::start(&self.pipeline, self.allowed, self.limit);
            self.threads = pool.threads();
            if self.threads > 0 {
                self.depth = self.threads + 1;
                self.engine = Engine::Threads(pool);
                return;
            }
        }
        self.engine = Engine::Here(Box::new(Worker::new(Arc::clone(&self.pipeline), external)));
    }

    /// The pipeline.
    pub fn pipeline(&self) -> &Arc<Pipeline> {
        &self.pipeline
    }

    /// Ends the work and gives the reader back.
    pub fn stop(mut self) -> Reader {
        self.close_spills();
        self.reader
    }

    fn close_spills(&mut self) {
        self.spills.iter_mut().flatten().for_each(Spill::close);
        self.spills.clear();
    }

    /// The next block of rows, in the order of the table.
    pub fn next_block(&mut self) -> Option<RowBlock> {
        loop {
            if let Some(entry) = self.ready.remove(&self.turn) {
                self.turn += 1;
                match entry {
                    Some(block) => return Some(block),
                    None => continue,
                }
            }
            if !self.advance() {
                return None;
            }
        }
    }

    /// Has all rows worked on and gives what the workers gathered; groups may also lie in [`Run::spills`]. `None` where
    /// batches cannot hold a value, if the run is replaceable.
    pub fn gather(&mut self) -> Option<Vec<State>> {
        if !self.given_up {
            self.gather_states();
        }
        if self.given_up {
            // Threads end, and nothing of their work is kept.
            self.engine = Engine::Idle(None);
            self.close_spills();
            self.finished.clear();
            return None;
        }
        Some(core::mem::take(&mut self.finished))
    }

    fn gather_states(&mut self) {
        while self.advance() {
            // Nothing comes out but the states.
            self.ready.clear();
        }
        self.set_out();
        let summaries = self.reader.take_summaries();
        self.finished.extend(summaries.map(|folded| State::Aggregate(vec![folded])));
        match &mut self.engine {
            Engine::Idle(_) => {}
            Engine::Here(worker) => {
                let state = core::mem::replace(&mut worker.state, State::Rows);
                self.finished.push(state);
            }
            Engine::Threads(pool) => {
                pool.close();
                let mut left = self.threads;
                while left > 0 && !self.given_up {
                    let Engine::Threads(pool) = &self.engine else { break };
                    let reply = self.wait(pool);
                    if let Some(state) = self.take(reply) {
                        self.finished.push(state);
                        left -= 1;
                    }
                }
            }
        }
    }

    /// Does some work; false when all is done.
    fn advance(&mut self) -> bool {
        if self.given_up || self.outgrown.is_some() {
            return false;
        }
        if let Engine::Here(_) | Engine::Idle(_) = self.engine {
            let Some(morsel) = self.next_morsel() else { return false };
            self.set_out();
            if let Engine::Threads(_) = self.engine {
                self.submit(morsel, false);
                self.in_flight += 1;
            } else {
                self.work_here(morsel);
            }
            return true;
        }
        while !self.exhausted && self.in_flight < self.depth {
            match self.next_morsel() {
                Some(morsel) => {
                    self.submit(morsel, false);
                    self.in_flight += 1;
                }
                None => self.exhausted = true,
            }
            self.take_replies();
        }
        self.depth = (self.depth + 1).min(self.threads * DEPTH);
        if self.in_flight == 0 {
            // The threads may have been done before the last look at their replies.
            return !self.exhausted || !self.ready.is_empty();
        }
        if let Engine::Threads(pool) = &self.engine {
            let reply = self.wait(pool);
            self.take(reply);
        }
        true
    }

    fn next_morsel(&mut self) -> Option<Morsel> {
        let _watch = Stopwatch::start(self.pipeline.phases.as_ref(), Phase::Read);
        self.reader.next_morsel()
    }

    /// Brings the columns that are still wanted.
    fn complete(&mut self, morsel: &mut Morsel) {
        let _watch = Stopwatch::start(self.pipeline.phases.as_ref(), Phase::Read);
        self.reader.complete(morsel);
    }

    /// What a thread says next.
    fn wait(&self, pool: &Pool) -> Reply {
        let _watch = Stopwatch::start(self.pipeline.phases.as_ref(), Phase::Wait);
        pool.wait()
    }

    fn submit(&self, morsel: Morsel, urgent: bool) {
        if let Engine::Threads(pool) = &self.engine {
            pool.submit(morsel, urgent);
        }
    }

    /// Takes what the threads have said meanwhile.
    fn take_replies(&mut self) {
        while let Engine::Threads(pool) = &self.engine {
            let Some(reply) = pool.poll() else { return };
            self.take(reply);
        }
    }

    fn work_here(&mut self, mut morsel: Morsel) {
        loop {
            let Engine::Here(worker) = &mut self.engine else { return };
            let rows = morsel.batch.rows;
            let outcome = worker.process(morsel);
            let spills = &mut self.spills;
            let mut write = |set, partition, bytes: Vec<u8>| {
                pgrx::check_for_interrupts!();
                spill_of(spills, set).write(partition, &bytes);
                Ok(())
            };
            let spilled = match self.pipeline.states_elsewhere() {
                None => self.limit.spill(&mut worker.state, rows, &mut write),
                Some(transitions) => {
                    let beyond = worker.memory_size() > self.limit.bytes;
                    if beyond && transitions.may_split(worker.groups()) {
                        let read = self.rows.saturating_sub(self.reader.rows_left());
                        self.outgrown = Some(read as f64 / self.rows.max(1) as f64);
                    }
                    Ok(Default::default())
                }
            };
            let outcome = match (outcome, spilled) {
                (Ok(outcome), Ok(spilled)) => {
                    self.memory = self.memory.max(spilled.bytes);
                    outcome
                }
                (Err(e), _) | (_, Err(e)) => return self.fail(&e),
            };
            match outcome {
                Outcome::Wanting(wanting) => {
                    morsel = wanting;
                    self.complete(&mut morsel);
                }
                other => return self.settle(other),
            }
        }
    }

    fn take(&mut self, reply: Reply) -> Option<State> {
        match reply {
            Reply::Outcome(Ok(Outcome::Wanting(mut morsel))) => {
                self.complete(&mut morsel);
                self.submit(morsel, true);
            }
            Reply::Outcome(Ok(outcome)) => {
                self.in_flight -= 1;
                self.settle(outcome);
            }
            Reply::Outcome(Err(e)) => self.fail(&e),
            Reply::Spilled(set, partition, bytes) => {
                spill_of(&mut self.spills, set).write(partition, &bytes);
            }
            Reply::Finished(state, bytes) => {
                self.memory += bytes;
                return Some(state);
            }
            Reply::Panicked(message) => error::panicked(&message),
        }
        None
    }

    /// Raises an error, or gives the work up.
    fn fail(&mut self, error: &ExecError) {
        if *error != ExecError::Unsupported {
            error::raise(&self.reader, error);
        }
        self.give_up();
    }

    /// Leaves the work to something else; an ERROR where nothing else does it.
    pub fn give_up(&mut self) {
        if !self.replaceable {
            error::unsupported();
        }
        self.given_up = true;
    }

    fn settle(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Done(sequence) => {
                self.reader.done(sequence);
                self.ready.insert(sequence, None);
            }
            Outcome::Rows(block) => {
                self.reader.done(block.sequence);
                self.ready.insert(block.sequence, Some(block));
            }
            Outcome::Wanting(_) => {}
        }
    }

    /// The limit on a worker's groups.
    pub fn limit(&self) -> SpillLimit {
        self.limit
    }
}

/// The temporary files of a grouping set's groups.
fn spill_of(spills: &mut Vec<Option<Spill>>, set: usize) -> &mut Spill {
    if spills.len() <= set {
        spills.resize_with(set + 1, || None);
    }
    spills[set].get_or_insert_with(|| Spill::new(PARTITIONS))
}

/// Threads that the settings allow here: none in a parallel worker, which is a thread of its query already.
fn allowed_threads() -> usize {
    // SAFETY: reads a variable of the server.
    #[allow(unsafe_code)]
    let worker = unsafe { pg_sys::ParallelWorkerNumber } >= 0;
    if worker { 0 } else { threads::limit() }
}
