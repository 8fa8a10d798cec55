//! Page maps: the numbers by which row pages are known outside, and how they change when a file is cut.
//!
//! A row page's number is part of the TIDs of its rows. Rows that were moved to a row group keep their TIDs, so pages that
//! are added after the file was cut must not get the numbers of pages that were cut off.

/// Most pieces of a page map.
pub const MAX_PIECES: usize = 15;

/// How physical row pages are numbered: from physical block `start` of a piece on, row page numbers from `number` on.
/// Before the first piece, physical block `p` has number `p - 1`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageMap {
    pub count: u32,
    pub reserved: u32,
    /// `(start, number)`, both ascending.
    pub pieces: [(u32, u32); MAX_PIECES],
}

impl PageMap {
    /// The map of a file that was never cut.
    pub const IDENTITY: Self = Self { count: 0, reserved: 0, pieces: [(0, 0); MAX_PIECES] };

    fn pieces(&self) -> &[(u32, u32)] {
        &self.pieces[..(self.count as usize).min(MAX_PIECES)]
    }

    /// Number of a physical row page (1 or more).
    pub fn number(&self, page: u32) -> u32 {
        match self.pieces().iter().rev().find(|(start, _)| *start <= page) {
            Some((start, number)) => number + (page - start),
            None => page.wrapping_sub(1),
        }
    }

    /// Physical row page of a number, unless its page was cut off.
    pub fn page(&self, number: u32) -> Option<u32> {
        let pieces = self.pieces();
        let at = pieces.partition_point(|(_, first)| *first <= number);
        let (start, first) = match at.checked_sub(1) {
            Some(at) => pieces[at],
            None => (1, 0),
        };
        let page = start.checked_add(number - first)?;
        let end = pieces.get(at).map_or(u32::MAX, |(start, _)| *start);
        (page < end).then_some(page)
    }

    /// Whether another piece finds room after the file is cut to `blocks`.
    pub fn has_room(&self, blocks: u32) -> bool {
        self.pieces().iter().filter(|(start, _)| *start < blocks).count() < MAX_PIECES
    }

    /// Numbers pages from `blocks` on afresh; the file had `old` blocks.
    pub fn restart(&mut self, blocks: u32, old: u32) {
        let next = self.number(old);
        let kept = self.pieces().iter().filter(|(start, _)| *start < blocks).count();
        if kept < MAX_PIECES {
            self.pieces[kept] = (blocks, next);
            self.count = kept as u32 + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_numbers_are_a_bijection() {
        let map = PageMap::default();
        for page in [1u32, 2, 1024, 1025, 2048, 2049, 1 << 30] {
            assert_eq!(map.page(map.number(page)), Some(page));
        }
        assert_eq!(map.number(1), 0);
        assert_eq!(map.number(1025), 1024);
    }

    #[test]
    fn pages_after_a_cut_get_fresh_numbers() {
        let mut map = PageMap::default();
        map.restart(10, 100);
        assert_eq!(map.number(9), 8);
        assert_eq!(map.number(10), 99);
        assert_eq!(map.page(8), Some(9));
        assert_eq!(map.page(9), None);
        assert_eq!(map.page(98), None);
        assert_eq!(map.page(99), Some(10));
        map.restart(12, 50);
        assert_eq!(map.page(100), Some(11));
        assert_eq!(map.page(101), None);
        assert_eq!(map.number(12), 139);
        map.restart(5, 20);
        assert_eq!(map.count, 1);
        assert_eq!(map.page(3), Some(4));
        assert_eq!(map.page(4), None);
        assert_eq!(map.number(5), 147);
    }

    #[test]
    fn a_full_map_says_so() {
        let mut map = PageMap::default();
        for i in 0..MAX_PIECES as u32 {
            assert!(map.has_room(10 + i));
            map.restart(10 + i, 100);
        }
        assert!(!map.has_room(1000));
        assert!(map.has_room(10));
    }

    #[test]
    fn layout_on_disk() {
        assert_eq!((size_of::<PageMap>(), align_of::<PageMap>()), (8 + 8 * MAX_PIECES, 4));
    }
}
