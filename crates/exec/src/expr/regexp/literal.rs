//! Literal strings within patterns.

use super::parse::Node;

/// Longest repetition that is written out.
const MAX_REPEAT: u32 = 16;

/// The longest string that every match contains.
pub(super) fn needle(node: &Node, utf8: bool, folded: bool) -> Option<Vec<u8>> {
    if folded {
        return None;
    }
    let mut runs = Runs { longest: Vec::new(), open: Vec::new(), utf8 };
    runs.walk(node);
    runs.close();
    Some(runs.longest).filter(|longest| !longest.is_empty())
}

struct Runs {
    longest: Vec<u8>,
    /// What the strings that were walked last end in.
    open: Vec<u8>,
    utf8: bool,
}

impl Runs {
    fn walk(&mut self, node: &Node) {
        match node {
            Node::Start | Node::End => {}
            Node::Chars(set) => match set.single(false) {
                Some(character) => push(&mut self.open, character, self.utf8),
                None => self.close(),
            },
            Node::Concat(nodes) => nodes.iter().for_each(|node| self.walk(node)),
            Node::Capture { node, .. } => self.walk(node),
            Node::Repeat { node, min, max } => {
                (0..(*min).min(MAX_REPEAT)).for_each(|_| self.walk(node));
                if *max != Some(*min) || *min > MAX_REPEAT {
                    self.close();
                }
            }
            Node::Either(_) => self.close(),
        }
    }

    fn close(&mut self) {
        if self.open.len() > self.longest.len() {
            std::mem::swap(&mut self.open, &mut self.longest);
        }
        self.open.clear();
    }
}

/// The pattern of LIKE, with `\` to escape, that the same texts match: for a string, perhaps anchored.
pub(super) fn like(node: &Node, utf8: bool, folded: bool) -> Option<Vec<u8>> {
    let mut items = Vec::new();
    flatten(node, &mut items)?;
    let (start, items) = match items.as_slice() {
        [Node::Start, rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (end, items) = match items {
        [rest @ .., Node::End] => (true, rest),
        rest => (false, rest),
    };
    let mut pattern = Vec::new();
    if !start {
        pattern.push(b'%');
    }
    for item in items {
        let Node::Chars(set) = item else { return None };
        let character = set.single(folded)?;
        if [b'%', b'_', b'\\'].map(u32::from).contains(&character) {
            pattern.push(b'\\');
        }
        push(&mut pattern, character, utf8);
    }
    if !end {
        pattern.push(b'%');
    }
    Some(pattern)
}

fn flatten<'n>(node: &'n Node, items: &mut Vec<&'n Node>) -> Option<()> {
    match node {
        Node::Concat(nodes) => nodes.iter().try_for_each(|node| flatten(node, items)),
        Node::Capture { node, .. } => flatten(node, items),
        Node::Either(_) | Node::Repeat { .. } => None,
        Node::Start | Node::End | Node::Chars(_) => {
            items.push(node);
            Some(())
        }
    }
}

fn push(bytes: &mut Vec<u8>, character: u32, utf8: bool) {
    match char::from_u32(character).filter(|_| utf8) {
        Some(character) => bytes.extend(character.encode_utf8(&mut [0; 4]).as_bytes()),
        None => bytes.push(character as u8),
    }
}
