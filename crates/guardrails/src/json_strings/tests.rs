//! Tests of redaction inside of streamed JSON.

use proptest::prelude::*;
use serde_json::Value;
use std::sync::LazyLock;

use super::*;
use crate::kind::PiiKind;
use crate::placeholder::MaskStyle;

static ALL: LazyLock<Arc<Detector>> =
    LazyLock::new(|| Arc::new(crate::pii::detector(&PiiKind::ALL).unwrap()));

fn redact_pieces(pieces: &[&str]) -> (String, Vec<Label>) {
    let mut redactor = JsonStringRedactor::new(Arc::clone(&ALL));
    let mut masker = Masker::new(MaskStyle::Kind);
    let mut output = String::new();
    for piece in pieces {
        redactor.push(piece, &mut masker, &mut output).unwrap();
    }
    redactor.finish(&mut masker, &mut output).unwrap();
    (output, redactor.key_findings().to_vec())
}

#[track_caller]
fn check(json: &str, expected: &str) {
    assert_eq!(redact_pieces(&[json]).0, expected);
    assert_eq!(redact_json(&ALL, json, &mut Masker::new(MaskStyle::Kind)).unwrap().text, expected);
    for cut in (0..=json.len()).filter(|cut| json.is_char_boundary(*cut)) {
        let (first, second) = json.split_at(cut);
        assert_eq!(redact_pieces(&[first, second]).0, expected, "split at {cut}");
    }
    let characters: Vec<String> = json.chars().map(String::from).collect();
    assert_eq!(redact_pieces(&characters.iter().map(String::as_str).collect::<Vec<_>>()).0, expected);
}

