//! Statements on a SQLite connection: values that are bound, and rows that are read.

use rusqlite::types::{ToSqlOutput, Value as Stored, ValueRef};
use rusqlite::{Connection, ToSql};

use crate::database::Value;

/// The columns of a row.
pub(in crate::database) type StoredRow = Box<[Stored]>;

/// A value that a statement on another thread binds.
pub(super) enum OwnedValue {
    Integer(Option<i64>),
    Text(Option<Box<str>>),
    Bytes(Box<[u8]>),
}

impl From<&Value<'_>> for OwnedValue {
    fn from(value: &Value<'_>) -> Self {
        match *value {
            Value::Integer(value) => Self::Integer(value),
            Value::Text(value) => Self::Text(value.map(Box::from)),
            Value::Bytes(value) => Self::Bytes(value.into()),
        }
    }
}

impl ToSql for OwnedValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self {
            Self::Integer(value) => Value::Integer(*value),
            Self::Text(value) => Value::Text(value.as_deref()),
            Self::Bytes(value) => Value::Bytes(value),
        };
        Ok(ToSqlOutput::Borrowed(value.into()))
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed((*self).into()))
    }
}

impl<'a> From<Value<'a>> for ValueRef<'a> {
    fn from(value: Value<'a>) -> Self {
        match value {
            Value::Integer(Some(value)) => Self::Integer(value),
            Value::Integer(None) | Value::Text(None) => Self::Null,
            Value::Text(Some(value)) => Self::Text(value.as_bytes()),
            Value::Bytes(value) => Self::Blob(value),
        }
    }
}

pub(super) fn owned(values: &[Value<'_>]) -> Vec<OwnedValue> {
    values.iter().map(OwnedValue::from).collect()
}

pub(super) fn execute(connection: &Connection, sql: &str, values: &[impl ToSql]) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, sql, values)?;
    let mut rows = statement.raw_query();
    while rows.next()?.is_some() {}
    drop(rows);
    Ok(connection.changes())
}

pub(super) fn fetch(
    connection: &Connection,
    sql: &str,
    values: &[impl ToSql],
) -> rusqlite::Result<Vec<StoredRow>> {
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, sql, values)?;
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found
            .push((0..columns).map(|index| row.get_ref(index).map(stored)).collect::<rusqlite::Result<_>>()?);
    }
    Ok(found)
}

/// Copies a value. Text that is not UTF-8 becomes bytes, so that reading it as text fails, and not the whole query.
fn stored(value: ValueRef<'_>) -> Stored {
    Stored::try_from(value).unwrap_or_else(|_| Stored::Blob(value.as_bytes().unwrap_or_default().to_vec()))
}

/// Binds `?` in their order, and `$n` to the n-th value.
fn bind(statement: &mut rusqlite::Statement<'_>, sql: &str, values: &[impl ToSql]) -> rusqlite::Result<()> {
    let parameters = statement.parameter_count();
    let wrong_number = || rusqlite::Error::InvalidParameterCount(values.len(), parameters);
    if !sql.contains('$') {
        if parameters != values.len() {
            return Err(wrong_number());
        }
        return values
            .iter()
            .zip(1..)
            .try_for_each(|(value, index)| statement.raw_bind_parameter(index, value));
    }
    for index in 1..=parameters {
        let number = match statement.parameter_name(index) {
            Some(name) => name[1..].parse().unwrap_or(usize::MAX),
            None => index,
        };
        let value = values.get(number.wrapping_sub(1)).ok_or_else(wrong_number)?;
        statement.raw_bind_parameter(index, value)?;
    }
    Ok(())
}

const NOTHING: &[Value<'_>] = &[];

/// Ends a transaction.
pub(in crate::database) fn end(connection: &Connection, statement: &'static str) -> rusqlite::Result<()> {
    execute(connection, statement, NOTHING).map(drop)
}
