//! Decodes records as whole receipts and openings.

use domain::money::{Cost, Nanos};
use domain::receipt::{Attempt, Audited, Opening, Receipt};
use domain::receipt_fields;
use domain::usage::{Tokens, Usage};
use serde::Deserialize;

use super::error::RecordError;
use super::number;
use super::record::{Encoding, ReceiptRecord};
use super::tagged::{Field, FieldReader};
use super::{METHOD, record};

/// The content of a record: a receipt with the fields that are recorded as they are, and the others.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub receipt: Receipt,
    pub composed: Composed,
}

/// The fields that a record lays out differently from a receipt.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Composed {
    pub tokens: Tokens,
    pub estimated: bool,
    pub input_cost: Option<i64>,
    pub output_cost: Option<i64>,
    images: u64,
    reported_cost: Option<Nanos>,
    caveat: Option<String>,
    attempt_us: Option<u64>,
}

impl Recorded {
    /// Decodes a JSON object with fields of a receipt.
    pub fn read(json: &str) -> Result<Self, serde_json::Error> {
        Ok(Self { receipt: serde_json::from_str(json)?, composed: serde_json::from_str(json)? })
    }

    /// Decodes a record with data for the audit log; `None` if it has none.
    pub fn read_audited(record: &ReceiptRecord<'_>) -> Result<Option<Receipt>, RecordError> {
        let Some(audit) = record.audit else { return Ok(None) };
        let recorded = match record.encoding {
            Encoding::Json => Self::read(&merged([record.columns, record.label, record.detail.as_bytes()])?)?,
            Encoding::Binary => {
                let mut recorded = Self::read(record.detail)?;
                for fields in [record.columns, record.label] {
                    recorded.read_fields(fields)?;
                }
                recorded
            }
        };
        let mut receipt = recorded.complete();
        let AuditSection { auth_method, audit } = serde_json::from_str(audit)?;
        receipt.auth_method = auth_method;
        receipt.audit = Some(Box::new(audit));
        Ok(Some(receipt))
    }

    /// Decodes the fields of a section in the binary encoding.
    fn read_fields(&mut self, fields: &[u8]) -> Result<(), RecordError> {
        let mut fields = FieldReader::new(fields);
        while let Some(field) = fields.next_field()? {
            match field.number {
                number::UNBOOKED => self.receipt.unbooked = field.decode()?,
                number::USAGE => {
                    let usage: Usage = field.decode()?;
                    (self.composed.tokens, self.composed.estimated) = (usage.tokens, usage.estimated);
                }
                number::COST => {
                    let cost: Cost = field.decode()?;
                    self.composed.input_cost = Some(cost.input.0);
                    self.composed.output_cost = Some(cost.output.0);
                }
                _ => read_column(field, &mut self.receipt)?,
            }
        }
        Ok(())
    }

    /// The whole receipt, with the defaults that a record leaves out.
    pub fn complete(self) -> Receipt {
        let Self { mut receipt, composed } = self;
        if receipt.method.is_empty() {
            receipt.method = METHOD.into();
        }
        receipt.usage = Usage {
            tokens: composed.tokens,
            images: composed.images,
            estimated: composed.estimated,
            reported_cost: composed.reported_cost,
            caveat: composed.caveat,
            ..Usage::default()
        };
        let cost = composed.input_cost.zip(composed.output_cost);
        receipt.cost = cost.map(|(input, output)| Cost { input: Nanos(input), output: Nanos(output) });
        if let Some(duration_us) = composed.attempt_us {
            receipt.attempts = vec![Attempt {
                provider_name: receipt.provider_name.clone(),
                model: receipt.model.clone(),
                status: 200,
                error: None,
                duration_us,
            }];
        }
        receipt
    }
}

fn read_column(field: Field<'_>, receipt: &mut Receipt) -> Result<(), RecordError> {
    macro_rules! read_columns {
        ($($name:ident: $type:ty = $number:literal => $null:ident $column:ident [$($most:literal)?],)*) => {
            match field.number {
                $($number => receipt.$name = field.decode()?,)*
                _ => {}
            }
        };
    }
    receipt_fields!(column => read_columns);
    receipt_fields!(label => read_columns);
    Ok(())
}

/// Decodes an opening.
pub(super) fn read_opening(payload: &[u8]) -> Result<Opening, RecordError> {
    let mut opening = Opening::default();
    let mut fields = FieldReader::new(record::content(payload)?);
    while let Some(field) = fields.next_field()? {
        macro_rules! read_opening {
            ($($(#[$attribute:meta])* $name:ident: $type:ty = $number:literal,)*) => {
                match field.number {
                    $($number => opening.$name = field.decode()?,)*
                    number::USAGE => opening.reserved = field.decode()?,
                    number::COST => opening.reserved_cost = field.decode()?,
                    number::UNBOOKED => opening.unbooked = field.decode()?,
                    number::AUDITED => opening.audited = field.decode()?,
                    number::FOLLOW => opening.follow = field.decode()?,
                    _ => {}
                }
            };
        }
        receipt_fields!(opening => read_opening);
    }
    Ok(opening)
}

/// The members of several JSON objects as one object.
fn merged(objects: [&[u8]; 3]) -> Result<String, RecordError> {
    let mut parts = Vec::with_capacity(objects.len());
    for object in objects {
        let inner = str::from_utf8(object)?.trim();
        let inner = inner.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).map(str::trim);
        parts.extend(inner.filter(|inner| !inner.is_empty()));
    }
    Ok(format!("{{{}}}", parts.join(",")))
}

/// The section of a receipt for the audit log.
#[derive(Default, Deserialize)]
#[serde(default)]
struct AuditSection {
    auth_method: String,
    audit: Audited,
}
