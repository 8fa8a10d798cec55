//! Aggregates that no kernel folds: PostgreSQL's own transition function is called for each row of a batch.
//!
//! Does not qualify: direct arguments of ordered-set aggregates that are not the same for all groups, and what
//! [`super::aggregates`] refuses for any aggregate. Arguments, with those that only order the others, are evaluated as those of
//! any other aggregate.

use super::Translator;
use super::aggregates::Aggregate;
use super::finish::Finish;
use super::functions::function_name;
use super::lists;
use super::refusal::Refusal;
use super::types::ValueType;
use crate::exec::node::is_ordered;
use columnar_exec::Expr;
use columnar_exec::agg::{AggKind, AggSpec};
use pgrx::pg_sys;

/// An aggregate whose transition function is called.
#[derive(Clone, Debug)]
pub struct Call {
    /// The original.
    pub aggref: *mut pg_sys::Aggref,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// How each is held.
    pub inputs: Vec<ValueType>,
    /// Why no kernel folds it.
    pub reason: Refusal,
}

impl Translator {
    /// The aggregate by its transition function; `why` tells why no kernel folds it.
    pub(super) fn by_transition(
        &mut self,
        aggref: &mut pg_sys::Aggref,
        why: Refusal,
    ) -> Result<Aggregate, Refusal> {
        let whole = match aggref.aggsplit {
            pg_sys::AggSplit::AGGSPLIT_SIMPLE => true,
            pg_sys::AggSplit::AGGSPLIT_INITIAL_SERIAL => !is_ordered(aggref),
            _ => false,
        };
        if !whole || aggref.agglevelsup != 0 {
            return Err(why);
        }
        let direct: *mut pg_sys::Node = aggref.aggdirectargs.cast();
        // SAFETY: the arguments of a live aggregate.
        let varies = unsafe {
            pg_sys::contain_var_clause(direct)
                || pg_sys::contain_subplans(direct)
                || pg_sys::contain_volatile_functions(direct)
        };
        if varies {
            let name = function_name(aggref.aggfnoid);
            return Err(Refusal::AggregateFunction(name, "direct argument that may vary"));
        }
        let reason = match why {
            Refusal::AggregateFunction(..) => why,
            why => Refusal::AggregateOf(function_name(aggref.aggfnoid), Box::new(why)),
        };
        let condition = match aggref.aggfilter.is_null() {
            true => None,
            false => Some(self.any(aggref.aggfilter.cast())?.expr),
        };
        let (mut args, mut inputs) = (Vec::new(), Vec::new());
        // SAFETY: the arguments of a live aggregate are target entries.
        for entry in unsafe { lists::nodes(aggref.args) } {
            // SAFETY: as above.
            let typed = self.any(unsafe { (*entry.cast::<pg_sys::TargetEntry>()).expr.cast() })?;
            args.push(typed.expr);
            inputs.push(typed.value);
        }
        let filtered = condition.is_some();
        Ok(Aggregate {
            spec: AggSpec { kind: AggKind::Transition, distinct: None, filtered },
            arg: None,
            condition,
            finish: Finish::Function,
            call: Some(Call { aggref, args, inputs, reason }),
        })
    }
}
