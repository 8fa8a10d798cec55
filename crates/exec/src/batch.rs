//! A run of rows, of which some are selected.

use std::borrow::Cow;
use std::sync::Arc;

use crate::column::{Column, Scalar};
use crate::error::ExecError;

/// Where the columns of a batch come from.
pub trait ColumnSource {
    /// All rows of a column, selected or not. Asked for once at most.
    fn load(&self, column: usize) -> Result<Column, ExecError>;
}

/// Evaluates what no kernel knows, on the backend's thread.
pub trait External {
    /// The value of expression `id` for `rows` rows; `inputs` are its arguments, of `rows` rows each.
    fn evaluate(&mut self, id: usize, inputs: &[Column], rows: usize) -> Result<Column, ExecError>;

    /// Calls the transition function of [`crate::transition::Call`] number `call` for each of some rows.
    fn advance(&mut self, _call: usize, _rows: CallRows<'_>) -> Result<(), ExecError> {
        Err(ExecError::Unsupported)
    }

    /// Bytes of the states that transition functions made.
    fn memory_size(&self) -> usize {
        0
    }
}

/// Rows that a transition function is called for.
#[derive(Clone, Copy, Debug)]
pub struct CallRows<'a> {
    /// How many.
    pub len: usize,
    /// Its arguments.
    pub args: &'a [Column],
    /// Where the rows belong, by grouping set.
    pub sets: &'a [CallGroups<'a>],
}

/// The groups of rows in a grouping set.
#[derive(Clone, Debug)]
pub struct CallGroups<'a> {
    /// The group of each row; `None` where there is one group.
    pub groups: Option<Cow<'a, [u32]>>,
    /// Groups there are by now.
    pub known: usize,
}

/// What evaluation needs beside the batch. One a thread, kept from batch to batch.
#[derive(Default)]
pub struct Context<'a> {
    /// Values of [`crate::Expr::Param`].
    pub params: Vec<Scalar>,
    /// Evaluates [`crate::Expr::External`]; without it such an expression is a bug of the planner.
    pub external: Option<&'a mut dyn External>,
    /// Results of expressions over dictionaries.
    pub memo: crate::expr::Memo,
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("params", &self.params).finish_non_exhaustive()
    }
}

/// A run of rows, of which some are selected. Columns are loaded when first asked for.
pub struct Batch<'a> {
    source: &'a dyn ColumnSource,
    rows: usize,
    selection: Option<Arc<Vec<u32>>>,
    /// Loaded columns, all rows.
    whole: Vec<Option<Column>>,
    /// Loaded columns, selected rows.
    selected: Vec<Option<Column>>,
}

impl std::fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("rows", &self.rows).field("selected", &self.len()).finish()
    }
}

impl<'a> Batch<'a> {
    /// `rows` rows of `columns` columns, of which `selection` (ascending; `None` for all) are selected.
    pub fn new(
        source: &'a dyn ColumnSource,
        columns: usize,
        rows: usize,
        selection: Option<Vec<u32>>,
    ) -> Self {
        Self {
            source,
            rows,
            selection: selection.map(Arc::new),
            whole: vec![None; columns],
            selected: vec![None; columns],
        }
    }

    /// Selected rows.
    pub fn len(&self) -> usize {
        self.selection.as_ref().map_or(self.rows, |selection| selection.len())
    }

    /// Whether no row is selected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The selected rows, ascending; `None` where all are.
    pub fn selection(&self) -> Option<&Arc<Vec<u32>>> {
        self.selection.as_ref()
    }

    /// The selected rows of a column.
    pub fn column(&mut self, column: usize) -> Result<Column, ExecError> {
        if let Some(known) = &self.selected[column] {
            return Ok(known.clone());
        }
        self.load(column)?;
        let Some(whole) = &self.whole[column] else { unreachable!("column {column} was loaded") };
        let selected = match &self.selection {
            None => whole.clone(),
            Some(selection) => whole.gather(selection),
        };
        self.selected[column] = Some(selected.clone());
        Ok(selected)
    }

    /// Loads a column without picking its selected rows: before [`Batch::subset`], so that the parts share it.
    pub fn load(&mut self, column: usize) -> Result<(), ExecError> {
        if self.whole[column].is_none() {
            let loaded = self.source.load(column)?;
            assert_eq!(loaded.len, self.rows, "column {column} has other rows than its batch");
            self.whole[column] = Some(loaded);
        }
        Ok(())
    }

    /// Keeps those of the selected rows for which `keep` is true.
    pub fn narrow(&mut self, keep: &[bool]) {
        assert_eq!(keep.len(), self.len());
        let kept: Vec<u32> = match &self.selection {
            None => (0..self.rows as u32).filter(|&row| keep[row as usize]).collect(),
            Some(selection) => {
                selection.iter().zip(keep).filter(|(_, keep)| **keep).map(|(row, _)| *row).collect()
            }
        };
        if kept.len() == self.len() {
            return;
        }
        self.selection = Some(Arc::new(kept));
        self.selected.fill(None);
    }

    /// A batch of the same source in which only those of the selected rows are selected that `rows` names by their place
    /// among the selected. What is loaded already is shared.
    pub fn subset(&self, rows: &[u32]) -> Self {
        let selection = match &self.selection {
            None => rows.to_vec(),
            Some(selection) => rows.iter().map(|&row| selection[row as usize]).collect(),
        };
        Self {
            source: self.source,
            rows: self.rows,
            selection: Some(Arc::new(selection)),
            whole: self.whole.clone(),
            selected: vec![None; self.whole.len()],
        }
    }

    /// The selection, and the columns that were loaded, all rows of each.
    pub fn into_loaded(self) -> (Option<Arc<Vec<u32>>>, Vec<Option<Column>>) {
        (self.selection, self.whole)
    }
}
