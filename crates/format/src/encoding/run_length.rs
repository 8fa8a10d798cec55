//! RunLength: the row after each run's last, and a value for each run.
//!
//! ```text
//! u64 runs | packed(runs): ends, rising, the last one the vector's rows | runs values (see `values`)
//! ```

use crate::error::FormatError;
use crate::packed;
use crate::section::Reader;
use crate::types::ColumnSpec;
use crate::values::Values;

/// Appends the ends; the values follow.
pub(crate) fn write_ends(out: &mut Vec<u8>, ends: &[u32]) {
    out.extend_from_slice(&(ends.len() as u64).to_le_bytes());
    packed::write_u32(out, ends);
}

/// The bytes [`write_ends`] will take.
pub(crate) fn size(runs: usize, rows: usize) -> usize {
    8 + packed::size(runs, crate::bits::width_of(rows as u64))
}

/// Runs as read.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    pub(crate) ends: Vec<u32>,
    pub(crate) values: Values,
}

impl Runs {
    pub(crate) fn read(
        spec: ColumnSpec,
        rows: usize,
        reader: &mut Reader,
    ) -> Result<Self, FormatError> {
        let count = reader.take_u64("a number of runs")?;
        if count > rows as u64 {
            return Err(FormatError::TooLarge {
                what: "a number of runs",
                value: count,
                limit: rows as u64,
            });
        }
        let ends = reader.take_packed(count as usize, "ends of runs")?.rising(rows as u64 + 1)?;
        if ends.first() == Some(&0) || ends.last().map_or(0, |end| *end as usize) != rows {
            return Err(FormatError::corrupt("ends of runs do not cover the vector's rows", count));
        }
        Ok(Self { ends, values: Values::read(spec, count as usize, reader)? })
    }

    /// The run that row `index` is in.
    #[inline]
    pub(crate) fn run_of(&self, index: usize) -> usize {
        self.ends.partition_point(|end| *end as usize <= index)
    }

    /// Calls `take` with each run's number and length.
    #[inline]
    pub(crate) fn for_each(&self, mut take: impl FnMut(usize, usize)) {
        let mut start = 0;
        for (run, end) in self.ends.iter().enumerate() {
            take(run, (*end - start) as usize);
            start = *end;
        }
    }
}
