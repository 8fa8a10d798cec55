//! One row at a time, one operation at a time, as the SQL standard and PostgreSQL's manual put it.

use std::sync::Arc;

use columnar_exec::Scalar;
use columnar_exec::expr::{ArithOp, BoolTest, CompareOp, Expr, LikePattern, NumberKind};

/// Patterns with the text they were compiled from.
pub struct Patterns(Vec<Known>);

struct Known {
    text: &'static str,
    pattern: Arc<LikePattern>,
}

impl Patterns {
    pub fn new(texts: &[&'static str]) -> Self {
        let known = |text: &&'static str| Known {
            text,
            pattern: Arc::new(LikePattern::new(text.as_bytes(), Some(b'\\'), false, true).unwrap()),
        };
        Self(texts.iter().map(known).collect())
    }

    pub fn get(&self, text: &str) -> Arc<LikePattern> {
        Arc::clone(&self.0.iter().find(|known| known.text == text).unwrap().pattern)
    }

    fn text_of(&self, pattern: &Arc<LikePattern>) -> &'static str {
        self.0.iter().find(|known| Arc::ptr_eq(&known.pattern, pattern)).unwrap().text
    }
}

type Value = Result<Scalar, ()>;

fn bool_of(value: Scalar) -> Option<bool> {
    match value {
        Scalar::Bool(value) => Some(value),
        Scalar::Null => None,
        other => panic!("{other:?} is no boolean"),
    }
}

fn int_of(value: &Scalar) -> i64 {
    match value {
        Scalar::Int(value) => *value,
        other => panic!("{other:?} is no integer"),
    }
}

fn str_of(value: &Scalar) -> &str {
    match value {
        Scalar::Bytes(bytes) => std::str::from_utf8(bytes).unwrap(),
        other => panic!("{other:?} is no text"),
    }
}

fn text(value: &str) -> Scalar {
    Scalar::Bytes(value.as_bytes().into())
}

fn order(a: &Scalar, b: &Scalar) -> std::cmp::Ordering {
    match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => a.cmp(b),
        (Scalar::Bytes(a), Scalar::Bytes(b)) => a.cmp(b),
        (Scalar::Bool(a), Scalar::Bool(b)) => a.cmp(b),
        other => panic!("{other:?} do not compare"),
    }
}

fn in_range(kind: NumberKind, value: i128) -> Value {
    let (least, most) = match kind {
        NumberKind::Int16 => (i128::from(i16::MIN), i128::from(i16::MAX)),
        NumberKind::Int32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
        _ => (i128::from(i64::MIN), i128::from(i64::MAX)),
    };
    if (least..=most).contains(&value) { Ok(Scalar::Int(value as i64)) } else { Err(()) }
}

/// Whether a text matches a pattern with \ as escape; an error where the escape at its end is reached.
pub fn like(text: &[u8], pattern: &[u8]) -> Result<bool, ()> {
    fn step(text: &[u8]) -> usize {
        (1..text.len()).find(|at| text[*at] & 0xC0 != 0x80).unwrap_or(text.len())
    }
    // None: no match, and none behind either.
    fn walk(text: &[u8], pattern: &[u8]) -> Result<Option<bool>, ()> {
        match (text, pattern) {
            ([], pattern) => Ok(if pattern.iter().all(|b| *b == b'%') { Some(true) } else { None }),
            (_, []) => Ok(Some(false)),
            (text, [b'_', rest @ ..]) => walk(&text[step(text)..], rest),
            (text, [b'%', ..]) => {
                let (mut text, mut pattern) = (text, pattern);
                while let [wildcard @ (b'%' | b'_'), rest @ ..] = pattern {
                    if *wildcard == b'_' {
                        if text.is_empty() {
                            return Ok(None);
                        }
                        text = &text[step(text)..];
                    }
                    pattern = rest;
                }
                let first = match pattern {
                    [] => return Ok(Some(true)),
                    [b'\\'] => return Err(()),
                    [b'\\', first, ..] | [first, ..] => *first,
                };
                while !text.is_empty() {
                    if text[0] == first {
                        let matched = walk(text, pattern)?;
                        if matched != Some(false) {
                            return Ok(matched);
                        }
                    }
                    text = &text[step(text)..];
                }
                Ok(None)
            }
            (_, [b'\\']) => Err(()),
            ([byte, text @ ..], [b'\\', literal, rest @ ..] | [literal, rest @ ..]) => {
                if byte == literal { walk(text, rest) } else { Ok(Some(false)) }
            }
        }
    }
    walk(text, pattern).map(|matched| matched == Some(true))
}

