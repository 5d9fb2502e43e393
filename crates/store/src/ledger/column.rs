//! Column values of receipt fields, by the type of the field: decoded from the journal, bound to a statement, and read
//! from a row.

use std::borrow::Cow;

use domain::clock::Timestamp;
use domain::money::Nanos;
use domain::receipt::CostSource;
use serde::{Deserialize, Deserializer};

use crate::StoreError;
use crate::database::{Row, Value};
use crate::journal_record::{DecodeField, FieldValue};

/// Whether a column accepts NULL, which then stands for missing and for empty text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Null {
    NotNull,
    Nullable,
}

/// A type of field that is stored in a column of its own.
pub(crate) trait Column: Sized {
    /// The value in a journal record, borrowed from it.
    type Written<'a>: Default + Deserialize<'a> + DecodeField<'a>;
    /// The value until it is bound.
    type Stored<'a>;

    /// Prepares a value for the database; `most` limits the length of text in bytes, 0 does not.
    fn store<'a>(written: Self::Written<'a>, most: usize) -> Self::Stored<'a>;

    /// Copies what is borrowed from a record.
    fn into_owned<'a>(stored: Self::Stored<'a>) -> Self::Stored<'static>;

    fn bind<'a, 'b>(stored: &'a Self::Stored<'b>, null: Null) -> Value<'a>;
    fn read(row: &Row, index: usize) -> Result<Self, StoreError>;
}

/// Text of a record; borrowed, unless it has JSON escapes.
#[derive(Debug, Default)]
pub(crate) struct Text<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);
        Borrowed::deserialize(deserializer).map(|Borrowed(text)| Self(text))
    }
}

impl<'a> DecodeField<'a> for Text<'a> {
    #[inline]
    fn decode(value: FieldValue<'a>) -> Result<Self, &'static str> {
        <&str>::decode(value).map(|text| Self(Cow::Borrowed(text)))
    }
}

impl Column for String {
    type Written<'a> = Text<'a>;
    type Stored<'a> = Cow<'a, str>;

    fn store<'a>(Text(text): Self::Written<'a>, most: usize) -> Self::Stored<'a> {
        clipped(text, most)
    }

    fn into_owned<'a>(stored: Self::Stored<'a>) -> Self::Stored<'static> {
        Cow::Owned(stored.into_owned())
    }

    fn bind<'a, 'b>(stored: &'a Self::Stored<'b>, null: Null) -> Value<'a> {
        Value::Text(Some(&**stored).filter(|text| null == Null::NotNull || !text.is_empty()))
    }

    fn read(row: &Row, index: usize) -> Result<Self, StoreError> {
        Ok(row.get::<Option<String>>(index)?.unwrap_or_default())
    }
}

impl Column for Option<String> {
    type Written<'a> = Text<'a>;
    /// Empty if there is none.
    type Stored<'a> = Cow<'a, str>;

    fn store<'a>(Text(text): Self::Written<'a>, most: usize) -> Self::Stored<'a> {
        clipped(text, most)
    }

    fn into_owned<'a>(stored: Self::Stored<'a>) -> Self::Stored<'static> {
        String::into_owned(stored)
    }

    fn bind<'a, 'b>(stored: &'a Self::Stored<'b>, null: Null) -> Value<'a> {
        String::bind(stored, null)
    }

    fn read(row: &Row, index: usize) -> Result<Self, StoreError> {
        Ok(row.get::<Option<String>>(index)?.filter(|text| !text.is_empty()))
    }
}

impl Column for Timestamp {
    type Written<'a> = Self;
    type Stored<'a> = Self;

    fn store<'a>(written: Self::Written<'a>, _: usize) -> Self::Stored<'a> {
        written
    }

    fn into_owned<'a>(stored: Self::Stored<'a>) -> Self::Stored<'static> {
        stored
    }

    fn bind<'a, 'b>(stored: &'a Self::Stored<'b>, _: Null) -> Value<'a> {
        stored.micros().into()
    }

    fn read(row: &Row, index: usize) -> Result<Self, StoreError> {
        row.get(index).map(Self)
    }
}

impl Column for bool {
    type Written<'a> = Self;
    type Stored<'a> = Self;

    fn store<'a>(written: Self::Written<'a>, _: usize) -> Self::Stored<'a> {
        written
    }

    fn into_owned<'a>(stored: Self::Stored<'a>) -> Self::Stored<'static> {
        stored
    }

    fn bind<'a, 'b>(stored: &'a Self::Stored<'b>, _: Null) -> Value<'a> {
        i64::from(*stored).into()
    }

    fn read(row: &Row, index: usize) -> Result<Self, StoreError> {
        Ok(row.get::<i64>(index)? != 0)
    }
}

impl Column for u16 {
    type Written<'a> = Self;
    type Stored<'a> = Self;

