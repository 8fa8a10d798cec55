//! Threads that work for one plan node.
//!
//! They run pure Rust on bytes they were given and never call PostgreSQL. Signals are blocked in them. They end when the
//! pool is dropped, which happens when the node ends or, after an ERROR, when its memory context goes.

use crate::threads::SignalsBlocked;
use columnar_exec::ExecError;
use columnar_exec::agg::{SpilledGroups, spill_largest};
use columnar_exec::pipeline::{Morsel, Outcome, Pipeline, State, Worker};
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long the backend waits for a thread before it looks for interrupts.
const POLL: Duration = Duration::from_millis(10);

/// What a thread says.
#[derive(Debug)]
pub enum Reply {
    /// A morsel went so far.
    Outcome(Result<Outcome, ExecError>),
    /// Groups that outgrew their share of memory.
    Spilled(SpilledGroups),
    /// All morsels are done; what the thread gathered.
    Finished(State),
    /// The thread panicked.
    Panicked(String),
}

/// Threads and the queue they take morsels from.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    replies: Receiver<Reply>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    /// Nobody wants the results any more.
    cancelled: AtomicBool,
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
    /// Bytes of groups that one worker may hold.
    pub bytes: usize,
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
        });
        let (sender, replies) = channel();
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
        Self { shared, threads, replies }
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
        self.replies.try_recv().ok()
    }

    /// The next reply; looks for interrupts while it waits.
    pub fn wait(&self) -> Reply {
        loop {
            pgrx::check_for_interrupts!();
            match self.replies.recv_timeout(POLL) {
                Ok(reply) => return reply,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
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
fn run(shared: &Shared, pipeline: Arc<Pipeline>, limit: SpillLimit, replies: &Sender<Reply>) {
    let work = || {
        let mut worker = Worker::new(pipeline, None);
        while let Some(morsel) = shared.take() {
            if shared.cancelled.load(Ordering::Relaxed) {
                return;
            }
            let outcome = worker.process(morsel);
            drop(replies.send(Reply::Outcome(outcome)));
            match spill(&mut worker.state, limit) {
                Ok(spilled) => {
                    spilled.into_iter().for_each(|set| drop(replies.send(Reply::Spilled(set))));
                }
                Err(error) => drop(replies.send(Reply::Outcome(Err(error)))),
            }
        }
        let state = core::mem::replace(&mut worker.state, State::Rows);
        drop(replies.send(Reply::Finished(state)));
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

/// Serializes a worker's groups, those of the largest grouping sets first, if they have outgrown their share of memory.
pub fn spill(state: &mut State, limit: SpillLimit) -> Result<Vec<SpilledGroups>, ExecError> {
    match state {
        State::Aggregate(tables) => spill_largest(tables, limit.bytes, limit.partitions),
        _ => Ok(Vec::new()),
    }
}
