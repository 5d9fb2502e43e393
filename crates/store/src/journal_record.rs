//! Journal records: openings and receipts, encoded directly into the frame and without default values.
//!
//! A record consists of tagged fields (`tagged`) between a first and a last byte (`record`). A receipt has sections,
//! laid out for booking: the columns of the ledger, the label that it shares with other receipts, and the details that
//! no column holds, which are JSON and stored unchanged. Another JSON section is for the audit log only.
//! `domain::receipt_fields` declares the number of each field and its section; the fields that it assigns to no section
//! are encoded and decoded here. Earlier builds wrote JSON, which is still read.

mod error;
mod field;
mod number;
mod object;
mod record;
mod recorded;
mod tagged;
#[cfg(test)]
mod tests;
mod value;

use domain::receipt::{Attempt, Audited, OpeningRef, Receipt};
use domain::receipt_fields;
use domain::usage::{Tokens, Usage};

use self::number::section;

pub(crate) use error::RecordError;
pub(crate) use field::RecordField;
pub(crate) use number::{COST, UNBOOKED, USAGE};
pub(crate) use object::Object;
pub(crate) use record::{Encoding, OpeningRecord, ReceiptRecord, opening_id, receipt_id};
pub(crate) use recorded::Recorded;
pub(crate) use tagged::{FieldReader, FieldValue, FieldWriter};
pub(crate) use value::{DecodeField, EncodeField};

