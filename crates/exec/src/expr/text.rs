//! Functions of text: LIKE, lengths, letters, positions, substrings.

use arrow_buffer::Buffer;
use memchr::memmem::Finder;

use super::LikePattern;
use super::operand::{
    Nulls, Operand, Texts, any_null_constant, bool_column, each, int_column, ints, lend,
    null_column, text_column, texts, union_nulls,
};
use crate::column::{Column, Span, Strings};
use crate::error::ExecError;

/// LIKE, or NOT LIKE.
pub(super) fn like(
    pattern: &LikePattern,
    arg: &Column,
    negated: bool,
) -> Result<Column, ExecError> {
    if any_null_constant(&[arg]) {
        return Ok(null_column(arg.len));
    }
    let nulls = union_nulls(&[arg]);
    if let (Texts::Plain(strings), None) = (texts(arg), &nulls)
        && let Some(mut matched) = pattern.search_buffer(strings)
    {
        if negated {
            matched.iter_mut().for_each(|matched| *matched = !*matched);
        }
        return Ok(bool_column(matched, nulls));
    }
    let mut scratch = Vec::new();
    let mut error = None;
    let values = texts(arg).map(lend(&nulls), arg.len, false, |text| {
        pattern.matches(text, &mut scratch).unwrap_or_else(|raised| {
            error.get_or_insert(raised);
            false
        }) != negated
    });
    match error {
        Some(error) => Err(error),
        None => Ok(bool_column(values, nulls)),
    }
}

/// Characters of UTF-8: bytes that do not continue one.
fn characters(text: &[u8]) -> usize {
    let begins = |byte: &u8| u8::from((*byte as i8) >= -0x40);
    // Runs whose count fits in a byte are counted by vector instructions.
    let runs = text.chunks_exact(32);
    let rest: u8 = runs.remainder().iter().map(begins).sum();
    runs.map(|run| usize::from(run.iter().map(begins).sum::<u8>())).sum::<usize>()
        + usize::from(rest)
}

/// Whether all bytes of strings are ASCII, so that bytes are characters: looked at as one run of bytes, if they lie
/// together.
fn is_ascii(texts: Texts<'_>, nulls: Nulls<'_>) -> bool {
    let Texts::Plain(strings) = texts else { return false };
    // Spans of NULL rows may point anywhere.
    nulls.is_none() && strings.stretch().is_some_and(<[u8]>::is_ascii)
}

/// length() in UTF-8.
pub(super) fn char_length(arg: &Column) -> Column {
    if any_null_constant(&[arg]) {
        return null_column(arg.len);
    }
    let nulls = union_nulls(&[arg]);
    let values = match texts(arg) {
        Texts::Plain(strings) if is_ascii(texts(arg), lend(&nulls)) => byte_lengths(strings),
        texts => texts.map(lend(&nulls), arg.len, 0, |text| characters(text) as i64),
    };
    int_column(values, nulls)
}

fn byte_lengths(strings: &Strings) -> Vec<i64> {
    strings.spans.iter().map(|span| i64::from(span.len)).collect()
}

/// octet_length().
pub(super) fn octet_length(arg: &Column) -> Column {
    if any_null_constant(&[arg]) {
        return null_column(arg.len);
    }
    let nulls = union_nulls(&[arg]);
    let values = match texts(arg) {
        Texts::Plain(strings) => byte_lengths(strings),
        texts => texts.map(lend(&nulls), arg.len, 0, |text| text.len() as i64),
    };
    int_column(values, nulls)
}

/// lower() and upper() of ASCII letters.
pub(super) fn ascii_case(upper: bool, arg: &Column) -> Result<Column, ExecError> {
    if any_null_constant(&[arg]) {
        return Ok(null_column(arg.len));
    }
    let nulls = union_nulls(&[arg]);
    let texts = texts(arg);
    let mut builder = StringsBuilder::new(arg.len);
    for row in 0..arg.len {
        let null = nulls.as_ref().is_some_and(|nulls| nulls[row]);
        builder.push(if null { &[] } else { texts.get(row) })?;
    }
    if upper {
        builder.data.make_ascii_uppercase();
    } else {
        builder.data.make_ascii_lowercase();
    }
    Ok(text_column(builder.finish(), nulls))
}

