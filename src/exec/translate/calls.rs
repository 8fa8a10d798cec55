//! Calls of functions and operators with their arguments.

use super::facts;
use super::functions::{self, Kernel, Operands};
use super::lists;
use super::nodes::{boolean, typed_as};
use super::refusal::Refusal;
use super::types::{self, DataClass, ValueType};
use super::{Translator, Typed, collation, regexps, result_of, strings, times, values};
use columnar_exec::expr::{ArithOp, CompareOp, NumberKind};
use columnar_exec::{Expr, Scalar, numeric};
use pgrx::pg_sys::{self, Node, NodeTag, Oid};

/// Longest array that an operator other than = is spelled out for.
const MAX_SPELLED_OUT: usize = 64;

impl Translator {
    pub(super) unsafe fn function(
        &mut self,
        node: *mut Node,
        call: &pg_sys::FuncExpr,
    ) -> Result<Typed, Refusal> {
        // SAFETY: the arguments of a live node.
        unsafe { self.call(node, call.funcid, call.inputcollid, call.args) }
    }

    pub(super) unsafe fn operator(
        &mut self,
        node: *mut Node,
        call: &mut pg_sys::OpExpr,
    ) -> Result<Typed, Refusal> {
        // SAFETY: the node is live; the planner fills in the function in the same way.
        unsafe {
            pg_sys::set_opfuncid(call);
            self.call(node, call.opfuncid, call.inputcollid, call.args)
        }
    }

    /// A call that a kernel computes.
    unsafe fn call(
        &mut self,
        node: *mut Node,
        function: Oid,
        collation: Oid,
        args: *mut pg_sys::List,
    ) -> Result<Typed, Refusal> {
        let Some(kernel) = functions::kernel(function) else {
            return Err(Refusal::Function(functions::function_name(function)));
        };
        // SAFETY: the arguments of a live node.
        let args = unsafe { self.all(args)? };
        apply(node, kernel, function, collation, args)
    }

    /// IS DISTINCT FROM.
    pub(super) unsafe fn distinct(
        &mut self,
        call: &mut pg_sys::DistinctExpr,
    ) -> Result<Typed, Refusal> {
        // SAFETY: as `operator`; the node is an OpExpr under another tag.
        let (left, right) = unsafe { self.equality(call)? };
        let (left, right) = (Box::new(left.expr), Box::new(right.expr));
        Ok(boolean(Expr::DistinctFrom { left, right, negated: false }))
    }

    /// NULLIF: of the type of its first argument.
    pub(super) unsafe fn null_if(
        &mut self,
        call: &mut pg_sys::NullIfExpr,
    ) -> Result<Typed, Refusal> {
        // SAFETY: as `operator`; the node is an OpExpr under another tag.
        let (left, right) = unsafe { self.equality(call)? };
        if matches!(left.value, ValueType::BpChar { .. }) {
            // The first argument was padded for the comparison if it is a constant.
            return Err(Refusal::Type(types::type_name(left.type_id)));
        }
        let (first, value, type_id) = (Box::new(left.expr), left.value, left.type_id);
        let expr = Expr::NullIf { left: first, right: Box::new(right.expr) };
        Ok(Typed { expr, value, type_id, collation: call.opcollid })
    }

    /// The operands of an equality that a kernel computes.
    unsafe fn equality(&mut self, call: &mut pg_sys::OpExpr) -> Result<(Typed, Typed), Refusal> {
        // SAFETY: as `operator`.
        unsafe {
            pg_sys::set_opfuncid(call);
            let Some(Kernel::Compare(CompareOp::Eq, operands)) = functions::kernel(call.opfuncid)
            else {
                return Err(Refusal::Function(functions::function_name(call.opfuncid)));
            };
            let (left, right) = two(self.all(call.args)?)?;
            comparable(CompareOp::Eq, operands, call.inputcollid, left, right)
        }
    }

