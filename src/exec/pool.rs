//! Threads that work for one plan node.
//!
//! They run pure Rust on bytes they were given and never call PostgreSQL. Signals are blocked in them. They end when the
//! pool is dropped, which happens when the node ends or, after an ERROR, when its memory context goes.

use crate::threads::SignalsBlocked;
use columnar_exec::ExecError;
use columnar_exec::agg::{SetPieceSink, Spilled, spill_largest};
use columnar_exec::pipeline::{Morsel, Outcome, Pipeline, State, Worker};
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Morsels under way for each thread.
pub const DEPTH: usize = 4;
/// Pieces of a spill that may wait to be written, beside what else the threads say.
const PIECES: usize = 8;
/// How long the backend waits for a thread before it looks for interrupts.
const POLL: Duration = Duration::from_millis(10);

/// What a thread says.
#[derive(Debug)]
pub enum Reply {
    /// A morsel went so far.
    Outcome(Result<Outcome, ExecError>),
    /// Some of the groups that outgrew their share of memory: of a grouping set, and a partition.
    Spilled(usize, usize, Vec<u8>),
    /// All morsels are done; what the thread gathered, and the most bytes its groups took.
    Finished(State, usize),
    /// The thread panicked.
    Panicked(String),
}

/// Threads and the queue they take morsels from.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// `None` once nobody listens.
    replies: Option<Receiver<Reply>>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    /// Nobody wants the results any more.
    cancelled: AtomicBool,
    /// Bytes of the groups of all threads, as each told when it looked last.
    held: AtomicUsize,
}

#[derive(Debug, Default)]
struct Queue {
    morsels: VecDeque<Morsel>,
    /// No further morsel comes.
    closed: bool,
}

/// When a worker's groups go to temporary files.
#[derive(Clone, Copy, Debug)]
pub struct SpillLimit {
    /// Bytes of groups that one worker may hold whatever the others do.
    pub bytes: usize,
    /// Bytes of the groups of all workers.
    pub whole: usize,
    /// Partitions of the spill, a power of two.
    pub partitions: usize,
}

