//! Parser of the subset of PostgreSQL's advanced regular expressions: regc_lex.c and the parser in regcomp.c.
//!
//! Whatever is not known here, and whatever PostgreSQL would reject, is a refusal: PostgreSQL then sees to it, and raises
//! its own error.

use super::{RegexpOptions, RegexpRefusal};

/// Most repetitions that PostgreSQL allows (DUPMAX).
const MAX_REPEAT: u32 = 255;
/// Parentheses within parentheses, for the sake of the stack.
const MAX_DEPTH: usize = 50;

/// A regular expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// `^`: the start of the text.
    Start,
    /// `$`: the end of the text.
    End,
    /// One character out of a set.
    Chars(Chars),
    /// One after the other; nothing at all if there is none.
    Concat(Vec<Node>),
    /// One of several.
    Either(Vec<Node>),
    /// As many as may be, `max` at most.
    Repeat { node: Box<Node>, min: u32, max: Option<u32> },
    /// Capturing parentheses.
    Capture { number: u32, node: Box<Node> },
}

/// A set of characters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Chars {
    /// A bit for each ASCII character.
    pub(super) ascii: u128,
    /// Whether all other characters are in it.
    pub(super) others: bool,
    /// Other characters that are; code points in UTF-8, else bytes.
    pub(super) listed: Vec<u32>,
}

impl Chars {
    fn one(character: u32) -> Self {
        let mut set = Self::default();
        set.insert(character);
        set
    }

    fn insert(&mut self, character: u32) {
        match character {
            0..=127 => self.ascii |= 1 << character,
            _ => self.listed.push(character),
        }
    }

    /// Of letters, both cases.
    fn fold(&mut self) {
        let letters = |first: u8| ((1u128 << 26) - 1) << first;
        let (upper, lower) = (self.ascii & letters(b'A'), self.ascii & letters(b'a'));
        self.ascii |= (upper << 32) | (lower >> 32);
    }

    /// The one character of the set; where letters are folded, the small one of a letter.
    pub(super) fn single(&self, folded: bool) -> Option<u32> {
        match (self.ascii.count_ones(), self.others, self.listed.as_slice()) {
            (1, false, []) => Some(self.ascii.trailing_zeros()),
            (0, false, [character]) => Some(*character),
            (2, false, []) if folded => {
                let small = 127 - self.ascii.leading_zeros();
                let mut letter = Self::one(small);
                letter.fold();
                (letter.ascii == self.ascii).then_some(small)
            }
            _ => None,
        }
    }
}

/// What a pattern means.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) node: Node,
    /// Whether there is a quantifier that prefers less: that changes where a match ends, not whether there is one.
    pub(super) lazy: bool,
}

pub(super) fn parse(pattern: &[u8], options: &RegexpOptions) -> Result<Parsed, RegexpRefusal> {
    let characters = if options.utf8 {
        let text = std::str::from_utf8(pattern).map_err(|_| RegexpRefusal::Syntax)?;
        text.chars().map(u32::from).collect()
    } else {
        pattern.iter().map(|byte| u32::from(*byte)).collect()
    };
    let mut parser = Parser { characters, at: 0, options, captures: 0, lazy: false };
    let node = parser.alternatives(0)?;
    match parser.peek() {
        None => Ok(Parsed { node, lazy: parser.lazy }),
        Some(_) => Err(RegexpRefusal::Syntax),
    }
}

struct Parser<'a> {
    characters: Vec<u32>,
    at: usize,
    options: &'a RegexpOptions,
    captures: u32,
    lazy: bool,
}

/// What a backslash and a character stand for.
enum Escape {
    Character(u32),
    Class(Chars),
    Anchor(Node),
}

