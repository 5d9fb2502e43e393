//! Statements that insert usage rows. Columns that have the same plain value in all rows are written as literals: a third
//! of the columns of a usual call are zero or empty, and binding a value costs more than storing it.

use std::fmt::Write as _;

use parking_lot::Mutex;
use sqlx::SqlStr;

use super::booking::{COLUMNS, WIDTH};
use crate::database::{Value, sql};

/// Statements that are kept, so that the database prepares few. Unusual rows are bound whole.
const MAX_STATEMENTS: usize = 64;

/// The form of a column in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    Bound,
    Zero,
    Null,
    EmptyText,
}

impl Form {
    fn of(value: &Value<'_>) -> Self {
        match value {
            Value::Integer(None) | Value::Text(None) => Self::Null,
            Value::Integer(Some(0)) => Self::Zero,
            Value::Text(Some("")) => Self::EmptyText,
            Value::Shared(text) if text.is_empty() => Self::EmptyText,
            Value::Integer(_) | Value::Text(_) | Value::Bytes(_) | Value::Shared(_) => Self::Bound,
        }
    }
}

type Forms = [Form; WIDTH];

/// The statements for usage rows, built when they are first needed.
pub(super) struct UsageInserts {
    postgres: bool,
    statements: Mutex<foldhash::HashMap<(Forms, usize), SqlStr>>,
}

impl UsageInserts {
    pub(super) fn new(postgres: bool) -> Self {
        Self { postgres, statements: Mutex::default() }
    }

    /// The statement for these rows; removes the values that are literals in it.
    pub(super) fn statement(&self, values: &mut Vec<Value<'_>>) -> SqlStr {
        let rows = values.len() / WIDTH;
        let mut forms = common_forms(values);
        let mut statements = self.statements.lock();
        if statements.len() >= MAX_STATEMENTS && !statements.contains_key(&(forms, rows)) {
            forms = [Form::Bound; WIDTH];
        }
        let mut columns = forms.iter().cycle();
        values.retain(|_| columns.next() == Some(&Form::Bound));
        statements.entry((forms, rows)).or_insert_with(|| sql(text(&forms, rows, self.postgres))).clone()
    }
}

/// The form of each column: a literal if all rows have the same one.
fn common_forms(values: &[Value<'_>]) -> Forms {
    let mut rows = values.chunks_exact(WIDTH);
    let mut forms = [Form::Bound; WIDTH];
    if let Some(first) = rows.next() {
        forms.iter_mut().zip(first).for_each(|(form, value)| *form = Form::of(value));
    }
    for row in rows {
        for (form, value) in forms.iter_mut().zip(row) {
            if *form != Form::Bound && *form != Form::of(value) {
                *form = Form::Bound;
            }
        }
    }
    forms
}

fn text(forms: &Forms, rows: usize, postgres: bool) -> String {
    let mut text = format!("INSERT INTO usage ({}) VALUES ", &*COLUMNS);
    let mut parameter = 0;
    for row in 0..rows {
        text.push_str(if row == 0 { "(" } else { ", (" });
        for (column, form) in forms.iter().enumerate() {
            if column > 0 {
                text.push_str(", ");
            }
            match form {
                Form::Zero => text.push('0'),
                Form::Null => text.push_str("NULL"),
                Form::EmptyText => text.push_str("''"),
                // Numbered for PostgreSQL only: SQLite looks up numbered parameters by linear search.
                Form::Bound if postgres => {
                    parameter += 1;
                    // Writing to a string does not fail.
                    let _ = write!(text, "${parameter}");
                }
                Form::Bound => text.push('?'),
            }
        }
        text.push(')');
    }
    text.push_str(" ON CONFLICT (at, id) DO NOTHING");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_with_one_plain_value_are_literals() {
        let inserts = UsageInserts::new(true);
        let mut values = vec![Value::Integer(Some(0)); 2 * WIDTH];
        values[1] = Value::Text(None);
        values[WIDTH + 1] = Value::Text(None);
        values[2] = Value::Text(Some(""));
        values[WIDTH + 2] = Value::Text(Some("x"));
        values[3] = Value::Integer(Some(7));
        let statement = inserts.statement(&mut values);
        assert_eq!(values.len(), 4, "two columns of two rows are bound");
        let text = statement.as_str();
        assert!(text.contains("VALUES (0, NULL, $1, $2, 0,"), "{text}");
        assert!(text.contains("), (0, NULL, $3, $4, 0,"), "{text}");
    }

    #[test]
    fn the_number_of_statements_is_bounded() {
        let inserts = UsageInserts::new(false);
        for number in 0..200u64 {
            let mut values: Vec<_> =
                (0..WIDTH).map(|column| Value::Integer(Some((number >> (column % 8) & 1) as i64))).collect();
            inserts.statement(&mut values);
        }
        assert!(inserts.statements.lock().len() <= MAX_STATEMENTS + 1);
    }
}
