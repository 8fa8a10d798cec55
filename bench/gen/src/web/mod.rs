//! `web`: page views of some thousands of web sites over one month, in one table of 105 columns.
//!
//! The shape is that of web-analytics tables: the file is ordered by counter, date and user; a few counters, users,
//! pages and phrases have most of the rows; most small columns are mostly zero and most texts mostly empty. Names,
//! words and values are our own.
//!
//! ```text
//! row -> layout: counter, day, session -> visitor: user, place, device      (kept while the session lasts)
//!     \-> page: URL, title, referer, traffic source
//!     \-> columns, in groups: view, page, traffic, device, flags, timings, custom
//! ```
//!
//! No value holds a line break, so that a file in either format can be cut at any line end.

mod layout;
mod page;
mod row;
mod view;
mod visitor;
mod words;

use crate::encoder::Encoder;
use crate::pipeline::{Chunks, sample_chunk};
use crate::schema::Table;
use crate::web::layout::Layout;
use crate::web::page::Page;
use crate::web::row::Writer;
use crate::web::visitor::Visitors;

const CHUNK: u64 = 4096;

/// The table.
pub const TABLES: &[Table] = &[Table {
    name: "web",
    columns: row::COLUMNS,
    time: &["event_time"],
    full: &[
        "counter_id, event_date, user_id, event_time, view_id",
        "user_id",
        "region_id",
        "search_phrase",
    ],
}];

/// The rows.
#[derive(Debug)]
pub struct Web {
    rows: u64,
    seed: u64,
    stride: u64,
    layout: Layout,
    visitors: Visitors,
    /// Views in a thousand of a page that is viewed once.
    unique: u64,
}

impl Web {
    /// `rows` rows, of which every `stride`-th is made.
    pub fn new(rows: u64, seed: u64, stride: u64) -> Self {
        let layout = Layout::new(rows, seed);
        let unique = Page::unique(&layout, rows);
        Self { rows, seed, stride, layout, visitors: Visitors::new(rows, seed), unique }
    }
}

impl Chunks for Web {
    fn count(&self) -> u64 {
        self.rows.div_ceil(self.stride).div_ceil(CHUNK)
    }

    fn fill(&self, chunk: u64, out: &mut Encoder) {
        let mut writer = Writer::new(self);
        for index in sample_chunk(chunk, CHUNK, self.rows, self.stride) {
            writer.write(index * self.stride, out);
        }
    }
}

#[cfg(test)]
mod tests;