    /// `x op ANY (array)` and `x op ALL (array)` with a constant array, or one that is written out.
    pub(super) unsafe fn array_operator(
        &mut self,
        call: &mut pg_sys::ScalarArrayOpExpr,
    ) -> Result<Typed, Refusal> {
        // SAFETY: as `operator`; the array is of the type of its constant.
        unsafe {
            pg_sys::set_sa_opfuncid(call);
            let function = call.opfuncid;
            let Some(kernel) = functions::kernel(function) else {
                return Err(Refusal::Function(functions::function_name(function)));
            };
            let [arg, array] = lists::nodes(call.args)[..] else {
                return Err(Refusal::Function(functions::function_name(function)));
            };
            if let Some(array) = lists::cast::<pg_sys::ArrayExpr>(array, NodeTag::T_ArrayExpr) {
                return self.spelled_out(call, kernel, arg, array);
            }
            let Some(array) = lists::cast::<pg_sys::Const>(array, NodeTag::T_Const) else {
                return self.late_list(call, kernel, arg, array);
            };
            let arg = self.any(arg)?;
            if array.constisnull {
                return Ok(boolean(Expr::Const(Scalar::Null)));
            }
            let (elements, value, type_id) = elements(array.constvalue)?;
            let collation = call.inputcollid;
            let list = match (kernel, call.useOr) {
                (Kernel::Compare(CompareOp::Eq, operands), true)
                | (Kernel::Compare(CompareOp::Ne, operands), false) => {
                    in_list(operands, collation, &arg, &elements, value, type_id)?
                }
                _ => None,
            };
            if let Some(list) = list {
                let (arg, negated) = (Box::new(arg.expr), !call.useOr);
                return Ok(boolean(Expr::InList { arg, list: list.into(), negated }));
            }
            if elements.len() > MAX_SPELLED_OUT
                || !matches!(arg.expr, Expr::Column(_) | Expr::Const(_) | Expr::Param(_))
            {
                return Err(Refusal::Node("ScalarArrayOpExpr".to_owned()));
            }
            let each = elements.into_iter().map(|element| {
                let element = element.ok_or(Refusal::Constant)?;
                if element == Scalar::Null {
                    return Ok(Expr::Const(Scalar::Null));
                }
                let value = match element {
                    Scalar::Decimal(_, scale) => ValueType::Decimal { scale },
                    _ => value,
                };
                let element = Typed { expr: Expr::Const(element), value, type_id, collation };
                let args = vec![arg.clone(), element];
                Ok(truth(kernel, function, collation, args)?.expr)
            });
            let each = each.collect::<Result<Vec<Expr>, Refusal>>()?;
            Ok(boolean(if call.useOr { Expr::Or(each) } else { Expr::And(each) }))
        }
    }

    /// `x = ANY ($1)` and `x <> ALL ($1)` in a filter, with an array that the scan evaluates when it starts.
    unsafe fn late_list(
        &mut self,
        call: &pg_sys::ScalarArrayOpExpr,
        kernel: Kernel,
        arg: *mut pg_sys::Node,
        array: *mut pg_sys::Node,
    ) -> Result<Typed, Refusal> {
        let operands = match (kernel, call.useOr) {
            (Kernel::Compare(CompareOp::Eq, operands), true)
            | (Kernel::Compare(CompareOp::Ne, operands), false) => operands,
            _ => return Err(Refusal::NotConstant),
        };
        // SAFETY: both are live expression trees.
        let element = unsafe {
            if !self.in_filter || !facts::is_early_value(array) {
                return Err(Refusal::NotConstant);
            }
            pg_sys::get_base_element_type(pg_sys::exprType(array))
        };
        let arg = self.any(arg)?;
        // What the members are is not known: numbers and padded strings would have to be brought to the form of the column.
        let as_stored = !matches!(arg.value, ValueType::Decimal { .. } | ValueType::BpChar { .. });
        if !as_stored || element == Oid::INVALID || !types::is_storable(element) {
            return Err(Refusal::NotConstant);
        }
        let (base, _) = types::base_type(element, -1);
        let value = types::value_type(element, -1);
        if in_list(operands, call.inputcollid, &arg, &[], value, base)?.is_none() {
            return Err(Refusal::NotConstant);
        }
        self.lists.push(super::ListExpr { node: array });
        let (arg, list) = (Box::new(arg.expr), self.lists.len() - 1);
        Ok(boolean(Expr::InParam { arg, list, negated: !call.useOr }))
    }

    /// `x IN ($1, $2)` and the like, as comparisons with one after another.
    unsafe fn spelled_out(
        &mut self,
        call: &pg_sys::ScalarArrayOpExpr,
        kernel: Kernel,
        arg: *mut pg_sys::Node,
        array: &pg_sys::ArrayExpr,
    ) -> Result<Typed, Refusal> {
        // SAFETY: as `operator`; the elements are nodes.
        let elements = unsafe { lists::nodes(array.elements) };
        let arg = self.any(arg)?;
        if array.multidims
            || elements.len() > MAX_SPELLED_OUT
            || !matches!(arg.expr, Expr::Column(_) | Expr::Const(_) | Expr::Param(_))
        {
            return Err(Refusal::Node("ScalarArrayOpExpr".to_owned()));
        }
        let (function, collation) = (call.opfuncid, call.inputcollid);
        let mut each = Vec::with_capacity(elements.len());
        for element in elements {
            let args = vec![arg.clone(), self.any(element)?];
            each.push(truth(kernel, function, collation, args)?.expr);
        }
        Ok(boolean(if call.useOr { Expr::Or(each) } else { Expr::And(each) }))
    }
}

