//! Whether two arms did the same.
//!
//! Rows are compared as text, but for columns of class [`Class::Float`] and [`Class::Numeric`]. Errors must be alike in
//! SQLSTATE; where the order of evaluation is free, one arm may fail and the other not (see [`Risk`]).

use std::cmp::Ordering;

use crate::session::{Outcome, Row, clip};
use crate::types::Class;

/// Whether the order of rows is part of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Multiset,
    Sequence,
}

/// What a query's risky expression may do.
#[derive(Clone, Copy, Debug)]
pub struct Risk {
    /// SQLSTATEs it may raise; which of them comes first depends on the order of rows.
    pub states: &'static [&'static str],
    /// A plan may evaluate it on rows that another plan has already dropped.
    pub free: bool,
}

/// No risk: no error, or the same one.
pub const SAFE: Risk = Risk { states: &[], free: false };

/// How outcomes are compared.
#[derive(Clone, Debug)]
pub struct Rules {
    pub order: Order,
    /// Of the output columns; those beyond are exact.
    pub classes: Vec<Class>,
    pub risk: Risk,
}

/// What the comparison found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Same,
    /// Both raised an error, and the same.
    SameError,
    /// One raised an error where the order of evaluation is free.
    FreeError,
    /// Heap did not finish in time.
    Inconclusive,
    Different(String),
}

/// Compares an arm with heap.
pub fn judge(heap: &Outcome, arm: &Outcome, rules: &Rules) -> Verdict {
    let different = |what: &str| {
        Verdict::Different(format!(
            "{what}\n  heap:     {}\n  columnar: {}",
            heap.brief(),
            arm.brief()
        ))
    };
    match (heap, arm) {
        (Outcome::Lost(_), _) | (_, Outcome::Lost(_)) => different("the connection broke"),
        (Outcome::Done(expected), Outcome::Done(got)) => sets(expected, got, rules),
        (Outcome::Failed { state, .. }, _)
            if ["57014", "53200", "53400"].contains(&state.as_str()) =>
        {
            Verdict::Inconclusive
        }
        (Outcome::Failed { state: a, .. }, Outcome::Failed { state: b, .. }) => {
            let known = |s: &str| rules.risk.states.contains(&s);
            if a == b && !a.starts_with("XX") || known(a) && known(b) {
                Verdict::SameError
            } else {
                different("the errors differ")
            }
        }
        (Outcome::Failed { state, .. }, Outcome::Done(_))
        | (Outcome::Done(_), Outcome::Failed { state, .. }) => {
            if rules.risk.free && rules.risk.states.contains(&state.as_str()) {
                Verdict::FreeError
            } else {
                different("one arm raised an error")
            }
        }
    }
}

fn sets(expected: &[Vec<Row>], got: &[Vec<Row>], rules: &Rules) -> Verdict {
    if expected.len() != got.len() {
        return Verdict::Different(format!("{} results against {}", expected.len(), got.len()));
    }
    for (number, (a, b)) in expected.iter().zip(got).enumerate() {
        if let Some(what) = rows(a, b, rules) {
            let which =
                if expected.len() > 1 { format!("result {}: ", number + 1) } else { String::new() };
            return Verdict::Different(format!("{which}{what}"));
        }
    }
    Verdict::Same
}

/// What differs between two results.
fn rows(expected: &[Row], got: &[Row], rules: &Rules) -> Option<String> {
    if expected == got {
        return None;
    }
    let class = |i: usize| rules.classes.get(i).copied().unwrap_or(Class::Exact);
    let (mut a, mut b): (Vec<&Row>, Vec<&Row>) = (expected.iter().collect(), got.iter().collect());
    if rules.order == Order::Multiset {
        // Exact columns first, so that floats that differ in their last digits do not tear equal rows apart.
        a.sort_by(|x, y| compare_rows(x, y, &class));
        b.sort_by(|x, y| compare_rows(x, y, &class));
    }
    let (mut i, mut j, mut shown) = (0, 0, Vec::new());
    let counts = (a.len() != b.len()).then(|| format!("{} rows against {}", a.len(), b.len()));
    while i < a.len() || j < b.len() {
        if shown.len() > 12 {
            break;
        }
        match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) if same_row(x, y, &class) => {
                (i, j) = (i + 1, j + 1);
                continue;
            }
            (Some(x), Some(y)) if rules.order == Order::Sequence => {
                shown.push(format!("row {i}: heap     {}", show(x)));
                shown.push(format!("row {j}: columnar {}", show(y)));
                (i, j) = (i + 1, j + 1);
            }
            (Some(x), y) if y.is_none_or(|y| compare_rows(x, y, &class) != Ordering::Greater) => {
                shown.push(format!("only heap:     {}", show(x)));
                i += 1;
            }
            (_, Some(y)) => {
                shown.push(format!("only columnar: {}", show(y)));
                j += 1;
            }
            _ => break,
        }
    }
    if shown.is_empty() && counts.is_none() {
        return None;
    }
    Some(format!(
        "{}\n  {}",
        counts.unwrap_or_else(|| "the rows differ".into()),
        shown.join("\n  ")
    ))
}

fn show(row: &Row) -> String {
    let fields: Vec<String> =
        row.iter().map(|f| f.as_deref().map_or("NULL".into(), |f| clip(f, 200))).collect();
    fields.join(" | ")
}

