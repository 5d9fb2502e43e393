//! The forms of columns in a statement that inserts usage rows.

use std::sync::LazyLock;

use crate::database::Value;
use crate::ledger::booking::{WIDTH, columns, is_label};

/// The form of a column in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// Each row binds a value.
    Bound,
    /// One value is bound for all rows.
    Shared,
    Zero,
    Null,
    EmptyText,
}

/// The form of each column, in the order of a booking's values.
pub(super) type Forms = [Form; WIDTH];

impl Form {
    /// The literal of a value, if it has one; else `Bound`.
    fn of(value: &Value<'_>) -> Self {
        match value {
            Value::Integer(None) | Value::Text(None) => Self::Null,
            Value::Integer(Some(0)) => Self::Zero,
            Value::Text(Some("")) => Self::EmptyText,
            Value::Integer(_) | Value::Text(_) | Value::Bytes(_) => Self::Bound,
        }
    }

    pub fn literal(self) -> Option<&'static str> {
        match self {
            Self::Bound | Self::Shared => None,
            Self::Zero => Some("0"),
            Self::Null => Some("NULL"),
            Self::EmptyText => Some("''"),
        }
    }
}

/// The columns that may be shared: those with few different values, so that there are few different statements.
static SHAREABLE: LazyLock<[bool; WIDTH]> = LazyLock::new(|| {
    let mut shareable = [false; WIDTH];
    for ((place, name), shareable) in columns().enumerate().zip(&mut shareable) {
        *shareable = is_label(place) || ["status", "stream", "estimated", "cost_source"].contains(&name);
    }
    shareable
});

/// The form of each column: a literal or shared if all rows have the same value.
pub(super) fn common_forms(rows: &[Value<'_>]) -> Forms {
    let Some((first, others)) = rows.split_first_chunk::<WIDTH>() else { return [Form::Bound; WIDTH] };
    let mut forms = first.each_ref().map(Form::of);
    // In a single row there is nothing to share.
    let shareable = SHAREABLE.iter().map(|shareable| *shareable && !others.is_empty());
    for ((place, form), shareable) in forms.iter_mut().enumerate().zip(shareable) {
        let mut others = others.chunks_exact(WIDTH).map(|row| &row[place]);
        *form = match *form {
            Form::Bound if shareable && others.all(|value| is_same(&first[place], value)) => Form::Shared,
            form if form != Form::Bound && others.all(|value| Form::of(value) == form) => form,
            _ => Form::Bound,
        };
    }
    forms
}

fn is_same(one: &Value<'_>, other: &Value<'_>) -> bool {
    match (one, other) {
        (Value::Integer(one), Value::Integer(other)) => one == other,
        (Value::Text(one), Value::Text(other)) => one == other,
        _ => false,
    }
}

/// True if rows with the forms `rows` can be inserted by a statement with the forms `statement`.
pub(super) fn fit(rows: &Forms, statement: &Forms) -> bool {
    // All rows have the same value in a column that is not bound.
    let fits = |(row, column): (&Form, &Form)| match column {
        Form::Bound => true,
        Form::Shared => *row != Form::Bound,
        literal => row == literal,
    };
    rows.iter().zip(statement).all(fits)
}

/// Number of values that each row binds.
pub(super) fn bound(forms: &Forms) -> usize {
    forms.iter().filter(|form| **form == Form::Bound).count()
}
