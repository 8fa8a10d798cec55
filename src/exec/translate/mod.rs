//! From PostgreSQL's expression trees to [`columnar_exec::Expr`].
//!
//! ```text
//! node ── a kernel computes it? ── yes ─ its arguments, each in the same way
//!           │ no
//!           └ no Var, safe early: a parameter of the scan
//!             evaluable row by row: an external, with the Vars it reads as inputs
//!             else: a refusal with its reason
//! ```
//!
//! Translation happens when a plan is made, to see whether it can run in batches, and again when it starts. Both answers
//! are the same in what is refused; they may differ in what is external, since that depends on the session's time zone.
//!
//! * [`types`], [`values`]: types, and datums to values and back.
//! * [`functions`]: which kernel computes which function. `calls`, `strings`, `regexps`, `times`: the kernels with their arguments.
//! * `nodes`: the other nodes. `facts`: what is evaluated by PostgreSQL.
//! * [`aggregates`], [`finish`]: aggregates, and their results.
#![allow(unsafe_code)]

pub mod aggregates;
mod calls;
pub mod collation;
mod facts;
pub mod finish;
pub mod functions;
mod lists;
mod nodes;
mod numeric_state;
mod refusal;
mod regexps;
mod strings;
mod times;
pub mod transitions;
pub mod types;
pub mod values;

pub use calls::late_elements;
pub use refusal::Refusal;
pub use types::{ValueType, value_type};
pub use values::{datum_of, scalar_of};

use crate::ports;
use columnar_exec::{Expr, Scalar, agg};
use facts::Facts;
use pgrx::pg_sys::{self, Node, Oid};
use types::DataClass;

/// An expression and what it gives.
#[derive(Clone, Debug)]
pub struct Typed {
    /// The expression.
    pub expr: Expr,
    /// How its values are held.
    pub value: ValueType,
    /// Their type, that below a domain.
    pub type_id: Oid,
    /// Their collation, or invalid.
    pub collation: Oid,
}

/// An expression that PostgreSQL evaluates.
#[derive(Clone, Debug)]
pub struct ExternalExpr {
    /// The original.
    pub node: *mut Node,
    /// Attributes it reads, in the order of the inputs of [`Expr::External`]. Without any, one value serves for all rows of
    /// a scan.
    pub attnos: Vec<i16>,
    /// What it gives.
    pub result: ValueType,
    /// Whether the same inputs give the same value whenever they come: nothing but immutable functions.
    pub immutable: bool,
    /// Why no kernel does it.
    pub reason: Refusal,
}

/// An array that is evaluated once when a scan starts.
#[derive(Clone, Debug)]
pub struct ListExpr {
    /// The original: a Param, or functions of constants and Params.
    pub node: *mut Node,
}

/// An expression that is evaluated once when a scan starts.
#[derive(Clone, Debug)]
pub struct ParamExpr {
    /// The original: a Param, or functions of constants and Params.
    pub node: *mut Node,
    /// What it gives.
    pub value: ValueType,
}

/// Translates the expressions of one scan.
#[derive(Debug)]
pub struct Translator {
    varno: i32,
    desc: pg_sys::TupleDesc,
    /// Attribute of each column of the batch.
    pub columns: Vec<i16>,
    /// How each is held.
    pub column_types: Vec<ValueType>,
    /// By the number in [`Expr::Param`].
    pub params: Vec<ParamExpr>,
    /// By the number in [`Expr::InParam`].
    pub lists: Vec<ListExpr>,
    /// By the number in [`Expr::External`].
    pub externals: Vec<ExternalExpr>,
    /// Whether externals are allowed.
    outside: bool,
    /// Whether lists that are not known yet are allowed: in filters.
    in_filter: bool,
    /// What CaseTestExpr stands for, innermost last.
    case_tests: Vec<Typed>,
}

/// What a translation that fails midway takes back.
struct Mark {
    columns: usize,
    params: usize,
    lists: usize,
    externals: usize,
    case_tests: usize,
}

impl Translator {
    /// For the expressions over a relation with number `varno` in the range table; `desc` is its descriptor and outlives
    /// the translator.
    pub fn new(varno: i32, desc: pg_sys::TupleDesc) -> Self {
        Self {
            varno,
            desc,
            columns: Vec::new(),
            column_types: Vec::new(),
            params: Vec::new(),
            lists: Vec::new(),
            externals: Vec::new(),
            outside: false,
            in_filter: false,
            case_tests: Vec::new(),
        }
    }

    /// The expression, if kernels do all of it with PostgreSQL's result.
    pub fn expression(&mut self, node: *mut Node) -> Result<Typed, Refusal> {
        self.start(node, false)
    }

