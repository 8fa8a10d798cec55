//! Opening a vector: every check that later reads rely on.

use std::sync::Arc;

use arrow_buffer::{BooleanBuffer, NullBuffer};

use super::{Body, Vector};
use crate::dictionary::Dictionary;
use crate::encoding::alp::Alp;
use crate::encoding::delta::Delta;
use crate::encoding::run_length::Runs;
use crate::error::FormatError;
use crate::meta::{MAX_VECTOR_ROWS, VectorMeta};
use crate::options::Encoding;
use crate::packed::Packed;
use crate::section::{MAX_SECTION, Reader};
use crate::types::{ColumnSpec, PhysicalType};
use crate::values::Values;

impl Vector {
    /// Checks and decompresses the stored bytes of `meta`'s section. A vector of encoding Dictionary needs its chunk's.
    pub fn open(
        spec: ColumnSpec,
        meta: &VectorMeta,
        bytes: &[u8],
        dictionary: Option<Arc<Dictionary>>,
    ) -> Result<Self, FormatError> {
        let rows = meta.rows as usize;
        if rows > MAX_VECTOR_ROWS {
            return Err(FormatError::TooLarge {
                what: "a vector's rows",
                value: meta.rows.into(),
                limit: MAX_VECTOR_ROWS as u64,
            });
        }
        if let PhysicalType::Fixed(width) = spec.physical
            && rows * usize::from(width) > MAX_SECTION as usize
        {
            return Err(FormatError::TooLarge {
                what: "a vector's decoded size",
                value: rows as u64 * u64::from(width),
                limit: MAX_SECTION.into(),
            });
        }
        if meta.null_count > meta.rows {
            return Err(FormatError::corrupt("a vector has more NULLs than rows", meta.null_count));
        }
        let mut reader = Reader::open(&meta.section, bytes, meta.context(spec), "a vector")?;
        if meta.null_count == meta.rows {
            if meta.encoding != Encoding::Constant {
                return Err(FormatError::corrupt(
                    "a vector without values is not constant",
                    meta.encoding as u8,
                ));
            }
            reader.finish()?;
            return Ok(Self { spec, rows, nulls: None, body: Body::AllNull });
        }
        let nulls = match meta.null_count {
            0 => None,
            expected => {
                let bits = reader.take_padded(rows.div_ceil(8), "a vector's validity")?;
                let nulls = NullBuffer::new(BooleanBuffer::new(bits, 0, rows));
                if nulls.null_count() != expected as usize {
                    return Err(FormatError::corrupt(
                        "a vector's validity has another number of NULLs",
                        nulls.null_count(),
                    ));
                }
                Some(nulls)
            }
        };
        let by_value = !spec.physical.is_bytes();
        let body = match meta.encoding {
            Encoding::Plain => Body::Plain(Values::read(spec, rows, &mut reader)?),
            Encoding::Constant => Body::Constant(Values::read(spec, 1, &mut reader)?),
            Encoding::RunLength => Body::RunLength(Runs::read(spec, rows, &mut reader)?),
            Encoding::BitPacked if by_value => {
                let packed = reader.take_packed(rows, "packed values")?;
                reader.finish()?;
                Body::BitPacked(packed)
            }
            Encoding::Delta if by_value => Body::Delta(Delta::read(rows, &mut reader)?),
            Encoding::Alp if spec.physical.is_float() => {
                Body::Alp(Alp::read(spec, rows, &mut reader)?)
            }
            Encoding::BitPacked | Encoding::Delta | Encoding::Alp => {
                return Err(FormatError::corrupt(
                    "an encoding is used for a type it cannot hold",
                    meta.encoding as u8,
                ));
            }
            Encoding::Dictionary => {
                let dictionary = dictionary.ok_or(FormatError::MissingDictionary)?;
                if dictionary.spec() != spec {
                    return Err(FormatError::corrupt(
                        "a dictionary is of another type",
                        dictionary.spec().physical.to_tag().0,
                    ));
                }
                let codes = reader.take_packed(rows, "codes")?;
                reader.finish()?;
                check_codes(&codes, dictionary.len())?;
                Body::Dictionary(codes, dictionary)
            }
        };
        let vector = Self { spec, rows, nulls, body };
        vector.check_decoded_size()?;
        Ok(vector)
    }

    /// A short stored vector can stand for many long strings; what Arrow's 32-bit offsets cannot hold is refused.
    fn check_decoded_size(&self) -> Result<(), FormatError> {
        let longest = match (&self.body, self.spec.physical) {
            (Body::Constant(values), PhysicalType::Bytes) => values.max_width(),
            (Body::RunLength(runs), PhysicalType::Bytes) => runs.values.max_width(),
            (Body::Dictionary(_, dictionary), PhysicalType::Bytes) => dictionary.max_width(),
            _ => return Ok(()),
        };
        let limit = MAX_SECTION as usize;
        if longest.saturating_mul(self.rows) > limit && self.decoded_size() > limit {
            return Err(FormatError::TooLarge {
                what: "a vector's decoded size",
                value: self.decoded_size() as u64,
                limit: limit as u64,
            });
        }
        Ok(())
    }
}

fn check_codes(codes: &Packed, len: usize) -> Result<(), FormatError> {
    let len = len as u64;
    let widest = if codes.width() >= 64 { u64::MAX } else { (1 << codes.width()) - 1 };
    // Most often the width alone says that no code is too large.
    if codes.reference().checked_add(widest).is_some_and(|max| max < len) {
        return Ok(());
    }
    match codes.reference().checked_add(codes.max_distance()) {
        Some(max) if max < len => Ok(()),
        max => {
            Err(FormatError::corrupt("a code is not in the dictionary", max.unwrap_or(u64::MAX)))
        }
    }
}
