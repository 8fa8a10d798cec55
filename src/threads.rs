//! Work on threads beside the backend's.
//!
//! Threads run pure Rust on data they borrow and never call PostgreSQL. Signals are blocked in them, so that handlers run
//! on the backend's thread. They end with the call that started them; a panic in one becomes an ERROR here.

use crate::guc;
use core::sync::atomic::{AtomicBool, Ordering};
use pgrx::pg_sys;
use std::time::Duration;

/// How long the backend waits for a thread to end before it looks again, and for interrupts.
const JOIN: Duration = Duration::from_micros(200);

/// Threads beside the backend's that the settings allow.
pub fn limit() -> usize {
    let setting = guc::MAX_THREADS.get();
    let wanted = if setting >= 0 {
        setting
    } else {
        // SAFETY: reads a setting of the server.
        #[allow(unsafe_code)]
        unsafe {
            pg_sys::max_parallel_workers_per_gather
        }
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (wanted.max(0) as usize).min(processors)
}

/// Tells work that takes long whether it is still wanted.
pub struct Wanted<'a> {
    given_up: &'a AtomicBool,
    backend: std::thread::ThreadId,
}

impl Wanted<'_> {
    /// False when the backend gave up. On the backend's own thread it looks for interrupts, whose ERROR is how it gives up.
    pub fn is(&self) -> bool {
        if std::thread::current().id() == self.backend {
            pgrx::check_for_interrupts!();
        }
        !self.given_up.load(Ordering::Relaxed)
    }
}

/// Gives up unless it is disarmed, that is when an ERROR unwinds.
struct GiveUp<'a>(&'a AtomicBool, bool);

impl Drop for GiveUp<'_> {
    fn drop(&mut self) {
        self.0.store(self.1, Ordering::Relaxed);
    }
}

/// Applies a function to each item, on the backend's thread and on others beside it, and returns the results in order.
pub fn map<T: Sync, R: Send>(items: &[T], apply: impl Fn(&T) -> R + Sync) -> Vec<R> {
    map_while_wanted(items, |item, _| apply(item))
}

/// As [`map`], for functions that take long and stop early when they are not wanted any more; what they return then is lost.
pub fn map_while_wanted<T: Sync, R: Send>(
    items: &[T],
    apply: impl Fn(&T, &Wanted<'_>) -> R + Sync,
) -> Vec<R> {
    let given_up = AtomicBool::new(false);
    let wanted = Wanted { given_up: &given_up, backend: std::thread::current().id() };
    let helpers = limit().min(items.len().saturating_sub(1));
    if helpers == 0 {
        return items.iter().map(|item| apply(item, &wanted)).collect();
    }
    let next = core::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            done.push((at, apply(item, &wanted)));
        }
    };
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    let mut store = |done: Vec<(usize, R)>| {
        for (at, result) in done {
            results[at] = Some(result);
        }
    };
    std::thread::scope(|scope| {
        let blocked = SignalsBlocked::block();
        let threads: Vec<_> = (0..helpers)
            .filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        drop(blocked);
        let mut give_up = GiveUp(&given_up, true);
        store(work());
        for thread in threads {
            while !thread.is_finished() {
                pgrx::check_for_interrupts!();
                std::thread::park_timeout(JOIN);
            }
            match thread.join() {
                Ok(done) => store(done),
                Err(payload) => std::panic::resume_unwind(payload),
            }
        }
        give_up.1 = false;
    });
    results.into_iter().flatten().collect()
}

/// Blocks all signals on this thread while it exists, so that threads started meanwhile have them blocked.
pub struct SignalsBlocked(libc::sigset_t);

#[allow(unsafe_code)]
impl SignalsBlocked {
    /// Blocks them.
    pub fn block() -> Self {
        // SAFETY: the sets are initialised by the calls that fill them.
        unsafe {
            let mut all = core::mem::zeroed();
            let mut old = core::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
            Self(old)
        }
    }
}

#[allow(unsafe_code)]
impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        // SAFETY: restores the mask that `block` read.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, core::ptr::null_mut());
        }
    }
}
