//! Encoding of records, decoding of them and of records that earlier builds wrote, and decoding of damaged ones.

use domain::clock::Timestamp;
use domain::money::{Cost, Nanos};
use domain::receipt::{CostSource, Opening};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::ledger::booking::{Booking, Labels};
use crate::testing::complete_receipt;

const TEXT: &str = "\\PC{0,12}|[\\x00-\\x7f]{0,12}|[a-z]{126,130}";

prop_compose! {
    fn any_tokens()(counts in proptest::array::uniform8(prop_oneof![Just(0), any::<u64>()])) -> Tokens {
        Tokens::from_counts(counts)
    }
}

prop_compose! {
    fn any_opening()(
        texts in proptest::array::uniform9(TEXT), key in proptest::option::of("\\PC{0,9}"),
        stream: bool, estimated: bool, at: i64, tokens in any_tokens(), reported_cost in proptest::option::of(any::<i64>()),
        cost in proptest::option::of((any::<i64>(), any::<i64>())),
    ) -> Opening {
        let [id, request_id, endpoint, requested_model, model, provider, provider_name, user_path, caveat] = texts;
        let reported_cost = reported_cost.map(Nanos);
        Opening {
            id, request_id, endpoint, requested_model, model, provider, provider_name, user_path, stream,
            at: Timestamp(at), tenant_id: key.clone(), run_id: key.clone(), follow: key.clone(),
            workflow_version_id: key.clone(), auth_key_id: key,
            reserved: Usage { tokens, estimated, caveat: Some(caveat), reported_cost, ..Usage::default() },
            reserved_cost: cost.map(|(input, output)| Cost { input: Nanos(input), output: Nanos(output) }),
            unbooked: stream, audited: estimated,
        }
    }
}

prop_compose! {
    /// A receipt with arbitrary columns and label; some have details and audit data.
    fn any_receipt()(
        texts in proptest::array::uniform10(TEXT),
        options in proptest::array::uniform4(proptest::option::of(TEXT)),
        [stream, estimated, unbooked, cache_miss, is_complete] in any::<[bool; 5]>(),
        (at, status, duration_us) in any::<(i64, u16, u64)>(),
        first_byte_us in proptest::option::of(any::<u64>()),
        tokens in any_tokens(),
        cost in proptest::option::of((any::<i64>(), any::<i64>())),
        saved_cost in proptest::option::of(any::<i64>()),
        source in 0..3usize,
    ) -> Receipt {
        let [
            id, request_id, endpoint, requested_model, model, provider, provider_name, provider_id, user_path, cache_type,
        ] = texts;
        let [auth_key_id, tenant_id, run_id, session_id] = options;
        let rest = if is_complete { complete_receipt() } else { Receipt::default() };
        Receipt {
            id, request_id, endpoint, requested_model, model, provider, provider_name, provider_id, user_path, cache_type,
            auth_key_id, tenant_id, run_id, session_id, stream, unbooked, status, duration_us, first_byte_us, cache_miss,
            at: Timestamp(at),
            saved_cost: saved_cost.map(Nanos),
            usage: Usage { tokens, estimated, ..rest.usage },
            cost: cost.map(|(input, output)| Cost { input: Nanos(input), output: Nanos(output) }),
            cost_source: [CostSource::None, CostSource::ModelPricing, CostSource::ProviderReported][source],
            ..rest
        }
    }
}

proptest! {
    #[test]
    fn an_opening_reads_back_as_it_was(written in any_opening()) {
        for (encoding, payload) in [
            (Encoding::Binary, encoded_opening(&written)),
            (Encoding::Json, serde_json::to_vec(&written).unwrap()),
        ] {
            prop_assert_eq!(opening_id(encoding, &payload).unwrap(), &*written.id);
            let record = OpeningRecord { encoding, payload: payload.into() };
            prop_assert_eq!(&record.decode().unwrap(), &written);
        }
    }

    #[test]
    fn a_receipt_reads_back_as_from_json(receipt in any_receipt()) {
        let (binary, json) = (encoded(&receipt), json_record(&receipt));
        prop_assert_eq!(receipt_id(Encoding::Binary, &binary).unwrap(), &*receipt.id);
        prop_assert_eq!(decoded(Encoding::Binary, &binary), decoded(Encoding::Json, &json));
    }

    #[test]
    fn damage_is_an_error_and_never_a_panic(
        receipt in any_receipt(), opening in any_opening(), cut: prop::sample::Index, place: prop::sample::Index, byte: u8,
        noise in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        decode_all(&noise);
        decode_all(&[&[record::START], &*noise, &[record::END]].concat());
        for whole in [encoded(&receipt), encoded_opening(&opening)] {
            let cut = cut.index(whole.len());
            decode_all(&whole[..cut]);
            decode_all(&[&whole[..cut], &[record::END]].concat());
            let mut changed = whole.clone();
            changed[place.index(whole.len())] = byte;
            decode_all(&changed);
        }
    }
}

fn encoded(receipt: &Receipt) -> Vec<u8> {
    let mut out = Vec::new();
    super::receipt(&mut out, receipt);
    out
}

fn encoded_opening(opening: &Opening) -> Vec<u8> {
    let mut out = Vec::new();
    super::opening(&mut out, opening.as_ref());
    out
}

/// Decodes a payload in every way; results do not matter.
fn decode_all(payload: &[u8]) {
    _ = opening_id(Encoding::Binary, payload);
    _ = receipt_id(Encoding::Binary, payload);
    _ = OpeningRecord { encoding: Encoding::Binary, payload: payload.into() }.decode();
    if let Ok(record) = ReceiptRecord::parse(Encoding::Binary, payload) {
        _ = Booking::read(&record, &mut Labels::default(), &mut Vec::new());
        _ = Recorded::read_audited(&record);
    }
}

