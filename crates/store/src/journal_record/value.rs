//! The binary form of a field, by its type. Default values are left out.

use domain::clock::Timestamp;
use domain::money::{Cost, Nanos};
use domain::receipt::CostSource;
use domain::usage::Usage;

use super::error::RecordError;
use super::number;
use super::tagged::{Field, FieldReader, FieldValue, FieldWriter};
use crate::varint;

pub(crate) trait EncodeField {
    fn encode(&self, number: u8, fields: &mut FieldWriter<'_>);
}

pub(crate) trait DecodeField<'a>: Sized {
    /// Decodes a value; the error is the reason.
    fn decode(value: FieldValue<'a>) -> Result<Self, &'static str>;
}

impl<'a> Field<'a> {
    #[inline]
    pub fn decode<T: DecodeField<'a>>(self) -> Result<T, RecordError> {
        T::decode(self.value).map_err(|reason| RecordError::Field { number: self.number, reason })
    }
}

impl EncodeField for &str {
    #[inline]
    fn encode(&self, number: u8, fields: &mut FieldWriter<'_>) {
        if !self.is_empty() {
            fields.text(number, self);
        }
    }
}

impl<'a> DecodeField<'a> for &'a [u8] {
    #[inline]
    fn decode(value: FieldValue<'a>) -> Result<Self, &'static str> {
        bytes(value)
    }
}

impl<'a> DecodeField<'a> for &'a str {
    #[inline]
    fn decode(value: FieldValue<'a>) -> Result<Self, &'static str> {
        // The standard library is the fastest for short text.
        std::str::from_utf8(bytes(value)?).map_err(|_| "not UTF-8")
    }
}

impl EncodeField for String {
    #[inline]
    fn encode(&self, number: u8, fields: &mut FieldWriter<'_>) {
        self.as_str().encode(number, fields);
    }
}

impl DecodeField<'_> for String {
    fn decode(value: FieldValue<'_>) -> Result<Self, &'static str> {
        <&str>::decode(value).map(Self::from)
    }
}

impl EncodeField for Option<&str> {
    #[inline]
    fn encode(&self, number: u8, fields: &mut FieldWriter<'_>) {
        if let Some(text) = self {
            fields.text(number, text);
        }
    }
}

impl EncodeField for Option<String> {
    #[inline]
    fn encode(&self, number: u8, fields: &mut FieldWriter<'_>) {
        self.as_deref().encode(number, fields);
    }
}

impl DecodeField<'_> for Option<String> {
    fn decode(value: FieldValue<'_>) -> Result<Self, &'static str> {
        String::decode(value).map(Some)
    }
}

impl EncodeField for Timestamp {
    #[inline]
    fn encode(&self, number: u8, fields: &mut FieldWriter<'_>) {
        if *self != Self::default() {
            fields.signed(number, self.micros());
        }
    }
}

impl DecodeField<'_> for Timestamp {
    #[inline]
    fn decode(value: FieldValue<'_>) -> Result<Self, &'static str> {
        integer(value).map(varint::from_zigzag).map(Self)
    }
}

impl EncodeField for bool {
    #[inline]
    fn encode(&self, number: u8, fields: &mut FieldWriter<'_>) {
        if *self {
            fields.number(number, 1);
        }
    }
}

impl DecodeField<'_> for bool {
    #[inline]
    fn decode(value: FieldValue<'_>) -> Result<Self, &'static str> {
        integer(value).map(|number| number != 0)
    }
}

impl EncodeField for u16 {
    #[inline]
    fn encode(&self, number: u8, fields: &mut FieldWriter<'_>) {
        u64::from(*self).encode(number, fields);
    }
}

impl DecodeField<'_> for u16 {
    #[inline]
    fn decode(value: FieldValue<'_>) -> Result<Self, &'static str> {
        integer(value)?.try_into().map_err(|_| "more than 16 bits")
    }
}

impl EncodeField for u64 {
    #[inline]
    fn encode(&self, number: u8, fields: &mut FieldWriter<'_>) {
        if *self != 0 {
            fields.number(number, *self);
        }
    }
}

impl DecodeField<'_> for u64 {
    #[inline]
    fn decode(value: FieldValue<'_>) -> Result<Self, &'static str> {
        integer(value)
    }
}

impl EncodeField for Option<u64> {
    #[inline]
    fn encode(&self, number: u8, fields: &mut FieldWriter<'_>) {
        if let Some(count) = self {
            fields.number(number, *count);
        }
    }
}

