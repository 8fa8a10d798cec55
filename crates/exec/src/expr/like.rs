//! LIKE and ILIKE, as like_match.c matches under deterministic collations.
//!
//! A pattern is cut at its `%` into pieces of literal bytes and single characters. The first piece is anchored at the
//! start of the text, the last at its end, those between are found from left to right, each as early as may be. Common
//! shapes skip all of that. UTF-8 needs no decoding: literals are searched as bytes, which can only be found at the start
//! of a character.

use memchr::memmem::Finder;

use crate::column::Strings;
use crate::error::ExecError;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct LikePattern {
    form: Form,
    case_insensitive: bool,
    utf8: bool,
}

#[derive(Clone, Debug)]
enum Form {
    /// No wildcard.
    Exact(Box<[u8]>),
    /// `literal%`; `%` with no literal.
    Prefix(Box<[u8]>),
    /// `%literal`.
    Suffix(Box<[u8]>),
    /// `%literal%`.
    Infix(Box<Finder<'static>>),
    /// Anything else, `%` between the pieces. One piece: no `%`.
    Pieces(Vec<Piece>),
    /// Ends in the escape character: an error for texts that match up to there.
    Dangling(Vec<Token>),
}

/// What lies between two `%`.
#[derive(Clone, Debug)]
struct Piece {
    items: Vec<Item>,
    /// Finds the first literal where nothing precedes it.
    finder: Option<Finder<'static>>,
}

#[derive(Clone, Debug)]
enum Item {
    Literal(Box<[u8]>),
    /// `_`.
    Character,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    Byte(u8),
    Character,
    Any,
    /// An escape character with nothing behind it.
    Dangling,
}

/// What like_match.c returns beside errors.
#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    True,
    False,
    /// False, and so for every rest of the text.
    Abort,
}

impl LikePattern {
    /// Compiles a pattern. `escape` is `None` for ESCAPE ''. `case_insensitive` folds ASCII letters: ILIKE under the
    /// collation C. `utf8`: `_` is a character of UTF-8, otherwise a byte.
    ///
    /// A pattern that ends in the escape character compiles; [`LikePattern::matches`] raises the error where PostgreSQL
    /// does.
    pub fn new(
        pattern: &[u8],
        escape: Option<u8>,
        case_insensitive: bool,
        utf8: bool,
    ) -> Result<Self, ExecError> {
        let mut tokens = tokens(pattern, escape);
        if case_insensitive {
            for token in &mut tokens {
                if let Token::Byte(byte) = token {
                    byte.make_ascii_lowercase();
                }
            }
        }
        Ok(Self { form: Form::new(tokens), case_insensitive, utf8 })
    }

    /// Whether a text may raise the error of a pattern that ends in the escape character.
    pub fn can_fail(&self) -> bool {
        matches!(self.form, Form::Dangling(_))
    }

    /// Bytes with which every text that matches begins; none if letters are folded.
    pub fn prefix(&self) -> &[u8] {
        if self.case_insensitive {
            return &[];
        }
        match &self.form {
            Form::Exact(literal) | Form::Prefix(literal) => literal,
            Form::Pieces(pieces) => match pieces.first().and_then(|piece| piece.items.first()) {
                Some(Item::Literal(literal)) => literal,
                _ => &[],
            },
            Form::Suffix(_) | Form::Infix(_) | Form::Dangling(_) => &[],
        }
    }

    /// Whether every text that begins with [`LikePattern::prefix`] matches.
    pub fn is_prefix(&self) -> bool {
        !self.case_insensitive && matches!(self.form, Form::Prefix(_))
    }

    /// Whether the pattern is a literal, which [`LikePattern::prefix`] then gives.
    pub fn is_exact(&self) -> bool {
        !self.case_insensitive && matches!(self.form, Form::Exact(_))
    }

    /// Whether a text matches. `scratch` is for folding letters and keeps its memory from text to text.
    pub fn matches(&self, text: &[u8], scratch: &mut Vec<u8>) -> Result<bool, ExecError> {
        let text = if self.case_insensitive {
            scratch.clear();
            scratch.extend_from_slice(text);
            scratch.make_ascii_lowercase();
            scratch.as_slice()
        } else {
            text
        };
        Ok(match &self.form {
            Form::Exact(literal) => text == literal.as_ref(),
            Form::Prefix(literal) => text.starts_with(literal),
            Form::Suffix(literal) => text.ends_with(literal),
            Form::Infix(finder) => finder.find(text).is_some(),
            Form::Pieces(pieces) => match_pieces(pieces, text, self.utf8),
            Form::Dangling(tokens) => walk(tokens, text, self.utf8)? == Outcome::True,
        })
    }