/// A total order: exact and numeric columns from left to right, then the floats.
fn compare_rows(a: &Row, b: &Row, class: &impl Fn(usize) -> Class) -> Ordering {
    let exact = a.len().cmp(&b.len()).then_with(|| {
        let mut order = Ordering::Equal;
        for i in 0..a.len() {
            order = match class(i) {
                Class::Exact => a[i].cmp(&b[i]),
                Class::Numeric => a[i].as_deref().map(plain).cmp(&b[i].as_deref().map(plain)),
                Class::Float => continue,
            };
            if order != Ordering::Equal {
                break;
            }
        }
        order
    });
    exact.then_with(|| {
        for i in (0..a.len()).filter(|i| class(*i) == Class::Float) {
            let order = match (&a[i], &b[i]) {
                (Some(x), Some(y)) => float_order(x, y),
                (x, y) => x.cmp(y),
            };
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    })
}

fn same_row(a: &Row, b: &Row, class: &impl Fn(usize) -> Class) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).enumerate().all(|(i, pair)| match (class(i), pair) {
            (Class::Float, (Some(x), Some(y))) => same_float(x, y),
            (Class::Numeric, (Some(x), Some(y))) => plain(x) == plain(y),
            (_, (x, y)) => x == y,
        })
}

/// A number without the zeros that end its fraction.
fn plain(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

fn parse(float: &str) -> Option<f64> {
    float.parse().ok()
}

fn float_order(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        // Adding 0 turns -0 into 0, which are equal here.
        (Some(x), Some(y)) => (x + 0.0).total_cmp(&(y + 0.0)),
        _ => a.cmp(b),
    }
}

/// Equal to a relative 1e-9; below 1e-9 the order of summation alone may decide.
fn same_float(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    match (parse(a), parse(b)) {
        (Some(x), Some(y)) if x.is_finite() && y.is_finite() => {
            (x - y).abs() <= 1e-9 * x.abs().max(y.abs()).max(1e-3)
        }
        (Some(x), Some(y)) => x == y || x.is_nan() && y.is_nan(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, Risk, Rules, SAFE, Verdict, judge};
    use crate::session::Outcome;
    use crate::types::Class;

    fn done(rows: &[&[&str]]) -> Outcome {
        Outcome::Done(vec![
            rows.iter().map(|r| r.iter().map(|f| Some((*f).to_string())).collect()).collect(),
        ])
    }

    fn failed(state: &str) -> Outcome {
        Outcome::Failed { state: state.into(), message: "m".into() }
    }

    fn rules(order: Order, classes: &[Class], risk: Risk) -> Rules {
        Rules { order, classes: classes.to_vec(), risk }
    }

    #[test]
    fn order_counts_only_where_it_is_total() {
        let (a, b) = (done(&[&["1"], &["2"], &["2"]]), done(&[&["2"], &["1"], &["2"]]));
        assert_eq!(judge(&a, &b, &rules(Order::Multiset, &[], SAFE)), Verdict::Same);
        assert!(matches!(judge(&a, &b, &rules(Order::Sequence, &[], SAFE)), Verdict::Different(_)));
        let fewer = done(&[&["1"], &["2"]]);
        assert!(matches!(
            judge(&a, &fewer, &rules(Order::Multiset, &[], SAFE)),
            Verdict::Different(_)
        ));
    }

    #[test]
    fn floats_are_compared_to_their_last_digits_and_nothing_else_is() {
        let a = done(&[&["1.0000000000001", "x"], &["-0", "y"], &["NaN", "z"]]);
        let b = done(&[&["0", "y"], &["1", "x"], &["NaN", "z"]]);
        let float = [Class::Float, Class::Exact];
        assert_eq!(judge(&a, &b, &rules(Order::Multiset, &float, SAFE)), Verdict::Same);
        assert!(matches!(judge(&a, &b, &rules(Order::Multiset, &[], SAFE)), Verdict::Different(_)));
        let off = done(&[&["0", "y"], &["1.0001", "x"], &["NaN", "z"]]);
        assert!(matches!(
            judge(&a, &off, &rules(Order::Multiset, &float, SAFE)),
            Verdict::Different(_)
        ));
    }

    #[test]
    fn numbers_of_another_scale_are_equal_only_as_representatives() {
        let (a, b) = (done(&[&["1.00"], &["20"]]), done(&[&["20"], &["1.0"]]));
        assert_eq!(judge(&a, &b, &rules(Order::Multiset, &[Class::Numeric], SAFE)), Verdict::Same);
        assert!(matches!(judge(&a, &b, &rules(Order::Multiset, &[], SAFE)), Verdict::Different(_)));
    }

    #[test]
    fn null_is_not_the_empty_string() {
        let null = Outcome::Done(vec![vec![vec![None]]]);
        for class in [Class::Exact, Class::Float, Class::Numeric] {
            let rules = rules(Order::Multiset, &[class], SAFE);
            assert!(matches!(judge(&null, &done(&[&[""]]), &rules), Verdict::Different(_)));
        }
    }

    #[test]
    fn errors() {
        let strict = rules(Order::Multiset, &[], Risk { states: &["22012", "22003"], free: false });
        let free = rules(Order::Multiset, &[], Risk { states: &["22012"], free: true });
        assert_eq!(judge(&failed("22012"), &failed("22003"), &strict), Verdict::SameError);
        assert!(matches!(
            judge(&failed("22012"), &failed("22P02"), &strict),
            Verdict::Different(_)
        ));
        assert!(matches!(judge(&failed("22012"), &done(&[]), &strict), Verdict::Different(_)));
        assert!(matches!(judge(&done(&[]), &failed("22012"), &strict), Verdict::Different(_)));
        assert_eq!(judge(&done(&[]), &failed("22012"), &free), Verdict::FreeError);
        assert!(matches!(judge(&done(&[]), &failed("XX000"), &free), Verdict::Different(_)));
        assert!(matches!(judge(&failed("XX000"), &failed("XX000"), &free), Verdict::Different(_)));
        assert_eq!(judge(&failed("57014"), &done(&[]), &strict), Verdict::Inconclusive);
    }
}
