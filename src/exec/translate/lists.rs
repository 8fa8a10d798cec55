//! Lists and values of expression trees.

use pgrx::pg_sys::{self, Node, NodeTag};

/// The nodes of a list; none for NIL.
///
/// # Safety
/// `list` is NIL or a live list of nodes.
pub unsafe fn nodes(list: *mut pg_sys::List) -> Vec<*mut Node> {
    // SAFETY: as the caller's.
    unsafe {
        if list.is_null() {
            return Vec::new();
        }
        let cells = (*list).elements;
        (0..(*list).length as usize).map(|i| (*cells.add(i)).ptr_value.cast()).collect()
    }
}

/// The tag of a node.
///
/// # Safety
/// `node` is a live node.
pub unsafe fn tag(node: *const Node) -> NodeTag {
    // SAFETY: every node begins with its tag.
    unsafe { (*node).type_ }
}

/// A node of type `T`, if that is its tag.
///
/// # Safety
/// `node` is a live node, and `T` is the node type of the tag.
pub unsafe fn cast<'a, T>(node: *mut Node, expected: NodeTag) -> Option<&'a T> {
    // SAFETY: the tag tells the type.
    unsafe { (!node.is_null() && tag(node) == expected).then(|| &*node.cast::<T>()) }
}