/// The elements of an array that is evaluated when a scan starts.
///
/// # Safety
/// `datum` is an array of a type that [`Translator::filter`] accepted.
pub unsafe fn late_elements(datum: pg_sys::Datum) -> Option<Vec<Scalar>> {
    // SAFETY: as the caller's.
    let (elements, _, _) = unsafe { elements(datum) }.ok()?;
    elements.into_iter().collect()
}

/// The elements of an array; `None` for numbers the data cannot hold. Decimals keep the places they display.
unsafe fn elements(array: pg_sys::Datum) -> Result<(Vec<Option<Scalar>>, ValueType, Oid), Refusal> {
    // SAFETY: the datum is an array; deconstruct_array allocates what it returns, and the copy that detoasting makes
    // lives as long as the memory context of the call.
    unsafe {
        let array: *mut pg_sys::ArrayType = pg_sys::pg_detoast_datum(array.cast_mut_ptr()).cast();
        let type_id = (*array).elemtype;
        let (mut len, mut by_value, mut align) = (0i16, false, 0);
        pg_sys::get_typlenbyvalalign(type_id, &raw mut len, &raw mut by_value, &raw mut align);
        if !types::is_storable(type_id) {
            return Err(Refusal::Type(types::type_name(type_id)));
        }
        let (mut datums, mut nulls, mut count) =
            (core::ptr::null_mut(), core::ptr::null_mut(), 0i32);
        pg_sys::deconstruct_array(
            array,
            type_id,
            len.into(),
            by_value,
            align,
            &raw mut datums,
            &raw mut nulls,
            &raw mut count,
        );
        let value = types::value_type(type_id, -1);
        let element = |i: usize| {
            let (datum, is_null) = (*datums.add(i), *nulls.add(i));
            if type_id == pg_sys::NUMERICOID && !is_null {
                let decoded = crate::am::group::types::with_payload(datum, numeric::decode);
                return decoded.map(|(number, scale)| Scalar::Decimal(number, scale));
            }
            values::scalar_of(datum, is_null, &value)
        };
        let elements = (0..count as usize).map(element).collect();
        let (base, _) = types::base_type(type_id, -1);
        Ok((elements, value, base))
    }
}

/// The list of an IN, if the data of its elements tells which are equal to the argument.
fn in_list(
    operands: Operands,
    collation: Oid,
    arg: &Typed,
    elements: &[Option<Scalar>],
    value: ValueType,
    type_id: Oid,
) -> Result<Option<Vec<Scalar>>, Refusal> {
    if operands == Operands::Text {
        collation::require_deterministic(collation)?;
    }
    let class = if type_id == pg_sys::NUMERICOID { DataClass::Decimal } else { value.class() };
    if class != arg.value.class() {
        return Err(Refusal::Type(types::type_name(type_id)));
    }
    let mut list = Vec::with_capacity(elements.len());
    for element in elements {
        match (element, arg.value) {
            // A number that is no decimal is infinite or too long, which no decimal equals.
            (None, ValueType::Decimal { .. }) => {}
            (None, _) => return Ok(None),
            (Some(Scalar::Decimal(number, found)), ValueType::Decimal { scale }) => {
                if let Some(number) = at_scale(*number, *found, scale) {
                    list.push(Scalar::Decimal(number, scale));
                }
            }
            (Some(Scalar::Bytes(bytes)), ValueType::BpChar { length: Some(length) }) => {
                if operands != Operands::BpChar {
                    return Ok(None);
                }
                list.push(Scalar::Bytes(strings::padded(bytes, length)?.into()));
            }
            (Some(Scalar::Bytes(_)), ValueType::BpChar { length: None }) => {
                return Err(Refusal::Type("character".to_owned()));
            }
            (Some(scalar), _) => list.push(scalar.clone()),
        }
    }
    if operands == Operands::BpChar {
        collation::require_deterministic(collation)?;
    }
    Ok(Some(list))
}

/// A number with other decimal places; `None` where it has digits that they do not show, so that no number with those
/// places equals it.
fn at_scale(number: i128, from: u8, to: u8) -> Option<i128> {
    if number == numeric::NAN || number == 0 {
        return Some(number);
    }
    let power = 10i128.checked_pow(u32::from(from.abs_diff(to)))?;
    if to >= from {
        number.checked_mul(power)
    } else {
        (number % power == 0).then_some(number / power)
    }
}

