//! Nodes other than calls: columns, constants, logic, CASE and its kin.

use super::lists;
use super::refusal::Refusal;
use super::types::{self, ValueType};
use super::{Translator, Typed, result_of, values};
use columnar_exec::expr::BoolTest;
use columnar_exec::{Expr, Scalar, numeric};
use pgrx::pg_sys::{self, Node, NodeTag, Oid};

/// Most decimal places of a constant.
const MAX_CONSTANT_SCALE: u8 = 38;

impl Translator {
    /// A node that a kernel computes, its arguments in any way.
    ///
    /// # Safety
    /// `node` is a live expression tree.
    pub(super) unsafe fn node(&mut self, node: *mut Node) -> Result<Typed, Refusal> {
        if node.is_null() {
            return Err(Refusal::Node("NULL".to_owned()));
        }
        // SAFETY: the tag tells the node's type, and children of a live tree are live.
        unsafe {
            match lists::tag(node) {
                NodeTag::T_Var => self.var(&*node.cast()),
                NodeTag::T_Const => constant(&*node.cast()),
                NodeTag::T_RelabelType => self.relabel(&*node.cast()),
                NodeTag::T_CollateExpr => {
                    let collate = &*node.cast::<pg_sys::CollateExpr>();
                    let arg = self.any(collate.arg.cast())?;
                    Ok(Typed { collation: collate.collOid, ..arg })
                }
                NodeTag::T_PlaceHolderVar => {
                    self.any((*node.cast::<pg_sys::PlaceHolderVar>()).phexpr.cast())
                }
                NodeTag::T_RestrictInfo => {
                    self.any((*node.cast::<pg_sys::RestrictInfo>()).clause.cast())
                }
                NodeTag::T_TargetEntry => {
                    self.any((*node.cast::<pg_sys::TargetEntry>()).expr.cast())
                }
                NodeTag::T_FuncExpr => self.function(node, &*node.cast()),
                NodeTag::T_OpExpr => self.operator(node, &mut *node.cast()),
                NodeTag::T_DistinctExpr => self.distinct(&mut *node.cast()),
                NodeTag::T_NullIfExpr => self.null_if(&mut *node.cast()),
                NodeTag::T_ScalarArrayOpExpr => self.array_operator(&mut *node.cast()),
                NodeTag::T_BoolExpr => self.logic(&*node.cast()),
                NodeTag::T_NullTest => self.null_test(&*node.cast()),
                NodeTag::T_BooleanTest => self.boolean_test(&*node.cast()),
                NodeTag::T_CaseExpr => self.case(&*node.cast()),
                NodeTag::T_CaseTestExpr => self.case_tests.last().cloned().ok_or(Refusal::CaseTest),
                NodeTag::T_CoalesceExpr => {
                    let args = self.all((*node.cast::<pg_sys::CoalesceExpr>()).args)?;
                    let (value, args) = unify(args)?;
                    typed_as(node, value, Expr::Coalesce(args))
                }
                NodeTag::T_MinMaxExpr => self.extreme(node, &*node.cast()),
                NodeTag::T_SubPlan | NodeTag::T_AlternativeSubPlan | NodeTag::T_SubLink => {
                    Err(Refusal::SubPlan)
                }
                NodeTag::T_Aggref | NodeTag::T_GroupingFunc => Err(Refusal::Aggregate),
                NodeTag::T_WindowFunc => Err(Refusal::WindowFunction),
                other => {
                    let name = format!("{other:?}");
                    Err(Refusal::Node(name.trim_start_matches("T_").to_owned()))
                }
            }
        }
    }

    /// The nodes of a list, each in any way.
    ///
    /// # Safety
    /// `list` is NIL or a live list of expressions.
    pub(super) unsafe fn all(&mut self, list: *mut pg_sys::List) -> Result<Vec<Typed>, Refusal> {
        // SAFETY: as the caller's.
        unsafe { lists::nodes(list) }.into_iter().map(|node| self.any(node)).collect()
    }

    fn var(&mut self, var: &pg_sys::Var) -> Result<Typed, Refusal> {
        if var.varno != self.varno || var.varlevelsup != 0 {
            return Err(Refusal::OtherRelation);
        }
        match var.varattno {
            0 => return Err(Refusal::Node("whole-row Var".to_owned())),
            attno if attno < 0 => return Err(Refusal::SystemColumn),
            _ => {}
        }
        let column = self.column(var.varattno)?;
        let (type_id, _) = types::base_type(var.vartype, var.vartypmod);
        if type_id != column.type_id {
            return Err(Refusal::Column);
        }
        Ok(Typed { collation: var.varcollid, ..column })
    }

