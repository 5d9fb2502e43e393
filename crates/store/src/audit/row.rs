//! Audit entries as rows: one list of columns for writing, reading and hashing.

use domain::clock::Timestamp;
use domain::receipt::{Audited, Receipt, TraceContext};
use domain::receipt_fields;
use serde::Deserialize;

use super::AuditEntry;
use crate::StoreError;
use crate::database::{Row, Value};
use crate::journal_record::{self, Object, RecordField, Recorded};
use crate::ledger::column::Column;

/// Declares the columns of a row, in the order in which they are bound, read and hashed. The list does not change: with
/// another column, the hashes of earlier rows would not be found again. A new field is `[audit]` in `receipt_fields`,
/// which puts it into the document `data`.
macro_rules! define_row {
    ($($column:ident: $type:ty = $($path:ident).+ $(max $most:literal)?;)*) => {
        /// The content of a row.
        pub(super) const CONTENT: &[(&str, ColumnType)] = &[$((stringify!($column), <$type as RowValue>::KIND)),*];

        /// The content of a row for an entry.
        pub(super) fn fields(entry: &AuditEntry) -> Vec<Field> {
            let none = Audited::default();
            let audited = entry.audit.as_deref().unwrap_or(&none);
            let (path, data) = (entry.path().to_owned(), data(entry, audited));
            let written = AuditRowSource { receipt: entry, audited, path, data };
            vec![$(written.$($path).+.field(0 $(+ $most)?)),*]
        }

        fn read_columns(row: &Row, read: &mut ReadRow) -> Result<(), StoreError> {
            let mut indexes = 0..;
            $(read.$($path).+ = Column::read(row, indexes.next().unwrap_or_default())?;)*
            Ok(())
        }
    };
}

// PostgreSQL index entries have at most 2704 bytes: indexed text is clipped.
define_row! {
    at: Timestamp = receipt.at;
    id: String = receipt.id max 500;
    request_id: String = receipt.request_id max 500;
    method: String = receipt.method;
    path: String = path;
    endpoint: String = receipt.endpoint;
    requested_model: String = receipt.requested_model;
    model: String = receipt.model;
    provider: String = receipt.provider;
    provider_name: String = receipt.provider_name;
    user_path: String = receipt.user_path;
    auth_key_id: Option<String> = receipt.auth_key_id;
    tenant_id: Option<String> = receipt.tenant_id;
    session_id: Option<String> = receipt.session_id max 500;
    response_id: Option<String> = receipt.response_id max 500;
    previous_response_id: Option<String> = receipt.previous_response_id max 500;
    thread: Option<String> = audited.thread max 500;
    parent: Option<String> = audited.parent max 500;
    cache_type: String = receipt.cache_type;
    status: u16 = receipt.status;
    stream: bool = receipt.stream;
    error_type: Option<String> = receipt.error_type;
    error_code: Option<String> = receipt.error_code;
    error_message: Option<String> = receipt.error_message;
    duration_us: u64 = receipt.duration_us;
    first_byte_us: Option<u64> = receipt.first_byte_us;
    overhead_us: u64 = receipt.overhead_us;
    data: String = data;
    request_body: Option<String> = audited.request_body;
    response_body: Option<String> = audited.response_body;
}

/// The sources of a row's columns.
struct AuditRowSource<'a> {
    receipt: &'a Receipt,
    audited: &'a Audited,
    path: String,
    data: String,
}