impl Pool {
    /// Starts threads; fewer where the system gives no more, none perhaps.
    pub fn start(pipeline: &Arc<Pipeline>, threads: usize, limit: SpillLimit) -> Self {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            wake: Condvar::new(),
            cancelled: AtomicBool::new(false),
            held: AtomicUsize::new(0),
        });
        // Bounded, so that threads that spill wait for the backend to write.
        let (sender, replies) = sync_channel(threads * DEPTH + PIECES);
        let blocked = SignalsBlocked::block();
        let threads = (0..threads)
            .filter_map(|_| {
                let (shared, sender) = (Arc::clone(&shared), sender.clone());
                let pipeline = Arc::clone(pipeline);
                let work = move || run(&shared, pipeline, limit, &sender);
                std::thread::Builder::new().name("pgcolumnar".into()).spawn(work).ok()
            })
            .collect();
        drop(blocked);
        Self { shared, threads, replies: Some(replies) }
    }

    /// Threads at work.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Hands a morsel to whichever thread is free first; `urgent` ones before others.
    pub fn submit(&self, morsel: Morsel, urgent: bool) {
        let mut queue = self.shared.lock();
        if urgent {
            queue.morsels.push_front(morsel);
        } else {
            queue.morsels.push_back(morsel);
        }
        drop(queue);
        self.shared.wake.notify_one();
    }

    /// Says that no further morsel comes: threads finish and say what they gathered.
    pub fn close(&self) {
        self.shared.lock().closed = true;
        self.shared.wake.notify_all();
    }

    /// The next reply, if there is one by now.
    pub fn poll(&self) -> Option<Reply> {
        self.replies.as_ref()?.try_recv().ok()
    }

    /// The next reply; looks for interrupts while it waits.
    pub fn wait(&self) -> Reply {
        loop {
            pgrx::check_for_interrupts!();
            match self.replies.as_ref().map(|replies| replies.recv_timeout(POLL)) {
                Some(Ok(reply)) => return reply,
                Some(Err(RecvTimeoutError::Timeout)) => {}
                Some(Err(RecvTimeoutError::Disconnected)) | None => {
                    return Reply::Panicked("a thread ended before its work".into());
                }
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
        let mut queue = self.shared.lock();
        queue.morsels.clear();
        queue.closed = true;
        drop(queue);
        self.shared.wake.notify_all();
        // Who waits to say something is told that nobody listens.
        self.replies = None;
        for thread in self.threads.drain(..) {
            // A panic was caught and told already.
            drop(thread.join());
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next morsel; `None` when there will be no other.
    fn take(&self) -> Option<Morsel> {
        let mut queue = self.lock();
        loop {
            if let Some(morsel) = queue.morsels.pop_front() {
                return Some(morsel);
            }
            if queue.closed {
                return None;
            }
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A thread's life. Sending fails only when the backend no longer listens.
fn run(shared: &Shared, pipeline: Arc<Pipeline>, limit: SpillLimit, replies: &SyncSender<Reply>) {
    let work = || {
        let mut worker = Worker::new(pipeline, None);
        let mut send = |set, partition, bytes| {
            let sent = replies.send(Reply::Spilled(set, partition, bytes));
            if sent.is_err() || shared.cancelled.load(Ordering::Relaxed) {
                return Err(ExecError::Cancelled);
            }
            Ok(())
        };
        let mut spilled: Vec<usize> = Vec::new();
        let (mut most, mut held) = (0, 0);
        while let Some(morsel) = shared.take() {
            if shared.cancelled.load(Ordering::Relaxed) {
                return;
            }
            let rows = morsel.batch.rows;
            let outcome = worker.process(morsel);
            drop(replies.send(Reply::Outcome(outcome)));
            let others = shared.held.load(Ordering::Relaxed).saturating_sub(held);
            match limit.beside(others).spill(&mut worker.state, rows, &mut send) {
                Ok(Spilled { bytes, sets }) => {
                    most = most.max(bytes);
                    let now = if sets.is_empty() { bytes } else { worker.memory_size() };
                    shared.held.fetch_add(now, Ordering::Relaxed);
                    shared.held.fetch_sub(held, Ordering::Relaxed);
                    held = now;
                    spilled.extend(sets);
                }
                Err(error) => drop(replies.send(Reply::Outcome(Err(error)))),
            }
        }
        // What is left of sets that are on files goes where its like is; all threads do this at once.
        spilled.sort_unstable();
        spilled.dedup();
        if let State::Aggregate(tables) = &mut worker.state {
            for &set in &spilled {
                let mut send = |partition, bytes| send(set, partition, bytes);
                if let Err(error) = tables[set].spill(1, limit.partitions, &mut send) {
                    drop(replies.send(Reply::Outcome(Err(error))));
                    break;
                }
            }
        }
        let state = core::mem::replace(&mut worker.state, State::Rows);
        drop(replies.send(Reply::Finished(state, most)));
    };
    if let Err(payload) = std::panic::catch_unwind(AssertUnwindSafe(work)) {
        let text = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        drop(replies.send(Reply::Panicked(text.to_owned())));
    }
}

impl SpillLimit {
    /// That of one worker while the others hold so many bytes.
    fn beside(self, others: usize) -> Self {
        Self { bytes: self.bytes.max(self.whole.saturating_sub(others)), ..self }
    }

    /// Spills a worker's groups, those of the largest grouping sets first, if they have outgrown their share of memory, or
    /// would with the next batch, which may have as many rows as the last. Those of DISTINCT ON are left to PostgreSQL then.
    pub fn spill(
        self,
        state: &mut State,
        rows: usize,
        out: &mut SetPieceSink<'_>,
    ) -> Result<Spilled, ExecError> {
        match state {
            State::Aggregate(tables) => {
                spill_largest(tables, self.bytes, rows, self.partitions, out)
            }
            // These do not go to files.
            State::DistinctOn(groups) if groups.outgrows(self.bytes, rows) => {
                Err(ExecError::Unsupported)
            }
            State::DistinctOn(groups) => {
                Ok(Spilled { bytes: groups.memory_size(), ..Spilled::default() })
            }
            _ => Ok(Spilled::default()),
        }
    }
}
