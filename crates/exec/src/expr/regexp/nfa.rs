//! Nondeterministic automata over bytes.
//!
//! Text is valid, and is read from the border of one character to that of another. So in UTF-8 a character beyond ASCII is
//! a byte that leads and those that continue it, however many, and where any number of characters may follow one another
//! their bytes may too. No set of characters begins with a continuing byte, so nothing begins within a character.

use super::RegexpRefusal;
use super::parse::{Chars, Node};

/// Most states.
const MAX_STATES: usize = 2000;

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Bytes([u128; 2]);

impl Bytes {
    pub(super) fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 7)] >> (byte & 127) & 1 == 1
    }

    fn with(mut self, range: std::ops::RangeInclusive<u8>) -> Self {
        for byte in range {
            self.0[usize::from(byte >> 7)] |= 1 << (byte & 127);
        }
        self
    }
}

#[derive(Clone, Debug)]
pub(super) enum State {
    /// Reads a byte.
    Read(Bytes, usize),
    /// Goes on at any of them.
    Any(Vec<usize>),
    /// Goes on where reading starts at that end of the text.
    Origin(usize),
    /// Goes on at the other end of the text.
    Limit(usize),
    /// A match.
    Accept,
}

#[derive(Debug)]
pub(super) struct Nfa {
    pub(super) states: Vec<State>,
    pub(super) start: usize,
}

/// How an automaton reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) utf8: bool,
    /// From the end of a text to its start.
    pub(super) backward: bool,
    /// A match may begin anywhere.
    pub(super) unanchored: bool,
}

impl Nfa {
    pub(super) fn new(node: &Node, reading: Reading) -> Result<Self, RegexpRefusal> {
        let mut builder = Builder { states: vec![State::Accept], reading };
        let mut start = builder.node(node, 0)?;
        if reading.unanchored {
            let entry = builder.push(State::Any(Vec::new()))?;
            let any = builder.push(State::Read(Bytes::default().with(0..=255), entry))?;
            builder.states[entry] = State::Any(vec![start, any]);
            start = entry;
        }
        Ok(Self { states: builder.states, start })
    }
}

struct Builder {
    states: Vec<State>,
    reading: Reading,
}

impl Builder {
    fn push(&mut self, state: State) -> Result<usize, RegexpRefusal> {
        if self.states.len() >= MAX_STATES {
            return Err(RegexpRefusal::Size);
        }
        self.states.push(state);
        Ok(self.states.len() - 1)
    }

    /// Where to enter what reads `node` and then goes on at `to`.
    fn node(&mut self, node: &Node, to: usize) -> Result<usize, RegexpRefusal> {
        match node {
            Node::Start if self.reading.backward => self.push(State::Limit(to)),
            Node::End if self.reading.backward => self.push(State::Origin(to)),
            Node::Start => self.push(State::Origin(to)),
            Node::End => self.push(State::Limit(to)),
            Node::Chars(set) => self.chars(set, to),
            Node::Concat(nodes) if self.reading.backward => {
                nodes.iter().try_fold(to, |to, node| self.node(node, to))
            }
            Node::Concat(nodes) => nodes.iter().rev().try_fold(to, |to, node| self.node(node, to)),
            Node::Either(nodes) => {
                let entries: Result<Vec<usize>, _> =
                    nodes.iter().map(|node| self.node(node, to)).collect();
                self.push(State::Any(entries?))
            }
            Node::Repeat { node, min, max } => self.repeat(node, *min, *max, to),
            Node::Capture { node, .. } => self.node(node, to),
        }
    }

    fn repeat(
        &mut self,
        node: &Node,
        min: u32,
        max: Option<u32>,
        to: usize,
    ) -> Result<usize, RegexpRefusal> {
        let mut entry = match max {
            None => {
                let entry = self.push(State::Any(Vec::new()))?;
                let body = match node {
                    Node::Chars(set) if set.others => {
                        let bytes = Bytes([set.ascii, !0]);
                        self.push(State::Read(bytes, entry))?
                    }
                    node => self.node(node, entry)?,
                };
                self.states[entry] = State::Any(vec![body, to]);
                entry
            }
            Some(max) => {
                let mut entry = to;
                for _ in min..max {
                    let body = self.node(node, entry)?;
                    entry = self.push(State::Any(vec![body, to]))?;
                }
                entry
            }
        };
        for _ in 0..min {
            entry = self.node(node, entry)?;
        }
        Ok(entry)
    }

    fn chars(&mut self, set: &Chars, to: usize) -> Result<usize, RegexpRefusal> {
        let mut ways = Vec::new();
        let ascii = Bytes([set.ascii, 0]);
        if set.others && self.reading.utf8 {
            let lead = ascii.with(0xC0..=0xFF);
            let rest = Bytes::default().with(0x80..=0xBF);
            // The loop over continuing bytes lies behind the leading one, or before it when reading backward.
            let entry = self.push(State::Any(Vec::new()))?;
            let more = self.push(State::Read(rest, entry))?;
            if self.reading.backward {
                let read = self.push(State::Read(lead, to))?;
                self.states[entry] = State::Any(vec![read, more]);
                ways.push(entry);
            } else {
                self.states[entry] = State::Any(vec![to, more]);
                ways.push(self.push(State::Read(lead, entry))?);
            }
        } else if set.others {
            ways.push(self.push(State::Read(Bytes([set.ascii, !0]), to))?);
        } else if set.ascii != 0 {
            ways.push(self.push(State::Read(ascii, to))?);
        }
        for character in &set.listed {
            ways.push(self.character(*character, to)?);
        }
        // No way at all, for a set without characters, never matches.
        if ways.len() == 1 { Ok(ways[0]) } else { self.push(State::Any(ways)) }
    }

    /// A character beyond ASCII.
    fn character(&mut self, character: u32, to: usize) -> Result<usize, RegexpRefusal> {
        let mut buffer = [0; 4];
        let bytes: &[u8] = if self.reading.utf8 {
            let character = char::from_u32(character).ok_or(RegexpRefusal::Syntax)?;
            character.encode_utf8(&mut buffer).as_bytes()
        } else {
            buffer[0] = u8::try_from(character).map_err(|_| RegexpRefusal::Syntax)?;
            &buffer[..1]
        };
        let mut bytes = bytes.to_vec();
        // The byte that is read last is built first.
        if !self.reading.backward {
            bytes.reverse();
        }
        bytes
            .into_iter()
            .try_fold(to, |to, byte| self.push(State::Read(Bytes::default().with(byte..=byte), to)))
    }
}
