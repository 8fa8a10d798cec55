//! Random expressions over random columns, evaluated by the kernels and by a row-wise interpreter that is as plain as can
//! be. Both must give the same values, or both an error.

mod reference;

use std::cell::RefCell;
use std::sync::Arc;

use arrow_buffer::Buffer;
use columnar_exec::expr::{
    ArithOp, BoolTest, CompareOp, Expr, LikePattern, Memo, NumberKind, evaluate,
};
use columnar_exec::{
    Batch, Codes, Column, ColumnSource, Context, Data, ExecError, Scalar, Span, StringDictionary,
    Strings,
};
use proptest::prelude::*;
use reference::Patterns;

/// xorshift: expressions are drawn from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }
}

const WORDS: [&str; 12] =
    ["", "a", "b", "ab", "aba", "Abä", "äöü", "%", "a_b", "bbab", "日本語", "abcabcabc"];
const PATTERNS: [&str; 14] =
    ["%", "", "a%", "%b", "%a%", "_", "a_%", "%a%b%", "_b%a", "%ä%", "__", "%本_", "a\\_%", "ab\\"];
const INTS: [i64; 9] = [0, 1, -1, 2, 3, 7, -32_768, 32_767, 100];
/// Columns: 0, 1 are smallint, 2 is bool, 3, 4 are text.
const INT_COLUMNS: [usize; 2] = [0, 1];
const TEXT_COLUMNS: [usize; 2] = [3, 4];
const PARAMS: usize = 3;

fn text(word: &str) -> Scalar {
    Scalar::Bytes(word.as_bytes().into())
}

fn int_expr(draw: &mut Draw, depth: u32) -> Expr {
    if depth == 0 {
        return match draw.below(8) {
            0 => Expr::Const(Scalar::Null),
            1 => Expr::Param(0),
            2 | 3 => Expr::Const(Scalar::Int(draw.pick(&INTS))),
            _ => Expr::Column(draw.pick(&INT_COLUMNS)),
        };
    }
    let below = depth - 1;
    match draw.below(12) {
        0..=3 => Expr::Arith {
            op: draw.pick(&[ArithOp::Add, ArithOp::Sub, ArithOp::Mul, ArithOp::Div, ArithOp::Mod]),
            kind: draw.pick(&[NumberKind::Int16, NumberKind::Int32, NumberKind::Int64]),
            left: Box::new(int_expr(draw, below)),
            right: Box::new(int_expr(draw, below)),
        },
        4 => Expr::Negate { kind: NumberKind::Int16, arg: Box::new(int_expr(draw, below)) },
        5 => Expr::Abs { kind: NumberKind::Int32, arg: Box::new(int_expr(draw, below)) },
        6 => Expr::CharLength(Box::new(text_expr(draw, below))),
        7 => Expr::OctetLength(Box::new(text_expr(draw, below))),
        8 => Expr::StrPos {
            arg: Box::new(text_expr(draw, below)),
            needle: Box::new(text_expr(draw, below)),
        },
        _ => any_type(draw, depth, int_expr),
    }
}

fn text_expr(draw: &mut Draw, depth: u32) -> Expr {
    if depth == 0 {
        return match draw.below(8) {
            0 => Expr::Const(Scalar::Null),
            1 => Expr::Param(1),
            2 => Expr::Const(text(draw.pick(&WORDS))),
            _ => Expr::Column(draw.pick(&TEXT_COLUMNS)),
        };
    }
    let below = depth - 1;
    match draw.below(6) {
        0 | 1 => Expr::AsciiCase { upper: draw.coin(), arg: Box::new(text_expr(draw, below)) },
        2 | 3 => Expr::Substring {
            arg: Box::new(text_expr(draw, below)),
            start: Box::new(Expr::Const(Scalar::Int(draw.below(6) as i64 - 1))),
            count: match draw.below(3) {
                0 => None,
                1 => Some(Box::new(Expr::Const(Scalar::Int(draw.below(4) as i64)))),
                _ => Some(Box::new(int_expr(draw, below))),
            },
        },
        _ => any_type(draw, depth, text_expr),
    }
}

/// Operations whose operands and result are of one type.
fn any_type(draw: &mut Draw, depth: u32, of: fn(&mut Draw, u32) -> Expr) -> Expr {
    let below = depth - 1;
    let count = draw.below(3) + 1;
    let several = |draw: &mut Draw| (0..count).map(|_| of(draw, below)).collect::<Vec<_>>();
    match draw.below(4) {
        0 => Expr::Coalesce(several(draw)),
        1 => Expr::NullIf { left: Box::new(of(draw, below)), right: Box::new(of(draw, below)) },
        2 => Expr::Extreme { greatest: draw.coin(), args: several(draw) },
        _ => Expr::Case {
            whens: several(draw)
                .into_iter()
                .map(|result| (bool_expr(draw, below), result))
                .collect(),
            otherwise: draw.coin().then(|| Box::new(of(draw, below))),
        },
    }
}

