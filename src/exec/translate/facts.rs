//! What stands in an expression tree: whether PostgreSQL can evaluate it row by row, and from which columns.

use super::functions;
use super::lists::{self, cast};
use super::refusal::Refusal;
use crate::ports;
use pgrx::pg_sys::{self, Node, NodeTag};

/// What was found.
#[derive(Debug)]
pub struct Facts {
    varno: i32,
    /// Attributes that are read, ascending.
    pub attnos: Vec<i16>,
    /// What stands against evaluating it row by row.
    pub refusal: Option<Refusal>,
    /// Whether the same input always gives the same value.
    pub immutable: bool,
    /// Whether a CaseTestExpr occurs.
    pub case_test: bool,
    whole_row: bool,
    varying: bool,
}

impl Facts {
    /// Those of an expression over relation `varno` with that descriptor.
    ///
    /// # Safety
    /// `node` is a live expression tree, `desc` a live descriptor.
    pub unsafe fn of(node: *mut Node, varno: i32, desc: pg_sys::TupleDesc) -> Self {
        let mut facts = Self {
            varno,
            attnos: Vec::new(),
            refusal: None,
            immutable: false,
            case_test: false,
            whole_row: false,
            varying: false,
        };
        // SAFETY: as the caller's; the walker gets what it is given here.
        unsafe {
            let context = (&raw mut facts).cast();
            // An ERROR below leaves through here: frames of the walk hold nothing to drop.
            pg_sys::ffi::pg_guard_ffi_boundary(|| walk(node, context));
            if facts.refusal.is_none() {
                if pg_sys::contain_volatile_functions(node) {
                    facts.refusal = Some(Refusal::Volatile);
                } else if pg_sys::expression_returns_set(node) {
                    facts.refusal = Some(Refusal::SetReturning);
                }
            }
            facts.immutable = !facts.varying && !pg_sys::contain_mutable_functions(node);
            if facts.whole_row {
                let live = |i: &i32| {
                    let attribute = &*ports::TupleDescAttr(desc, *i as usize);
                    !attribute.attisdropped && attribute.attgenerated != b'v' as core::ffi::c_char
                };
                facts.attnos.extend((0..(*desc).natts).filter(live).map(|i| i as i16 + 1));
            }
        }
        facts.attnos.sort_unstable();
        facts.attnos.dedup();
        facts
    }

    fn refuse(&mut self, refusal: Refusal) -> bool {
        self.refusal = Some(refusal);
        true
    }

    fn var(&mut self, var: &pg_sys::Var) -> bool {
        if var.varno != self.varno || var.varlevelsup != 0 {
            return self.refuse(Refusal::OtherRelation);
        }
        match var.varattno {
            0 => self.whole_row = true,
            attno if attno < 0 => return self.refuse(Refusal::SystemColumn),
            attno => self.attnos.push(attno),
        }
        false
    }
}

/// Collects into the [`Facts`] that `context` points at; true ends the walk.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn walk(node: *mut Node, context: *mut core::ffi::c_void) -> bool {
    if node.is_null() {
        return false;
    }
    // SAFETY: the context is the facts of `Facts::of`; the tag tells the node's type.
    unsafe {
        let facts = &mut *context.cast::<Facts>();
        match lists::tag(node) {
            NodeTag::T_Var => return facts.var(&*node.cast()),
            NodeTag::T_Param => {
                let kind = (*node.cast::<pg_sys::Param>()).paramkind;
                if kind != pg_sys::ParamKind::PARAM_EXTERN && kind != pg_sys::ParamKind::PARAM_EXEC
                {
                    return facts.refuse(Refusal::SubPlan);
                }
                facts.varying = true;
            }
            NodeTag::T_SubPlan | NodeTag::T_AlternativeSubPlan => facts.varying = true,
            NodeTag::T_CaseTestExpr => facts.case_test = true,
            NodeTag::T_SubLink => return facts.refuse(Refusal::SubPlan),
            NodeTag::T_Aggref | NodeTag::T_GroupingFunc => {
                return facts.refuse(Refusal::Aggregate);
            }
            NodeTag::T_WindowFunc => return facts.refuse(Refusal::WindowFunction),
            NodeTag::T_CurrentOfExpr | NodeTag::T_NextValueExpr | NodeTag::T_SetToDefault => {
                return facts.refuse(Refusal::Volatile);
            }
            _ => {}
        }
        ports::expression_tree_walker(node, Some(walk), context)
    }
}

/// Whether an expression is a value that may be computed when a scan starts: a Param, or functions of Params and constants
/// that cannot fail but for times out of range. A constant alone is not.
///
/// # Safety
/// `node` is a live expression tree.
pub unsafe fn is_early_value(node: *mut Node) -> bool {
    // SAFETY: as the caller's.
    unsafe { cast::<pg_sys::Const>(node, NodeTag::T_Const).is_none() && early(node) }
}

unsafe fn early(node: *mut Node) -> bool {
    // SAFETY: as the caller's; the tag tells the node's type.
    unsafe {
        if node.is_null() {
            return false;
        }
        let all = |list| lists::nodes(list).into_iter().all(|arg| early(arg));
        match lists::tag(node) {
            NodeTag::T_Const => true,
            NodeTag::T_Param => {
                let kind = (*node.cast::<pg_sys::Param>()).paramkind;
                kind == pg_sys::ParamKind::PARAM_EXTERN || kind == pg_sys::ParamKind::PARAM_EXEC
            }
            NodeTag::T_SQLValueFunction => true,
            NodeTag::T_RelabelType => early((*node.cast::<pg_sys::RelabelType>()).arg.cast()),
            NodeTag::T_FuncExpr => {
                let call = &*node.cast::<pg_sys::FuncExpr>();
                functions::is_safe_early(call.funcid) && all(call.args)
            }
            NodeTag::T_OpExpr => {
                let call = &mut *node.cast::<pg_sys::OpExpr>();
                pg_sys::set_opfuncid(call);
                functions::is_safe_early(call.opfuncid) && all(call.args)
            }
            _ => false,
        }
    }
}
