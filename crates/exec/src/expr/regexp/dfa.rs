//! Deterministic automata over bytes, built in full and made as small as can be.
//!
//! A state that a text stays in for long, such as that of `.*` or `[^/]+`, is left by a search for the few bytes that lead
//! out of it.

use std::collections::HashMap;

use super::RegexpRefusal;
use super::nfa::{Nfa, Reading, State};
use super::parse::Node;

/// Most states before they are merged.
const MAX_STATES: usize = 250;
/// The state no match is reached from.
const DEAD: u8 = 0;

/// What is read up to here is a match.
const ACCEPT: u8 = 1;
/// It is if this is the end of the text that reading goes to.
const ACCEPT_AT_LIMIT: u8 = 2;
/// The state has a [`Skip`].
const SKIPS: u8 = 4;
/// The state is [`DEAD`].
const STUCK: u8 = 8;

/// A deterministic automaton.
#[derive(Clone)]
pub(super) struct Dfa {
    next: Vec<[u8; 256]>,
    flags: Vec<u8>,
    skips: Vec<Skip>,
    /// The state to start in at that end of the text that reading comes from.
    at_origin: u8,
    /// The state to start in anywhere else.
    within: u8,
}

/// The bytes that lead out of a state.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Skip {
    Nowhere,
    To1(u8),
    To2(u8, u8),
    To3(u8, u8, u8),
    /// Too many of them.
    No,
}

impl std::fmt::Debug for Dfa {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dfa").field("states", &self.next.len()).finish_non_exhaustive()
    }
}

impl Dfa {
    pub(super) fn new(node: &Node, reading: Reading) -> Result<Self, RegexpRefusal> {
        let nfa = Nfa::new(node, reading)?;
        let raw = Subsets::new(&nfa).build()?;
        Ok(raw.minimal())
    }

    /// The end of the longest match that begins at `from` and ends at `stop` at most, and how far the text was looked at.
    pub(super) fn longest(&self, text: &[u8], from: usize, stop: usize) -> (Option<usize>, usize) {
        let mut state = if from == 0 { self.at_origin } else { self.within };
        let mut at = from;
        let mut last = None;
        let readable = &text[..stop];
        loop {
            let flags = self.flags[usize::from(state)];
            if flags & (ACCEPT | SKIPS | STUCK) != 0 {
                if flags & STUCK != 0 {
                    return (last, at);
                }
                if flags & SKIPS != 0 {
                    at = self.skips[usize::from(state)].skip(readable, at);
                }
                if flags & ACCEPT != 0 {
                    last = Some(at);
                }
            }
            let Some(byte) = readable.get(at) else {
                let ends = stop == text.len() && flags & ACCEPT_AT_LIMIT != 0;
                return (if ends { Some(at) } else { last }, at);
            };
            state = self.next[usize::from(state)][usize::from(*byte)];
            at += 1;
        }
    }

    /// Whether what lies from `from` to `stop` is a match.
    pub(super) fn matches(&self, text: &[u8], from: usize, stop: usize) -> bool {
        let mut state = if from == 0 { self.at_origin } else { self.within };
        let mut at = from;
        let readable = &text[..stop];
        loop {
            let flags = self.flags[usize::from(state)];
            if flags & (SKIPS | STUCK) != 0 {
                if flags & STUCK != 0 {
                    return false;
                }
                at = self.skips[usize::from(state)].skip(readable, at);
            }
            let Some(byte) = readable.get(at) else {
                return flags & ACCEPT != 0 || (stop == text.len() && flags & ACCEPT_AT_LIMIT != 0);
            };
            state = self.next[usize::from(state)][usize::from(*byte)];
            at += 1;
        }
    }

    /// Whether a start of the text is a match: for automata that are not anchored, whether there is one anywhere.
    pub(super) fn finds(&self, text: &[u8]) -> bool {
        let mut state = self.at_origin;
        let mut at = 0;
        loop {
            let flags = self.flags[usize::from(state)];
            if flags & (ACCEPT | SKIPS | STUCK) != 0 {
                if flags & (ACCEPT | STUCK) != 0 {
                    return flags & ACCEPT != 0;
                }
                at = self.skips[usize::from(state)].skip(text, at);
            }
            let Some(byte) = text.get(at) else { return flags & ACCEPT_AT_LIMIT != 0 };
            state = self.next[usize::from(state)][usize::from(*byte)];
            at += 1;
        }
    }