    /// Whether each of the strings matches, if that can be answered by one search of their whole buffer: for an infix, in
    /// strings that lie one after the other without much between.
    pub(super) fn search_buffer(&self, strings: &Strings) -> Option<Vec<bool>> {
        let Form::Infix(finder) = &self.form else { return None };
        if self.case_insensitive {
            return None;
        }
        let bytes = strings.stretch()?;
        let spans = strings.spans.as_slice();
        let low = spans.first()?.start as usize;
        let end = |row: usize| spans[row].start as usize + spans[row].len as usize;
        let mut matched = vec![false; spans.len()];
        let (mut row, mut from) = (0, 0);
        while let Some(found) = finder.find(&bytes[from..]) {
            let start = from + found;
            let at = low + start;
            // The row in which the find begins; none if it is between two.
            while row < spans.len() && end(row) <= at {
                row += 1;
            }
            if row == spans.len() {
                break;
            }
            if at >= spans[row].start as usize && at + finder.needle().len() <= end(row) {
                matched[row] = true;
                from = end(row) - low;
            } else {
                from = start + 1;
            }
        }
        Some(matched)
    }
}

impl Strings {
    /// The bytes from the first string to the last, if the strings lie in order without much between them.
    pub(super) fn stretch(&self) -> Option<&[u8]> {
        let (first, last) = (self.spans.first()?, self.spans.last()?);
        let (mut ascending, mut total) = (true, u64::from(last.len));
        for pair in self.spans.windows(2) {
            let end = u64::from(pair[0].start) + u64::from(pair[0].len);
            ascending &= u64::from(pair[1].start) >= end;
            total += u64::from(pair[0].len);
        }
        let (low, high) = (first.start as usize, last.start as usize + last.len as usize);
        let dense = ascending && total >= (high - low) as u64 / 2;
        dense.then(|| self.data.get(low..high)).flatten()
    }
}

fn tokens(pattern: &[u8], escape: Option<u8>) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(pattern.len());
    let mut rest = pattern.iter();
    while let Some(&byte) = rest.next() {
        tokens.push(match byte {
            byte if Some(byte) == escape => match rest.next() {
                Some(&escaped) => Token::Byte(escaped),
                None => Token::Dangling,
            },
            b'%' => Token::Any,
            b'_' => Token::Character,
            byte => Token::Byte(byte),
        });
    }
    tokens
}

impl Form {
    fn new(tokens: Vec<Token>) -> Self {
        if tokens.last() == Some(&Token::Dangling) {
            return Self::Dangling(tokens);
        }
        let pieces: Vec<Vec<Item>> =
            tokens.split(|token| *token == Token::Any).map(items).collect();
        let (open_start, open_end) =
            (tokens.first() == Some(&Token::Any), tokens.last() == Some(&Token::Any));
        let mut filled = pieces.iter().filter(|piece| !piece.is_empty());
        let only = match (filled.next(), filled.next()) {
            (None, _) => Some(&[][..]),
            (Some(piece), None) => match piece.as_slice() {
                [Item::Literal(literal)] => Some(literal.as_ref()),
                _ => None,
            },
            _ => None,
        };
        match (only, pieces.len() > 1, open_start, open_end) {
            (Some(literal), false, ..) => Self::Exact(literal.into()),
            (Some([]), true, ..) => Self::Prefix([].into()),
            (Some(literal), true, true, true) => {
                Self::Infix(Box::new(Finder::new(literal).into_owned()))
            }
            (Some(literal), true, true, false) => Self::Suffix(literal.into()),
            (Some(literal), true, false, true) => Self::Prefix(literal.into()),
            _ => Self::Pieces(pieces.into_iter().map(Piece::new).collect()),
        }
    }
}

fn items(tokens: &[Token]) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut literal: Vec<u8> = Vec::new();
    for token in tokens {
        match token {
            Token::Byte(byte) => literal.push(*byte),
            _ => {
                if !literal.is_empty() {
                    items.push(Item::Literal(std::mem::take(&mut literal).into()));
                }
                items.push(Item::Character);
            }
        }
    }
    if !literal.is_empty() {
        items.push(Item::Literal(literal.into()));
    }
    items
}

