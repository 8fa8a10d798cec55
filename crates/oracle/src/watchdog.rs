//! Ends a run whose statement hangs: the server did not even act on statement_timeout.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::session::clip;

/// Far more than any statement_timeout of a run.
const HANG: Duration = Duration::from_secs(150);

/// The statement that runs, and since when.
static CURRENT: Mutex<Option<(String, Instant)>> = Mutex::new(None);

/// A statement begins.
pub fn begin(sql: &str) {
    *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) =
        Some((sql.to_string(), Instant::now()));
}

/// The statement that has run for longer than `limit`.
fn hanging(limit: Duration) -> Option<String> {
    let current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    current.as_ref().filter(|(_, since)| since.elapsed() > limit).map(|(sql, _)| sql.clone())
}

/// Watches from now on.
pub fn start(seed: u64) {
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_secs(2));
            if let Some(sql) = hanging(HANG) {
                println!(
                    "DIFFERENCE: seed {seed}: a statement hangs and cannot be cancelled: {}",
                    clip(&sql, 6_000)
                );
                println!("0 passed, 1 failed");
                std::process::exit(1);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    #[test]
    fn a_statement_hangs_when_no_other_begins() {
        super::begin("SELECT 1");
        assert_eq!(super::hanging(Duration::ZERO).as_deref(), Some("SELECT 1"));
        assert_eq!(super::hanging(Duration::from_secs(3_600)), None);
    }
}
