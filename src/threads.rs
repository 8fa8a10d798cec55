//! Work on threads beside the backend's.
//!
//! Threads run pure Rust on data they borrow and never call PostgreSQL. Signals are blocked in them, so that handlers run
//! on the backend's thread. They end with the call that started them; a panic in one becomes an ERROR here.

use crate::guc;
use pgrx::pg_sys;

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

/// Applies a function to each item, on the backend's thread and on others beside it, and returns the results in order.
pub fn map<T: Sync, R: Send>(items: &[T], apply: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let helpers = limit().min(items.len().saturating_sub(1));
    if helpers == 0 {
        return items.iter().map(apply).collect();
    }
    let next = core::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            done.push((at, apply(item)));
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
        store(work());
        for thread in threads {
            match thread.join() {
                Ok(done) => store(done),
                Err(payload) => std::panic::resume_unwind(payload),
            }
        }
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