    /// Calls `visit` with each end of a match that begins at `from` and ends at `stop` at most.
    pub(super) fn ends(&self, text: &[u8], from: usize, stop: usize, mut visit: impl FnMut(usize)) {
        let mut state = if from == 0 { self.at_origin } else { self.within };
        for at in from..=stop {
            let flags = self.flags[usize::from(state)];
            if flags & ACCEPT != 0 || (at == text.len() && flags & ACCEPT_AT_LIMIT != 0) {
                visit(at);
            }
            if at == stop || flags & STUCK != 0 {
                return;
            }
            state = self.next[usize::from(state)][usize::from(text[at])];
        }
    }

    /// For an automaton that reads backward: the last place from `low` on, and below `end`, where a match that ends at `end`
    /// begins and `good` is true.
    pub(super) fn last_start(
        &self,
        text: &[u8],
        end: usize,
        low: usize,
        mut good: impl FnMut(usize) -> bool,
    ) -> Option<usize> {
        let mut state = if end == text.len() { self.at_origin } else { self.within };
        for at in (low..=end).rev() {
            let flags = self.flags[usize::from(state)];
            let accepts = flags & ACCEPT != 0 || (at == 0 && flags & ACCEPT_AT_LIMIT != 0);
            if accepts && good(at) {
                return Some(at);
            }
            if at == low || flags & STUCK != 0 {
                return None;
            }
            state = self.next[usize::from(state)][usize::from(text[at - 1])];
        }
        None
    }

    /// Whether matches begin at the start of the text alone.
    pub(super) fn starts_at_origin_only(&self) -> bool {
        self.within == DEAD
    }

    /// Whether matches end at the end of the text alone.
    pub(super) fn ends_at_limit_only(&self) -> bool {
        self.flags.iter().all(|flags| flags & ACCEPT == 0)
    }

    /// The bytes that a match within the text begins with; `None` if there is one of no bytes.
    pub(super) fn first_bytes(&self) -> Option<Vec<u8>> {
        let within = usize::from(self.within);
        let empty = self.flags[within] & (ACCEPT | ACCEPT_AT_LIMIT) != 0;
        let leads = |byte: &u8| self.next[within][usize::from(*byte)] != DEAD;
        (!empty).then(|| (0..=255).filter(leads).collect())
    }

    /// Whether reading may go on without bound behind the last match, in the hope of a longer one.
    pub(super) fn looks_far_ahead(&self) -> bool {
        let waits = |state: u8| state != DEAD && self.flags[usize::from(state)] & ACCEPT == 0;
        // Rounds of removing the states that lead to no other state that waits; what is left goes round.
        let mut circling: Vec<bool> =
            (0..self.next.len()).map(|state| waits(state as u8)).collect();
        loop {
            let stays = |state: usize| {
                circling[state] && self.next[state].iter().any(|next| circling[usize::from(*next)])
            };
            let left: Vec<bool> = (0..circling.len()).map(stays).collect();
            if left == circling {
                break;
            }
            circling = left;
        }
        (0..self.next.len()).any(|state| {
            self.flags[state] & ACCEPT != 0
                && self.next[state].iter().any(|next| circling[usize::from(*next)])
        })
    }

    /// The same automaton with as few states as can be: states are told apart by what they accept and, round by round, by
    /// where they lead.
    fn minimal(self) -> Self {
        let states = self.next.len();
        let mut groups = self.flags.clone();
        let mut count = 0;
        loop {
            let mut known: HashMap<(u8, [u8; 256]), u8> = HashMap::new();
            let mut refined = Vec::with_capacity(states);
            for state in 0..states {
                let leads = self.next[state].map(|next| groups[usize::from(next)]);
                let fresh = known.len() as u8;
                refined.push(*known.entry((groups[state], leads)).or_insert(fresh));
            }
            groups = refined;
            if known.len() == count {
                break;
            }
            count = known.len();
        }
        // The dead state was the first, so its group is.
        let mut next = vec![[DEAD; 256]; count];
        let mut flags = vec![0; count];
        for state in 0..states {
            let group = usize::from(groups[state]);
            next[group] = self.next[state].map(|to| groups[usize::from(to)]);
            flags[group] = self.flags[state];
        }
        let skips: Vec<Skip> = (0..count).map(|state| Skip::out_of(state, &next[state])).collect();
        for (flags, skip) in flags.iter_mut().zip(&skips) {
            *flags |= if *skip == Skip::No { 0 } else { SKIPS };
        }
        flags[usize::from(DEAD)] |= STUCK;
        let (at_origin, within) =
            (groups[usize::from(self.at_origin)], groups[usize::from(self.within)]);
        Self { next, flags, skips, at_origin, within }
    }
}

impl Skip {
    fn out_of(state: usize, next: &[u8; 256]) -> Self {
        let mut out = (0..=255u8).filter(|byte| usize::from(next[usize::from(*byte)]) != state);
        match (out.next(), out.next(), out.next(), out.next()) {
            (None, ..) => Self::Nowhere,
            (Some(a), None, ..) => Self::To1(a),
            (Some(a), Some(b), None, _) => Self::To2(a, b),
            (Some(a), Some(b), Some(c), None) => Self::To3(a, b, c),
            _ => Self::No,
        }
    }

