//! A string as one word.
//!
//! ```text
//! up to 7 bytes   bytes, zeros | length (bits 56..59)
//! longer          1 (bit 63) | offset in an arena (33 bits) | length (30 bits)
//! ```
//! So short strings are equal where their words are, and no arena is read for them.

use super::memory::reserve;
use crate::error::ExecError;

const LONG: u64 = 1 << 63;
const LENGTH_BITS: u32 = 30;
const OFFSET_BITS: u32 = 33;
/// Longest string that a word holds itself.
pub(super) const INLINE: usize = 7;

/// The word of a string of at most [`INLINE`] bytes.
#[inline]
pub(super) fn inline(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    // Overlapping reads of fixed size, since a copy of unknown length would be a call.
    let packed = match len {
        0 => 0,
        1 => u64::from(bytes[0]),
        2 | 3 => {
            let low = u64::from(u16::from_le_bytes([bytes[0], bytes[1]]));
            let high = u64::from(u16::from_le_bytes([bytes[len - 2], bytes[len - 1]]));
            low | high << (8 * (len - 2))
        }
        _ => {
            let low = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            let tail = &bytes[len - 4..];
            let high = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
            u64::from(low) | u64::from(high) << (8 * (len - 4))
        }
    };
    packed | (len as u64) << 56
}

/// The word of a longer string.
#[inline]
pub(super) fn long(offset: usize, len: usize) -> u64 {
    LONG | (offset as u64) << LENGTH_BITS | len as u64
}

/// Whether a word points to an arena.
#[inline]
pub(super) fn is_long(word: u64) -> bool {
    word & LONG != 0
}

/// Offset and length of a word that points to an arena.
#[inline]
pub(super) fn place(word: u64) -> (usize, usize) {
    let len = word & ((1 << LENGTH_BITS) - 1);
    let offset = (word & !LONG) >> LENGTH_BITS;
    (offset as usize, len as usize)
}

/// The bytes of a word; `buffer` holds those of a short string.
#[inline]
pub(super) fn bytes<'a>(word: u64, arena: &'a [u8], buffer: &'a mut [u8; 8]) -> &'a [u8] {
    if is_long(word) {
        let (offset, len) = place(word);
        &arena[offset..offset + len]
    } else {
        *buffer = word.to_le_bytes();
        &buffer[..usize::from(buffer[7])]
    }
}

/// The word of a string, which is added to the arena if it is long.
pub(super) fn store(bytes: &[u8], arena: &mut Vec<u8>) -> Result<u64, ExecError> {
    if bytes.len() <= INLINE {
        return Ok(inline(bytes));
    }
    if bytes.len() >> LENGTH_BITS != 0 || arena.len() >> OFFSET_BITS != 0 {
        return Err(ExecError::OutOfMemory { bytes: (arena.len() + bytes.len()) as u64 });
    }
    reserve(arena, bytes.len())?;
    let word = long(arena.len(), bytes.len());
    arena.extend_from_slice(bytes);
    Ok(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back_and_short_ones_take_no_arena() {
        let text = b"abcdefghijklmnopqrstuvwxyz";
        let mut arena = vec![0; 3];
        for len in 0..text.len() {
            let before = arena.len();
            let word = store(&text[..len], &mut arena).unwrap();
            assert_eq!(is_long(word), len > INLINE);
            assert_eq!(arena.len() - before, if len > INLINE { len } else { 0 });
            assert_eq!(bytes(word, &arena, &mut [0; 8]), &text[..len]);
        }
        assert_ne!(inline(b"a"), inline(b"a\0"));
    }
}