/// The booking and the audit entry that are read from a record.
fn decoded(encoding: Encoding, payload: &[u8]) -> (String, String) {
    let record = ReceiptRecord::parse(encoding, payload).unwrap();
    let mut bookings = Vec::new();
    let id = Booking::read(&record, &mut Labels::default(), &mut bookings).unwrap();
    let audited = Recorded::read_audited(&record).unwrap();
    (format!("{id} {bookings:?}"), serde_json::to_string(&audited).unwrap())
}

/// The record of a receipt as earlier builds wrote it.
fn json_record(receipt: &Receipt) -> Vec<u8> {
    macro_rules! names {
        ($($name:ident: $type:ty = $number:literal => $null:ident $column:ident [$($most:literal)?],)*) => {
            [$(stringify!($name)),*]
        };
    }
    let whole = serde_json::to_value(receipt).unwrap();
    let pick = |names: &[&str]| -> Map<String, Value> {
        let members = names.iter().map(|name| ((*name).to_owned(), whole[name].clone()));
        members.filter(|(_, value)| !value.is_null()).collect()
    };
    let mut columns = pick(&receipt_fields!(column => names));
    columns.insert("unbooked".into(), (!receipt.is_booked()).into());
    columns.insert("estimated".into(), receipt.usage.estimated.into());
    columns.insert("tokens".into(), json!(receipt.usage.tokens));
    if let Some(cost) = receipt.cost {
        columns.insert("input_cost".into(), cost.input.0.into());
        columns.insert("output_cost".into(), cost.output.0.into());
    }
    let label = pick(&receipt_fields!(label => names));
    let mut detail = Vec::new();
    super::detail(&mut detail, receipt);
    let detail = if detail.is_empty() { "{}".into() } else { String::from_utf8(detail).unwrap() };
    let mut lines = vec![Value::Object(columns).to_string(), Value::Object(label).to_string(), detail];
    if let Some(audit) = &receipt.audit {
        lines.push(json!({"auth_method": receipt.auth_method, "audit": audit}).to_string());
    }
    lines.join("\n").into_bytes()
}

#[test]
fn every_field_of_a_receipt_is_in_its_record() {
    for unbooked in [false, true] {
        let receipt = Receipt { unbooked, ..complete_receipt() };
        let payload = encoded(&receipt);
        let record = ReceiptRecord::parse(Encoding::Binary, &payload).unwrap();
        let read = Recorded::read_audited(&record).unwrap().unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), serde_json::to_value(receipt).unwrap());
    }
}

/// The numbers of the fields of a section.
fn numbers(fields: &[u8]) -> Vec<u8> {
    let mut reader = FieldReader::new(fields);
    std::iter::from_fn(|| reader.next_field().unwrap()).map(|field| field.number).collect()
}

#[test]
fn default_values_are_left_out() {
    let check = |receipt: &Receipt, columns: &[u8], label: &[u8], detail: &str| {
        let payload = encoded(receipt);
        let record = ReceiptRecord::parse(Encoding::Binary, &payload).unwrap();
        assert_eq!(numbers(record.columns), columns);
        assert_eq!(numbers(record.label), label);
        assert_eq!((record.detail, record.audit), (detail, None));
    };
    let usual = Receipt {
        id: "r".into(),
        method: "POST".into(),
        auth_method: "master_key".into(),
        ..Receipt::default()
    };
    check(&usual, &[number::ID], &[], "{}");
    let attempt = Attempt { status: 200, duration_us: 7, ..Attempt::default() };
    let keyed = Receipt {
        auth_key_id: Some("k".into()),
        attempts: vec![attempt],
        cost: Some(Cost::default()),
        ..usual
    };
    check(&keyed, &[number::ID, COST], &[12], r#"{"auth_method":"master_key","attempt_us":7}"#);
    // A saved cost of zero is known.
    let cached = Receipt { saved_cost: Some(Nanos(0)), auth_key_id: None, attempts: Vec::new(), ..keyed };
    check(&cached, &[number::ID, 42, COST], &[], "{}");
}

#[test]
fn fields_of_later_builds_are_skipped() {
    let receipt = complete_receipt();
    let later = |out: &mut Vec<u8>| {
        let mut fields = FieldWriter::new(out);
        fields.number(100, u64::MAX);
        fields.text(101, &"later".repeat(50));
    };
    let mut payload = vec![record::START];
    let mut sections = FieldWriter::new(&mut payload);
    sections.section(section::COLUMNS, |out| {
        columns(out, &receipt);
        later(out);
    });
    sections.section(section::LABEL, |out| {
        label(out, &receipt);
        later(out);
    });
    sections.section(section::DETAIL, |out| detail(out, &receipt));
    later(&mut payload);
    payload.push(record::END);
    let (booking, _) = decoded(Encoding::Binary, &payload);
    assert_eq!(booking, decoded(Encoding::Binary, &encoded(&receipt)).0);
}

#[test]
fn errors_name_the_field_and_the_reason() {
    let error = |fill: fn(&mut FieldWriter<'_>)| {
        let mut payload = vec![record::START];
        fill(&mut FieldWriter::new(&mut payload));
        payload.push(record::END);
        let record = OpeningRecord { encoding: Encoding::Binary, payload: payload.into() };
        record.decode().unwrap_err().to_string()
    };
    assert_eq!(error(|fields| fields.number(number::ID, 1)), "field 1: a number instead of bytes");
    assert_eq!(error(|fields| fields.text(3, "x")), "field 3: bytes instead of a number");
    assert_eq!(error(|fields| fields.nested(2, |out| out.push(0xff))), "field 2: not UTF-8");
}
