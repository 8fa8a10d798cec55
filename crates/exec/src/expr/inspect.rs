//! What an expression reads and whether it may raise an error.

use super::{ArithOp, CastTo, Expr, NumberKind, TimeUnit, time};
use crate::column::Scalar;

impl Expr {
    /// Calls `visit` with each operand.
    pub(super) fn for_each_operand<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        match self {
            Self::Column(_) | Self::Const(_) | Self::Param(_) => {}
            Self::Not(arg)
            | Self::IsNull(arg)
            | Self::IsNotNull(arg)
            | Self::BoolTest { arg, .. }
            | Self::InList { arg, .. }
            | Self::Negate { arg, .. }
            | Self::Abs { arg, .. }
            | Self::Cast { arg, .. }
            | Self::Like { arg, .. }
            | Self::RegexpMatch { arg, .. }
            | Self::RegexpReplace { arg, .. }
            | Self::CharLength(arg)
            | Self::OctetLength(arg)
            | Self::AsciiCase { arg, .. }
            | Self::DateTrunc { arg, .. }
            | Self::Extract { arg, .. }
            | Self::DateToTimestamp(arg)
            | Self::TimestampToDate(arg) => visit(arg),
            Self::Compare { left, right, .. }
            | Self::DistinctFrom { left, right, .. }
            | Self::Arith { left, right, .. }
            | Self::DateDiff { left, right }
            | Self::NullIf { left, right } => {
                visit(left);
                visit(right);
            }
            Self::StrPos { arg, needle } => {
                visit(arg);
                visit(needle);
            }
            Self::DateAddDays { date, days, .. } => {
                visit(date);
                visit(days);
            }
            Self::Substring { arg, start, count } => {
                visit(arg);
                visit(start);
                count.iter().for_each(|count| visit(count));
            }
            Self::And(args)
            | Self::Or(args)
            | Self::Coalesce(args)
            | Self::Extreme { args, .. }
            | Self::External { inputs: args, .. } => args.iter().for_each(visit),
            Self::Case { whens, otherwise } => {
                for (condition, result) in whens {
                    visit(condition);
                    visit(result);
                }
                otherwise.iter().for_each(|otherwise| visit(otherwise));
            }
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