fn bool_expr(draw: &mut Draw, depth: u32) -> Expr {
    if depth == 0 {
        return match draw.below(6) {
            0 => Expr::Const(draw.pick(&[Scalar::Null, Scalar::Bool(true), Scalar::Bool(false)])),
            _ => Expr::Column(2),
        };
    }
    let below = depth - 1;
    let typed = if draw.coin() { int_expr } else { text_expr };
    let count = draw.below(3) + 1;
    let several = |draw: &mut Draw| (0..count).map(|_| bool_expr(draw, below)).collect::<Vec<_>>();
    match draw.below(14) {
        0 | 1 => Expr::And(several(draw)),
        2 | 3 => Expr::Or(several(draw)),
        4 => Expr::Not(Box::new(bool_expr(draw, below))),
        5 => Expr::BoolTest {
            test: draw.pick(&[
                BoolTest::IsTrue,
                BoolTest::IsNotTrue,
                BoolTest::IsFalse,
                BoolTest::IsNotFalse,
                BoolTest::IsUnknown,
                BoolTest::IsNotUnknown,
            ]),
            arg: Box::new(bool_expr(draw, below)),
        },
        6 => Expr::IsNull(Box::new(typed(draw, below))),
        7 => Expr::IsNotNull(Box::new(typed(draw, below))),
        8 => Expr::DistinctFrom {
            left: Box::new(typed(draw, below)),
            right: Box::new(typed(draw, below)),
            negated: draw.coin(),
        },
        9 => {
            let pattern = draw.pick(&PATTERNS);
            Expr::Like {
                arg: Box::new(text_expr(draw, below)),
                pattern: PATTERN_CACHE.with(|patterns| patterns.get(pattern)),
                negated: draw.coin(),
            }
        }
        10 => {
            let members = draw.below(14);
            let list: Vec<Scalar> = (0..members)
                .map(|_| match draw.below(12) {
                    0 => Scalar::Null,
                    _ => Scalar::Int(draw.pick(&INTS) + draw.below(3) as i64),
                })
                .collect();
            let arg = Box::new(int_expr(draw, below));
            Expr::InList { arg, list: list.into(), negated: draw.coin() }
        }
        _ => Expr::Compare {
            op: draw.pick(&[
                CompareOp::Eq,
                CompareOp::Ne,
                CompareOp::Lt,
                CompareOp::Le,
                CompareOp::Gt,
                CompareOp::Ge,
            ]),
            left: Box::new(typed(draw, below)),
            right: Box::new(typed(draw, below)),
        },
    }
}

thread_local! {
    /// Patterns by the address of what they compiled to, which is all that an expression holds.
    static PATTERN_CACHE: Patterns = Patterns::new(&PATTERNS);
}

/// A column drawn in one of the forms that a source may give it.
fn draw_column(draw: &mut Draw, rows: usize, of: impl Fn(&mut Draw) -> Scalar) -> Vec<Scalar> {
    let null_every = draw.pick(&[0, 0, 3, 10]);
    (0..rows)
        .map(
            |_| {
                if null_every > 0 && draw.below(null_every) == 0 { Scalar::Null } else { of(draw) }
            },
        )
        .collect()
}

fn mask(values: &[Scalar]) -> Option<Arc<Vec<bool>>> {
    let nulls: Vec<bool> = values.iter().map(|value| *value == Scalar::Null).collect();
    nulls.contains(&true).then(|| Arc::new(nulls))
}

fn int_column(values: &[Scalar]) -> Column {
    let of = |value: &Scalar| match value {
        Scalar::Int(value) => *value,
        _ => i64::MIN + 5,
    };
    let data = Data::Int(Arc::new(values.iter().map(of).collect()));
    Column::with_nulls(data, mask(values), values.len())
}

fn bool_column(values: &[Scalar]) -> Column {
    let data = Data::Bool(Arc::new(values.iter().map(|v| *v == Scalar::Bool(true)).collect()));
    Column::with_nulls(data, mask(values), values.len())
}

fn laid(words: impl Iterator<Item = Option<Vec<u8>>>) -> Strings {
    let (mut spans, mut data) = (Vec::new(), Vec::new());
    for word in words {
        spans.push(match &word {
            Some(word) => Span { start: data.len() as u32, len: word.len() as u32 },
            // The span of a NULL points nowhere.
            None => Span { start: u32::MAX - 3, len: 3 },
        });
        data.extend(word.unwrap_or_default());
    }
    Strings { spans: Arc::new(spans), data: Buffer::from_vec(data) }
}