impl Parser<'_> {
    /// The next character if it is ASCII, DEL for any other.
    fn peek(&self) -> Option<u8> {
        self.ahead(0)
    }

    fn ahead(&self, distance: usize) -> Option<u8> {
        let character = *self.characters.get(self.at + distance)?;
        Some(u8::try_from(character).ok().filter(u8::is_ascii).unwrap_or(0x7F))
    }

    fn eat(&mut self, wanted: u8) -> bool {
        let eaten = self.peek() == Some(wanted);
        self.at += usize::from(eaten);
        eaten
    }

    fn take(&mut self) -> Result<u32, RegexpRefusal> {
        let character = self.characters.get(self.at).ok_or(RegexpRefusal::Syntax)?;
        self.at += 1;
        Ok(*character)
    }

    fn alternatives(&mut self, depth: usize) -> Result<Node, RegexpRefusal> {
        if depth > MAX_DEPTH {
            return Err(RegexpRefusal::Size);
        }
        let mut branches = vec![self.branch(depth)?];
        while self.eat(b'|') {
            branches.push(self.branch(depth)?);
        }
        Ok(if branches.len() == 1 { branches.remove(0) } else { Node::Either(branches) })
    }

    fn branch(&mut self, depth: usize) -> Result<Node, RegexpRefusal> {
        let mut items = Vec::new();
        while let Some(next) = self.peek() {
            let atom = match next {
                b'|' | b')' => break,
                b'(' => self.group(depth)?,
                b'[' => self.bracket()?,
                _ => self.atom()?,
            };
            let anchor = matches!(atom, Node::Start | Node::End);
            match self.quantifier()? {
                Some(_) if anchor => return Err(RegexpRefusal::Syntax),
                Some((min, max)) => {
                    items.push(Node::Repeat { node: Box::new(atom), min, max });
                }
                None => items.push(atom),
            }
        }
        Ok(Node::Concat(items))
    }

    fn group(&mut self, depth: usize) -> Result<Node, RegexpRefusal> {
        self.at += 1;
        let number = if self.eat(b'?') {
            // Lookaround, comments and embedded options.
            if !self.eat(b':') {
                return Err(RegexpRefusal::Syntax);
            }
            None
        } else {
            self.captures += 1;
            Some(self.captures)
        };
        let node = self.alternatives(depth + 1)?;
        if !self.eat(b')') {
            return Err(RegexpRefusal::Syntax);
        }
        Ok(match number {
            Some(number) => Node::Capture { number, node: Box::new(node) },
            None => node,
        })
    }

    fn atom(&mut self) -> Result<Node, RegexpRefusal> {
        let next = self.peek();
        let character = self.take()?;
        match next {
            Some(b'^') => Ok(Node::Start),
            Some(b'$') => Ok(Node::End),
            Some(b'.') => Ok(Node::Chars(Chars { ascii: !0, others: true, listed: Vec::new() })),
            Some(b'*' | b'+' | b'?') => Err(RegexpRefusal::Syntax),
            Some(b'{') if self.peek().is_some_and(|next| next.is_ascii_digit()) => {
                Err(RegexpRefusal::Syntax)
            }
            Some(b'\\') => match self.escape()? {
                Escape::Character(character) => self.character(character),
                Escape::Class(set) => Ok(Node::Chars(set)),
                Escape::Anchor(anchor) => Ok(anchor),
            },
            _ => self.character(character),
        }
    }

    fn character(&self, character: u32) -> Result<Node, RegexpRefusal> {
        let mut set = Chars::one(character);
        self.fold(&mut set)?;
        Ok(Node::Chars(set))
    }

    fn fold(&self, set: &mut Chars) -> Result<(), RegexpRefusal> {
        if self.options.fold_case {
            self.require_c_ctype()?;
            set.fold();
        }
        Ok(())
    }

    /// Only in C are letters, digits and blanks those of ASCII.
    fn require_c_ctype(&self) -> Result<(), RegexpRefusal> {
        if self.options.c_ctype { Ok(()) } else { Err(RegexpRefusal::Locale) }
    }

    fn escape(&mut self) -> Result<Escape, RegexpRefusal> {
        let next = self.peek();
        let character = self.take()?;
        Ok(match next {
            Some(b'n') => Escape::Character(u32::from(b'\n')),
            Some(b't') => Escape::Character(u32::from(b'\t')),
            Some(b'r') => Escape::Character(u32::from(b'\r')),
            Some(b'f') => Escape::Character(0x0C),
            Some(b'v') => Escape::Character(0x0B),
            Some(b'A') => Escape::Anchor(Node::Start),
            Some(b'Z') => Escape::Anchor(Node::End),
            Some(b'd') => Escape::Class(self.class("digit", false)?),
            Some(b'D') => Escape::Class(self.class("digit", true)?),
            Some(b's') => Escape::Class(self.class("space", false)?),
            Some(b'S') => Escape::Class(self.class("space", true)?),
            Some(b'w') => Escape::Class(self.class("word", false)?),
            Some(b'W') => Escape::Class(self.class("word", true)?),
            Some(other) if other.is_ascii_alphanumeric() => return Err(RegexpRefusal::Syntax),
            _ => Escape::Character(character),
        })
    }

    /// A class by its name, or the characters that are not in it.
    fn class(&self, name: &str, complement: bool) -> Result<Chars, RegexpRefusal> {
        let test: fn(u8) -> bool = match name {
            "digit" => |c| c.is_ascii_digit(),
            "space" => |c| matches!(c, 9..=13 | b' '),
            "word" => |c| c.is_ascii_alphanumeric() || c == b'_',
            "alpha" => |c| c.is_ascii_alphabetic(),
            "alnum" => |c| c.is_ascii_alphanumeric(),
            "upper" => |c| c.is_ascii_uppercase(),
            "lower" => |c| c.is_ascii_lowercase(),
            "punct" => |c| c.is_ascii_punctuation(),
            "print" => |c| matches!(c, b' '..=b'~'),
            "graph" => |c| c.is_ascii_graphic(),
            "blank" => |c| matches!(c, b' ' | b'\t'),
            "xdigit" => |c| c.is_ascii_hexdigit(),
            _ => return Err(RegexpRefusal::Syntax),
        };
        self.require_c_ctype()?;
        let ascii = (0..128u8).filter(|c| test(*c)).fold(0u128, |set, c| set | 1 << c);
        let ascii = if complement { !ascii } else { ascii };
        Ok(Chars { ascii, others: complement, listed: Vec::new() })
    }

    /// A quantifier, if there is one: least and most.
    fn quantifier(&mut self) -> Result<Option<(u32, Option<u32>)>, RegexpRefusal> {
        let found = match self.peek() {
            Some(b'*') => (0, None),
            Some(b'+') => (1, None),
            Some(b'?') => (0, Some(1)),
            Some(b'{') if self.ahead(1).is_some_and(|next| next.is_ascii_digit()) => {
                self.at += 1;
                let min = self.number()?;
                let max = match self.eat(b',') {
                    false => Some(min),
                    true if self.peek() == Some(b'}') => None,
                    true => Some(self.number()?),
                };
                // {0} takes captures with it in a way of its own.
                if self.peek() != Some(b'}') || max == Some(0) || max.is_some_and(|max| min > max) {
                    return Err(RegexpRefusal::Syntax);
                }
                (min, max)
            }
            _ => return Ok(None),
        };
        self.at += 1;
        self.lazy |= self.eat(b'?');
        Ok(Some(found))
    }

    fn number(&mut self) -> Result<u32, RegexpRefusal> {
        let mut number = None;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            self.at += 1;
            let next = number.unwrap_or(0) * 10 + u32::from(digit - b'0');
            if next > MAX_REPEAT {
                return Err(RegexpRefusal::Syntax);
            }
            number = Some(next);
        }
        number.ok_or(RegexpRefusal::Syntax)
    }

    fn bracket(&mut self) -> Result<Node, RegexpRefusal> {
        self.at += 1;
        let negated = self.eat(b'^');
        let mut set = Chars::default();
        let mut first = true;
        loop {
            if !first && self.eat(b']') {
                break;
            }
            if let Some(class) = self.bracket_class()? {
                set.ascii |= class.ascii;
                set.others |= class.others;
            } else {
                self.bracket_range(&mut set, first)?;
            }
            first = false;
        }
        self.fold(&mut set)?;
        if set.others {
            set.listed.clear();
        }
        if negated {
            if !set.listed.is_empty() {
                return Err(RegexpRefusal::Syntax);
            }
            set.ascii = !set.ascii;
            set.others = !set.others;
        }
        Ok(Node::Chars(set))
    }

    /// `[:name:]` or an escape for a class.
    fn bracket_class(&mut self) -> Result<Option<Chars>, RegexpRefusal> {
        let escaped = self.peek() == Some(b'\\');
        if escaped && self.ahead(1).is_some_and(|next| b"dDsSwW".contains(&next)) {
            self.at += 1;
            return match self.escape()? {
                Escape::Class(class) => Ok(Some(class)),
                Escape::Character(_) | Escape::Anchor(_) => Err(RegexpRefusal::Syntax),
            };
        }
        if self.peek() != Some(b'[') || self.ahead(1) != Some(b':') {
            return Ok(None);
        }
        self.at += 2;
        let mut name = String::new();
        while let Some(letter) = self.peek().filter(u8::is_ascii_lowercase) {
            name.push(char::from(letter));
            self.at += 1;
        }
        // \w has no name among these.
        if !(self.eat(b':') && self.eat(b']')) || name == "word" {
            return Err(RegexpRefusal::Syntax);
        }
        self.class(&name, false).map(Some)
    }

    /// One character or a range. Ranges go by code points under every collation.
    fn bracket_range(&mut self, set: &mut Chars, first: bool) -> Result<(), RegexpRefusal> {
        // A hyphen is a character only at the start and at the end.
        if self.peek() == Some(b'-') && !first && self.ahead(1) != Some(b']') {
            return Err(RegexpRefusal::Syntax);
        }
        let low = self.bracket_character()?;
        if self.peek() != Some(b'-') || self.ahead(1) == Some(b']') {
            set.insert(low);
            return Ok(());
        }
        self.at += 1;
        let high = self.bracket_character()?;
        if low > high || (high > 127 && low != high) {
            return Err(RegexpRefusal::Syntax);
        }
        (low..=high).for_each(|character| set.insert(character));
        Ok(())
    }

    fn bracket_character(&mut self) -> Result<u32, RegexpRefusal> {
        match (self.peek(), self.ahead(1)) {
            (Some(b'['), Some(b'.' | b'=' | b':')) => Err(RegexpRefusal::Syntax),
            (Some(b'\\'), _) => {
                self.at += 1;
                match self.escape()? {
                    Escape::Character(character) => Ok(character),
                    Escape::Class(_) | Escape::Anchor(_) => Err(RegexpRefusal::Syntax),
                }
            }
            _ => self.take(),
        }
    }
}
