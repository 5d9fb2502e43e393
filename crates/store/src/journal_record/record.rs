//! Records as they are read from the journal: their sections, in the encoding of this build or of earlier ones.

use std::borrow::Cow;

use domain::receipt::Opening;

use super::error::RecordError;
use super::number::{self, section};
use super::recorded;
use super::tagged::{Field, FieldReader};

/// The encoding of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Encoding {
    /// JSON, by earlier builds: a receipt has a line for each section.
    Json,
    /// Tagged fields.
    Binary,
}

/// The first byte of every binary record. It occurs nowhere in UTF-8, so that the search for the next record behind
/// damage cannot take text of a caller for one.
pub(super) const START: u8 = 0xff;
/// The last byte of every binary record. It is not zero, because the end of a segment is found by the zeros behind it.
pub(super) const END: u8 = b'\n';

impl Encoding {
    /// The first byte of every record.
    pub fn first_byte(self) -> u8 {
        match self {
            Self::Json => b'{',
            Self::Binary => START,
        }
    }
}

/// The sections of a receipt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiptRecord<'a> {
    pub encoding: Encoding,
    /// The fields that have a column of their own; the id is the first.
    pub columns: &'a [u8],
    /// The fields that many receipts share; equal labels have equal bytes.
    pub label: &'a [u8],
    /// The fields that no column holds, as a JSON object.
    pub detail: &'a str,
    /// The data for the audit log, as a JSON object.
    pub audit: Option<&'a str>,
}

impl<'a> ReceiptRecord<'a> {
    pub fn parse(encoding: Encoding, payload: &'a [u8]) -> Result<Self, RecordError> {
        match encoding {
            Encoding::Json => Ok(Self::parse_json(std::str::from_utf8(payload)?)),
            Encoding::Binary => Self::parse_binary(payload),
        }
    }

    fn parse_json(text: &'a str) -> Self {
        let mut lines = text.split('\n');
        let [columns, label, detail] = [(); 3].map(|()| lines.next().unwrap_or(EMPTY));
        Self {
            encoding: Encoding::Json,
            columns: columns.as_bytes(),
            label: label.as_bytes(),
            detail,
            audit: lines.next(),
        }
    }

    fn parse_binary(payload: &'a [u8]) -> Result<Self, RecordError> {
        let mut record =
            Self { encoding: Encoding::Binary, columns: &[], label: &[], detail: EMPTY, audit: None };
        let mut fields = FieldReader::new(content(payload)?);
        while let Some(field) = fields.next_field()? {
            match field.number {
                section::COLUMNS => record.columns = field.decode()?,
                section::LABEL => record.label = field.decode()?,
                section::DETAIL => record.detail = field.decode()?,
                section::AUDIT => record.audit = Some(field.decode()?),
                _ => {}
            }
        }
        Ok(record)
    }
}

const EMPTY: &str = "{}";

/// The id of a receipt, found without decoding the rest.
pub(crate) fn receipt_id(encoding: Encoding, payload: &[u8]) -> Result<Cow<'_, str>, RecordError> {
    match encoding {
        Encoding::Json => json_id(payload),
        Encoding::Binary => binary_id(first(content(payload)?, section::COLUMNS)?.decode()?),
    }
}

/// The id of an opening, found without decoding the rest.
pub(crate) fn opening_id(encoding: Encoding, payload: &[u8]) -> Result<Cow<'_, str>, RecordError> {
    match encoding {
        Encoding::Json => json_id(payload),
        Encoding::Binary => binary_id(content(payload)?),
    }
}

fn binary_id(fields: &[u8]) -> Result<Cow<'_, str>, RecordError> {
    first(fields, number::ID)?.decode().map(Cow::Borrowed)
}

/// The first field, which must have this number.
fn first(fields: &[u8], number: u8) -> Result<Field<'_>, RecordError> {
    let first = FieldReader::new(fields).next_field()?;
    Ok(first.filter(|field| field.number == number).ok_or("the id is not the first field")?)
}

/// The fields of a binary record, between its first and its last byte.
pub(super) fn content(payload: &[u8]) -> Result<&[u8], RecordError> {
    match payload {
        [START, content @ .., END] => Ok(content),
        _ => Err("a record without its first or last byte".into()),
    }
}

/// The id of a record in JSON. Records are written with the id first; other layouts are parsed.
fn json_id(payload: &[u8]) -> Result<Cow<'_, str>, RecordError> {
    #[derive(serde::Deserialize)]
    struct Identity<'a> {
        #[serde(borrow)]
        id: Cow<'a, str>,
    }
    let text = std::str::from_utf8(payload)?;
    if let Some((id, _)) = text.strip_prefix("{\"id\":\"").and_then(|rest| rest.split_once('"'))
        && !id.contains('\\')
    {
        return Ok(Cow::Borrowed(id));
    }
    let columns = text.split('\n').next().unwrap_or(EMPTY);
    let Identity { id } = serde_json::from_str(columns)?;
    Ok(id)
}

/// An opening as it is recorded, kept for the case that its call is never closed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpeningRecord {
    pub encoding: Encoding,
    pub payload: Box<[u8]>,
}

impl OpeningRecord {
    pub fn decode(&self) -> Result<Opening, RecordError> {
        match self.encoding {
            Encoding::Json => Ok(serde_json::from_slice(&self.payload)?),
            Encoding::Binary => recorded::read_opening(&self.payload),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_in_json_is_found_wherever_it_stands() {
        let check = |text: &str, expected: &str| assert_eq!(json_id(text.as_bytes()).unwrap(), expected);
        check(r#"{"id":"a","x":"\"id\":\"b\""}"#, "a");
        check(r#"{"x":1,"id":"a"}"#, "a");
        check(r#"{"id":"a\"b"}"#, "a\"b");
        check(r#"{ "id" : "a" }"#, "a");
        assert!(json_id(br#"{"x":1}"#).is_err());
    }
}