/// A call that gives a boolean, of arguments that stand for no node.
fn truth(
    kernel: Kernel,
    function: Oid,
    collation: Oid,
    args: Vec<Typed>,
) -> Result<Typed, Refusal> {
    let (left, right) = two(args)?;
    Ok(boolean(match kernel {
        Kernel::Compare(op, operands) => compare(op, operands, collation, left, right)?,
        Kernel::CompareDateTimestamp { op, swapped } => date_timestamp(op, swapped, left, right),
        Kernel::Like { negated, fold_case } => {
            strings::like(left, &right, collation, negated, fold_case)?
        }
        Kernel::StartsWith => strings::starts_with(left, &right, collation)?,
        Kernel::RegexpMatch { negated, fold_case } => {
            regexps::matches(left, &right, collation, negated, fold_case)?
        }
        _ => return Err(Refusal::Function(functions::function_name(function))),
    }))
}

fn two(args: Vec<Typed>) -> Result<(Typed, Typed), Refusal> {
    let args: Result<[Typed; 2], _> = args.try_into();
    args.map(|[left, right]| (left, right)).map_err(|_| Refusal::Node("arguments".to_owned()))
}

fn one(args: Vec<Typed>) -> Result<Typed, Refusal> {
    let args: Result<[Typed; 1], _> = args.try_into();
    args.map(|[arg]| arg).map_err(|_| Refusal::Node("arguments".to_owned()))
}

/// A comparison whose operands are held alike.
fn compare(
    op: CompareOp,
    operands: Operands,
    collation: Oid,
    left: Typed,
    right: Typed,
) -> Result<Expr, Refusal> {
    let (left, right) = comparable(op, operands, collation, left, right)?;
    Ok(Expr::Compare { op, left: Box::new(left.expr), right: Box::new(right.expr) })
}

/// Operands whose data compares as they do.
fn comparable(
    op: CompareOp,
    operands: Operands,
    collation: Oid,
    mut left: Typed,
    mut right: Typed,
) -> Result<(Typed, Typed), Refusal> {
    let equality = matches!(op, CompareOp::Eq | CompareOp::Ne);
    match operands {
        Operands::Text if equality => collation::require_deterministic(collation)?,
        Operands::Text => collation::require_c_order(collation)?,
        Operands::BpChar => {
            collation::require_deterministic(collation)?;
            strings::align_bpchar(&mut left, &mut right)?;
        }
        Operands::Plain | Operands::Bytewise => {}
    }
    let opaque = |typed: &Typed| typed.value == ValueType::Numeric && !typed.is_null();
    if opaque(&left) || opaque(&right) {
        return Err(Refusal::Type("numeric".to_owned()));
    }
    let free = left.is_null() || right.is_null();
    if !free && left.value.class() != right.value.class() {
        return Err(Refusal::Type(types::type_name(right.type_id)));
    }
    Ok((left, right))
}

fn date_timestamp(op: CompareOp, swapped: bool, left: Typed, right: Typed) -> Expr {
    let (op, date, timestamp) = if swapped {
        let mirrored = match op {
            CompareOp::Lt => CompareOp::Gt,
            CompareOp::Le => CompareOp::Ge,
            CompareOp::Gt => CompareOp::Lt,
            CompareOp::Ge => CompareOp::Le,
            same => same,
        };
        (mirrored, right, left)
    } else {
        (op, left, right)
    };
    times::compare_date_timestamp(op, date.expr, timestamp.expr)
}

