//! Regular expressions: the operators `~` and `~*`, and regexp_replace(), with constant patterns.
//!
//! Patterns are those of PostgreSQL's advanced regular expressions that are regular: literals, `.`, brackets, class escapes,
//! groups, alternation, greedy quantifiers, `^` and `$`. Whether such a pattern matches a text is a question of the
//! language it describes, and where it matches is what PostgreSQL defines it to be: of all matches the leftmost, of those
//! the longest, then each part of it from left to right as long as may be ([`dissect`]). Other engines stop at the first
//! match that a backtracking search comes to, which is another one for as plain a pattern as `a|ab`. So the automata here
//! are built for PostgreSQL's rules, which they follow step by step:
//!
//! ```text
//! find():      leftmost start, longest end       search.rs, an automaton of the whole pattern
//! cdissect():  the ends of parts and groups      dissect.rs, an automaton for each part and for what follows it
//! ```
//!
//! All automata are deterministic and built when the pattern is compiled, so that the time for a text is linear in its
//! length but for a global replacement, where it is linear in the length and what is looked at behind each match; a
//! pattern for which that has no bound is refused. A pattern whose automata are large is refused too.
//!
//! Not in the subset, each for PostgreSQL to evaluate:
//!
//! * back references and lookaround, which are not regular; `\y`, `\m` and their like, embedded options, comments.
//! * non-greedy quantifiers in a replacement, since they change which match is taken throughout the pattern. In a test they
//!   change nothing.
//! * groups within `*` or `{0,n}` that the replacement names: PostgreSQL searches for the iterations with backtracking.
//! * flags that make a newline special, that fold case or name another syntax, but `i` and classes (`\w`, `[[:alpha:]]`)
//!   where the ctype is C, so that only ASCII counts.
//! * equivalence classes, collating elements, numeric escapes, ranges and negated brackets beyond ASCII.
//!
//! The sources followed are regc_lex.c, regcomp.c, regexec.c, and in regexp.c and varlena.c the functions of SQL.

mod dfa;
mod dissect;
mod literal;
mod nfa;
mod parse;
mod search;
mod template;

use std::sync::Arc;

use arrow_buffer::Buffer;

use self::dfa::Dfa;
use self::dissect::{Cutter, GROUPS, Groups, Part};
use self::nfa::Reading;
use self::search::Search;
use self::template::Template;
use super::operand::{
    Texts, any_null_constant, bool_column, each, lend, null_column, text_column, texts, union_nulls,
};
use super::text::StringsBuilder;
use crate::column::{Column, Span, Strings};
use crate::error::ExecError;

/// What a pattern means beside its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegexpOptions {
    /// Letters of both cases are the same.
    pub fold_case: bool,
    /// Characters are those of UTF-8, otherwise bytes.
    pub utf8: bool,
    /// Letters, digits and blanks are those of ASCII: the ctype is C.
    pub c_ctype: bool,
}

/// Why a pattern is left to PostgreSQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegexpRefusal {
    /// It is not in the subset, or PostgreSQL rejects it.
    Syntax,
    /// It depends on a locale other than C.
    Locale,
    /// Its automata are large.
    Size,
    /// A quantifier prefers less.
    NonGreedy,
    /// A wanted group is within a repetition that may be absent.
    Groups,
    /// Replacing all matches may look at the same bytes too often.
    LookAhead,
}

impl std::fmt::Display for RegexpRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Syntax => "syntax",
            Self::Locale => "locale",
            Self::Size => "size",
            Self::NonGreedy => "non-greedy quantifier",
            Self::Groups => "repeated group",
            Self::LookAhead => "unbounded search behind a match",
        })
    }
}

/// A pattern that texts are tested with.
#[derive(Clone, Debug)]
pub struct RegexpPattern {
    dfa: Dfa,
    needle: Option<memchr::memmem::Finder<'static>>,
    like: Option<Vec<u8>>,
}

impl RegexpPattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// Patterns that PostgreSQL has to evaluate.
    pub fn new(pattern: &[u8], options: &RegexpOptions) -> Result<Self, RegexpRefusal> {
        let node = parse::parse(pattern, options)?.node;
        let reading = Reading { utf8: options.utf8, backward: false, unanchored: true };
        let needle = literal::needle(&node, options.utf8, options.fold_case);
        let needle = needle.filter(|needle| needle.len() > 2);
        Ok(Self {
            dfa: Dfa::new(&node, reading)?,
            needle: needle.map(|needle| memchr::memmem::Finder::new(&needle).into_owned()),
            like: literal::like(&node, options.utf8, options.fold_case),
        })
    }

    /// The pattern of LIKE that the same texts match, with a backslash to escape: of ILIKE where case is folded.
    pub fn like(&self) -> Option<&[u8]> {
        self.like.as_deref()
    }

    /// Whether a text contains a match.
    pub fn matches(&self, text: &[u8]) -> bool {
        if let Some(needle) = &self.needle
            && needle.find(text).is_none()
        {
            return false;
        }
        self.dfa.finds(text)
    }
}

/// A pattern and what its matches are replaced by.
#[derive(Clone, Debug)]
pub struct RegexpReplacer {
    search: Search,
    part: Part,
    template: Template,
    all: bool,
    /// A match is all of the text, so that it need not be searched for.
    spanning: bool,
    utf8: bool,
}

