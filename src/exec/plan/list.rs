//! PostgreSQL lists.
#![allow(unsafe_code)]

use pgrx::pg_sys;

/// The pointers of a list; a null list is empty.
///
/// # Safety
/// `list` is a list of pointers that lives as long as it is read.
pub unsafe fn pointers<T>(list: *const pg_sys::List) -> Vec<*mut T> {
    if list.is_null() {
        return Vec::new();
    }
    // SAFETY: a list has `length` cells.
    unsafe {
        (0..(*list).length as usize).map(|i| (*(*list).elements.add(i)).ptr_value.cast()).collect()
    }
}

/// The integers of a list.
///
/// # Safety
/// `list` is an integer list.
pub unsafe fn integers(list: *const pg_sys::List) -> Vec<i32> {
    if list.is_null() {
        return Vec::new();
    }
    // SAFETY: a list has `length` cells.
    unsafe { (0..(*list).length as usize).map(|i| (*(*list).elements.add(i)).int_value).collect() }
}

/// A list of pointers, in the current memory context.
///
/// # Safety
/// The pointers outlive the list.
pub unsafe fn of_pointers<T>(items: impl IntoIterator<Item = *mut T>) -> *mut pg_sys::List {
    // SAFETY: as the caller's.
    items
        .into_iter()
        .fold(core::ptr::null_mut(), |list, item| unsafe { pg_sys::lappend(list, item.cast()) })
}

/// A list of integers, in the current memory context.
pub fn of_integers(items: impl IntoIterator<Item = i32>) -> *mut pg_sys::List {
    // SAFETY: appends to a list of its own.
    items
        .into_iter()
        .fold(core::ptr::null_mut(), |list, item| unsafe { pg_sys::lappend_int(list, item) })
}
