//! Bytes of spill files: numbers in seven bits a byte, checked when they are read.

use crate::error::ExecError;

/// The error of a spill file that was not written by [`super::Aggregator::spill`].
pub(super) fn damaged() -> ExecError {
    ExecError::Sql { sqlstate: "XX001", message: "temporary file of groups is damaged".to_owned() }
}

/// Writes a number.
#[inline]
pub(super) fn put(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Writes a number with a sign, in few bytes if it is near zero.
#[inline]
pub(super) fn put_signed(value: i64, out: &mut Vec<u8>) {
    put((value << 1 ^ value >> 63) as u64, out);
}

/// As [`put_signed`], of 128 bits.
#[inline]
pub(super) fn put_wide(value: i128, out: &mut Vec<u8>) {
    let mut value = (value << 1 ^ value >> 127) as u128;
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Writes a float, bit by bit.
#[inline]
pub(super) fn put_float(value: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Writes a truth value.
#[inline]
pub(super) fn put_bool(value: bool, out: &mut Vec<u8>) {
    out.push(u8::from(value));
}

/// Writes bytes and how many they are.
#[inline]
pub(super) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Reads what the functions above write.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// At the start of some bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Bytes that were not read.
    pub fn left(&self) -> usize {
        self.bytes.len()
    }

    /// The next `len` bytes.
    #[inline]
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], ExecError> {
        let (taken, rest) = self.bytes.split_at_checked(len).ok_or_else(damaged)?;
        self.bytes = rest;
        Ok(taken)
    }

    /// A byte.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, ExecError> {
        Ok(self.take(1)?[0])
    }

    /// A number.
    #[inline]
    pub fn number(&mut self) -> Result<u64, ExecError> {
        u64::try_from(self.wide_number(64)?).map_err(|_| damaged())
    }

    fn wide_number(&mut self, bits: u32) -> Result<u128, ExecError> {
        let mut value = 0u128;
        let mut shift = 0;
        loop {
            let byte = self.byte()?;
            let part = u128::from(byte & 0x7f);
            if shift >= bits || part << shift >> shift != part {
                return Err(damaged());
            }
            value |= part << shift;
            if byte < 0x80 {
                return Ok(value);
            }
            shift += 7;
        }
    }

    /// A number of things of which each takes at least a byte of those left.
    pub fn count(&mut self) -> Result<usize, ExecError> {
        let count = self.number()?;
        if count > self.left() as u64 {
            return Err(damaged());
        }
        Ok(count as usize)
    }

    /// A number with a sign.
    #[inline]
    pub fn signed(&mut self) -> Result<i64, ExecError> {
        let value = self.number()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A number with a sign, of 128 bits.
    #[inline]
    pub fn wide(&mut self) -> Result<i128, ExecError> {
        let value = self.wide_number(128)?;
        Ok((value >> 1) as i128 ^ -((value & 1) as i128))
    }

    /// A float.
    #[inline]
    pub fn float(&mut self) -> Result<f64, ExecError> {
        let bytes = self.take(8)?;
        Ok(f64::from_le_bytes(bytes.try_into().map_err(|_| damaged())?))
    }

    /// A truth value.
    #[inline]
    pub fn bool(&mut self) -> Result<bool, ExecError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(damaged()),
        }
    }

    /// Bytes.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8], ExecError> {
        let len = self.count()?;
        self.take(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_at_their_extremes() {
        let mut out = Vec::new();
        for value in [0, 1, 127, 128, u64::MAX] {
            put(value, &mut out);
        }
        for value in [0, -1, 63, -64, i64::MIN, i64::MAX] {
            put_signed(value, &mut out);
        }
        for value in [0, -1, i128::MIN, i128::MAX] {
            put_wide(value, &mut out);
        }
        put_float(f64::MIN_POSITIVE, &mut out);
        put_bytes(b"string", &mut out);
        let mut reader = Reader::new(&out);
        for value in [0, 1, 127, 128, u64::MAX] {
            assert_eq!(reader.number(), Ok(value));
        }
        for value in [0, -1, 63, -64, i64::MIN, i64::MAX] {
            assert_eq!(reader.signed(), Ok(value));
        }
        for value in [0, -1, i128::MIN, i128::MAX] {
            assert_eq!(reader.wide(), Ok(value));
        }
        assert_eq!(reader.float(), Ok(f64::MIN_POSITIVE));
        assert_eq!(reader.bytes(), Ok(&b"string"[..]));
        assert_eq!(reader.left(), 0);
        assert_eq!(reader.byte(), Err(damaged()));
    }

    #[test]
    fn damage_is_an_error() {
        assert_eq!(Reader::new(&[0x80; 30]).number(), Err(damaged()));
        assert_eq!(Reader::new(&[0xff; 30]).wide(), Err(damaged()));
        assert_eq!(Reader::new(&[9, 1, 2]).bytes(), Err(damaged()));
        assert_eq!(Reader::new(&[2]).bool(), Err(damaged()));
    }
}