    /// The expression; what no kernel does of it becomes [`Expr::External`].
    pub fn expression_or_external(&mut self, node: *mut Node) -> Result<Typed, Refusal> {
        self.start(node, true)
    }

    /// A condition that rows have to meet, as [`Self::expression`]; lists in it are bound when the scan starts.
    pub fn filter(&mut self, node: *mut Node) -> Result<Typed, Refusal> {
        self.in_filter = true;
        let answer = self.start(node, false);
        self.in_filter = false;
        answer
    }

    /// As [`Self::filter`] and [`Self::expression_or_external`].
    pub fn filter_or_external(&mut self, node: *mut Node) -> Result<Typed, Refusal> {
        self.in_filter = true;
        let answer = self.start(node, true);
        self.in_filter = false;
        answer
    }

    fn start(&mut self, node: *mut Node, outside: bool) -> Result<Typed, Refusal> {
        self.outside = outside;
        let mark = self.mark();
        let answer = self.any(node);
        if answer.is_err() {
            self.reset(&mark);
        }
        answer
    }

    /// The column of an attribute of the table, for expressions and for what the lead reads beside them.
    pub fn column(&mut self, attno: i16) -> Result<Typed, Refusal> {
        // SAFETY: the descriptor is the caller's and live.
        let natts = unsafe { (*self.desc).natts };
        if attno <= 0 || i32::from(attno) > natts {
            return Err(Refusal::SystemColumn);
        }
        // SAFETY: the attribute is one of the descriptor's.
        let attribute = unsafe { &*ports::TupleDescAttr(self.desc, attno as usize - 1) };
        if attribute.attisdropped || attribute.attgenerated == b'v' as core::ffi::c_char {
            return Err(Refusal::Column);
        }
        let value = value_type(attribute.atttypid, attribute.atttypmod);
        let index = match self.columns.iter().position(|known| *known == attno) {
            Some(index) => index,
            None => {
                self.columns.push(attno);
                self.column_types.push(value);
                self.columns.len() - 1
            }
        };
        let (type_id, _) = types::base_type(attribute.atttypid, attribute.atttypmod);
        let collation = attribute.attcollation;
        Ok(Typed { expr: Expr::Column(index), value, type_id, collation })
    }

    /// Any expression: a kernel, a parameter or an external.
    fn any(&mut self, node: *mut Node) -> Result<Typed, Refusal> {
        let mark = self.mark();
        // SAFETY: nodes are live parts of a plan or a query.
        if unsafe { facts::is_early_value(node) } {
            return self.param(node);
        }
        // SAFETY: as above.
        match unsafe { self.node(node) } {
            Ok(typed) => Ok(typed),
            Err(reason) => {
                self.reset(&mark);
                if self.outside { self.external(node, reason) } else { Err(reason) }
            }
        }
    }

    /// A value of the scan.
    fn param(&mut self, node: *mut Node) -> Result<Typed, Refusal> {
        let (value, type_id, collation) = result_of(node)?;
        // SAFETY: both are expression trees.
        let known =
            self.params.iter().position(|p| unsafe { pg_sys::equal(p.node.cast(), node.cast()) });
        let index = known.unwrap_or_else(|| {
            self.params.push(ParamExpr { node, value });
            self.params.len() - 1
        });
        Ok(Typed { expr: Expr::Param(index), value, type_id, collation })
    }

    /// What PostgreSQL evaluates over the columns it reads.
    fn external(&mut self, node: *mut Node, reason: Refusal) -> Result<Typed, Refusal> {
        let (result, type_id, collation) = result_of(node)?;
        // SAFETY: nodes are live parts of a plan or a query.
        let facts = unsafe { Facts::of(node, self.varno, self.desc) };
        if let Some(refusal) = facts.refusal {
            return Err(refusal);
        }
        if facts.case_test && !self.case_tests.is_empty() {
            return Err(Refusal::CaseTest);
        }
        let mut inputs = Vec::with_capacity(facts.attnos.len());
        for &attno in &facts.attnos {
            inputs.push(self.column(attno)?.expr);
        }
        // SAFETY: both are expression trees.
        let known = self
            .externals
            .iter()
            .position(|e| unsafe { pg_sys::equal(e.node.cast(), node.cast()) });
        let id = known.unwrap_or_else(|| {
            let immutable = facts.immutable;
            let attnos = facts.attnos;
            self.externals.push(ExternalExpr { node, attnos, result, immutable, reason });
            self.externals.len() - 1
        });
        let expr = Expr::External { id, inputs };
        Ok(Typed { expr, value: result, type_id, collation })
    }