    /// The next place that leads out of the state.
    fn skip(self, text: &[u8], at: usize) -> usize {
        let rest = &text[at..];
        let found = match self {
            Self::Nowhere => None,
            Self::To1(a) => memchr::memchr(a, rest),
            Self::To2(a, b) => memchr::memchr2(a, b, rest),
            Self::To3(a, b, c) => memchr::memchr3(a, b, c, rest),
            Self::No => Some(0),
        };
        found.map_or(text.len(), |found| at + found)
    }
}

/// The subset construction.
struct Subsets<'a> {
    nfa: &'a Nfa,
    known: HashMap<(Vec<usize>, bool), u8>,
    /// States of the NFA that read, accept or wait for the limit, and whether this is the origin.
    sets: Vec<(Vec<usize>, bool)>,
}

impl<'a> Subsets<'a> {
    fn new(nfa: &'a Nfa) -> Self {
        let dead = (Vec::new(), false);
        Self { nfa, known: HashMap::from([(dead.clone(), DEAD)]), sets: vec![dead] }
    }

    fn build(mut self) -> Result<Dfa, RegexpRefusal> {
        let (classes, examples) = self.byte_classes();
        let start = [self.nfa.start];
        let within = self.closure(&start, false, false);
        let within = self.intern(within, false)?;
        let at_origin = self.closure(&start, true, false);
        let at_origin = self.intern(at_origin, true)?;
        let (mut next, mut flags): (Vec<[u8; 256]>, Vec<u8>) = (Vec::new(), Vec::new());
        while let Some((set, origin)) = self.sets.get(next.len()).cloned() {
            let accepts = |set: &[usize]| {
                set.iter().any(|state| matches!(self.nfa.states[*state], State::Accept))
            };
            let at_limit = accepts(&self.closure(&set, origin, true));
            let accepting = if accepts(&set) { ACCEPT } else { 0 };
            flags.push(accepting | if at_limit { ACCEPT_AT_LIMIT } else { 0 });
            let mut to_of_class = Vec::with_capacity(examples.len());
            for example in &examples {
                let read = set.iter().filter_map(|state| match &self.nfa.states[*state] {
                    State::Read(bytes, to) if bytes.contains(*example) => Some(*to),
                    _ => None,
                });
                let read: Vec<usize> = read.collect();
                let closed = self.closure(&read, false, false);
                to_of_class.push(self.intern(closed, false)?);
            }
            next.push(std::array::from_fn(|byte| to_of_class[usize::from(classes[byte])]));
        }
        Ok(Dfa { next, flags, skips: Vec::new(), at_origin, within })
    }

    /// Bytes that no state tells apart have one class: the class of each byte, and a byte of each class.
    fn byte_classes(&self) -> ([u8; 256], Vec<u8>) {
        let mut known: HashMap<Vec<bool>, u8> = HashMap::new();
        let mut examples = Vec::new();
        let classes = std::array::from_fn(|byte| {
            let byte = byte as u8;
            let reads = self.nfa.states.iter().filter_map(|state| match state {
                State::Read(bytes, _) => Some(bytes.contains(byte)),
                _ => None,
            });
            let fresh = examples.len() as u8;
            let class = *known.entry(reads.collect()).or_insert(fresh);
            if class == fresh {
                examples.push(byte);
            }
            class
        });
        (classes, examples)
    }

    fn intern(&mut self, set: Vec<usize>, origin: bool) -> Result<u8, RegexpRefusal> {
        let key = (set, origin);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        if self.sets.len() >= MAX_STATES {
            return Err(RegexpRefusal::Size);
        }
        let state = self.sets.len() as u8;
        self.sets.push(key.clone());
        self.known.insert(key, state);
        Ok(state)
    }

    /// The states reached without reading, sorted; those that only lead on are left out.
    fn closure(&self, from: &[usize], origin: bool, limit: bool) -> Vec<usize> {
        let mut seen = vec![false; self.nfa.states.len()];
        let mut open = from.to_vec();
        let mut kept = Vec::new();
        while let Some(state) = open.pop() {
            if std::mem::replace(&mut seen[state], true) {
                continue;
            }
            match &self.nfa.states[state] {
                State::Any(to) => open.extend(to),
                State::Origin(to) if origin => open.push(*to),
                State::Origin(_) => {}
                State::Limit(to) => {
                    kept.push(state);
                    if limit {
                        open.push(*to);
                    }
                }
                State::Read(..) | State::Accept => kept.push(state),
            }
        }
        kept.sort_unstable();
        kept
    }
}
