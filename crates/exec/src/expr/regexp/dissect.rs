//! Where the groups of a match lie: cdissect() in regexec.c.
//!
//! PostgreSQL cuts a concatenation at its parenthesised items. What lies before the first of them is one part, whatever it
//! consists of, then comes the item, then the rest, cut in the same way. Each part in turn is made as long as may be
//! while all that follows it still is a match up to the given end. That is not the order in which a backtracking matcher
//! tries: of `a?(?:ab)?(b?)` in "ab" the first part is "ab", and the group is empty.
//!
//! An item that is repeated, at least once, is the repetitions but the last as one part without groups, then the last.

use super::dfa::Dfa;
use super::nfa::Reading;
use super::parse::Node;
use super::{RegexpRefusal, previous_border};

/// Groups that a replacement may name, and the whole match.
pub(super) const GROUPS: usize = 10;

/// First byte of each group and first byte behind it.
pub(super) type Groups = [Option<(usize, usize)>; GROUPS];

/// Ends of a part that are tried singly before all are worked out together.
const SINGLE_TRIES: usize = 4;

/// How to dissect a match of a part of a pattern.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// Nothing in it is wanted.
    Plain,
    Capture(usize, Box<Part>),
    Chain(Box<Chain>),
    /// The first that matches.
    Either(Vec<(Dfa, Part)>),
    /// Not there, or once.
    Optional(Dfa, Box<Part>),
}

/// A part and what follows it.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    left: Dfa,
    left_part: Part,
    right: Dfa,
    /// `right`, read backward.
    right_backward: Dfa,
    right_part: Part,
    utf8: bool,
}

/// Cuts a pattern for the groups that are wanted.
pub(super) struct Cutter {
    pub(super) wanted: [bool; GROUPS],
    pub(super) utf8: bool,
}

impl Cutter {
    pub(super) fn part(&self, node: &Node) -> Result<Part, RegexpRefusal> {
        if !self.wants(node) {
            return Ok(Part::Plain);
        }
        match node {
            Node::Capture { number, node } => {
                let inner = self.part(node)?;
                let number = *number as usize;
                let wanted = self.wanted.get(number).copied().unwrap_or(false);
                Ok(if wanted { Part::Capture(number, Box::new(inner)) } else { inner })
            }
            Node::Concat(nodes) => self.chain(nodes),
            Node::Either(nodes) => {
                let part = |node| Ok((self.forward(node)?, self.part(node)?));
                nodes.iter().map(part).collect::<Result<_, _>>().map(Part::Either)
            }
            Node::Repeat { node, min: 0, max: Some(1) } => {
                Ok(Part::Optional(self.forward(node)?, Box::new(self.part(node)?)))
            }
            // What its iterations match each is searched for with backtracking.
            Node::Repeat { min: 0, .. } => Err(RegexpRefusal::Groups),
            Node::Repeat { min: 1, max: Some(1), node } => self.part(node),
            Node::Repeat { node, min, max } => {
                let before =
                    Node::Repeat { node: node.clone(), min: min - 1, max: max.map(|max| max - 1) };
                self.pair(&before, Part::Plain, node)
            }
            Node::Start | Node::End | Node::Chars(_) => Ok(Part::Plain),
        }
    }

    /// Items one after the other, cut at those that hold groups, wanted or not.
    fn chain(&self, nodes: &[Node]) -> Result<Part, RegexpRefusal> {
        let Some(messy) = nodes.iter().position(has_groups) else { return Ok(Part::Plain) };
        match (messy, nodes) {
            (_, [only]) => self.part(only),
            (0, [first, rest @ ..]) => {
                self.pair(first, self.part(first)?, &Node::Concat(rest.to_vec()))
            }
            _ => {
                let (before, rest) = nodes.split_at(messy);
                let before = Node::Concat(before.to_vec());
                self.pair(&before, Part::Plain, &Node::Concat(rest.to_vec()))
            }
        }
    }

    fn pair(&self, left: &Node, left_part: Part, right: &Node) -> Result<Part, RegexpRefusal> {
        let backward = Reading { utf8: self.utf8, backward: true, unanchored: false };
        Ok(Part::Chain(Box::new(Chain {
            left: self.forward(left)?,
            left_part,
            right: self.forward(right)?,
            right_backward: Dfa::new(right, backward)?,
            right_part: self.part(right)?,
            utf8: self.utf8,
        })))
    }

    fn forward(&self, node: &Node) -> Result<Dfa, RegexpRefusal> {
        Dfa::new(node, Reading { utf8: self.utf8, backward: false, unanchored: false })
    }

    fn wants(&self, node: &Node) -> bool {
        any_group(node, &|number| self.wanted.get(number as usize).copied().unwrap_or(false))
    }
}

fn has_groups(node: &Node) -> bool {
    any_group(node, &|_| true)
}

fn any_group(node: &Node, test: &dyn Fn(u32) -> bool) -> bool {
    match node {
        Node::Capture { number, node } => test(*number) || any_group(node, test),
        Node::Concat(nodes) | Node::Either(nodes) => nodes.iter().any(|node| any_group(node, test)),
        Node::Repeat { node, .. } => any_group(node, test),
        Node::Start | Node::End | Node::Chars(_) => false,
    }
}

impl Part {
    /// Notes where the groups are in what lies from `from` to `to`. False if that is no match of the part.
    pub(super) fn dissect(&self, text: &[u8], from: usize, to: usize, groups: &mut Groups) -> bool {
        match self {
            Self::Plain => true,
            Self::Capture(number, inner) => {
                groups[*number] = Some((from, to));
                inner.dissect(text, from, to, groups)
            }
            Self::Chain(chain) => match chain.cut(text, from, to) {
                Some(middle) => {
                    chain.left_part.dissect(text, from, middle, groups)
                        && chain.right_part.dissect(text, middle, to, groups)
                }
                None => false,
            },
            Self::Either(branches) => branches
                .iter()
                .find(|(dfa, _)| dfa.matches(text, from, to))
                .is_some_and(|(_, part)| part.dissect(text, from, to, groups)),
            Self::Optional(dfa, part) if dfa.matches(text, from, to) => {
                part.dissect(text, from, to, groups)
            }
            Self::Optional(..) => from == to,
        }
    }
}

impl Chain {
    /// Where the left part ends.
    fn cut(&self, text: &[u8], from: usize, to: usize) -> Option<usize> {
        let mut stop = to;
        for _ in 0..SINGLE_TRIES {
            let middle = self.left.longest(text, from, stop).0?;
            if self.right.matches(text, middle, to) {
                return Some(middle);
            }
            if middle == from {
                return None;
            }
            stop = previous_border(text, middle, self.utf8);
        }
        // To go on like this would take time by the square of the length.
        let mut ends = vec![false; stop + 1 - from];
        self.left.ends(text, from, stop, |end| ends[end - from] = true);
        self.right_backward.last_start(text, to, from, |start| {
            start <= stop && ends[start - from] && (!self.utf8 || super::is_border(text, start))
        })
    }
}
