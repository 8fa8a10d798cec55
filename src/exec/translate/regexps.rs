//! Regular expressions.

use super::refusal::Refusal;
use super::{Typed, collation, strings};
use crate::ports;
use columnar_exec::Expr;
use columnar_exec::expr::{RegexpOptions, RegexpPattern, RegexpRefusal, RegexpReplacer};
use pgrx::pg_sys::Oid;
use std::sync::Arc;

impl From<RegexpRefusal> for Refusal {
    fn from(refusal: RegexpRefusal) -> Self {
        Self::Regexp(refusal)
    }
}

/// `~` and its kin with a constant pattern.
pub fn matches(
    arg: Typed,
    pattern: &Typed,
    collation: Oid,
    negated: bool,
    fold_case: bool,
) -> Result<Expr, Refusal> {
    let options = options(collation, fold_case)?;
    let pattern = RegexpPattern::new(strings::constant(pattern)?, &options)?;
    // LIKE is faster, and zone maps know it.
    if let Some(like) = pattern.like() {
        return strings::like_bytes(arg, like, collation, negated, fold_case);
    }
    Ok(Expr::RegexpMatch { arg: Box::new(arg.expr), pattern: Arc::new(pattern), negated })
}

/// regexp_like() with a constant pattern and flags.
pub fn like(mut args: Vec<Typed>, collation: Oid) -> Result<Expr, Refusal> {
    let flags = if args.len() == 3 { flags(args.pop().as_ref())? } else { Flags::default() };
    let (Some(pattern), Some(arg)) = (args.pop(), args.pop()) else {
        return Err(Refusal::Node("arguments".to_owned()));
    };
    // An error of regexp_like().
    if flags.all {
        return Err(Refusal::Constant);
    }
    matches(arg, &pattern, collation, false, flags.fold_case)
}

/// regexp_replace() with a constant pattern, replacement and flags.
pub fn replace(mut args: Vec<Typed>, collation: Oid) -> Result<Expr, Refusal> {
    let flags = if args.len() == 4 { flags(args.pop().as_ref())? } else { Flags::default() };
    let (Some(replacement), Some(pattern), Some(arg)) = (args.pop(), args.pop(), args.pop()) else {
        return Err(Refusal::Node("arguments".to_owned()));
    };
    let options = options(collation, flags.fold_case)?;
    let (pattern, replacement) = (strings::constant(&pattern)?, strings::constant(&replacement)?);
    let replacer = RegexpReplacer::new(pattern, replacement, flags.all, &options)?;
    Ok(Expr::RegexpReplace { arg: Box::new(arg.expr), replacer: Arc::new(replacer) })
}

#[derive(Clone, Copy, Default)]
struct Flags {
    all: bool,
    fold_case: bool,
}

/// Flags as parse_re_flags() in regexp.c reads them, the last to count. Those that change the syntax or make newlines
/// special are left to PostgreSQL, as are wrong ones.
fn flags(arg: Option<&Typed>) -> Result<Flags, Refusal> {
    let mut flags = Flags::default();
    for flag in strings::constant(arg.ok_or(Refusal::NotConstant)?)? {
        match flag {
            b'g' => flags.all = true,
            b'i' => flags.fold_case = true,
            b'c' => flags.fold_case = false,
            // What is the default anyway.
            b's' | b't' => {}
            _ => return Err(Refusal::Constant),
        }
    }
    Ok(flags)
}

fn options(collation: Oid, fold_case: bool) -> Result<RegexpOptions, Refusal> {
    collation::require_deterministic(collation)?;
    let utf8 = strings::is_utf8()?;
    Ok(RegexpOptions { fold_case, utf8, c_ctype: ports::collation_case_is_c(collation) })
}