impl Piece {
    fn new(items: Vec<Item>) -> Self {
        let finder = match items.first() {
            Some(Item::Literal(literal)) => Some(Finder::new(literal).into_owned()),
            _ => None,
        };
        Self { items, finder }
    }

    /// Where the piece ends that begins at `at`.
    fn match_at(&self, text: &[u8], mut at: usize, utf8: bool) -> Option<usize> {
        for item in &self.items {
            match item {
                Item::Literal(literal) => {
                    if !text[at..].starts_with(literal) {
                        return None;
                    }
                    at += literal.len();
                }
                Item::Character => {
                    if at == text.len() {
                        return None;
                    }
                    at = next_character(text, at, utf8);
                }
            }
        }
        Some(at)
    }

    /// Where the piece begins that ends with the text.
    fn match_end(&self, text: &[u8], utf8: bool) -> Option<usize> {
        let mut end = text.len();
        for item in self.items.iter().rev() {
            match item {
                Item::Literal(literal) => {
                    if !text[..end].ends_with(literal) {
                        return None;
                    }
                    end -= literal.len();
                }
                Item::Character => {
                    if end == 0 {
                        return None;
                    }
                    end -= 1;
                    while utf8 && end > 0 && text[end] & 0xC0 == 0x80 {
                        end -= 1;
                    }
                }
            }
        }
        Some(end)
    }

    /// Where the piece ends whose first occurrence from `at` on begins earliest.
    fn find(&self, text: &[u8], mut at: usize, utf8: bool) -> Option<usize> {
        loop {
            if let Some(finder) = &self.finder {
                at += finder.find(&text[at..])?;
            }
            if let Some(end) = self.match_at(text, at, utf8) {
                return Some(end);
            }
            if at == text.len() {
                return None;
            }
            at = next_character(text, at, utf8);
        }
    }
}

fn next_character(text: &[u8], mut at: usize, utf8: bool) -> usize {
    at += 1;
    while utf8 && at < text.len() && text[at] & 0xC0 == 0x80 {
        at += 1;
    }
    at
}

fn match_pieces(pieces: &[Piece], text: &[u8], utf8: bool) -> bool {
    let [first, middle @ .., last] = pieces else {
        // No %: one piece is the whole text.
        return pieces.iter().all(|piece| piece.match_at(text, 0, utf8) == Some(text.len()));
    };
    let Some(mut at) = first.match_at(text, 0, utf8) else { return false };
    let Some(limit) = last.match_end(text, utf8) else { return false };
    if at > limit {
        return false;
    }
    for piece in middle {
        match piece.find(&text[..limit], at, utf8) {
            Some(end) => at = end,
            None => return false,
        }
    }
    true
}

/// The same walk that like_match.c makes, for the one kind of pattern in which it matters how far it gets.
fn walk(mut pattern: &[Token], mut text: &[u8], utf8: bool) -> Result<Outcome, ExecError> {
    let dangling = || ExecError::Sql {
        sqlstate: "22025",
        message: "LIKE pattern must not end with escape character".to_owned(),
    };
    while let (Some(token), Some(byte)) = (pattern.first(), text.first()) {
        match token {
            Token::Any => {
                while let Some(wildcard @ (Token::Any | Token::Character)) = pattern.first() {
                    if *wildcard == Token::Character {
                        if text.is_empty() {
                            return Ok(Outcome::Abort);
                        }
                        text = &text[next_character(text, 0, utf8)..];
                    }
                    pattern = &pattern[1..];
                }
                let first = match pattern.first() {
                    None => return Ok(Outcome::True),
                    Some(Token::Byte(byte)) => *byte,
                    Some(_) => return Err(dangling()),
                };
                while let Some(byte) = text.first() {
                    if *byte == first {
                        match walk(pattern, text, utf8)? {
                            Outcome::False => {}
                            decided => return Ok(decided),
                        }
                    }
                    text = &text[next_character(text, 0, utf8)..];
                }
                return Ok(Outcome::Abort);
            }
            Token::Character => text = &text[next_character(text, 0, utf8)..],
            Token::Dangling => return Err(dangling()),
            Token::Byte(wanted) if wanted != byte => return Ok(Outcome::False),
            Token::Byte(_) => text = &text[1..],
        }
        pattern = &pattern[1..];
    }
    if !text.is_empty() {
        return Ok(Outcome::False);
    }
    let rest_is_open = pattern.iter().all(|token| *token == Token::Any);
    Ok(if rest_is_open { Outcome::True } else { Outcome::Abort })
}
