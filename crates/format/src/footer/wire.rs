//! Reading and writing the small numbers of metadata: LEB128 of 7 bits a byte, zigzag where signed.

use crate::error::FormatError;

/// Bytes read from the front.
pub(super) struct Wire<'a> {
    rest: &'a [u8],
}

impl<'a> Wire<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub(super) fn take(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], FormatError> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(FormatError::truncated(
            what,
            len,
            self.rest.len(),
        ))?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], FormatError> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(FormatError::truncated(
            what,
            N,
            self.rest.len(),
        ))?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(super) fn byte(&mut self, what: &'static str) -> Result<u8, FormatError> {
        Ok(self.array::<1>(what)?[0])
    }

    pub(super) fn unsigned(&mut self, what: &'static str) -> Result<u128, FormatError> {
        let mut value = 0u128;
        for place in 0..19 {
            let byte = self.byte(what)?;
            let bits = u128::from(byte & 0x7f);
            if place == 18 && bits > 3 {
                break;
            }
            value |= bits << (7 * place);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(FormatError::corrupt("a number is too long", self.rest.len()))
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, FormatError> {
        let value = self.unsigned(what)?;
        u32::try_from(value).map_err(|_| FormatError::corrupt(what, value))
    }

    pub(super) fn signed(&mut self, what: &'static str) -> Result<i128, FormatError> {
        let value = self.unsigned(what)?;
        Ok((value >> 1) as i128 ^ -((value & 1) as i128))
    }

    pub(super) fn i64(&mut self, what: &'static str) -> Result<i64, FormatError> {
        i64::try_from(self.signed(what)?).map_err(|_| FormatError::corrupt(what, u64::MAX))
    }
}

pub(super) fn put_unsigned(out: &mut Vec<u8>, mut value: u128) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(super) fn put_signed(out: &mut Vec<u8>, value: i128) {
    put_unsigned(out, (value << 1) as u128 ^ (value >> 127) as u128);
}
