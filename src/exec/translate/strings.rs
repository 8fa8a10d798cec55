//! Functions of text.

use super::collation::{self, Encoding, encoding};
use super::refusal::Refusal;
use super::types::ValueType;
use super::{Translator, Typed};
use columnar_exec::expr::LikePattern;
use columnar_exec::{Expr, Scalar};
use pgrx::pg_sys::Oid;
use std::sync::Arc;

/// A constant string.
pub(super) fn constant(arg: &Typed) -> Result<&[u8], Refusal> {
    match arg.constant() {
        Some(Scalar::Bytes(bytes)) => Ok(bytes),
        _ => Err(Refusal::NotConstant),
    }
}

/// Whether a character is one of UTF-8 rather than a byte.
pub(super) fn is_utf8() -> Result<bool, Refusal> {
    match encoding() {
        Encoding::Utf8 => Ok(true),
        Encoding::SingleByte => Ok(false),
        Encoding::Other => Err(Refusal::Encoding),
    }
}

/// LIKE and ILIKE with a constant pattern.
pub fn like(
    arg: Typed,
    pattern: &Typed,
    collation: Oid,
    negated: bool,
    fold_case: bool,
) -> Result<Expr, Refusal> {
    like_bytes(arg, constant(pattern)?, collation, negated, fold_case)
}

/// LIKE and ILIKE with the bytes of a pattern.
pub(super) fn like_bytes(
    arg: Typed,
    pattern: &[u8],
    collation: Oid,
    negated: bool,
    fold_case: bool,
) -> Result<Expr, Refusal> {
    if fold_case {
        collation::require_c_case(collation)?;
    } else {
        collation::require_deterministic(collation)?;
    }
    let pattern = LikePattern::new(pattern, Some(b'\\'), fold_case, is_utf8()?)
        .map_err(|_| Refusal::Constant)?;
    Ok(Expr::Like { arg: Box::new(arg.expr), pattern: Arc::new(pattern), negated })
}

/// starts_with() with a constant: LIKE without an escape character to mind, wildcards escaped.
pub fn starts_with(arg: Typed, prefix: &Typed, collation: Oid) -> Result<Expr, Refusal> {
    collation::require_deterministic(collation)?;
    let mut pattern = Vec::new();
    for &byte in constant(prefix)? {
        if matches!(byte, b'%' | b'_' | b'\\') {
            pattern.push(b'\\');
        }
        pattern.push(byte);
    }
    pattern.push(b'%');
    let pattern = LikePattern::new(&pattern, Some(b'\\'), false, is_utf8()?)
        .map_err(|_| Refusal::Constant)?;
    Ok(Expr::Like { arg: Box::new(arg.expr), pattern: Arc::new(pattern), negated: false })
}

/// length() of text.
pub fn char_length(arg: Typed) -> Result<Expr, Refusal> {
    let arg = Box::new(arg.expr);
    Ok(if is_utf8()? { Expr::CharLength(arg) } else { Expr::OctetLength(arg) })
}

/// Ok where characters are those of UTF-8.
pub fn require_utf8() -> Result<(), Refusal> {
    if encoding() == Encoding::Utf8 { Ok(()) } else { Err(Refusal::Encoding) }
}

/// Makes two operands of char(n) equal bytewise exactly where they are equal: both padded to the same length.
pub fn align_bpchar(left: &mut Typed, right: &mut Typed) -> Result<(), Refusal> {
    match (left.value, right.value) {
        (ValueType::BpChar { length: Some(a) }, ValueType::BpChar { length: Some(b) })
            if a == b =>
        {
            Ok(())
        }
        (ValueType::BpChar { length: Some(length) }, _) => pad(right, length),
        (_, ValueType::BpChar { length: Some(length) }) => pad(left, length),
        _ => Err(Refusal::Type("character".to_owned())),
    }
}

/// Pads a constant of char(n).
fn pad(constant: &mut Typed, length: u32) -> Result<(), Refusal> {
    if constant.is_null() {
        return Ok(());
    }
    let Some(Scalar::Bytes(bytes)) = constant.constant() else {
        return Err(Refusal::NotConstant);
    };
    constant.expr = Expr::Const(Scalar::Bytes(padded(bytes, length)?.into()));
    Ok(())
}

/// The bytes of a value with blanks to `length` characters. A longer one is left without its blanks: no padded value equals
/// it.
pub fn padded(bytes: &[u8], length: u32) -> Result<Vec<u8>, Refusal> {
    let blanks = bytes.iter().rev().take_while(|byte| **byte == b' ').count();
    let mut bytes = bytes[..bytes.len() - blanks].to_vec();
    let characters = collation::char_count(&bytes)?;
    let missing = (length as usize).saturating_sub(characters);
    bytes.resize(bytes.len() + missing, b' ');
    Ok(bytes)
}

impl Translator {
    /// substring() of text.
    pub(super) fn substring(mut args: Vec<Typed>) -> Result<Expr, Refusal> {
        require_utf8()?;
        let count = (args.len() == 3).then(|| args.pop()).flatten();
        let (Some(start), Some(arg)) = (args.pop(), args.pop()) else {
            return Err(Refusal::Function("substring".to_owned()));
        };
        let count = count.map(|count| Box::new(count.expr));
        Ok(Expr::Substring { arg: Box::new(arg.expr), start: Box::new(start.expr), count })
    }
}
