//! Chunks made by several threads, written in order.
//!
//! Thread `t` of `T` makes chunks t, t + T, t + 2T ...; the writer takes from the threads in turn, so the order needs
//! no queue. Buffers go back to their thread: memory is two chunks a thread.

use std::io::{self, Write};
use std::sync::mpsc::sync_channel;
use std::thread;

use xxhash_rust::xxh3::Xxh3;

use crate::encoder::{Encoder, Format};

/// Rows in numbered chunks, each made without the others.
pub trait Chunks: Sync {
    /// How many chunks there are.
    fn count(&self) -> u64;
    /// Appends the rows of chunk `chunk`.
    fn fill(&self, chunk: u64, rows: &mut Encoder);
}

/// What was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    pub rows: u64,
    /// XXH3-128 of the rows in text format.
    pub checksum: Option<u128>,
}

/// A chunk in the format to write, and in text format where that is another one and a checksum is asked for.
struct Filled {
    output: Encoder,
    hashed: Option<Encoder>,
}

const BUFFERS: usize = 2;

/// Writes all chunks to `sink`.
pub fn run(
    chunks: &impl Chunks,
    format: Format,
    threads: usize,
    checksum: bool,
    sink: &mut dyn Write,
) -> io::Result<Summary> {
    let count = chunks.count();
    let threads = (threads.max(1) as u64).min(count.max(1));
    let second = checksum && format != Format::Text;
    thread::scope(|scope| {
        let mut workers = Vec::new();
        for first in 0..threads {
            let (full, made) = sync_channel::<Filled>(BUFFERS);
            let (back, empty) = sync_channel::<Filled>(BUFFERS);
            for _ in 0..BUFFERS {
                let hashed = second.then(|| Encoder::new(Format::Text));
                let buffer = Filled { output: Encoder::new(format), hashed };
                back.send(buffer).expect("the receiver is at hand");
            }
            scope.spawn(move || {
                for chunk in (first..count).step_by(threads as usize) {
                    // The writer is gone when writing failed.
                    let Ok(mut buffer) = empty.recv() else { return };
                    buffer.output.clear();
                    chunks.fill(chunk, &mut buffer.output);
                    if let Some(hashed) = &mut buffer.hashed {
                        hashed.clear();
                        chunks.fill(chunk, hashed);
                    }
                    if full.send(buffer).is_err() {
                        return;
                    }
                }
            });
            workers.push((made, back));
        }
        let mut rows = 0;
        let mut hash = checksum.then(Xxh3::new);
        for chunk in 0..count {
            let (made, back) = &workers[(chunk % threads) as usize];
            let buffer = made.recv().map_err(|_| io::Error::other("a thread has panicked"))?;
            sink.write_all(buffer.output.bytes())?;
            rows += buffer.output.rows();
            if let Some(hash) = &mut hash {
                hash.update(buffer.hashed.as_ref().unwrap_or(&buffer.output).bytes());
            }
            // The thread is gone after its last chunk.
            let _ = back.send(buffer);
        }
        sink.flush()?;
        Ok(Summary { rows, checksum: hash.map(|h| h.digest128()) })
    })
}

/// Where rows `chunk * size ..` of a table with `rows` rows, of which every `stride`-th is taken, begin and end: in
/// rows of the sample.
pub fn sample_chunk(chunk: u64, size: u64, rows: u64, stride: u64) -> std::ops::Range<u64> {
    let sample = rows.div_ceil(stride);
    (chunk * size).min(sample)..((chunk + 1) * size).min(sample)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// The bytes and the summary.
    pub fn collect(chunks: &impl Chunks, format: Format, threads: usize) -> (Vec<u8>, Summary) {
        let mut bytes = Vec::new();
        let summary = run(chunks, format, threads, true, &mut bytes).unwrap();
        (bytes, summary)
    }

    /// Threads change nothing, and the checksum does not depend on the format.
    pub fn assert_deterministic(chunks: &impl Chunks) {
        let (bytes, summary) = collect(chunks, Format::Text, 1);
        let (csv, csv_summary) = collect(chunks, Format::Csv, 1);
        assert_ne!(bytes, csv);
        assert_eq!(summary, csv_summary);
        assert_eq!(summary.checksum, Some(xxhash_rust::xxh3::xxh3_128(&bytes)));
        for threads in [2, 3, 7] {
            assert!(
                (bytes.clone(), summary) == collect(chunks, Format::Text, threads),
                "{threads} threads"
            );
            assert!(
                (csv.clone(), summary) == collect(chunks, Format::Csv, threads),
                "{threads} threads"
            );
        }
    }

    /// Each line of `all` whose number is a multiple of `stride`.
    pub fn every(all: &[u8], stride: usize) -> Vec<u8> {
        all.split_inclusive(|&b| b == b'\n').step_by(stride).flatten().copied().collect()
    }

    struct Numbers(u64);

    impl Chunks for Numbers {
        fn count(&self) -> u64 {
            self.0
        }
        fn fill(&self, chunk: u64, rows: &mut Encoder) {
            rows.integer(chunk as i64);
            rows.text("");
            rows.end_row();
        }
    }

    #[test]
    fn chunks_come_in_order() {
        assert_deterministic(&Numbers(100));
        let (bytes, summary) = collect(&Numbers(12), Format::Text, 5);
        assert!(bytes.starts_with(b"0\t\n1\t\n2\t\n"));
        assert_eq!(summary.rows, 12);
        assert_eq!(collect(&Numbers(0), Format::Text, 4).1.rows, 0);
    }

    #[test]
    fn a_failing_sink_stops_the_threads() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::Error::other("full"))
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        assert!(run(&Numbers(1000), Format::Text, 3, false, &mut Full).is_err());
    }

    #[test]
    fn samples() {
        assert_eq!(sample_chunk(0, 10, 25, 1), 0..10);
        assert_eq!(sample_chunk(2, 10, 25, 1), 20..25);
        assert_eq!(sample_chunk(0, 10, 25, 3), 0..9);
    }
}
