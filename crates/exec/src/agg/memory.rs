//! Vectors that grow without aborting the process.

use crate::error::ExecError;

/// Makes room for `more` elements.
#[inline]
pub(super) fn reserve<T>(vector: &mut Vec<T>, more: usize) -> Result<(), ExecError> {
    if vector.capacity() - vector.len() >= more {
        return Ok(());
    }
    let needed = vector.len().saturating_add(more);
    let bytes = needed.saturating_mul(size_of::<T>()) as u64;
    let grown = if bytes as usize >= LARGE {
        vector.try_reserve_exact(roomy(needed) - vector.len())
    } else {
        vector.try_reserve(more)
    };
    grown.map_err(|_| ExecError::OutOfMemory { bytes })
}

/// Bytes from which on vectors grow by a quarter.
const LARGE: usize = 1 << 20;

/// A quarter more, not twice as much: memory decides whether groups go to files, and large blocks move cheaply.
fn roomy(needed: usize) -> usize {
    needed.saturating_add(needed / 4)
}

/// Bytes that [`reserve`] would add to those allocated; those of a large block's move are not counted, as its pages move.
pub(super) fn ahead<T>(vector: &Vec<T>, more: usize) -> usize {
    let needed = vector.len().saturating_add(more);
    if needed <= vector.capacity() {
        return 0;
    }
    let room = if needed.saturating_mul(size_of::<T>()) >= LARGE {
        roomy(needed)
    } else {
        needed.max(vector.capacity() * 2)
    };
    (room - vector.capacity()).saturating_mul(size_of::<T>())
}

/// Lengthens to `len` with `value`; never shortens.
#[inline]
pub(super) fn grow<T: Copy>(vector: &mut Vec<T>, len: usize, value: T) -> Result<(), ExecError> {
    if len > vector.len() {
        reserve(vector, len - vector.len())?;
        vector.resize(len, value);
    }
    Ok(())
}

/// Empties, sets the length, and fills with `value`.
pub(super) fn refill<T: Copy>(vector: &mut Vec<T>, len: usize, value: T) -> Result<(), ExecError> {
    vector.clear();
    grow(vector, len, value)
}

/// Bytes allocated.
pub(super) fn allocated<T>(vector: &Vec<T>) -> usize {
    vector.capacity() * size_of::<T>()
}
