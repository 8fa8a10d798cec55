//! What a match is replaced by: appendStringInfoRegexpSubstr() in varlena.c.

use super::dissect::{GROUPS, Groups};

/// A replacement.
#[derive(Clone, Debug)]
pub(super) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(Vec<u8>),
    /// A group, or the whole match for 0.
    Group(usize),
}

impl Template {
    /// `\1` to `\9` are groups, `\&` the whole match, `\\` is a backslash. Any other backslash is itself.
    pub(super) fn new(replacement: &[u8]) -> Self {
        let mut pieces = Vec::new();
        let mut text = Vec::new();
        let mut rest = replacement;
        while let [byte, after @ ..] = rest {
            rest = after;
            let group = match (byte, after.first()) {
                (b'\\', Some(digit @ b'1'..=b'9')) => usize::from(digit - b'0'),
                (b'\\', Some(b'&')) => 0,
                (b'\\', Some(b'\\')) => {
                    text.push(b'\\');
                    rest = &after[1..];
                    continue;
                }
                (byte, _) => {
                    text.push(*byte);
                    continue;
                }
            };
            rest = &after[1..];
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            pieces.push(Piece::Group(group));
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Self { pieces }
    }

    /// Which groups it names.
    pub(super) fn groups(&self) -> [bool; GROUPS] {
        let mut named = [false; GROUPS];
        for piece in &self.pieces {
            if let Piece::Group(group) = piece {
                named[*group] = true;
            }
        }
        named
    }

    /// The group that is all of it.
    pub(super) fn lone_group(&self) -> Option<usize> {
        match self.pieces.as_slice() {
            [Piece::Group(group)] => Some(*group),
            _ => None,
        }
    }

    /// Appends the replacement of a match.
    pub(super) fn append(&self, text: &[u8], groups: &Groups, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Group(group) => {
                    if let Some((from, to)) = groups[*group] {
                        out.extend_from_slice(&text[from..to]);
                    }
                }
            }
        }
    }
}