impl RegexpReplacer {
    /// Compiles a pattern and a replacement; `all` for all matches instead of the first.
    ///
    /// # Errors
    /// Patterns that PostgreSQL has to evaluate.
    pub fn new(
        pattern: &[u8],
        replacement: &[u8],
        all: bool,
        options: &RegexpOptions,
    ) -> Result<Self, RegexpRefusal> {
        let parsed = parse::parse(pattern, options)?;
        if parsed.lazy {
            return Err(RegexpRefusal::NonGreedy);
        }
        let template = Template::new(replacement);
        let mut wanted = template.groups();
        wanted[0] = false;
        let part = Cutter { wanted, utf8: options.utf8 }.part(&parsed.node)?;
        let search = Search::new(&parsed.node, options.utf8, options.fold_case)?;
        if all && search.whole.looks_far_ahead() {
            return Err(RegexpRefusal::LookAhead);
        }
        let spanning = search.whole.starts_at_origin_only() && search.whole.ends_at_limit_only();
        Ok(Self { search, part, template, all, spanning, utf8: options.utf8 })
    }

    /// Appends a text with its matches replaced.
    pub fn replace(&self, text: &[u8], out: &mut Vec<u8>) {
        let mut groups: Groups = [None; GROUPS];
        if self.spanning {
            if self.span(text, &mut groups) {
                self.template.append(text, &groups, out);
            } else {
                out.extend_from_slice(text);
            }
            return;
        }
        let mut progress = self.search.start(text);
        let (mut copied, mut from) = (0, 0);
        while let Some((start, end)) = self.search.find(text, from, &mut progress) {
            out.extend_from_slice(&text[copied..start]);
            groups = [None; GROUPS];
            groups[0] = Some((start, end));
            self.part.dissect(text, start, end, &mut groups);
            self.template.append(text, &groups, out);
            copied = end;
            if !self.all {
                break;
            }
            // The next match may begin where this one ends, unless it is the same again.
            from = if start == end { next_border(text, end, self.utf8) } else { end };
            if from > text.len() {
                break;
            }
        }
        out.extend_from_slice(&text[copied..]);
    }

    /// Whether all of the text is a match, and its groups.
    fn span(&self, text: &[u8], groups: &mut Groups) -> bool {
        groups[0] = Some((0, text.len()));
        match &self.part {
            // Finding where to cut it shows that it is one.
            Part::Chain(_) => self.part.dissect(text, 0, text.len(), groups),
            part => {
                self.search.whole.matches(text, 0, text.len())
                    && part.dissect(text, 0, text.len(), groups)
            }
        }
    }

    /// The result, where it is part of the text.
    fn within(&self, group: usize, text: &[u8]) -> (usize, usize) {
        let mut groups: Groups = [None; GROUPS];
        if self.span(text, &mut groups) { groups[group].unwrap_or((0, 0)) } else { (0, text.len()) }
    }
}

/// Whether no character goes across a place.
fn is_border(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|byte| byte & 0xC0 != 0x80)
}

/// The border of a character before a place that is one; the place is not the start.
fn previous_border(text: &[u8], mut at: usize, utf8: bool) -> usize {
    at -= 1;
    while utf8 && at > 0 && !is_border(text, at) {
        at -= 1;
    }
    at
}

/// The border of a character behind a place, beyond the end if the place is the end.
fn next_border(text: &[u8], mut at: usize, utf8: bool) -> usize {
    at += 1;
    while utf8 && !is_border(text, at) {
        at += 1;
    }
    at
}

/// `~`, or `!~`.
pub(super) fn matches(pattern: &RegexpPattern, arg: &Column, negated: bool) -> Column {
    if any_null_constant(&[arg]) {
        return null_column(arg.len);
    }
    let nulls = union_nulls(&[arg]);
    let values =
        texts(arg).map(lend(&nulls), arg.len, false, |text| pattern.matches(text) != negated);
    bool_column(values, nulls)
}

/// regexp_replace().
pub(super) fn replace(replacer: &RegexpReplacer, arg: &Column) -> Result<Column, ExecError> {
    if any_null_constant(&[arg]) {
        return Ok(null_column(arg.len));
    }
    let nulls = union_nulls(&[arg]);
    let source = texts(arg);
    if let (Some(group), true) = (replacer.template.lone_group(), replacer.spanning) {
        // Results lie in the texts.
        let data = match source {
            Texts::Const(bytes) => Buffer::from(bytes),
            Texts::Plain(strings) => strings.data.clone(),
            Texts::Dict(codes) => codes.dictionary.values.data.clone(),
        };
        let place = |row: usize| match source {
            Texts::Const(_) => 0,
            Texts::Plain(strings) => strings.spans[row].start,
            Texts::Dict(codes) => codes.dictionary.values.spans[codes.codes[row] as usize].start,
        };
        let spans = each(lend(&nulls), arg.len, Span { start: 0, len: 0 }, |row| {
            let (from, to) = replacer.within(group, source.get(row));
            Span { start: place(row) + from as u32, len: (to - from) as u32 }
        });
        return Ok(text_column(Strings { spans: Arc::new(spans), data }, nulls));
    }
    let mut builder = StringsBuilder::new(arg.len);
    let mut result = Vec::new();
    for row in 0..arg.len {
        result.clear();
        if nulls.as_ref().is_none_or(|nulls| !nulls[row]) {
            replacer.replace(source.get(row), &mut result);
        }
        builder.push(&result)?;
    }
    Ok(text_column(builder.finish(), nulls))
}
