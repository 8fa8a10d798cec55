//! The time that the parts of a scan's work take.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::batch::ColumnSource;
use crate::column::Column;
use crate::error::ExecError;

/// A part of a scan's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Finding what is to be read, and copying it from pages.
    Read,
    /// Stored bytes become columns.
    Decode,
    /// Filters.
    Filter,
    /// Rows go into the sink, keys and arguments of aggregates evaluated.
    Sink,
    /// Waiting for threads.
    Wait,
    /// What the workers gathered is brought together.
    Merge,
}

/// How many phases there are.
pub const PHASES: usize = 6;

/// The time that each phase has taken, of all workers together.
#[derive(Debug, Default)]
pub struct PhaseTimes([AtomicU64; PHASES]);

impl PhaseTimes {
    /// Counts a phase from now until the guard goes.
    pub fn time(&self, phase: Phase) -> Stopwatch<'_> {
        Stopwatch::start(Some(self), phase)
    }

    /// Nanoseconds of each phase, in the order of [`Phase`]; they start again at zero.
    pub fn take(&self) -> [u64; PHASES] {
        std::array::from_fn(|phase| self.0[phase].swap(0, Ordering::Relaxed))
    }

    fn add(&self, phase: Phase, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.0[phase as usize].fetch_add(nanoseconds, Ordering::Relaxed);
    }
}

/// Counts the time of one phase after another until it goes. Without times to count to, it does not look at the clock.
#[derive(Debug)]
pub struct Stopwatch<'a> {
    running: Option<(&'a PhaseTimes, Cell<(Phase, Instant)>)>,
}

impl<'a> Stopwatch<'a> {
    /// Begins with a phase.
    pub fn start(times: Option<&'a PhaseTimes>, phase: Phase) -> Self {
        Self { running: times.map(|times| (times, Cell::new((phase, Instant::now())))) }
    }

    /// Goes on with another phase, and gives the one before.
    pub fn switch(&self, phase: Phase) -> Phase {
        let Some((times, current)) = &self.running else { return phase };
        let now = Instant::now();
        let (before, since) = current.replace((phase, now));
        times.add(before, now.duration_since(since));
        before
    }
}

impl Drop for Stopwatch<'_> {
    fn drop(&mut self) {
        self.switch(Phase::Read);
    }
}

/// A source of columns whose loading is counted as decoding.
pub(crate) struct Decoding<'a> {
    pub source: &'a dyn ColumnSource,
    pub watch: &'a Stopwatch<'a>,
}

impl ColumnSource for Decoding<'_> {
    fn load(&self, column: usize) -> Result<Column, ExecError> {
        let before = self.watch.switch(Phase::Decode);
        let loaded = self.source.load(column);
        self.watch.switch(before);
        loaded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_to_the_phase_that_runs() {
        let times = PhaseTimes::default();
        let watch = times.time(Phase::Filter);
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(watch.switch(Phase::Decode), Phase::Filter);
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(watch.switch(Phase::Sink), Phase::Decode);
        std::thread::sleep(Duration::from_millis(2));
        drop(watch);
        let spent = times.take();
        for phase in [Phase::Filter, Phase::Decode, Phase::Sink] {
            assert!(spent[phase as usize] >= 2_000_000, "{phase:?}: {spent:?}");
        }
        for phase in [Phase::Read, Phase::Wait, Phase::Merge] {
            assert_eq!(spent[phase as usize], 0, "{phase:?}");
        }
        assert_eq!(times.take(), [0; PHASES]);
    }

    #[test]
    fn nothing_is_counted_without_times() {
        let watch = Stopwatch::start(None, Phase::Read);
        assert_eq!(watch.switch(Phase::Sink), Phase::Sink);
    }
}
