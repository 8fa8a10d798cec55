//! What an expression reads and whether it may raise an error.

use std::sync::Arc;

use super::{ArithOp, CastTo, Expr, NumberKind, TimeUnit, time};
use crate::column::Scalar;

/// Calls `$visit` with each operand of `$self`; `$iter` goes over vectors of them.
macro_rules! operands {
    ($self:expr, $visit:expr, $iter:ident) => {
        match $self {
            Expr::Column(_) | Expr::Const(_) | Expr::Param(_) => {}
            Expr::Not(arg)
            | Expr::IsNull(arg)
            | Expr::IsNotNull(arg)
            | Expr::BoolTest { arg, .. }
            | Expr::InList { arg, .. }
            | Expr::InParam { arg, .. }
            | Expr::Negate { arg, .. }
            | Expr::Abs { arg, .. }
            | Expr::Cast { arg, .. }
            | Expr::Like { arg, .. }
            | Expr::RegexpMatch { arg, .. }
            | Expr::RegexpReplace { arg, .. }
            | Expr::CharLength(arg)
            | Expr::OctetLength(arg)
            | Expr::AsciiCase { arg, .. }
            | Expr::DateTrunc { arg, .. }
            | Expr::Extract { arg, .. }
            | Expr::DateToTimestamp(arg)
            | Expr::TimestampToDate(arg) => $visit(arg),
            Expr::Compare { left, right, .. }
            | Expr::DistinctFrom { left, right, .. }
            | Expr::Arith { left, right, .. }
            | Expr::DateDiff { left, right }
            | Expr::NullIf { left, right } => {
                $visit(left);
                $visit(right);
            }
            Expr::StrPos { arg, needle } => {
                $visit(arg);
                $visit(needle);
            }
            Expr::DateAddDays { date, days, .. } => {
                $visit(date);
                $visit(days);
            }
            Expr::Substring { arg, start, count } => {
                $visit(arg);
                $visit(start);
                count.$iter().for_each(|count| $visit(count));
            }
            Expr::And(args)
            | Expr::Or(args)
            | Expr::Coalesce(args)
            | Expr::Extreme { args, .. }
            | Expr::External { inputs: args, .. } => args.$iter().for_each(|arg| $visit(arg)),
            Expr::Case { whens, otherwise } => {
                for (condition, result) in whens {
                    $visit(condition);
                    $visit(result);
                }
                otherwise.$iter().for_each(|otherwise| $visit(otherwise));
            }
        }
    };
}

impl Expr {
    /// Calls `visit` with each operand.
    pub(super) fn for_each_operand<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        operands!(self, visit, iter);
    }

    /// Puts in the members of lists that are known only now, by the number in [`Expr::InParam`]; `None` is a NULL array.
    pub fn bind_lists(&mut self, lists: &[Option<Arc<[Scalar]>>]) {
        let bind = |operand: &mut Expr| operand.bind_lists(lists);
        operands!(self, bind, iter_mut);
        if let Self::InParam { arg, list, negated } = self {
            let null = Self::Const(Scalar::Null);
            *self = match lists.get(*list).cloned().flatten() {
                Some(list) => {
                    let arg = Box::new(std::mem::replace(&mut **arg, null));
                    Self::InList { arg, list, negated: *negated }
                }
                // Nothing is known to be among an unknown list.
                None => null,
            };
        }
    }

    /// Whether `test` is true of the expression or of one within it.
    fn any(&self, test: &dyn Fn(&Expr) -> bool) -> bool {
        if test(self) {
            return true;
        }
        let mut any = false;
        self.for_each_operand(&mut |operand| any = any || operand.any(test));
        any
    }

    /// Appends the columns read, each once.
    pub fn columns(&self, columns: &mut Vec<usize>) {
        if let Self::Column(column) = self
            && !columns.contains(column)
        {
            columns.push(*column);
        }
        self.for_each_operand(&mut |operand| operand.columns(columns));
    }

    /// Whether evaluation may raise an error, of damaged storage and of memory apart. What PostgreSQL evaluates may.
    pub fn can_fail(&self) -> bool {
        self.any(&Self::fails_itself)
    }

    /// Whether evaluation may come to a value that kernels cannot hold ([`crate::ExecError::Unsupported`]).
    pub fn can_outgrow(&self) -> bool {
        self.any(&|expr| match expr {
            Self::Arith { kind: NumberKind::Decimal, .. } => true,
            Self::Extract { .. } => expr.fails_itself(),
            _ => false,
        })
    }

    /// Whether it calls PostgreSQL.
    pub fn uses_external(&self) -> bool {
        self.any(&|expr| matches!(expr, Self::External { .. }))
    }

    /// Whether it has one value for all rows while the scan runs: reads no column and calls nothing outside.
    pub fn is_constant(&self) -> bool {
        !self.any(&|expr| matches!(expr, Self::Column(_) | Self::External { .. }))
    }

    /// Whether it looks at every byte of strings, so that rows that do not need it had better be left out.
    fn is_expensive(&self) -> bool {
        self.any(&|expr| {
            matches!(
                expr,
                Self::Like { .. }
                    | Self::RegexpMatch { .. }
                    | Self::RegexpReplace { .. }
                    | Self::StrPos { .. }
                    | Self::AsciiCase { .. }
                    | Self::Substring { .. }
                    | Self::CharLength(_)
            )
        })
    }

    /// Whether it may be evaluated for rows that do not need it.
    pub(super) fn is_eager(&self) -> bool {
        !self.any(&|expr| expr.fails_itself() || matches!(expr, Self::External { .. }))
            && !self.is_expensive()
    }

    /// Whether the operation may raise an error when its operands did not.
    fn fails_itself(&self) -> bool {
        match self {
            Self::External { .. } | Self::DateToTimestamp(_) | Self::DateAddDays { .. } => true,
            Self::DateDiff { .. } => true,
            Self::Arith { op: ArithOp::Div | ArithOp::Mod, kind, right, .. } => {
                let integers =
                    matches!(kind, NumberKind::Int16 | NumberKind::Int32 | NumberKind::Int64);
                // A divisor of neither 0 nor -1 cannot lead out of the type.
                !(integers
                    && matches!(**right, Self::Const(Scalar::Int(divisor)) if divisor != 0 && divisor != -1))
            }
            Self::Arith { .. } => true,
            Self::Negate { kind, .. } | Self::Abs { kind, .. } => {
                matches!(kind, NumberKind::Int16 | NumberKind::Int32 | NumberKind::Int64)
            }
            // The type of the operand is not known here; a cast that only widens is none of these anyway.
            Self::Cast { to, .. } => !matches!(to, CastTo::Float64 | CastTo::Decimal),
            Self::Like { pattern, .. } => pattern.can_fail(),
            Self::Substring { count, .. } => match count.as_deref() {
                None => false,
                Some(Self::Const(Scalar::Int(count))) => *count < 0,
                Some(_) => true,
            },
            Self::DateTrunc { unit, .. } => {
                matches!(unit, TimeUnit::Month | TimeUnit::Quarter | TimeUnit::Year)
            }
            Self::Extract { field, from_date, .. } => {
                time::is_monotonic(*field) || (*from_date && !time::is_of_date(*field))
            }
            _ => false,
        }
    }
}
