//! Any bytes as a footer under a checksum that fits: `cargo +nightly fuzz run footer`.
#![no_main]

use columnar_format::{ChunkBlooms, GroupFooter, footer_checksum};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.to_vec();
    if bytes.len() >= 16 {
        bytes[..8].copy_from_slice(b"PGCG\x02\0\0\0");
        let checksum = footer_checksum(&bytes);
        bytes[8..16].copy_from_slice(&checksum.to_le_bytes());
    }
    if let Ok(footer) = GroupFooter::parse(&bytes) {
        for column in 0..footer.column_count() {
            if let Ok((_, _, meta)) = footer.column(column) {
                let _ = ChunkBlooms::open(&meta, data).map(|blooms| blooms.may_hold(7));
            }
        }
    }
});