impl DecodeField<'_> for Option<u64> {
    #[inline]
    fn decode(value: FieldValue<'_>) -> Result<Self, &'static str> {
        integer(value).map(Some)
    }
}

impl EncodeField for Option<Nanos> {
    #[inline]
    fn encode(&self, number: u8, fields: &mut FieldWriter<'_>) {
        if let Some(nanos) = self {
            fields.signed(number, nanos.0);
        }
    }
}

impl DecodeField<'_> for Nanos {
    #[inline]
    fn decode(value: FieldValue<'_>) -> Result<Self, &'static str> {
        integer(value).map(varint::from_zigzag).map(Self)
    }
}

impl DecodeField<'_> for Option<Nanos> {
    #[inline]
    fn decode(value: FieldValue<'_>) -> Result<Self, &'static str> {
        Nanos::decode(value).map(Some)
    }
}

impl EncodeField for CostSource {
    #[inline]
    fn encode(&self, number: u8, fields: &mut FieldWriter<'_>) {
        let source: u64 = match self {
            Self::None => 0,
            Self::ModelPricing => 1,
            Self::ProviderReported => 2,
            Self::Client => 3,
        };
        source.encode(number, fields);
    }
}

impl DecodeField<'_> for CostSource {
    #[inline]
    fn decode(value: FieldValue<'_>) -> Result<Self, &'static str> {
        match integer(value)? {
            1 => Ok(Self::ModelPricing),
            2 => Ok(Self::ProviderReported),
            3 => Ok(Self::Client),
            // A source that a later build has added counts as none, as in the ledger.
            _ => Ok(Self::None),
        }
    }
}

impl EncodeField for Option<Cost> {
    #[inline]
    fn encode(&self, number: u8, fields: &mut FieldWriter<'_>) {
        let Some(Cost { input, output }) = self else { return };
        fields.nested(number, |out| {
            // Written also if both are zero: an absent cost is unknown.
            let mut fields = FieldWriter::new(out);
            fields.signed(number::cost::INPUT, input.0);
            fields.signed(number::cost::OUTPUT, output.0);
        });
    }
}

impl DecodeField<'_> for Cost {
    #[inline]
    fn decode(value: FieldValue<'_>) -> Result<Self, &'static str> {
        let mut cost = Self::default();
        nested(value, |field| {
            match field.number {
                number::cost::INPUT => cost.input = DecodeField::decode(field.value)?,
                number::cost::OUTPUT => cost.output = DecodeField::decode(field.value)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(cost)
    }
}

impl DecodeField<'_> for Option<Cost> {
    fn decode(value: FieldValue<'_>) -> Result<Self, &'static str> {
        Cost::decode(value).map(Some)
    }
}

impl DecodeField<'_> for Usage {
    #[inline]
    fn decode(value: FieldValue<'_>) -> Result<Self, &'static str> {
        let mut usage = Self::default();
        nested(value, |field| {
            match field.number {
                number::usage::ESTIMATED => usage.estimated = DecodeField::decode(field.value)?,
                number::usage::REPORTED_COST => usage.reported_cost = Some(DecodeField::decode(field.value)?),
                number::usage::CAVEAT => usage.caveat = DecodeField::decode(field.value)?,
                other => {
                    if let Some(count) = usage.tokens.by_number(other) {
                        *count = DecodeField::decode(field.value)?;
                    }
                }
            }
            Ok(())
        })?;
        Ok(usage)
    }
}

/// Reads the fields of a nested value.
#[inline]
fn nested<'a>(
    value: FieldValue<'a>,
    mut read: impl FnMut(Field<'a>) -> Result<(), &'static str>,
) -> Result<(), &'static str> {
    let mut fields = FieldReader::new(bytes(value)?);
    while let Some(field) = fields.next_field()? {
        read(field)?;
    }
    Ok(())
}

#[inline]
fn integer(value: FieldValue<'_>) -> Result<u64, &'static str> {
    match value {
        FieldValue::Number(number) => Ok(number),
        FieldValue::Bytes(_) => Err("bytes instead of a number"),
    }
}

#[inline]
fn bytes(value: FieldValue<'_>) -> Result<&[u8], &'static str> {
    match value {
        FieldValue::Bytes(bytes) => Ok(bytes),
        FieldValue::Number(_) => Err("a number instead of bytes"),
    }
}
