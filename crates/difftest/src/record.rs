//! The record of a run: every statement with its step and session, the last steps for a report, and the counters.

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Why a run ends.
#[derive(Debug)]
pub struct Failure {
    pub title: String,
    pub detail: String,
}

impl Failure {
    /// A failure with what was seen.
    pub fn new(title: impl Into<String>, detail: impl fmt::Display) -> Self {
        Self { title: title.into(), detail: detail.to_string() }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new("the tester itself failed", error)
    }
}

/// Steps kept for the report of a failure.
const KEPT_STEPS: usize = 50;
/// Lines of COPY data shown in it.
const SHOWN_LINES: usize = 20;

/// The record of a run.
pub struct Record {
    /// Name of the access method under test.
    pub am: String,
    /// Whether autovacuum runs and may hold a lock for a moment.
    pub autovacuum: bool,
    pub step: u64,
    /// Outcomes and contents compared.
    pub checks: u64,
    /// Comparisons given up: SSI failures, or autovacuum in the way.
    pub inconclusive: u64,
    /// Statement pairs that failed alike.
    pub equal_errors: u64,
    /// The step after which the self-test's fault was in place.
    pub fault_at: Option<u64>,
    file: BufWriter<File>,
    recent: VecDeque<(u64, String)>,
    pulse: std::sync::Arc<std::sync::atomic::AtomicU64>,
}

impl Record {
    /// A record writing to `file`.
    pub fn new(file: &Path, am: &str, autovacuum: bool) -> Result<Self, Failure> {
        Ok(Self {
            am: am.to_string(),
            autovacuum,
            step: 0,
            checks: 0,
            inconclusive: 0,
            equal_errors: 0,
            fault_at: None,
            file: BufWriter::new(File::create(file)?),
            recent: VecDeque::new(),
            pulse: std::sync::Arc::default(),
        })
    }

    /// A counter that grows with every statement; a watchdog reads it.
    pub fn pulse(&self) -> std::sync::Arc<std::sync::atomic::AtomicU64> {
        self.pulse.clone()
    }

    /// Notes a statement before it runs. `who` is the session, or the helper that runs it.
    pub fn note(&mut self, who: &str, sql: &str, copy: Option<&str>) {
        self.pulse.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let head = format!("/* step {} {who} */ {sql};\n", self.step);
        let mut full = head.clone();
        let mut shown = head;
        if let Some(data) = copy {
            full += data;
            full += "\\.\n";
            let lines = data.lines().count();
            for line in data.lines().take(SHOWN_LINES) {
                shown += &line.chars().take(300).collect::<String>();
                shown.push('\n');
            }
            if lines > SHOWN_LINES {
                shown +=
                    &format!("-- {} more lines, in full in the replay log\n", lines - SHOWN_LINES);
            }
            shown += "\\.\n";
        }
        // A full disk must not look like a difference between the tables.
        let _ = self.file.write_all(full.as_bytes());
        while self.recent.front().is_some_and(|(step, _)| step + (KEPT_STEPS as u64) <= self.step) {
            self.recent.pop_front();
        }
        self.recent.push_back((self.step, shown));
    }

    /// Notes what is no statement, as a comment.
    pub fn comment(&mut self, text: &str) {
        let text = format!("-- {}", text.replace('\n', "\n-- "));
        let line = format!("/* step {} */ {text}\n", self.step);
        let _ = self.file.write_all(line.as_bytes());
        self.recent.push_back((self.step, line));
    }

    /// The last steps, as SQL.
    pub fn recent(&mut self) -> String {
        let _ = self.file.flush();
        self.recent.iter().map(|(_, text)| text.as_str()).collect()
    }
}