    fn mark(&self) -> Mark {
        Mark {
            columns: self.columns.len(),
            params: self.params.len(),
            lists: self.lists.len(),
            externals: self.externals.len(),
            case_tests: self.case_tests.len(),
        }
    }

    fn reset(&mut self, mark: &Mark) {
        self.columns.truncate(mark.columns);
        self.column_types.truncate(mark.columns);
        self.params.truncate(mark.params);
        self.lists.truncate(mark.lists);
        self.externals.truncate(mark.externals);
        self.case_tests.truncate(mark.case_tests);
    }
}

/// How the values of an expression are held, their type and their collation.
fn result_of(node: *mut Node) -> Result<(ValueType, Oid, Oid), Refusal> {
    // SAFETY: reads an expression tree.
    let (type_id, typmod, collation) =
        unsafe { (pg_sys::exprType(node), pg_sys::exprTypmod(node), pg_sys::exprCollation(node)) };
    if !types::is_storable(type_id) {
        return Err(Refusal::Type(types::type_name(type_id)));
    }
    let (base, _) = types::base_type(type_id, typmod);
    Ok((value_type(type_id, typmod), base, collation))
}

impl Typed {
    /// The value, if it is a constant.
    pub fn constant(&self) -> Option<&Scalar> {
        match &self.expr {
            Expr::Const(value) => Some(value),
            _ => None,
        }
    }

    /// Whether it is the constant NULL.
    pub fn is_null(&self) -> bool {
        matches!(self.constant(), Some(Scalar::Null))
    }

    /// For keys: the data of its values, if values are equal exactly where their data is.
    pub fn key(&self) -> Result<agg::ValueType, Refusal> {
        let equal = match self.value {
            ValueType::Numeric => false,
            ValueType::Int { type_id, .. } => {
                types::is_enum(type_id) || has_integer_equality(type_id)
            }
            ValueType::Text => return self.bytewise_under(collation::require_deterministic),
            ValueType::BpChar { length: Some(_) } => {
                return self.bytewise_under(collation::require_deterministic);
            }
            ValueType::BpChar { length: None } => false,
            ValueType::Bytes { .. } => {
                matches!(self.type_id, pg_sys::BYTEAOID | pg_sys::UUIDOID)
            }
            _ => true,
        };
        if equal { Ok(self.data()) } else { Err(Refusal::Type(types::type_name(self.type_id))) }
    }

    /// For order, minima and maxima: the data of its values, if values are ordered as their data.
    pub fn order(&self) -> Result<agg::ValueType, Refusal> {
        let ordered = match self.value {
            ValueType::Numeric | ValueType::BpChar { .. } => false,
            ValueType::Int { type_id, .. } => has_integer_order(type_id),
            ValueType::Text => return self.bytewise_under(collation::require_c_order),
            ValueType::Bytes { .. } => {
                matches!(self.type_id, pg_sys::BYTEAOID | pg_sys::UUIDOID)
            }
            _ => true,
        };
        if ordered { Ok(self.data()) } else { Err(Refusal::Type(types::type_name(self.type_id))) }
    }

    fn bytewise_under(
        &self,
        require: fn(Oid) -> Result<(), Refusal>,
    ) -> Result<agg::ValueType, Refusal> {
        require(self.collation).map(|()| agg::ValueType::Bytes)
    }

    /// The data of its values.
    pub fn data(&self) -> agg::ValueType {
        match (self.value, self.value.class()) {
            (ValueType::Decimal { scale }, _) => agg::ValueType::Decimal(scale),
            (_, DataClass::Bool) => agg::ValueType::Bool,
            (_, DataClass::Int) => agg::ValueType::Int,
            (_, DataClass::Float) => agg::ValueType::Float,
            _ => agg::ValueType::Bytes,
        }
    }
}

/// Types passed by value that are ordered as the integers that hold them.
fn has_integer_order(type_id: Oid) -> bool {
    matches!(
        type_id,
        pg_sys::INT2OID | pg_sys::INT4OID | pg_sys::INT8OID | pg_sys::MONEYOID | pg_sys::OIDOID
    )
}

/// Types passed by value that are equal where their datums are.
fn has_integer_equality(type_id: Oid) -> bool {
    has_integer_order(type_id)
        || types::is_oid(type_id)
        || matches!(
            type_id,
            pg_sys::CHAROID | pg_sys::XIDOID | pg_sys::CIDOID | pg_sys::XID8OID | pg_sys::PG_LSNOID
        )
}
