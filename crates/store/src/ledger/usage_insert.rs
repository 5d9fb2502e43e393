//! Statements that insert usage rows. Binding a value costs more than storing it, so that a statement binds only what
//! differs between its rows: columns that have the same plain value in all rows are written as literals, and labels and a
//! few other columns that all rows share are bound once.

mod forms;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::sync::LazyLock;

use foldhash::HashMap;
use parking_lot::Mutex;
use sqlx::SqlStr;

use self::forms::{Form, Forms, common_forms};
use super::booking::{WIDTH, columns};
use crate::database::{Value, sql};

/// Statements that are kept, so that the database prepares few. Further combinations of forms use the most similar of
/// these, else one that binds every column, of which there is one for each number of rows.
const MAX_STATEMENTS: usize = 64;

/// The columns in the order of the table. SQLite evaluates values that come in this order directly into the row, and
/// copies those in any other order once more.
const TABLE_ORDER: [&str; WIDTH] = [
    "at",
    "id",
    "request_id",
    "provider_id",
    "model",
    "requested_model",
    "provider",
    "provider_name",
    "endpoint",
    "user_path",
    "auth_key_id",
    "tenant_id",
    "cache_type",
    "status",
    "stream",
    "estimated",
    "input",
    "cache_read",
    "cache_write_5m",
    "cache_write_1h",
    "audio_input",
    "output",
    "reasoning",
    "audio_output",
    "input_cost",
    "output_cost",
    "cost_source",
    "duration_us",
    "first_byte_us",
    "detail",
    "run",
    "saved_cost",
    "cache_miss",
    "prompt_cache_savings",
];

/// The places in a booking's values of the columns in `TABLE_ORDER`.
static PLACES: LazyLock<[usize; WIDTH]> = LazyLock::new(|| {
    // The test of `TABLE_ORDER` finds names that are missing.
    TABLE_ORDER.map(|name| columns().position(|column| column == name).unwrap_or_default())
});

/// The statements for usage rows, built when they are first needed.
pub(super) struct UsageInserts {
    postgres: bool,
    statements: Mutex<HashMap<(Forms, usize), SqlStr>>,
}

impl UsageInserts {
    pub(super) fn new(postgres: bool) -> Self {
        Self { postgres, statements: Mutex::default() }
    }

    /// The statement for rows of bookings, and the values that it binds.
    pub(super) fn statement<'a>(&self, rows: &[Value<'a>]) -> (SqlStr, Vec<Value<'a>>) {
        let (forms, text) = self.prepare(common_forms(rows), rows.len() / WIDTH);
        let with = |form| PLACES.iter().copied().filter(move |place| forms[*place] == form);
        let mut bound = [0; WIDTH];
        let count = bound.iter_mut().zip(with(Form::Bound)).map(|(slot, place)| *slot = place).count();
        let mut values = Vec::with_capacity(WIDTH + rows.len() / WIDTH * count);
        values.extend(with(Form::Shared).map(|place| rows[place]));
        for row in rows.chunks_exact(WIDTH) {
            values.extend(bound[..count].iter().map(|place| row[*place]));
        }
        (text, values)
    }

    /// The statement with these forms, or with similar ones if too many are kept already; returns its forms.
    fn prepare(&self, forms: Forms, rows: usize) -> (Forms, SqlStr) {
        let mut statements = self.statements.lock();
        if let Some(text) = statements.get(&(forms, rows)) {
            return (forms, text.clone());
        }
        let mut forms = forms;
        if statements.len() >= MAX_STATEMENTS {
            let kept = statements.keys().filter(|(kept, size)| *size == rows && forms::fit(&forms, kept));
            forms = kept.map(|(kept, _)| *kept).min_by_key(forms::bound).unwrap_or([Form::Bound; WIDTH]);
        }
        let text = statements.entry((forms, rows)).or_insert_with(|| sql(text(&forms, rows, self.postgres)));
        (forms, text.clone())
    }
}

fn text(forms: &Forms, rows: usize, postgres: bool) -> String {
    if postgres {
        return format!("{} VALUES {}{CONFLICT}", insert("INSERT"), numbered_rows(forms, rows));
    }
    // A row that violates a constraint rolls the transaction back. `execute` failed then, so that it would be rolled back
    // anyway, and without this clause SQLite copies the pages that a statement changes, to undo only the statement.
    let insert = insert("INSERT OR ROLLBACK");
    if !forms.contains(&Form::Shared) {
        let row = joined(forms, |form| form.literal().unwrap_or("?").to_owned());
        return format!("{insert} VALUES {}{CONFLICT}", repeated(&row, rows));
    }
    // Parameters are positional, because SQLite looks up numbered ones by linear search. So each is in the text once.
    let mut column = 0;
    let selected = joined(forms, |form| match form {
        Form::Bound => {
            column += 1;
            format!("column{column}")
        }
        form => form.literal().unwrap_or("?").to_owned(),
    });
    let bound = vec!["?"; forms::bound(forms)].join(", ");
    // Without the condition, ON CONFLICT would be parsed as that of a join.
    format!("{insert} SELECT {selected} FROM (VALUES {}) WHERE true{CONFLICT}", repeated(&bound, rows))
}

const CONFLICT: &str = " ON CONFLICT (at, id) DO NOTHING";

fn insert(verb: &str) -> String {
    format!("{verb} INTO usage ({})", TABLE_ORDER.join(", "))
}

/// Lists the columns of a row.
fn joined(forms: &Forms, column: impl FnMut(Form) -> String) -> String {
    PLACES.iter().map(|place| forms[*place]).map(column).collect::<Vec<_>>().join(", ")
}

fn repeated(row: &str, rows: usize) -> String {
    vec![format!("({row})"); rows].join(", ")
}

/// Rows with numbered parameters: those that all rows share come first, and each row names them again.
fn numbered_rows(forms: &Forms, rows: usize) -> String {
    let mut text = String::new();
    let mut bound = forms.iter().filter(|form| **form == Form::Shared).count();
    for row in 0..rows {
        let mut shared = 0;
        let columns = joined(forms, |form| {
            let number = match form {
                Form::Bound => &mut bound,
                Form::Shared => &mut shared,
                literal => return literal.literal().unwrap_or_default().to_owned(),
            };
            *number += 1;
            format!("${number}")
        });
        // Writing to a string does not fail.
        let _ = write!(text, "{}({columns})", if row == 0 { "" } else { ", " });
    }
    text
}