    /// A change of type that leaves the datum as it is.
    unsafe fn relabel(&mut self, relabel: &pg_sys::RelabelType) -> Result<Typed, Refusal> {
        let arg = self.any(relabel.arg.cast())?;
        let (type_id, _) = types::base_type(relabel.resulttype, relabel.resulttypmod);
        let value = match types::value_type(relabel.resulttype, relabel.resulttypmod) {
            // Nothing was padded, and numeric keeps what scale it has.
            ValueType::BpChar { .. } if !matches!(arg.value, ValueType::BpChar { .. }) => {
                ValueType::BpChar { length: None }
            }
            ValueType::BpChar { .. } | ValueType::Decimal { .. } | ValueType::Numeric => arg.value,
            value => value,
        };
        let same = match (arg.value, value) {
            (
                ValueType::Int { width: from, unsigned: a, .. },
                ValueType::Int { width: to, unsigned: b, .. },
            ) => from == to && a == b,
            (ValueType::Bytes { fixed: from }, ValueType::Bytes { fixed: to }) => from == to,
            (ValueType::Text | ValueType::BpChar { .. }, ValueType::Bytes { fixed: None })
            | (ValueType::Text, ValueType::BpChar { .. }) => true,
            (from, to) => from == to,
        };
        if !same {
            return Err(Refusal::Type(types::type_name(relabel.resulttype)));
        }
        Ok(Typed { expr: arg.expr, value, type_id, collation: relabel.resultcollid })
    }

    unsafe fn logic(&mut self, logic: &pg_sys::BoolExpr) -> Result<Typed, Refusal> {
        // SAFETY: the arguments of a live node.
        let args = unsafe { self.all(logic.args)? };
        let mut args: Vec<Expr> = args.into_iter().map(|arg| arg.expr).collect();
        Ok(boolean(match logic.boolop {
            pg_sys::BoolExprType::AND_EXPR => Expr::And(args),
            pg_sys::BoolExprType::OR_EXPR => Expr::Or(args),
            _ => Expr::Not(Box::new(args.remove(0))),
        }))
    }

    unsafe fn null_test(&mut self, test: &pg_sys::NullTest) -> Result<Typed, Refusal> {
        if test.argisrow {
            return Err(Refusal::Node("NullTest of a row".to_owned()));
        }
        let arg = Box::new(self.any(test.arg.cast())?.expr);
        Ok(boolean(match test.nulltesttype {
            pg_sys::NullTestType::IS_NULL => Expr::IsNull(arg),
            _ => Expr::IsNotNull(arg),
        }))
    }

    unsafe fn boolean_test(&mut self, test: &pg_sys::BooleanTest) -> Result<Typed, Refusal> {
        let arg = Box::new(self.any(test.arg.cast())?.expr);
        let test = match test.booltesttype {
            pg_sys::BoolTestType::IS_TRUE => BoolTest::IsTrue,
            pg_sys::BoolTestType::IS_NOT_TRUE => BoolTest::IsNotTrue,
            pg_sys::BoolTestType::IS_FALSE => BoolTest::IsFalse,
            pg_sys::BoolTestType::IS_NOT_FALSE => BoolTest::IsNotFalse,
            pg_sys::BoolTestType::IS_UNKNOWN => BoolTest::IsUnknown,
            _ => BoolTest::IsNotUnknown,
        };
        Ok(boolean(Expr::BoolTest { test, arg }))
    }

    /// CASE. With a test value, each condition compares a CaseTestExpr, for which the value is put in.
    unsafe fn case(&mut self, case: &pg_sys::CaseExpr) -> Result<Typed, Refusal> {
        let depth = self.case_tests.len();
        if !case.arg.is_null() {
            let test = self.any(case.arg.cast())?;
            // It is put in once for each condition.
            if !matches!(test.expr, Expr::Column(_) | Expr::Const(_) | Expr::Param(_)) {
                return Err(Refusal::CaseTest);
            }
            self.case_tests.push(test);
        }
        let mut conditions = Vec::new();
        let mut results = Vec::new();
        // SAFETY: the arguments of a CASE are CaseWhen nodes.
        for when in unsafe { lists::nodes(case.args) } {
            // SAFETY: as above.
            let when = unsafe { &*when.cast::<pg_sys::CaseWhen>() };
            conditions.push(self.any(when.expr.cast())?.expr);
            results.push(self.any_outside_case(when.result.cast(), depth)?);
        }
        if !case.defresult.is_null() {
            results.push(self.any_outside_case(case.defresult.cast(), depth)?);
        }
        self.case_tests.truncate(depth);
        let (value, mut results) = unify(results)?;
        let otherwise = (results.len() > conditions.len()).then(|| results.pop()).flatten();
        let whens = conditions.into_iter().zip(results).collect();
        let expr = Expr::Case { whens, otherwise: otherwise.map(Box::new) };
        let (type_id, _) = types::base_type(case.casetype, -1);
        Ok(Typed { expr, value, type_id, collation: case.casecollid })
    }

