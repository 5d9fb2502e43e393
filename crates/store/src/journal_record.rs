//! Encodes journal records: openings and receipts as JSON, written directly into the frame and without default values.
//!
//! A receipt has three lines, laid out for booking: the columns of the ledger, the label that it shares with other
//! receipts, and the details that no column holds, which are stored unchanged. A fourth line is for the audit log only.
//! `domain::receipt_fields` declares which field is on which line; the fields that it assigns to no line are encoded and
//! decoded here.

mod field;
mod object;
#[cfg(test)]
mod tests;

use domain::money::{Cost, Nanos};
use domain::receipt::{Attempt, Audited, OpeningRef, Receipt};
use domain::receipt_fields;
use domain::usage::{Tokens, Usage};
use serde::Deserialize;

pub(crate) use field::RecordField;
pub(crate) use object::Object;

/// Encodes an opening; decodes as `domain::receipt::Opening`.
pub(crate) fn opening(out: &mut Vec<u8>, opening: OpeningRef<'_>) {
    let mut object = Object::begin(out);
    macro_rules! write_opening {
        ($($(#[$attribute:meta])* $name:ident: $type:ty,)*) => {
            $(opening.$name.write(stringify!($name), &mut object);)*
        };
    }
    receipt_fields!(opening => write_opening);
    let Usage { tokens: counts, estimated, reported_cost, caveat, .. } = opening.reserved;
    object.nested("reserved", |usage| {
        usage.nested("tokens", |object| tokens(object, counts));
        usage.flag("estimated", *estimated);
        usage.some("reported_cost", reported_cost.as_ref());
        usage.some_text("caveat", caveat.as_deref());
    });
    if let Some(Cost { input, output }) = opening.reserved_cost {
        object.nested("reserved_cost", |cost| {
            cost.integer("input", input.0);
            cost.integer("output", output.0);
        });
    }
    object.flag("unbooked", opening.unbooked);
    object.flag("audited", opening.audited);
    object.some_text("follow", opening.follow);
    object.end();
}

/// Encodes a receipt; decodes as `ledger::booking::Booking`, and as `Recorded`.
pub(crate) fn receipt(out: &mut Vec<u8>, receipt: &Receipt) {
    receipt_with(out, receipt, receipt.audit.as_deref());
}

/// Encodes a receipt with the given audit data instead of its own.
pub(crate) fn receipt_with(out: &mut Vec<u8>, receipt: &Receipt, audited: Option<&Audited>) {
    let mut object = Object::begin(out);
    columns(&mut object, receipt);
    object.end();
    for write in [label, detail] {
        out.push(b'\n');
        let mut object = Object::begin(out);
        write(&mut object, receipt);
        object.end();
    }
    if let Some(audited) = audited {
        out.push(b'\n');
        let mut object = Object::begin(out);
        object.text("auth_method", &receipt.auth_method);
        object.some("audit", Some(audited));
        object.end();
    }
}

/// The line for the audit log, if there is one.
pub(crate) fn audit_line(text: &str) -> Option<&str> {
    text.split('\n').nth(3)
}

/// The first three lines of a receipt; missing ones are empty objects.
pub(crate) fn lines(text: &str) -> [&str; 3] {
    let mut lines = text.split('\n');
    [(); 3].map(|()| lines.next().unwrap_or("{}"))
}

/// The fields with a column of their own. The id is the first of them, where readers look for it.
fn columns(object: &mut Object<'_>, receipt: &Receipt) {
    macro_rules! write_columns {
        ($($name:ident: $type:ty => $null:ident $column:ident [$($most:literal)?],)*) => {
            $(receipt.$name.write(stringify!($name), object);)*
        };
    }
    receipt_fields!(column => write_columns);
    object.flag("unbooked", !receipt.is_booked());
    consumption(object, receipt);
}

/// Tokens and cost, as members of the same object.
pub(crate) fn consumption(object: &mut Object<'_>, receipt: &Receipt) {
    object.flag("estimated", receipt.usage.estimated);
    object.nested("tokens", |object| tokens(object, &receipt.usage.tokens));
    if let Some(cost) = receipt.cost {
        object.integer("input_cost", cost.input.0);
        object.integer("output_cost", cost.output.0);
    }
}

/// The fields that receipts share with others; equal labels have equal text.
fn label(object: &mut Object<'_>, receipt: &Receipt) {
    macro_rules! write_label {
        ($($name:ident: $type:ty => $null:ident $column:ident [$($most:literal)?],)*) => {
            $(receipt.$name.write(stringify!($name), object);)*
        };
    }
    receipt_fields!(label => write_label);
}

/// The fields that no column holds. Defaults are left out: the method POST, and the auth method implied by the presence
/// of a key.
fn detail(object: &mut Object<'_>, receipt: &Receipt) {
    let filled = |text: &'static str, value: &str| !value.is_empty() && value != text;
    if filled(METHOD, &receipt.method) {
        object.text("method", &receipt.method);
    }
    if filled(implied_auth_method(receipt), &receipt.auth_method) {
        object.text("auth_method", &receipt.auth_method);
    }
    macro_rules! write_detail {
        ($($name:ident: $type:ty,)*) => {
            $(receipt.$name.write(stringify!($name), object);)*
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
}

fn tokens(object: &mut Object<'_>, tokens: &Tokens) {
    for (bucket, count) in Tokens::BUCKETS.into_iter().zip(tokens.counts()) {
        object.count(bucket, count);
    }
}

const METHOD: &str = "POST";

/// The auth method of a booked call whose record names none.
pub(crate) fn implied_auth_method(receipt: &Receipt) -> &'static str {
    if receipt.auth_key_id.is_some() { "api_key" } else { "master_key" }
}

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
    /// Decodes an object with the fields of one or several lines.
    pub fn read(json: &str) -> Result<Self, serde_json::Error> {
        Ok(Self { receipt: serde_json::from_str(json)?, composed: serde_json::from_str(json)? })
    }

    /// Decodes a record with a line for the audit log; `None` if it has none.
    pub fn read_audited(text: &str) -> Result<Option<Receipt>, serde_json::Error> {
        let Some(line) = audit_line(text) else { return Ok(None) };
        let members = |line: &'_ str| -> Option<String> {
            let inner = line.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
            (!inner.is_empty()).then(|| inner.to_owned())
        };
        let parts: Vec<String> = lines(text).into_iter().filter_map(members).collect();
        let mut receipt = Self::read(&format!("{{{}}}", parts.join(",")))?.complete();
        let AuditLine { auth_method, audit } = serde_json::from_str(line)?;
        receipt.auth_method = auth_method;
        receipt.audit = Some(Box::new(audit));
        Ok(Some(receipt))
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

/// The fourth line of a record.
#[derive(Default, Deserialize)]
#[serde(default)]
struct AuditLine {
    auth_method: String,
    audit: Audited,
}