    fn store<'a>(written: Self::Written<'a>, _: usize) -> Self::Stored<'a> {
        written
    }

    fn into_owned<'a>(stored: Self::Stored<'a>) -> Self::Stored<'static> {
        stored
    }

    fn bind<'a, 'b>(stored: &'a Self::Stored<'b>, _: Null) -> Value<'a> {
        i64::from(*stored).into()
    }

    fn read(row: &Row, index: usize) -> Result<Self, StoreError> {
        Ok(Self::try_from(row.get::<i64>(index)?).unwrap_or_default())
    }
}

impl Column for u64 {
    type Written<'a> = Self;
    type Stored<'a> = i64;

    fn store<'a>(written: Self::Written<'a>, _: usize) -> Self::Stored<'a> {
        i64::try_from(written).unwrap_or(i64::MAX)
    }

    fn into_owned<'a>(stored: Self::Stored<'a>) -> Self::Stored<'static> {
        stored
    }

    fn bind<'a, 'b>(stored: &'a Self::Stored<'b>, _: Null) -> Value<'a> {
        (*stored).into()
    }

    fn read(row: &Row, index: usize) -> Result<Self, StoreError> {
        Ok(row.get::<i64>(index)?.max(0) as Self)
    }
}

impl Column for Option<u64> {
    type Written<'a> = Self;
    type Stored<'a> = Option<i64>;

    fn store<'a>(written: Self::Written<'a>, most: usize) -> Self::Stored<'a> {
        written.map(|count| u64::store(count, most))
    }

    fn into_owned<'a>(stored: Self::Stored<'a>) -> Self::Stored<'static> {
        stored
    }

    fn bind<'a, 'b>(stored: &'a Self::Stored<'b>, _: Null) -> Value<'a> {
        (*stored).into()
    }

    fn read(row: &Row, index: usize) -> Result<Self, StoreError> {
        Ok(row.get::<Option<i64>>(index)?.map(|count| count.max(0) as u64))
    }
}

impl Column for Option<Nanos> {
    type Written<'a> = Self;
    type Stored<'a> = Option<i64>;

    fn store<'a>(written: Self::Written<'a>, _: usize) -> Self::Stored<'a> {
        written.map(|nanos| bounded_cost(nanos.0))
    }

    fn into_owned<'a>(stored: Self::Stored<'a>) -> Self::Stored<'static> {
        stored
    }

    fn bind<'a, 'b>(stored: &'a Self::Stored<'b>, _: Null) -> Value<'a> {
        (*stored).into()
    }

    fn read(row: &Row, index: usize) -> Result<Self, StoreError> {
        Ok(row.get::<Option<i64>>(index)?.map(Nanos))
    }
}

impl Column for CostSource {
    type Written<'a> = Self;
    type Stored<'a> = Self;

    fn store<'a>(written: Self::Written<'a>, _: usize) -> Self::Stored<'a> {
        written
    }

    fn into_owned<'a>(stored: Self::Stored<'a>) -> Self::Stored<'static> {
        stored
    }

    fn bind<'a, 'b>(stored: &'a Self::Stored<'b>, _: Null) -> Value<'a> {
        cost_source_number(*stored).into()
    }

    fn read(row: &Row, index: usize) -> Result<Self, StoreError> {
        row.get(index).map(cost_source)
    }
}

const COST_SOURCES: [CostSource; 4] =
    [CostSource::None, CostSource::ModelPricing, CostSource::ProviderReported, CostSource::Client];

/// The stored number of a cost source.
pub(super) fn cost_source_number(source: CostSource) -> i64 {
    COST_SOURCES.iter().position(|known| *known == source).map_or(0, |place| place as i64)
}

fn cost_source(number: i64) -> CostSource {
    usize::try_from(number).ok().and_then(|number| COST_SOURCES.get(number).copied()).unwrap_or_default()
}

/// Bound on the cost of a single call; without it, one absurd figure would overflow a sum.
const MOST_NANOS: i64 = 1_000_000_000_000_000;

pub(super) fn bounded_cost(nanos: i64) -> i64 {
    nanos.clamp(-MOST_NANOS, MOST_NANOS)
}

/// Clips text and replaces NUL characters, which PostgreSQL does not accept in text; a single one would block all
/// receipts behind it.
fn clipped(text: Cow<'_, str>, most: usize) -> Cow<'_, str> {
    // Compares many bytes at once, unlike a search that stops at the first one.
    let has_nul = text.bytes().fold(false, |found, byte| found | (byte == 0));
    let text = if has_nul { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { text };
    if most == 0 || text.len() <= most {
        return text;
    }
    let end = text.floor_char_boundary(most);
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
        Cow::Owned(mut text) => {
            text.truncate(end);
            Cow::Owned(text)
        }
    }
}