#[test]
fn strings_are_redacted_and_the_rest_stays() {
    check(
        r#"{"to": "a@b.example", "n": [1, true, null, -2.5e3]}"#,
        r#"{"to": "[EMAIL]", "n": [1, true, null, -2.5e3]}"#,
    );
    check(
        r#"{"x":"caf\u00e9 \ud83d\ude00 a\u0040b.example\n"}"#,
        r#"{"x":"caf\u00e9 \ud83d\ude00 [EMAIL]\n"}"#,
    );
    check(r#" [ "\/\\\"" , "" ] "#, r#" [ "\/\\\"" , "" ] "#);
}

#[test]
fn strings_do_not_continue_each_other() {
    check(r#"["a@b", ".example"]"#, r#"["a@b", ".example"]"#);
    check(r#"["4111111111111111"]"#, r#"["[CREDIT_CARD]"]"#);
}

#[test]
fn numbers_with_findings_become_strings() {
    check(r#"{"card": 4111111111111111}"#, r#"{"card": "[CREDIT_CARD]"}"#);
    check(r#"[4111111111111111,17]"#, r#"["[CREDIT_CARD]",17]"#);
    check("4111111111111111", r#""[CREDIT_CARD]""#);
    check("{\"card\": 4111111111111111 \n}", "{\"card\": \"[CREDIT_CARD]\" \n}");
}

#[test]
fn keys_are_context_for_their_values() {
    check(r#"{"ssn": "123456789"}"#, r#"{"ssn": "[SSN]"}"#);
    check(r#"{"userSsn": 123456789, "order": 123456789}"#, r#"{"userSsn": "[SSN]", "order": 123456789}"#);
}

#[test]
fn keys_are_inspected_and_not_rewritten() {
    let json = r#"{"a@b.example": {"c@d.example": 1}, "x": "e@f.example"}"#;
    let (output, keys) = redact_pieces(&[json]);
    assert_eq!(output, r#"{"a@b.example": {"c@d.example": 1}, "x": "[EMAIL]"}"#);
    assert_eq!(keys, [Label::Pii(PiiKind::Email); 2]);
}

#[test]
fn text_that_is_no_json_is_redacted_as_plain_text() {
    check("4111 1111 1111 1111", "[CREDIT_CARD]");
    check("00:1A:2B:3C:4D:5E", "[MAC_ADDRESS]");
    check("write to a@b.example, ssn: 123-45-6789", "write to [EMAIL], ssn: [SSN]");
    check("{'to': 'a@b.example', \"x\": \"\\u0040\"}", "{'to': '[EMAIL]', \"x\": \"\\u0040\"}");
    check(
        &format!("[{0}, \"a@b.example\"]", "7".repeat(1100)),
        &format!("[{0}, \"[EMAIL]\"]", "7".repeat(1100)),
    );
    check(r#"{"open": "a@b.example, \u00"#, r#"{"open": "[EMAIL], \u00"#);
    check(r#"}}]] "x" \ud83d "\ud83d\ud83dx\q""#, r#"}}]] "x" \ud83d "\ud83d\ud83dx\q""#);
    check("plain text é", "plain text é");
}

#[test]
fn long_keys_are_context_by_their_end() {
    let key = |end: &str| format!("{}_{end}", "é".repeat(300));
    check(&format!(r#"{{"{}": 123456789}}"#, key("ssn")), &format!(r#"{{"{}": "[SSN]"}}"#, key("ssn")));
    let order = format!(r#"{{"ssn_{}": 123456789}}"#, key("order"));
    check(&order, &order);
}

#[test]
fn whole_texts_have_no_limit() {
    let set = crate::patterns::PatternSet::compile(&["<.*>"], crate::patterns::PatternUse::Input).unwrap();
    let detector = Arc::new(set.into_detector());
    let json = format!(r#"["<{}> \u00e9", 1]"#, "a".repeat(100_000));
    let mut masker = Masker::new(MaskStyle::Kind);
    let redacted = redact_json(&detector, &json, &mut masker).unwrap();
    assert_eq!(redacted.text, r#"["[REDACTED] \u00e9", 1]"#);
    assert_eq!(masker.counts().get(&Label::Pattern(0)), Some(&1));
    let mut redactor = JsonStringRedactor::new(detector);
    let pushed = redactor.push(&json[..90_000], &mut masker, &mut String::new());
    assert_eq!(pushed, Err(StreamError::TooMuchHeld));
}

#[test]
fn replacements_are_escaped() {
    let mut redactor = JsonStringRedactor::new(Arc::clone(&ALL));
    let mut masker = Masker::new(MaskStyle::Fixed("\"<x>\"\n".to_owned()));
    let mut output = String::new();
    redactor.push(r#"["a@b.example"]"#, &mut masker, &mut output).unwrap();
    redactor.finish(&mut masker, &mut output).unwrap();
    assert_eq!(output, r#"["\"<x>\"\n"]"#);
}

fn json_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        proptest::sample::select(vec![
            "a@b.example",
            "mail a@b.example now",
            "4111 1111 1111 1111",
            "ssn 123-45-6789",
            "plain",
            "",
            "line\nend\t\"q\"\\",
            "é😀\u{1}",
            "postgres://u:p@db/x",
            "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
        ])
        .prop_map(str::to_owned),
        ".{0,12}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop_oneof![any::<i64>().prop_map(Value::from), Just(Value::from(4111111111111111_i64))],
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((text.clone(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The JSON with all characters outside of ASCII as escapes.
fn escaped(json: &str) -> String {
    let mut units = [0; 2];
    json.chars()
        .map(|character| match character {
            ' '..='~' => character.to_string(),
            other => other.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn valid_json_stays_valid_for_every_split(value in json_value(), is_escaped: bool) {
        let json = value.to_string();
        let json = if is_escaped { escaped(&json) } else { json };
        let (expected, _) = redact_pieces(&[&json]);
        let parsed: Value = serde_json::from_str(&expected).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(shape(&parsed), shape(&value));
        for cut in (0..=json.len()).filter(|cut| json.is_char_boundary(*cut)) {
            let (first, second) = json.split_at(cut);
            prop_assert_eq!(&redact_pieces(&[first, second]).0, &expected, "split at {}", cut);
        }
    }

    #[test]
    fn any_text_is_the_same_for_every_split(parts in proptest::collection::vec(proptest::sample::select(
        vec!["\"", "\\", "\\u", "d83d", "\\ude00", "{", "}", ":", ",", "[", "]", "a@b.example", "4111111111111111", "é", "\n", "true", " "]), 0..16,
    )) {
        let text = parts.concat();
        let expected = redact_pieces(&[&text]);
        for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let (first, second) = text.split_at(cut);
            prop_assert_eq!(&redact_pieces(&[first, second]), &expected, "split at {}", cut);
        }
    }
}

/// The containers and keys of a value.
fn shape(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), shape(value))).collect(),
        _ => Value::Null,
    }
}
