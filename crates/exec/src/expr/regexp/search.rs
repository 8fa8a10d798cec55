//! Where a match is: the leftmost, and of those that begin there the longest (find() in regexec.c).

use memchr::memmem::Finder;

use super::dfa::Dfa;
use super::nfa::Reading;
use super::parse::Node;
use super::{RegexpRefusal, is_border, literal};

/// Searches for matches.
#[derive(Clone, Debug)]
pub(super) struct Search {
    /// The pattern.
    pub(super) whole: Dfa,
    /// The pattern read backward, from anywhere.
    backward: Dfa,
    first: First,
    /// Bytes that every text with a match contains.
    needle: Option<Finder<'static>>,
    utf8: bool,
}

/// The bytes that a match within a text begins with.
#[derive(Clone, Debug)]
enum First {
    Any,
    One(u8),
    Two(u8, u8),
    Three(u8, u8, u8),
    Some(Box<[bool; 256]>),
}

/// What is known of one text while it is searched for match after match.
#[derive(Debug)]
pub(super) struct Progress {
    /// Bytes that may still be looked at in vain.
    patience: usize,
    /// Where matches begin, once all of them were worked out together.
    starts: Option<Vec<bool>>,
    hopeless: bool,
}

impl Search {
    pub(super) fn new(node: &Node, utf8: bool, folded: bool) -> Result<Self, RegexpRefusal> {
        let whole = Dfa::new(node, Reading { utf8, backward: false, unanchored: false })?;
        let backward = Dfa::new(node, Reading { utf8, backward: true, unanchored: true })?;
        let first = match whole.first_bytes().as_deref() {
            None => First::Any,
            Some([a]) => First::One(*a),
            Some([a, b]) => First::Two(*a, *b),
            Some([a, b, c]) => First::Three(*a, *b, *c),
            Some(bytes) => {
                let mut set = Box::new([false; 256]);
                bytes.iter().for_each(|byte| set[usize::from(*byte)] = true);
                First::Some(set)
            }
        };
        let needle = literal::needle(node, utf8, folded);
        // A search for a short string costs as much as one for the first byte of a match.
        let needle = needle.filter(|needle| needle.len() > 2 && !whole.starts_at_origin_only());
        let needle = needle.map(|needle| Finder::new(&needle).into_owned());
        Ok(Self { whole, backward, first, needle, utf8 })
    }

    pub(super) fn start(&self, text: &[u8]) -> Progress {
        let hopeless = self.needle.as_ref().is_some_and(|needle| needle.find(text).is_none());
        Progress { patience: 4 * text.len() + 64, starts: None, hopeless }
    }

    /// The first match that begins at `from` or behind it.
    pub(super) fn find(
        &self,
        text: &[u8],
        from: usize,
        progress: &mut Progress,
    ) -> Option<(usize, usize)> {
        if progress.hopeless {
            return None;
        }
        let mut at = from;
        if at == 0 {
            let (end, seen) = self.whole.longest(text, 0, text.len());
            if let Some(end) = end {
                return Some((0, end));
            }
            progress.patience = progress.patience.saturating_sub(seen);
            at = 1;
        }
        if self.whole.starts_at_origin_only() {
            return None;
        }
        while progress.starts.is_none() {
            at = self.candidate(text, at)?;
            if self.utf8 && !is_border(text, at) {
                at += 1;
                continue;
            }
            let (end, seen) = self.whole.longest(text, at, text.len());
            if let Some(end) = end {
                return Some((at, end));
            }
            match progress.patience.checked_sub(seen - at) {
                Some(left) => progress.patience = left,
                None => progress.starts = Some(self.starts(text)),
            }
            at += 1;
        }
        let starts = progress.starts.as_ref()?;
        let start = (at..=text.len()).find(|start| starts[*start])?;
        self.whole.longest(text, start, text.len()).0.map(|end| (start, end))
    }

    /// The next place where a match might begin.
    fn candidate(&self, text: &[u8], at: usize) -> Option<usize> {
        let rest = text.get(at..)?;
        let found = match &self.first {
            First::Any => Some(0),
            First::One(a) => memchr::memchr(*a, rest),
            First::Two(a, b) => memchr::memchr2(*a, *b, rest),
            First::Three(a, b, c) => memchr::memchr3(*a, *b, *c, rest),
            First::Some(set) => rest.iter().position(|byte| set[usize::from(*byte)]),
        };
        found.map(|found| at + found)
    }

    /// Where matches begin.
    fn starts(&self, text: &[u8]) -> Vec<bool> {
        let mut starts = vec![false; text.len() + 1];
        self.backward.last_start(text, text.len(), 0, |start| {
            starts[start] = !self.utf8 || is_border(text, start);
            false
        });
        starts
    }
}
