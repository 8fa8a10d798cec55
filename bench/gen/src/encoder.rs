//! Rows as COPY reads them.
//!
//! Text: tab between fields, `\N` for NULL, backslash escapes. CSV: comma, an unquoted empty field for NULL, quotes
//! around what needs them, and around the empty string (PostgreSQL's documentation of COPY, "File Formats").

use crate::calendar::civil;

/// One of COPY's formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Text,
    Csv,
}

impl Format {
    /// `text` or `csv`.
    pub fn parse(name: &str) -> Result<Self, String> {
        match name {
            "text" => Ok(Self::Text),
            "csv" => Ok(Self::Csv),
            _ => Err(format!("unknown format {name}: text or csv")),
        }
    }
}

/// Appends rows to a buffer.
#[derive(Debug)]
pub struct Encoder {
    format: Format,
    buffer: Vec<u8>,
    rows: u64,
    at_start: bool,
}

impl Encoder {
    /// An empty buffer.
    pub fn new(format: Format) -> Self {
        Self { format, buffer: Vec::new(), rows: 0, at_start: true }
    }

    /// Forgets the rows, keeps the memory.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.rows = 0;
    }

    /// The rows' bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// How many rows the buffer holds.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    fn begin_field(&mut self) {
        if self.at_start {
            self.at_start = false;
        } else {
            self.buffer.push(if self.format == Format::Text { b'\t' } else { b',' });
        }
    }

    /// Ends a row.
    pub fn end_row(&mut self) {
        self.buffer.push(b'\n');
        self.rows += 1;
        self.at_start = true;
    }

    /// NULL.
    pub fn null(&mut self) {
        self.begin_field();
        if self.format == Format::Text {
            self.buffer.extend_from_slice(b"\\N");
        }
    }

    /// A whole number.
    pub fn integer(&mut self, value: i64) {
        self.begin_field();
        if value < 0 {
            self.buffer.push(b'-');
        }
        self.digits(value.unsigned_abs());
    }

    /// A whole number, or NULL.
    pub fn optional(&mut self, value: Option<i64>) {
        match value {
            Some(value) => self.integer(value),
            None => self.null(),
        }
    }

    /// A number given in hundredths: 1234 is written 12.34.
    pub fn hundredths(&mut self, value: i64) {
        self.begin_field();
        if value < 0 {
            self.buffer.push(b'-');
        }
        let value = value.unsigned_abs();
        self.digits(value / 100);
        self.buffer.push(b'.');
        self.two_digits(value % 100);
    }

    /// A date, in days since 1970-01-01.
    pub fn date(&mut self, days: i64) {
        self.begin_field();
        self.civil_date(days);
    }

    /// A timestamp, in seconds since 1970-01-01.
    pub fn timestamp(&mut self, seconds: i64) {
        self.begin_field();
        self.civil_date(seconds.div_euclid(86_400));
        let second = seconds.rem_euclid(86_400) as u64;
        self.buffer.push(b' ');
        self.two_digits(second / 3600);
        self.buffer.push(b':');
        self.two_digits(second / 60 % 60);
        self.buffer.push(b':');
        self.two_digits(second % 60);
    }

    /// A timestamp with time zone, in seconds since 1970-01-01 UTC.
    pub fn timestamp_utc(&mut self, seconds: i64) {
        self.timestamp(seconds);
        self.buffer.extend_from_slice(b"+00");
    }

    /// Any text.
    pub fn text(&mut self, value: &str) {
        self.begin_field();
        match self.format {
            Format::Text => self.escaped(value),
            Format::Csv => self.quoted(value),
        }
    }

    fn escaped(&mut self, value: &str) {
        let mut rest = value.as_bytes();
        while let Some(at) = rest.iter().position(|&b| b < b' ' || b == b'\\') {
            self.buffer.extend_from_slice(&rest[..at]);
            match rest[at] {
                b'\t' => self.buffer.extend_from_slice(b"\\t"),
                b'\n' => self.buffer.extend_from_slice(b"\\n"),
                b'\r' => self.buffer.extend_from_slice(b"\\r"),
                b'\\' => self.buffer.extend_from_slice(b"\\\\"),
                other => self.buffer.push(other),
            }
            rest = &rest[at + 1..];
        }
        self.buffer.extend_from_slice(rest);
    }

    fn quoted(&mut self, value: &str) {
        let bytes = value.as_bytes();
        let plain = !bytes.is_empty()
            && value != "\\."
            && !bytes.iter().any(|b| matches!(b, b',' | b'"' | b'\n' | b'\r'));
        if plain {
            self.buffer.extend_from_slice(bytes);
            return;
        }
        self.buffer.push(b'"');
        for &byte in bytes {
            if byte == b'"' {
                self.buffer.push(b'"');
            }
            self.buffer.push(byte);
        }
        self.buffer.push(b'"');
    }

    fn civil_date(&mut self, days: i64) {
        let (year, month, day) = civil(days);
        self.digits(year as u64);
        self.buffer.push(b'-');
        self.two_digits(month as u64);
        self.buffer.push(b'-');
        self.two_digits(day as u64);
    }

    fn two_digits(&mut self, value: u64) {
        self.buffer.push(b'0' + (value / 10) as u8);
        self.buffer.push(b'0' + (value % 10) as u8);
    }

    fn digits(&mut self, mut value: u64) {
        if value < 10 {
            self.buffer.push(b'0' + value as u8);
            return;
        }
        let mut digits = [0_u8; 20];
        let mut at = digits.len();
        while value > 0 {
            at -= 1;
            digits[at] = b'0' + (value % 10) as u8;
            value /= 10;
        }
        self.buffer.extend_from_slice(&digits[at..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(format: Format, fill: impl Fn(&mut Encoder)) -> String {
        let mut encoder = Encoder::new(format);
        fill(&mut encoder);
        encoder.end_row();
        assert_eq!(encoder.rows(), 1);
        String::from_utf8(encoder.bytes().to_vec()).unwrap()
    }

    fn awkward(encoder: &mut Encoder) {
        encoder.text("a\tb\nc\rd\\e");
        encoder.text("");
        encoder.null();
        encoder.text("\\N");
        encoder.text("\\.");
        encoder.text("say \"да\", yes");
    }

    #[test]
    fn escapes_of_text() {
        assert_eq!(
            row(Format::Text, awkward),
            "a\\tb\\nc\\rd\\\\e\t\t\\N\t\\\\N\t\\\\.\tsay \"да\", yes\n"
        );
    }

    #[test]
    fn quotes_of_csv() {
        assert_eq!(
            row(Format::Csv, awkward),
            "\"a\tb\nc\rd\\e\",\"\",,\\N,\"\\.\",\"say \"\"да\"\", yes\"\n"
        );
    }

    #[test]
    fn numbers_and_times() {
        let line = row(Format::Text, |e| {
            e.integer(i64::MIN);
            e.integer(-7);
            e.integer(1234);
            e.optional(None);
            e.hundredths(-5);
            e.hundredths(10_000);
            e.date(19_844);
            e.timestamp(19_844 * 86_400 + 3661);
            e.timestamp_utc(0);
        });
        assert_eq!(
            line,
            "-9223372036854775808\t-7\t1234\t\\N\t-0.05\t100.00\t2024-05-01\t2024-05-01 01:01:01\t\
             1970-01-01 00:00:00+00\n"
        );
    }
}
