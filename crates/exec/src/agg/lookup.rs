//! Shortcuts from a single key to its number, around the hash table.
//!
//! An integer key whose values lie close together is an index into an array. A string that comes as a code of a dictionary
//! is hashed once a dictionary; after that the code is an index into an array. What the array does not know is found in the
//! hash table, and the array learns it.

use super::memory::{allocated, refill, reserve};
use super::table::{CHUNK, KeyTable};
use crate::column::{Column, Data};
use crate::error::ExecError;

const UNKNOWN: u32 = u32::MAX;
/// Most values of an integer key between the least and the largest.
const WIDEST: u64 = 1 << 16;

/// What is known of a single key.
#[derive(Debug, Default)]
pub(super) struct Shortcut {
    /// Integers lay too far apart.
    scattered: bool,
    /// The least integer in `numbers`.
    low: i64,
    /// The dictionary of the codes in `numbers`; 0 for integers.
    dictionary: u64,
    /// Numbers by integer or code.
    numbers: Vec<u32>,
    /// Rows whose number is looked for in the table.
    missing: Vec<u32>,
    found: Vec<u32>,
}

impl Shortcut {
    /// Bytes allocated.
    pub fn memory_size(&self) -> usize {
        allocated(&self.numbers) + allocated(&self.missing) + allocated(&self.found)
    }

    /// Finds the numbers of all rows, or gives false where there is no shortcut.
    pub fn find(
        &mut self,
        table: &mut KeyTable,
        column: &Column,
        rows: usize,
        numbers: &mut Vec<u32>,
    ) -> Result<bool, ExecError> {
        let nulls = column.nulls.as_ref().map(|nulls| &nulls[..rows]);
        match &column.data {
            Data::Int(values) => {
                let values = &values[..rows];
                if self.scattered || !self.cover(values, nulls)? {
                    return Ok(false);
                }
                let low = self.low;
                self.look_up(table, column, values, nulls, numbers, |&value| {
                    value.wrapping_sub(low) as usize
                })?;
            }
            Data::Dict(codes) => {
                let dictionary = &codes.dictionary;
                if self.dictionary != dictionary.id || self.numbers.len() != dictionary.len() {
                    self.dictionary = dictionary.id;
                    refill(&mut self.numbers, dictionary.len(), UNKNOWN)?;
                }
                let codes = &codes.codes[..rows];
                self.look_up(table, column, codes, nulls, numbers, |&code| code as usize)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Makes the array reach over some integers; false if they lie too far apart.
    fn cover(&mut self, values: &[i64], nulls: Option<&[bool]>) -> Result<bool, ExecError> {
        let range = match nulls {
            None => values.iter().fold((i64::MAX, i64::MIN), |(low, high), &value| {
                (low.min(value), high.max(value))
            }),
            Some(nulls) => values
                .iter()
                .zip(nulls)
                .filter(|(_, null)| !**null)
                .fold((i64::MAX, i64::MIN), |(low, high), (&value, _)| {
                    (low.min(value), high.max(value))
                }),
        };
        let (mut low, mut high) = range;
        if low > high {
            // All NULL.
            return Ok(true);
        }
        let known = self.numbers.len();
        if known > 0 {
            low = low.min(self.low);
            high = high.max(self.low + (known as i64 - 1));
        }
        if high.abs_diff(low) >= WIDEST {
            self.scattered = true;
            self.numbers = Vec::new();
            return Ok(false);
        }
        let len = (high.abs_diff(low) + 1) as usize;
        if len != known {
            let mut wider = Vec::new();
            refill(&mut wider, len, UNKNOWN)?;
            if known > 0 {
                let at = self.low.abs_diff(low) as usize;
                wider[at..at + known].copy_from_slice(&self.numbers);
            }
            self.numbers = wider;
            self.low = low;
        }
        Ok(true)
    }

    fn look_up<T>(
        &mut self,
        table: &mut KeyTable,
        column: &Column,
        values: &[T],
        nulls: Option<&[bool]>,
        numbers: &mut Vec<u32>,
        index: impl Fn(&T) -> usize,
    ) -> Result<(), ExecError> {
        reserve(numbers, values.len())?;
        match nulls {
            None => numbers.extend(values.iter().map(|value| self.numbers[index(value)])),
            Some(nulls) => numbers.extend(
                values
                    .iter()
                    .zip(nulls)
                    .map(|(value, &null)| if null { UNKNOWN } else { self.numbers[index(value)] }),
            ),
        }
        // New values in the order in which they came, which is the order of the groups.
        let mut null_number = UNKNOWN;
        let mut from = 0;
        while let Some(next) = numbers[from..].iter().position(|&number| number == UNKNOWN) {
            from += next;
            let to = values.len().min(from + CHUNK);
            self.missing.clear();
            for row in from..to {
                if numbers[row] != UNKNOWN {
                    continue;
                }
                if nulls.is_some_and(|nulls| nulls[row]) {
                    if null_number == UNKNOWN {
                        self.missing.push(row as u32);
                    } else {
                        numbers[row] = null_number;
                    }
                } else {
                    // It may have been learnt since.
                    let known = self.numbers[index(&values[row])];
                    if known == UNKNOWN {
                        self.missing.push(row as u32);
                    } else {
                        numbers[row] = known;
                    }
                }
            }
            if !self.missing.is_empty() {
                self.found.clear();
                let missing = [column.gather(&self.missing)];
                table.find_encoded(&missing, 0, self.missing.len(), &mut self.found)?;
                for (&row, &number) in self.missing.iter().zip(&self.found) {
                    let row = row as usize;
                    numbers[row] = number;
                    if nulls.is_some_and(|nulls| nulls[row]) {
                        null_number = number;
                    } else {
                        self.numbers[index(&values[row])] = number;
                    }
                }
            }
            from = to;
        }
        Ok(())
    }
}
