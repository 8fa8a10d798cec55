//! Groups on temporary files, by partition.
#![allow(unsafe_code)]

use super::error;
use columnar_exec::agg::Aggregator;
use pgrx::pg_sys;

/// Files of one level of partitions. They belong to the query's resource owner, so an ERROR removes them; otherwise they are to
/// be read or closed.
#[derive(Debug)]
pub struct Spill {
    context: pg_sys::MemoryContext,
    owner: pg_sys::ResourceOwner,
    files: Vec<Option<File>>,
    /// Bytes written.
    pub bytes: u64,
}

#[derive(Debug)]
struct File {
    file: *mut pg_sys::BufFile,
    /// Length of each piece.
    pieces: Vec<usize>,
}

impl Spill {
    /// No files yet.
    pub fn new(partitions: usize) -> Self {
        // SAFETY: reads variables of the server.
        let (context, owner) =
            unsafe { (pg_sys::CurrentMemoryContext, pg_sys::CurrentResourceOwner) };
        Self { context, owner, files: (0..partitions).map(|_| None).collect(), bytes: 0 }
    }

    /// Partitions.
    pub fn partitions(&self) -> usize {
        self.files.len()
    }

    /// Appends a piece to a partition's file.
    pub fn write(&mut self, partition: usize, bytes: &[u8]) {
        // SAFETY: the context and the resource owner are those of the running query.
        unsafe {
            let file = self.files[partition].get_or_insert_with(|| {
                let context = pg_sys::MemoryContextSwitchTo(self.context);
                let owner = pg_sys::CurrentResourceOwner;
                pg_sys::CurrentResourceOwner = self.owner;
                pg_sys::PrepareTempTablespaces();
                let file = pg_sys::BufFileCreateTemp(false);
                pg_sys::CurrentResourceOwner = owner;
                pg_sys::MemoryContextSwitchTo(context);
                File { file, pieces: Vec::new() }
            });
            pg_sys::BufFileWrite(file.file, bytes.as_ptr().cast_mut().cast(), bytes.len());
            file.pieces.push(bytes.len());
        }
        self.bytes += bytes.len() as u64;
    }

    /// Writes all groups of a table by partition and forgets them. Looks for interrupts.
    pub fn write_groups(&mut self, table: &mut Aggregator, level: u32) {
        table
            .spill(level, self.partitions(), &mut |partition, bytes| {
                pgrx::check_for_interrupts!();
                self.write(partition, &bytes);
                Ok(())
            })
            .unwrap_or_else(|e| error::raise_plain(&e));
    }

    /// Removes the files that were not read.
    pub fn close(&mut self) {
        for file in self.files.iter_mut().filter_map(Option::take) {
            // SAFETY: the file is ours and open.
            unsafe { pg_sys::BufFileClose(file.file) };
        }
    }

    /// Reads a partition back, a piece at a time, and removes its file.
    pub fn read(&mut self, partition: usize, mut take: impl FnMut(&[u8])) {
        let Some(file) = self.files[partition].take() else { return };
        // SAFETY: the file is ours; pieces are read in the order they were written.
        unsafe {
            pg_sys::BufFileSeek(file.file, 0, 0, libc::SEEK_SET);
            let mut bytes = Vec::new();
            for len in file.pieces {
                bytes.resize(len, 0);
                read_exact(file.file, &mut bytes);
                take(&bytes);
            }
            pg_sys::BufFileClose(file.file);
        }
    }
}

#[cfg(feature = "pg15")]
unsafe fn read_exact(file: *mut pg_sys::BufFile, bytes: &mut [u8]) {
    // SAFETY: as the caller's.
    let got = unsafe { pg_sys::BufFileRead(file, bytes.as_mut_ptr().cast(), bytes.len()) };
    assert_eq!(got, bytes.len(), "a temporary file is shorter than was written");
}

#[cfg(not(feature = "pg15"))]
unsafe fn read_exact(file: *mut pg_sys::BufFile, bytes: &mut [u8]) {
    // SAFETY: as the caller's; the server raises an ERROR if the file is too short.
    unsafe { pg_sys::BufFileReadExact(file, bytes.as_mut_ptr().cast(), bytes.len()) };
}
