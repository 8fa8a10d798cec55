//! `cpu`: ten usage metrics of each host every ten seconds, the shape of TSBS's cpu-only use case.
//!
//! Rows come in time order, all hosts of a step together. Tags belong to the host; a metric walks at random between 0
//! and 100 with two decimals ([`walk`]).

mod host;
mod walk;

use crate::cpu::host::Host;
use crate::encoder::Encoder;
use crate::pipeline::{Chunks, sample_chunk};
use crate::random::mix;
use crate::schema::{Column, Table};

/// 2024-01-01 00:00:00 UTC.
const START: i64 = 1_704_067_200;
const STEP_SECONDS: i64 = 10;
const CHUNK: u64 = 8192;

/// The table.
pub const TABLES: &[Table] = &[Table {
    name: "cpu",
    columns: &[&[("time", "timestamptz NOT NULL")], host::COLUMNS, METRICS],
    time: &["time"],
    full: &["hostname, time DESC"],
}];

const METRICS: &[Column] = &[
    ("usage_user", "double precision NOT NULL"),
    ("usage_system", "double precision NOT NULL"),
    ("usage_idle", "double precision NOT NULL"),
    ("usage_nice", "double precision NOT NULL"),
    ("usage_iowait", "double precision NOT NULL"),
    ("usage_irq", "double precision NOT NULL"),
    ("usage_softirq", "double precision NOT NULL"),
    ("usage_steal", "double precision NOT NULL"),
    ("usage_guest", "double precision NOT NULL"),
    ("usage_guest_nice", "double precision NOT NULL"),
];

/// The rows.
#[derive(Debug)]
pub struct Cpu {
    rows: u64,
    seed: u64,
    stride: u64,
    hosts: Vec<Host>,
}

impl Cpu {
    /// `rows` rows of `hosts` hosts, of which every `stride`-th is made. The last step is cut short where `rows` is no
    /// multiple of `hosts`.
    ///
    /// # Errors
    /// A stride that shares a factor with `hosts` would meet some hosts only.
    pub fn new(rows: u64, hosts: u64, seed: u64, stride: u64) -> Result<Self, String> {
        let (mut a, mut b) = (hosts, stride);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        if a != 1 {
            return Err(format!(
                "--stride {stride} meets only {} of {hosts} hosts: choose one that shares no factor with {hosts}",
                hosts / a
            ));
        }
        Ok(Self { rows, seed, stride, hosts: (0..hosts).map(|h| Host::new(seed, h)).collect() })
    }

    fn row(&self, row: u64, out: &mut Encoder) {
        let hosts = self.hosts.len() as u64;
        let (step, host) = (row / hosts, row % hosts);
        out.timestamp_utc(START + step as i64 * STEP_SECONDS);
        self.hosts[host as usize].write(out);
        let key = mix(self.seed, host);
        for metric in 0..METRICS.len() as u64 {
            out.hundredths(walk::at(mix(key, metric), step));
        }
        out.end_row();
    }
}

impl Chunks for Cpu {
    fn count(&self) -> u64 {
        self.rows.div_ceil(self.stride).div_ceil(CHUNK)
    }

    fn fill(&self, chunk: u64, out: &mut Encoder) {
        for index in sample_chunk(chunk, CHUNK, self.rows, self.stride) {
            self.row(index * self.stride, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoder::Format;
    use crate::pipeline::tests::{assert_deterministic, collect, every};

    #[test]
    fn threads_change_nothing() {
        assert_deterministic(&Cpu::new(20_000, 7, 1, 1).unwrap());
    }

    #[test]
    fn a_sample_is_every_kth_row() {
        let all = collect(&Cpu::new(5_000, 10, 1, 1).unwrap(), Format::Text, 1).0;
        let sample = collect(&Cpu::new(5_000, 10, 1, 7).unwrap(), Format::Text, 1).0;
        assert!(every(&all, 7) == sample);
        assert!(Cpu::new(5_000, 10, 1, 15).is_err());
    }

    #[test]
    fn rows_have_their_shape() {
        let (bytes, summary) = collect(&Cpu::new(3_000, 100, 1, 1).unwrap(), Format::Text, 1);
        assert_eq!(summary.rows, 3_000);
        let text = String::from_utf8(bytes).unwrap();
        let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split('\t').collect()).collect();
        assert_eq!(rows[0][0], "2024-01-01 00:00:00+00");
        assert_eq!(rows[100][0], "2024-01-01 00:00:10+00");
        assert_eq!(rows[2_999][1], "host_99");
        for row in &rows {
            assert_eq!(row.len(), 21);
            for metric in &row[11..] {
                assert!((0.0..=100.0).contains(&metric.parse::<f64>().unwrap()));
            }
        }
        assert_eq!(rows[5][1..11], rows[105][1..11], "tags belong to the host");
    }

    #[test]
    fn seeds_differ() {
        let made = |seed| collect(&Cpu::new(100, 10, seed, 1).unwrap(), Format::Text, 1).1;
        assert_ne!(made(1).checksum, made(2).checksum);
    }
}