fn bytes(value: &Scalar) -> Option<Vec<u8>> {
    match value {
        Scalar::Bytes(bytes) => Some(bytes.to_vec()),
        _ => None,
    }
}

fn text_column(values: &[Scalar], dictionary: Option<&Arc<StringDictionary>>) -> Column {
    let data = match dictionary {
        None => Data::Bytes(laid(values.iter().map(bytes))),
        Some(dictionary) => {
            let code = |value: &Scalar| {
                let bytes = bytes(value).unwrap_or_default();
                let all = 0..dictionary.len();
                all.into_iter().find(|code| dictionary.values.get(*code) == bytes).unwrap_or(0)
            };
            let codes = values.iter().map(|value| code(value) as u32).collect();
            Data::Dict(Codes { codes: Arc::new(codes), dictionary: Arc::clone(dictionary) })
        }
    };
    Column::with_nulls(data, mask(values), values.len())
}

struct Table {
    columns: Vec<Column>,
    loaded: RefCell<Vec<usize>>,
}

impl ColumnSource for Table {
    fn load(&self, column: usize) -> Result<Column, ExecError> {
        assert!(!self.loaded.borrow().contains(&column), "column {column} was loaded twice");
        self.loaded.borrow_mut().push(column);
        Ok(self.columns[column].clone())
    }
}

fn words() -> Vec<Scalar> {
    WORDS.iter().map(|word| text(word)).collect()
}

/// Draws an expression and batches, and compares.
fn duel(seed: u64) {
    let mut draw = Draw(seed | 1);
    for _ in 0..20 {
        draw.below(2);
    }
    let depth = draw.below(4) as u32 + 1;
    let expr = match draw.below(3) {
        0 => int_expr(&mut draw, depth),
        1 => text_expr(&mut draw, depth),
        _ => bool_expr(&mut draw, depth),
    };
    let dictionary = Arc::new(StringDictionary::new(laid(words().iter().map(bytes))));
    let mut memo = Memo::default();
    for _ in 0..4 {
        let rows = draw.pick(&[1, 2, 5, 40]);
        let values: Vec<Vec<Scalar>> = (0..5)
            .map(|column| {
                let of = |draw: &mut Draw| match column {
                    0 | 1 => Scalar::Int(draw.pick(&INTS)),
                    2 => Scalar::Bool(draw.coin()),
                    _ => draw.pick(&words()),
                };
                draw_column(&mut draw, rows, of)
            })
            .collect();
        let coded = draw.below(4) > 0;
        let columns = vec![
            int_column(&values[0]),
            int_column(&values[1]),
            bool_column(&values[2]),
            text_column(&values[3], None),
            text_column(&values[4], coded.then_some(&dictionary)),
        ];
        let params: Vec<Scalar> =
            vec![Scalar::Int(draw.pick(&INTS)), draw.pick(&words()), Scalar::Null];
        assert_eq!(params.len(), PARAMS);
        let selection: Option<Vec<u32>> =
            draw.coin().then(|| (0..rows as u32).filter(|_| draw.below(3) > 0).collect());
        let table = Table { columns, loaded: RefCell::default() };
        let mut batch = Batch::new(&table, 5, rows, selection.clone());
        let mut context = Context { params: params.clone(), external: None, memo };
        let result = evaluate(&expr, &mut batch, &mut context);
        memo = context.memo;
        let selected: Vec<u32> = selection.unwrap_or_else(|| (0..rows as u32).collect());
        let expected: Result<Vec<Scalar>, ()> = selected
            .iter()
            .map(|row| {
                let row: Vec<Scalar> =
                    values.iter().map(|column| column[*row as usize].clone()).collect();
                PATTERN_CACHE.with(|patterns| reference::value(&expr, &row, &params, patterns))
            })
            .collect();
        match (result, expected) {
            (Ok(column), Ok(expected)) => {
                let result: Vec<Scalar> = (0..column.len).map(|row| column.get(row)).collect();
                assert_eq!(result, expected, "{expr:?}");
            }
            (Err(ExecError::Sql { .. }), Err(())) => {}
            (result, expected) => panic!("{result:?} but {expected:?} of {expr:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6_000, ..ProptestConfig::default() })]

    #[test]
    fn kernels_agree_with_the_interpreter(seed in any::<u64>()) {
        duel(seed);
    }

    #[test]
    fn patterns_agree_with_the_interpreter(
        pattern in "[ab%_\\\\ä]{0,7}",
        text in "[abä]{0,9}",
        fold in any::<bool>(),
    ) {
        let compiled = LikePattern::new(pattern.as_bytes(), Some(b'\\'), fold, true).unwrap();
        let result = compiled.matches(text.as_bytes(), &mut Vec::new());
        let expected = reference::like(text.as_bytes(), pattern.as_bytes());
        prop_assert_eq!(result.map_err(|_| ()), expected);
    }
}