/// Encodes an opening; `OpeningRecord` decodes it.
pub(crate) fn opening(out: &mut Vec<u8>, opening: OpeningRef<'_>) {
    out.push(record::START);
    let mut fields = FieldWriter::new(out);
    macro_rules! write_opening {
        ($($(#[$attribute:meta])* $name:ident: $type:ty = $number:literal,)*) => {
            $(write_field($number, &opening.$name, &mut fields);)*
        };
    }
    fields.text(number::ID, opening.id);
    receipt_fields!(opening => write_opening);
    let Usage { tokens: counts, estimated, reported_cost, caveat, .. } = opening.reserved;
    fields.nested(number::USAGE, |out| {
        let mut fields = FieldWriter::new(out);
        tokens(&mut fields, counts);
        estimated.encode(number::usage::ESTIMATED, &mut fields);
        reported_cost.encode(number::usage::REPORTED_COST, &mut fields);
        caveat.encode(number::usage::CAVEAT, &mut fields);
    });
    opening.reserved_cost.encode(number::COST, &mut fields);
    opening.unbooked.encode(number::UNBOOKED, &mut fields);
    opening.audited.encode(number::AUDITED, &mut fields);
    opening.follow.encode(number::FOLLOW, &mut fields);
    out.push(record::END);
}

/// Encodes a receipt; decodes as `ledger::booking::Booking`, and as `Recorded`.
pub(crate) fn receipt(out: &mut Vec<u8>, receipt: &Receipt) {
    receipt_with(out, receipt, receipt.audit.as_deref());
}

/// Encodes a receipt with the given audit data instead of its own.
pub(crate) fn receipt_with(out: &mut Vec<u8>, receipt: &Receipt, audited: Option<&Audited>) {
    out.push(record::START);
    let mut sections = FieldWriter::new(out);
    sections.section(section::COLUMNS, |out| columns(out, receipt));
    sections.section(section::LABEL, |out| label(out, receipt));
    sections.section(section::DETAIL, |out| detail(out, receipt));
    if let Some(audited) = audited {
        sections.section(section::AUDIT, |out| {
            let mut object = Object::begin(out);
            object.text("auth_method", &receipt.auth_method);
            object.some("audit", Some(audited));
            object.end();
        });
    }
    out.push(record::END);
}

/// The fields with a column of their own. The id is the first of them, where readers look for it.
fn columns(out: &mut Vec<u8>, receipt: &Receipt) {
    let mut fields = FieldWriter::new(out);
    macro_rules! write_columns {
        ($($name:ident: $type:ty = $number:literal => $null:ident $column:ident [$($most:literal)?],)*) => {
            $(write_field($number, &receipt.$name, &mut fields);)*
        };
    }
    fields.text(number::ID, &receipt.id);
    receipt_fields!(column => write_columns);
    (!receipt.is_booked()).encode(number::UNBOOKED, &mut fields);
    fields.nested(number::USAGE, |out| {
        let mut fields = FieldWriter::new(out);
        tokens(&mut fields, &receipt.usage.tokens);
        receipt.usage.estimated.encode(number::usage::ESTIMATED, &mut fields);
    });
    receipt.cost.encode(number::COST, &mut fields);
}

/// The fields that receipts share with others; equal labels have equal bytes.
fn label(out: &mut Vec<u8>, receipt: &Receipt) {
    let mut fields = FieldWriter::new(out);
    macro_rules! write_label {
        ($($name:ident: $type:ty = $number:literal => $null:ident $column:ident [$($most:literal)?],)*) => {
            $(write_field($number, &receipt.$name, &mut fields);)*
        };
    }
    receipt_fields!(label => write_label);
}

/// Encodes a field, except the id: it is always written, and first.
#[inline]
fn write_field(number: u8, value: &impl EncodeField, fields: &mut FieldWriter<'_>) {
    if number != number::ID {
        value.encode(number, fields);
    }
}

fn tokens(fields: &mut FieldWriter<'_>, tokens: &Tokens) {
    for (number, count) in Tokens::NUMBERS.into_iter().zip(tokens.counts()) {
        count.encode(number, fields);
    }
}

/// The fields that no column holds, as a JSON object; nothing if all have their defaults, which are left out: the
/// method POST, and the auth method implied by the presence of a key.
fn detail(out: &mut Vec<u8>, receipt: &Receipt) {
    let start = out.len();
    let mut object = Object::begin(out);
    let filled = |text: &'static str, value: &str| !value.is_empty() && value != text;
    if filled(METHOD, &receipt.method) {
        object.text("method", &receipt.method);
    }
    if filled(implied_auth_method(receipt), &receipt.auth_method) {
        object.text("auth_method", &receipt.auth_method);
    }
    macro_rules! write_detail {
        ($($name:ident: $type:ty,)*) => {
            $(receipt.$name.write(stringify!($name), &mut object);)*
        };
    }
    receipt_fields!(detail => write_detail);
    match &receipt.attempts[..] {
        // For a single successful attempt at the target of the receipt, only the duration is new.
        [Attempt { status: 200, error: None, provider_name, model, duration_us: duration_us @ 1.. }]
            if *provider_name == receipt.provider_name && *model == receipt.model =>
        {
            object.count("attempt_us", *duration_us);
        }
        [] => {}
        attempts => object.some("attempts", Some(attempts)),
    }
    object.count("images", receipt.usage.images);
    object.some("reported_cost", receipt.usage.reported_cost.as_ref());
    object.some_text("caveat", receipt.usage.caveat.as_deref());
    object.end();
    if out.len() - start == "{}".len() {
        out.truncate(start);
    }
}

/// Tokens and cost, as members of a JSON object.
pub(crate) fn consumption(object: &mut Object<'_>, receipt: &Receipt) {
    object.flag("estimated", receipt.usage.estimated);
    object.nested("tokens", |object| {
        for (bucket, count) in Tokens::BUCKETS.into_iter().zip(receipt.usage.tokens.counts()) {
            object.count(bucket, count);
        }
    });
    if let Some(cost) = receipt.cost {
        object.integer("input_cost", cost.input.0);
        object.integer("output_cost", cost.output.0);
    }
}

const METHOD: &str = "POST";

/// The auth method of a booked call whose record names none.
pub(crate) fn implied_auth_method(receipt: &Receipt) -> &'static str {
    if receipt.auth_key_id.is_some() { "api_key" } else { "master_key" }
}