/// The value of an expression in a row.
pub fn value(expr: &Expr, row: &[Scalar], params: &[Scalar], patterns: &Patterns) -> Value {
    let get = |expr: &Expr| value(expr, row, params, patterns);
    /// The operands, or NULL if one is.
    macro_rules! strict {
        ($($operand:expr),+) => {{
            let operands = [$(get($operand)?),+];
            if operands.contains(&Scalar::Null) {
                return Ok(Scalar::Null);
            }
            operands
        }};
    }
    let boolean = |value: bool| Ok(Scalar::Bool(value));
    match expr {
        Expr::Column(column) => Ok(row[*column].clone()),
        Expr::Const(value) => Ok(value.clone()),
        Expr::Param(param) => Ok(params[*param].clone()),
        Expr::Not(arg) => {
            let [arg] = strict!(arg);
            boolean(arg == Scalar::Bool(false))
        }
        Expr::And(args) | Expr::Or(args) => {
            let decisive = matches!(expr, Expr::Or(_));
            let mut result = Scalar::Bool(!decisive);
            for arg in args {
                match bool_of(get(arg)?) {
                    Some(value) if value == decisive => return boolean(decisive),
                    Some(_) => {}
                    None => result = Scalar::Null,
                }
            }
            Ok(result)
        }
        Expr::IsNull(arg) => boolean(get(arg)? == Scalar::Null),
        Expr::IsNotNull(arg) => boolean(get(arg)? != Scalar::Null),
        Expr::BoolTest { test, arg } => {
            let arg = bool_of(get(arg)?);
            boolean(match test {
                BoolTest::IsTrue => arg == Some(true),
                BoolTest::IsNotTrue => arg != Some(true),
                BoolTest::IsFalse => arg == Some(false),
                BoolTest::IsNotFalse => arg != Some(false),
                BoolTest::IsUnknown => arg.is_none(),
                BoolTest::IsNotUnknown => arg.is_some(),
            })
        }
        Expr::Compare { op, left, right } => {
            let [left, right] = strict!(left, right);
            let order = order(&left, &right);
            boolean(match op {
                CompareOp::Eq => order.is_eq(),
                CompareOp::Ne => order.is_ne(),
                CompareOp::Lt => order.is_lt(),
                CompareOp::Le => order.is_le(),
                CompareOp::Gt => order.is_gt(),
                CompareOp::Ge => order.is_ge(),
            })
        }
        Expr::DistinctFrom { left, right, negated } => {
            boolean((get(left)? != get(right)?) != *negated)
        }
        Expr::InList { arg, list, negated } => {
            let arg = get(arg)?;
            if list.is_empty() {
                return boolean(*negated);
            }
            if arg == Scalar::Null {
                return Ok(Scalar::Null);
            }
            if list.contains(&arg) {
                return boolean(!*negated);
            }
            if list.contains(&Scalar::Null) { Ok(Scalar::Null) } else { boolean(*negated) }
        }
        Expr::Arith { op, kind, left, right } => {
            let [left, right] = strict!(left, right);
            let (a, b) = (i128::from(int_of(&left)), i128::from(int_of(&right)));
            in_range(
                *kind,
                match op {
                    ArithOp::Add => a + b,
                    ArithOp::Sub => a - b,
                    ArithOp::Mul => a * b,
                    ArithOp::Div | ArithOp::Mod if b == 0 => return Err(()),
                    ArithOp::Div => a / b,
                    ArithOp::Mod => return Ok(Scalar::Int((a % b) as i64)),
                },
            )
        }
        // A value that the type of the operation does not have comes from generating without regard to types.
        Expr::Negate { kind, arg } => {
            let [arg] = strict!(arg);
            Ok(Scalar::Int(negated(*kind, int_of(&arg))?))
        }
        Expr::Abs { kind, arg } => {
            let [arg] = strict!(arg);
            let arg = int_of(&arg);
            let magnitude = negated(*kind, arg)?;
            Ok(Scalar::Int(if arg < 0 { magnitude } else { arg }))
        }
        Expr::CharLength(arg) => {
            let [arg] = strict!(arg);
            Ok(Scalar::Int(str_of(&arg).chars().count() as i64))
        }
        Expr::OctetLength(arg) => {
            let [arg] = strict!(arg);
            Ok(Scalar::Int(str_of(&arg).len() as i64))
        }
        Expr::AsciiCase { upper, arg } => {
            let [arg] = strict!(arg);
            let arg = str_of(&arg);
            let folded = if *upper { arg.to_ascii_uppercase() } else { arg.to_ascii_lowercase() };
            Ok(text(&folded))
        }
        Expr::StrPos { arg, needle } => {
            let [arg, needle] = strict!(arg, needle);
            let (arg, needle) = (str_of(&arg), str_of(&needle));
            let position = arg.find(needle).map_or(0, |at| arg[..at].chars().count() + 1);
            Ok(Scalar::Int(position as i64))
        }
        Expr::Substring { arg, start, count } => {
            let none = Expr::Const(Scalar::Int(i64::from(i32::MAX)));
            let [arg, start, count] = strict!(arg, start, count.as_deref().unwrap_or(&none));
            let (start, count) = (int_of(&start), int_of(&count));
            if count < 0 {
                return Err(());
            }
            let wanted = |(place, c): (usize, char)| {
                let place = place as i64 + 1;
                (place >= start && place < start + count).then_some(c)
            };
            let cut: String = str_of(&arg).chars().enumerate().filter_map(wanted).collect();
            Ok(text(&cut))
        }
        Expr::Like { arg, pattern, negated } => {
            let [arg] = strict!(arg);
            let matched = like(str_of(&arg).as_bytes(), patterns.text_of(pattern).as_bytes())?;
            boolean(matched != *negated)
        }
        Expr::Case { whens, otherwise } => {
            for (condition, result) in whens {
                if get(condition)? == Scalar::Bool(true) {
                    return get(result);
                }
            }
            otherwise.as_deref().map_or(Ok(Scalar::Null), get)
        }
        Expr::Coalesce(args) => {
            for arg in args {
                let arg = get(arg)?;
                if arg != Scalar::Null {
                    return Ok(arg);
                }
            }
            Ok(Scalar::Null)
        }
        Expr::NullIf { left, right } => {
            let (left, right) = (get(left)?, get(right)?);
            Ok(if left == right { Scalar::Null } else { left })
        }
        Expr::Extreme { greatest, args } => {
            let mut best = Scalar::Null;
            for arg in args {
                let arg = get(arg)?;
                if arg == Scalar::Null {
                    continue;
                }
                let better = best == Scalar::Null
                    || if *greatest {
                        order(&arg, &best).is_gt()
                    } else {
                        order(&arg, &best).is_lt()
                    };
                if better {
                    best = arg;
                }
            }
            Ok(best)
        }
        other => panic!("{other:?} is not drawn"),
    }
}

fn negated(kind: NumberKind, value: i64) -> Result<i64, ()> {
    let least = match kind {
        NumberKind::Int16 => i64::from(i16::MIN),
        NumberKind::Int32 => i64::from(i32::MIN),
        _ => i64::MIN,
    };
    if value == least { Err(()) } else { Ok(value.wrapping_neg()) }
}
