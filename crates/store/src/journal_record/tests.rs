//! Encoding of records, and decoding of records that earlier builds wrote.

use domain::receipt::Opening;
use proptest::prelude::*;

use super::*;
use crate::testing::complete_receipt;

prop_compose! {
    fn any_opening()(
        texts in proptest::array::uniform9("\\PC{0,12}|[\\x00-\\x7f]{0,12}"), key in proptest::option::of("\\PC{0,9}"),
        stream: bool, estimated: bool, input: u64, output in prop_oneof![Just(0), any::<u64>()],
        cost in proptest::option::of((any::<i64>(), any::<i64>())),
    ) -> Opening {
        let [id, request_id, endpoint, requested_model, model, provider, provider_name, user_path, caveat] = texts;
        let tokens = Tokens { input, output, ..Tokens::default() };
        Opening {
            id, request_id, endpoint, requested_model, model, provider, provider_name, user_path, stream,
            at: domain::clock::Timestamp(input as i64 >> 8), tenant_id: key.clone(), run_id: key.clone(), follow: key.clone(), auth_key_id: key,
            reserved: Usage { tokens, estimated, caveat: Some(caveat), ..Usage::default() },
            reserved_cost: cost.map(|(input, output)| Cost {
                input: domain::money::Nanos(input),
                output: domain::money::Nanos(output),
            }),
            unbooked: stream, audited: estimated,
        }
    }
}

proptest! {
    #[test]
    fn an_opening_reads_back_as_it_was(written in any_opening()) {
        let mut out = Vec::new();
        opening(&mut out, written.as_ref());
        prop_assert_eq!(serde_json::from_slice::<Opening>(&out).unwrap(), written);
    }
}

#[test]
fn every_field_of_a_receipt_is_in_its_record() {
    for unbooked in [false, true] {
        let receipt = Receipt { unbooked, ..complete_receipt() };
        let mut out = Vec::new();
        super::receipt(&mut out, &receipt);
        let text = String::from_utf8(out).unwrap();
        let read = Recorded::read_audited(&text).unwrap().unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), serde_json::to_value(receipt).unwrap());
    }
}

/// All lines merged into one object.
fn read(receipt: &Receipt) -> serde_json::Map<String, serde_json::Value> {
    let mut out = Vec::new();
    super::receipt(&mut out, receipt);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().count(), 3 + usize::from(receipt.audit.is_some()), "{text}");
    let audit = audit_line(&text).unwrap_or("{}");
    let parts = lines(&text).into_iter().chain([audit]);
    parts.flat_map(|line| serde_json::from_str::<serde_json::Map<_, _>>(line).unwrap()).collect()
}

#[test]
fn default_values_are_left_out() {
    let check = |receipt: &Receipt, expected: serde_json::Value| {
        assert_eq!(serde_json::Value::Object(read(receipt)), expected)
    };
    let usual = Receipt {
        id: "r".into(),
        method: "POST".into(),
        auth_method: "master_key".into(),
        ..Receipt::default()
    };
    check(&usual, serde_json::json!({"id": "r", "at": 0}));
    let attempt = Attempt { status: 200, duration_us: 7, ..Attempt::default() };
    let keyed = Receipt { auth_key_id: Some("k".into()), attempts: vec![attempt], ..usual };
    check(
        &keyed,
        serde_json::json!({"id": "r", "at": 0, "auth_key_id": "k", "auth_method": "master_key", "attempt_us": 7}),
    );
}
