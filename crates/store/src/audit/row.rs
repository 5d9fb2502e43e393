//! Audit entries as rows: one column order for writing, reading and hashing.

use domain::clock::Timestamp;

use super::entry::AuditEntry;
use crate::StoreError;
use crate::database::{Row, Value};

/// The content of a row, in the order in which it is bound, read and hashed.
pub(super) const CONTENT: [(&str, Kind); 30] = [
    ("at", Kind::Integer),
    ("id", Kind::Text),
    ("request_id", Kind::Text),
    ("method", Kind::Text),
    ("path", Kind::Text),
    ("endpoint", Kind::Text),
    ("requested_model", Kind::Text),
    ("model", Kind::Text),
    ("provider", Kind::Text),
    ("provider_name", Kind::Text),
    ("user_path", Kind::Text),
    ("auth_key_id", Kind::Text),
    ("tenant_id", Kind::Text),
    ("session_id", Kind::Text),
    ("response_id", Kind::Text),
    ("previous_response_id", Kind::Text),
    ("thread", Kind::Text),
    ("parent", Kind::Text),
    ("cache_type", Kind::Text),
    ("status", Kind::Integer),
    ("stream", Kind::Integer),
    ("error_type", Kind::Text),
    ("error_code", Kind::Text),
    ("error_message", Kind::Text),
    ("duration_us", Kind::Integer),
    ("first_byte_us", Kind::Integer),
    ("overhead_us", Kind::Integer),
    ("data", Kind::Text),
    ("request_body", Kind::Text),
    ("response_body", Kind::Text),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Integer,
    Text,
}

/// An owned column value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Integer(Option<i64>),
    Text(Option<String>),
}

impl Field {
    pub fn value(&self) -> Value<'_> {
        match self {
            Self::Integer(number) => (*number).into(),
            Self::Text(text) => text.as_deref().into(),
        }
    }
}

/// All column names, separated by commas.
pub(super) fn columns() -> String {
    CONTENT.map(|(name, _)| name).join(", ")
}

/// All columns, with the large ones replaced by empty values.
pub(super) fn outline() -> String {
    let column = |(name, _): (&'static str, Kind)| match name {
        "data" => "'{}'",
        "request_body" | "response_body" => "NULL",
        name => name,
    };
    CONTENT.map(column).join(", ")
}

/// The content of a row for an entry.
pub(super) fn fields(entry: &AuditEntry) -> Result<Vec<Field>, StoreError> {
    let data = serde_json::to_string(&entry.data)
        .map_err(|error| StoreError::Failed(format!("an audit entry cannot be written: {error}")))?;
    let text = |text: &str| Field::Text(Some(storable(text)));
    let some = |text: &Option<String>| Field::Text(text.as_deref().map(storable));
    let key = |text: &str| Field::Text(Some(clipped(text)));
    let some_key = |text: &Option<String>| Field::Text(text.as_deref().map(clipped));
    let number = |number: i64| Field::Integer(Some(number));
    Ok(vec![
        number(entry.at.micros()),
        key(&entry.id),
        key(&entry.request_id),
        text(&entry.method),
        text(&entry.path),
        text(&entry.endpoint),
        text(&entry.requested_model),
        text(&entry.model),
        text(&entry.provider),
        text(&entry.provider_name),
        text(&entry.user_path),
        some(&entry.auth_key_id),
        some(&entry.tenant_id),
        some_key(&entry.session_id),
        some_key(&entry.response_id),
        some_key(&entry.previous_response_id),
        some_key(&entry.thread),
        some_key(&entry.parent),
        text(&entry.cache_type),
        number(entry.status.into()),
        number(entry.stream.into()),
        some(&entry.error_type),
        some(&entry.error_code),
        some(&entry.error_message),
        number(entry.duration_us),
        Field::Integer(entry.first_byte_us),
        number(entry.overhead_us),
        text(&data),
        some(&entry.request_body),
        some(&entry.response_body),
    ])
}

/// Replaces NUL characters, which PostgreSQL does not accept in text; a single one would block all entries behind it.
fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Clips indexed text; PostgreSQL index entries have at most 2704 bytes.
fn clipped(text: &str) -> String {
    const MOST: usize = 500;
    storable(&text[..text.floor_char_boundary(MOST)])
}

/// The stored content of a row, starting at column `skip`.
pub(super) fn content(row: &Row, skip: usize) -> Result<Vec<Field>, StoreError> {
    let field = |(index, (_, kind)): (usize, &(&str, Kind))| {
        Ok(match kind {
            Kind::Integer => Field::Integer(row.get(skip + index)?),
            Kind::Text => Field::Text(row.get(skip + index)?),
        })
    };
    CONTENT.iter().enumerate().map(field).collect()
}

/// Decodes a row that was selected with `columns()`.
pub(super) fn read(row: &Row) -> Result<AuditEntry, StoreError> {
    let data: String = row.get(27)?;
    Ok(AuditEntry {
        at: Timestamp(row.get(0)?),
        id: row.get(1)?,
        request_id: row.get(2)?,
        method: row.get(3)?,
        path: row.get(4)?,
        endpoint: row.get(5)?,
        requested_model: row.get(6)?,
        model: row.get(7)?,
        provider: row.get(8)?,
        provider_name: row.get(9)?,
        user_path: row.get(10)?,
        auth_key_id: row.get(11)?,
        tenant_id: row.get(12)?,
        session_id: row.get(13)?,
        response_id: row.get(14)?,
        previous_response_id: row.get(15)?,
        thread: row.get(16)?,
        parent: row.get(17)?,
        cache_type: row.get(18)?,
        status: u16::try_from(row.get::<i64>(19)?).unwrap_or_default(),
        stream: row.get::<i64>(20)? != 0,
        error_type: row.get(21)?,
        error_code: row.get(22)?,
        error_message: row.get(23)?,
        duration_us: row.get(24)?,
        first_byte_us: row.get(25)?,
        overhead_us: row.get(26)?,
        data: serde_json::from_str(&data)
            .map_err(|error| StoreError::Corrupt(format!("an audit entry: {error}")))?,
        request_body: row.get(28)?,
        response_body: row.get(29)?,
    })
}