/// A kernel with its arguments.
fn apply(
    node: *mut Node,
    kernel: Kernel,
    function: Oid,
    collation: Oid,
    args: Vec<Typed>,
) -> Result<Typed, Refusal> {
    let name = || Refusal::Function(functions::function_name(function));
    let value = result_of(node)?.0;
    let expr = match kernel {
        Kernel::Compare(..)
        | Kernel::CompareDateTimestamp { .. }
        | Kernel::Like { .. }
        | Kernel::RegexpMatch { .. }
        | Kernel::StartsWith => return truth(kernel, function, collation, args),
        Kernel::Arith(op, NumberKind::Decimal) => return decimal(node, op, args),
        Kernel::Arith(op, kind) => {
            let (left, right) = two(args)?;
            Expr::Arith { op, kind, left: Box::new(left.expr), right: Box::new(right.expr) }
        }
        Kernel::Negate(kind) => {
            return sign(node, kind, args, |kind, arg| Expr::Negate { kind, arg });
        }
        Kernel::Abs(kind) => return sign(node, kind, args, |kind, arg| Expr::Abs { kind, arg }),
        Kernel::Identity => {
            let arg = one(args)?;
            let value = if value == ValueType::Numeric { arg.value } else { value };
            return typed_as(node, value, arg.expr);
        }
        Kernel::Cast(to) => {
            let arg = one(args)?;
            if arg.value.class() == DataClass::Bytes && !arg.is_null() {
                return Err(Refusal::Type(types::type_name(arg.type_id)));
            }
            let expr = Expr::Cast { to, arg: Box::new(arg.expr) };
            let value =
                if value == ValueType::Numeric { ValueType::Decimal { scale: 0 } } else { value };
            return typed_as(node, value, expr);
        }
        Kernel::RegexpLike => regexps::like(args, collation)?,
        Kernel::RegexpReplace => regexps::replace(args, collation)?,
        Kernel::CharLength => strings::char_length(one(args)?)?,
        Kernel::OctetLength => Expr::OctetLength(Box::new(one(args)?.expr)),
        Kernel::LetterCase { upper } => {
            collation::require_c_case(collation)?;
            Expr::AsciiCase { upper, arg: Box::new(one(args)?.expr) }
        }
        Kernel::StrPos => {
            collation::require_deterministic(collation)?;
            strings::require_utf8()?;
            let (arg, needle) = two(args)?;
            Expr::StrPos { arg: Box::new(arg.expr), needle: Box::new(needle.expr) }
        }
        Kernel::Substring => Translator::substring(args)?,
        Kernel::DateTrunc { zoned } => {
            let (unit, arg) = two(args)?;
            let Some(Scalar::Bytes(unit)) = unit.constant() else {
                return Err(Refusal::NotConstant);
            };
            times::date_trunc(unit, arg.expr, zoned)?
        }
        Kernel::Extract { source, float } => {
            let (field, arg) = two(args)?;
            let Some(Scalar::Bytes(field)) = field.constant() else {
                return Err(Refusal::NotConstant);
            };
            let (expr, scale) = times::extract(field, arg.expr, source, float)?;
            let value = if float { ValueType::Float8 } else { ValueType::Decimal { scale } };
            return typed_as(node, value, expr);
        }
        Kernel::DateToTimestamp => Expr::DateToTimestamp(Box::new(one(args)?.expr)),
        Kernel::TimestampToDate => Expr::TimestampToDate(Box::new(one(args)?.expr)),
        Kernel::DateAddDays { subtract, swapped } => {
            let (left, right) = two(args)?;
            let (date, days) = if swapped { (right, left) } else { (left, right) };
            Expr::DateAddDays { date: Box::new(date.expr), days: Box::new(days.expr), subtract }
        }
        Kernel::DateDiff => {
            let (left, right) = two(args)?;
            Expr::DateDiff { left: Box::new(left.expr), right: Box::new(right.expr) }
        }
    };
    if matches!(value, ValueType::Numeric | ValueType::Decimal { .. }) {
        return Err(name());
    }
    typed_as(node, value, expr)
}

/// The decimal places of a numeric argument, if it is decimal.
fn scale_of(arg: &Typed) -> Result<u8, Refusal> {
    match arg.value {
        ValueType::Decimal { scale } => Ok(scale),
        _ if arg.is_null() => Ok(0),
        _ => Err(Refusal::Type(types::type_name(arg.type_id))),
    }
}

/// Arithmetic of numeric: the result displays the larger scale, a product the sum of scales.
fn decimal(node: *mut Node, op: ArithOp, args: Vec<Typed>) -> Result<Typed, Refusal> {
    let (left, right) = two(args)?;
    let (a, b) = (scale_of(&left)?, scale_of(&right)?);
    // NaN displays no places and passes its scale on to nothing, so that scales are those of the types.
    let scale = if op == ArithOp::Mul { a.saturating_add(b) } else { a.max(b) };
    if i32::from(scale) > types::MAX_DIGITS {
        return Err(Refusal::Constant);
    }
    let kind = NumberKind::Decimal;
    let expr = Expr::Arith { op, kind, left: Box::new(left.expr), right: Box::new(right.expr) };
    typed_as(node, ValueType::Decimal { scale }, expr)
}

/// A change of sign, which keeps how a number is held.
fn sign(
    node: *mut Node,
    kind: NumberKind,
    args: Vec<Typed>,
    make: fn(NumberKind, Box<Expr>) -> Expr,
) -> Result<Typed, Refusal> {
    let arg = one(args)?;
    let value = match kind {
        NumberKind::Decimal => ValueType::Decimal { scale: scale_of(&arg)? },
        _ => arg.value,
    };
    typed_as(node, value, make(kind, Box::new(arg.expr)))
}