    /// A result of a CASE, where the CASE's own test value is not in sight.
    fn any_outside_case(&mut self, node: *mut Node, depth: usize) -> Result<Typed, Refusal> {
        let inner = self.case_tests.split_off(depth);
        let answer = self.any(node);
        self.case_tests.extend(inner);
        answer
    }

    unsafe fn extreme(
        &mut self,
        node: *mut Node,
        minmax: &pg_sys::MinMaxExpr,
    ) -> Result<Typed, Refusal> {
        // SAFETY: the arguments of a live node.
        let mut args = unsafe { self.all(minmax.args)? };
        for arg in &mut args {
            arg.collation = minmax.inputcollid;
            arg.order()?;
        }
        let (value, args) = unify(args)?;
        let greatest = minmax.op == pg_sys::MinMaxOp::IS_GREATEST;
        typed_as(node, value, Expr::Extreme { greatest, args })
    }
}

/// A boolean.
pub(super) fn boolean(expr: Expr) -> Typed {
    Typed { expr, value: ValueType::Bool, type_id: pg_sys::BOOLOID, collation: Oid::INVALID }
}

/// What a node gives, held as `value`.
pub(super) fn typed_as(node: *mut Node, value: ValueType, expr: Expr) -> Result<Typed, Refusal> {
    let (_, type_id, collation) = result_of(node)?;
    Ok(Typed { expr, value, type_id, collation })
}

/// A constant. Finite numeric becomes decimal whatever its type modifier: it displays the places it has.
fn constant(constant: &pg_sys::Const) -> Result<Typed, Refusal> {
    let (datum, is_null) = (constant.constvalue, constant.constisnull);
    if !types::is_storable(constant.consttype) && !is_null {
        return Err(Refusal::Type(types::type_name(constant.consttype)));
    }
    let (type_id, _) = types::base_type(constant.consttype, constant.consttypmod);
    let mut value = types::value_type(constant.consttype, constant.consttypmod);
    if let ValueType::BpChar { length: Some(_) } = value {
        // Constants are folded with a modifier that was not applied where they were written with it.
        value = ValueType::BpChar { length: None };
    }
    if type_id == pg_sys::NUMERICOID && !is_null {
        // SAFETY: a numeric.
        let decoded = unsafe { crate::am::group::types::with_payload(datum, numeric::decode) };
        value = ValueType::Numeric;
        if let Some((number, scale)) = decoded.filter(|(_, scale)| *scale <= MAX_CONSTANT_SCALE) {
            let expr = Expr::Const(Scalar::Decimal(number, scale));
            let value = ValueType::Decimal { scale };
            return Ok(Typed { expr, value, type_id, collation: Oid::INVALID });
        }
    }
    // SAFETY: the constant is of its type.
    let scalar = unsafe { values::scalar_of(datum, is_null, &value) }.ok_or(Refusal::Constant)?;
    Ok(Typed { expr: Expr::Const(scalar), value, type_id, collation: constant.constcollid })
}

/// Expressions of which one is chosen: they must be held alike. NULLs fit any.
fn unify(args: Vec<Typed>) -> Result<(ValueType, Vec<Expr>), Refusal> {
    let mut value: Option<ValueType> = None;
    for arg in args.iter().filter(|arg| !arg.is_null()) {
        value = Some(match (value, arg.value) {
            (None, first) => first,
            (Some(known), next) if known == next => known,
            (Some(ValueType::BpChar { .. }), ValueType::BpChar { .. }) => {
                ValueType::BpChar { length: None }
            }
            (Some(ValueType::Decimal { .. }), ValueType::Decimal { .. }) => {
                return Err(Refusal::MixedScales);
            }
            _ => return Err(Refusal::Type(types::type_name(arg.type_id))),
        });
    }
    let value = match (value, args.first()) {
        (Some(value), _) => value,
        (None, Some(null)) => null.value,
        (None, None) => return Err(Refusal::Node("empty list".to_owned())),
    };
    Ok((value, args.into_iter().map(|arg| arg.expr).collect()))
}