/// The targets of a row's columns.
#[derive(Default)]
struct ReadRow {
    receipt: Receipt,
    audited: Audited,
    path: String,
    data: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnType {
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
    CONTENT.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// All columns, with the bodies replaced by empty values.
pub(super) fn columns_without_bodies() -> String {
    let column = |(name, _): &(&'static str, ColumnType)| match *name {
        "request_body" | "response_body" => "NULL",
        name => name,
    };
    CONTENT.iter().map(column).collect::<Vec<_>>().join(", ")
}

/// All columns, with the large ones replaced by empty values.
pub(super) fn outline() -> String {
    let column = |(name, _): &(&'static str, ColumnType)| match *name {
        "data" => "'{}'",
        "request_body" | "response_body" => "NULL",
        name => name,
    };
    CONTENT.iter().map(column).collect::<Vec<_>>().join(", ")
}

/// The stored content of a row, starting at column `skip`.
pub(super) fn content(row: &Row, skip: usize) -> Result<Vec<Field>, StoreError> {
    let field = |(index, (_, kind)): (usize, &(&str, ColumnType))| {
        Ok(match kind {
            ColumnType::Integer => Field::Integer(row.get(skip + index)?),
            ColumnType::Text => Field::Text(row.get(skip + index)?),
        })
    };
    CONTENT.iter().enumerate().map(field).collect()
}

/// The document with the fields that have no column.
fn data(receipt: &Receipt, audited: &Audited) -> String {
    let mut out = Vec::new();
    let mut object = Object::begin(&mut out);
    object.text("auth_method", &receipt.auth_method);
    macro_rules! write_audit {
        ($($name:ident: $type:ty,)*) => {
            $(receipt.$name.write(stringify!($name), &mut object);)*
        };
    }
    receipt_fields!(audit => write_audit);
    object.some("attempts", Some(&receipt.attempts).filter(|attempts| !attempts.is_empty()));
    journal_record::consumption(&mut object, receipt);
    object.some_text("trace_id", receipt.trace.as_ref().map(|trace| &*trace.trace_id));
    audited.query.write("query", &mut object);
    audited.reason.write("reason", &mut object);
    object.some("guardrails", Some(&audited.guardrails).filter(|verdicts| !verdicts.is_empty()));
    object.some("journey", audited.journey.as_ref());
    for (key, headers) in
        [("request_headers", &audited.request_headers), ("response_headers", &audited.response_headers)]
    {
        object.some(key, Some(headers).filter(|headers| !headers.is_empty()));
    }
    object.flag("request_truncated", audited.request_truncated);
    object.flag("response_truncated", audited.response_truncated);
    object.flag("request_lossy", audited.request_lossy);
    object.flag("response_lossy", audited.response_lossy);
    object.end();
    String::from_utf8(out).unwrap_or_default()
}

/// The members of `data` that are neither fields of a receipt nor of `Audited`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct DataTrace {
    trace_id: Option<String>,
}

/// Decodes a row that was selected with `columns()`.
pub(super) fn read(row: &Row) -> Result<AuditEntry, StoreError> {
    let data: String = row.get(DATA)?;
    let corrupt = |error: serde_json::Error| StoreError::Corrupt(format!("an audit entry: {error}"));
    let recorded = Recorded::read(&data).map_err(corrupt)?;
    let audited = serde_json::from_str(&data).map_err(corrupt)?;
    let trace: DataTrace = serde_json::from_str(&data).map_err(corrupt)?;
    let mut read = ReadRow { receipt: recorded.complete(), audited, ..ReadRow::default() };
    read_columns(row, &mut read)?;
    let ReadRow { mut receipt, mut audited, path, .. } = read;
    audited.path = path;
    receipt.audit = Some(Box::new(audited));
    receipt.trace = trace.trace_id.map(|trace_id| TraceContext { trace_id, ..TraceContext::default() });
    Ok(receipt)
}

/// The position of the column `data`.
const DATA: usize = CONTENT.len() - 3;

/// A type of value in a row.
trait RowValue: Column {
    const KIND: ColumnType;

    /// The stored value; `most` limits the length of text in bytes, 0 does not.
    fn field(&self, most: usize) -> Field;
}

impl RowValue for String {
    const KIND: ColumnType = ColumnType::Text;

    fn field(&self, most: usize) -> Field {
        Field::Text(Some(storable(self, most)))
    }
}

impl RowValue for Option<String> {
    const KIND: ColumnType = ColumnType::Text;

    fn field(&self, most: usize) -> Field {
        Field::Text(self.as_deref().map(|text| storable(text, most)))
    }
}

impl RowValue for Timestamp {
    const KIND: ColumnType = ColumnType::Integer;

    fn field(&self, _: usize) -> Field {
        Field::Integer(Some(self.micros()))
    }
}

impl RowValue for bool {
    const KIND: ColumnType = ColumnType::Integer;

    fn field(&self, _: usize) -> Field {
        Field::Integer(Some((*self).into()))
    }
}

impl RowValue for u16 {
    const KIND: ColumnType = ColumnType::Integer;

    fn field(&self, _: usize) -> Field {
        Field::Integer(Some((*self).into()))
    }
}

impl RowValue for u64 {
    const KIND: ColumnType = ColumnType::Integer;

    fn field(&self, _: usize) -> Field {
        Field::Integer(Some(i64::try_from(*self).unwrap_or(i64::MAX)))
    }
}

impl RowValue for Option<u64> {
    const KIND: ColumnType = ColumnType::Integer;

    fn field(&self, _: usize) -> Field {
        Field::Integer(self.map(|count| i64::try_from(count).unwrap_or(i64::MAX)))
    }
}

/// Clips text and replaces NUL characters, which PostgreSQL does not accept in text; a single one would block all
/// entries behind it.
fn storable(text: &str, most: usize) -> String {
    let text = if most == 0 { text } else { &text[..text.floor_char_boundary(most)] };
    text.replace('\0', "\u{fffd}")
}