/// strpos().
pub(super) fn str_pos(arg: &Column, needle: &Column) -> Column {
    let rows = arg.len;
    if any_null_constant(&[arg, needle]) {
        return null_column(rows);
    }
    let nulls = union_nulls(&[arg, needle]);
    let position = |text: &[u8], found: Option<usize>| {
        found.map_or(0, |found| characters(&text[..found]) as i64 + 1)
    };
    let values = match texts(needle) {
        // An empty needle is found at 1 even in an empty text.
        Texts::Const(needle) => {
            let finder = Finder::new(needle);
            texts(arg).map(lend(&nulls), rows, 0, |text| position(text, finder.find(text)))
        }
        needle => texts(arg).map2(needle, lend(&nulls), rows, 0, |text, needle| {
            position(text, memchr::memmem::find(text, needle))
        }),
    };
    int_column(values, nulls)
}

/// substring() in UTF-8. The results lie in the buffer of the argument.
pub(super) fn substring(
    arg: &Column,
    start: &Column,
    count: Option<&Column>,
) -> Result<Column, ExecError> {
    let rows = arg.len;
    let operands: Vec<&Column> = [arg, start].into_iter().chain(count).collect();
    if any_null_constant(&operands) {
        return Ok(null_column(rows));
    }
    let nulls = union_nulls(&operands);
    let data = match texts(arg) {
        Texts::Const(bytes) => Buffer::from(bytes),
        Texts::Plain(strings) => strings.data.clone(),
        Texts::Dict(codes) => codes.dictionary.values.data.clone(),
    };
    let place = |row: usize| match texts(arg) {
        Texts::Const(bytes) => Span { start: 0, len: bytes.len() as u32 },
        Texts::Plain(strings) => strings.spans[row],
        Texts::Dict(codes) => codes.dictionary.values.spans[codes.codes[row] as usize],
    };
    let number = |operand: Operand<'_, i64>, row: usize| match operand {
        Operand::Const(value) => value,
        Operand::Slice(values) => values[row],
    };
    let (starts, counts) = (ints(start), count.map(ints));
    let ascii = is_ascii(texts(arg), lend(&nulls));
    let mut negative = false;
    let spans = each(lend(&nulls), rows, Span { start: 0, len: 0 }, |row| {
        let count = counts.map(|counts| number(counts, row));
        negative |= count.is_some_and(|count| count < 0);
        let span = place(row);
        let bytes = &data[span.start as usize..span.start as usize + span.len as usize];
        let (from, to) = slice(bytes, ascii, number(starts, row), count);
        Span { start: span.start + from as u32, len: (to - from) as u32 }
    });
    if negative {
        return Err(ExecError::Sql {
            sqlstate: "22011",
            message: "negative substring length not allowed".to_owned(),
        });
    }
    Ok(text_column(Strings { spans: spans.into(), data }, nulls))
}

/// The bytes of the characters from `start` (from 1, and cut to it) up to `start + count`.
fn slice(text: &[u8], ascii: bool, start: i64, count: Option<i64>) -> (usize, usize) {
    let first = start.max(1);
    let skip = usize::try_from(first - 1).unwrap_or(usize::MAX);
    let take = match count {
        None => usize::MAX,
        // An end beyond 32 bits is beyond every string, as an overflow is to PostgreSQL.
        Some(count) => usize::try_from(start.saturating_add(count) - first).unwrap_or(0),
    };
    if ascii {
        let from = skip.min(text.len());
        return (from, from.saturating_add(take).min(text.len()));
    }
    let from = byte_of(text, 0, skip);
    (from, byte_of(text, from, take))
}

/// The byte that `characters` characters from `at` on lead to, the end of the text at most.
fn byte_of(text: &[u8], at: usize, characters: usize) -> usize {
    let rest = &text[at..];
    if characters >= rest.len() {
        return text.len();
    }
    let mut starts = rest.iter().enumerate().filter(|(_, byte)| (**byte as i8) >= -0x40);
    starts.nth(characters).map_or(text.len(), |(place, _)| at + place)
}

/// Strings written one after the other.
pub(super) struct StringsBuilder {
    spans: Vec<Span>,
    pub(super) data: Vec<u8>,
}

impl StringsBuilder {
    pub(super) fn new(rows: usize) -> Self {
        Self { spans: Vec::with_capacity(rows), data: Vec::new() }
    }

    /// Appends a string. One buffer holds 4 GiB; more in one batch goes another way.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), ExecError> {
        let start = self.data.len();
        if start + bytes.len() > u32::MAX as usize {
            return Err(ExecError::Unsupported);
        }
        self.data.extend_from_slice(bytes);
        self.spans.push(Span { start: start as u32, len: bytes.len() as u32 });
        Ok(())
    }

    pub(super) fn finish(self) -> Strings {
        Strings { spans: self.spans.into(), data: Buffer::from_vec(self.data) }
    }
}
