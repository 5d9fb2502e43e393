//! Tests of streaming redaction with the rules for personal data.

use proptest::prelude::*;

use super::tests::{check_every_split, streamed, whole};
use super::*;
use crate::kind::PiiKind;
use crate::placeholder::{MaskStyle, ScopeKey};
use crate::redact::{apply, redact};
use std::sync::LazyLock;

static ALL: LazyLock<Arc<Detector>> =
    LazyLock::new(|| Arc::new(crate::pii::detector(&PiiKind::ALL).unwrap()));

/// A detector for each kind alone.
static SINGLE: LazyLock<Vec<Arc<Detector>>> = LazyLock::new(|| {
    PiiKind::ALL.iter().map(|kind| Arc::new(crate::pii::detector(&[*kind]).unwrap())).collect()
});

const KEY_LINE: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";

/// Values of every kind, and texts that look like the start of one.
fn part() -> impl Strategy<Value = String> {
    let values = vec![
        "john.doe@example.com",
        "git@github.com:org/x",
        "+49 30 901820",
        "(212) 555-0123",
        "Tel. 030/901820-15",
        "SSN 123-45-6789",
        "ssn 123456789",
        "4111 1111 1111 1111",
        "4111111111111111123",
        "41111111111111112",
        "DE89 3704 0044 0532 0130 00",
        "GB82WEST12345698765432",
        "203.0.113.7",
        "1.2.3.4.5",
        "2001:db8::ff00:42:8329",
        "00:1A:2B:3C:4D:5E",
        "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
        "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "111.444.777-35",
        "2 55 08 14 168 025 38",
        "BSN 111222333",
        "RSSMRA85T10A562S",
        "811218-9876 2024",
        "born on 1984-03-15",
        "née le 15 mars 1984",
        "生年月日1984年3月15日",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "api_key = \"9f86d081884c7d659a2feaa0c55ad015\"",
        "sk-proj-Ab3dE6gH1jK4mN7pQ0sT2vW5yZ8aC1dF4gH7jK0mN3pQ6sT9",
        "-----BEGIN PRIVATE KEY-----",
        KEY_LINE,
        "-----END PRIVATE KEY-----",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3",
        "postgres://admin:s3cret@db.example:5432/app",
        "https://example.com/path?x=1",
        "Server=db,1433;Database=app;User Id=sa;Password=Pa55w0rd;",
        "host=localhost port=5432 user=app password=s3cret",
        "card 4222222222222",
        "isikukood 37605030299",
        "8.361.878-7",
        "BNtv\n",
        "address:2001:db8::1",
    ];
    prop_oneof![
        6 => proptest::sample::select(values.clone()).prop_map(str::to_owned),
        // Pieces of values.
        2 => (proptest::sample::select(values), any::<prop::sample::Index>()).prop_map(|(value, cut)| {
            value.chars().take(cut.index(value.len())).collect()
        }),
        3 => proptest::sample::select(vec![" ", "\n", ". ", ",", "-", ":", "@", "\"", "中文", "é", "\u{200B}", "\\n", "7", "x"])
            .prop_map(str::to_owned),
    ]
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(part(), 1..6).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_split_equals_the_whole(text in text()) {
        check_every_split(&ALL, &text)?;
    }

    #[test]
    fn every_split_equals_the_whole_for_each_kind_alone(kind in 0..PiiKind::ALL.len(), text in text()) {
        check_every_split(&SINGLE[kind], &text)?;
    }

    #[test]
    fn random_pieces_equal_the_whole(pieces in proptest::collection::vec(part(), 0..60)) {
        let (expected, findings) = whole(&ALL, &pieces.concat());
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        prop_assert_eq!(streamed(&ALL, &pieces, &findings)?, expected);
    }

    #[test]
    fn reversible_masking_of_pieces_equals_the_whole(pieces in proptest::collection::vec(part(), 0..20)) {
        let masker = || Masker::new(MaskStyle::Reversible(ScopeKey::new(&[7; 32])));
        let text = pieces.concat();
        let mut whole_masker = masker();
        let expected = apply(&text, &redact(&ALL, &text, "", &mut whole_masker).unwrap());
        let mut stream_masker = masker();
        let mut redactor = StreamRedactor::new(Arc::clone(&ALL));
        let mut output = String::new();
        for piece in &pieces {
            redactor.push(piece, &mut stream_masker, &mut output).unwrap();
        }
        redactor.finish(&mut stream_masker, &mut output).unwrap();
        prop_assert_eq!(output, expected);
        prop_assert_eq!(stream_masker.into_map(), whole_masker.into_map());
    }
}

#[test]
fn each_kind_alone_equals_the_whole_for_every_split() {
    let text = format!(
        "Hi, I am born 1984-03-15, SSN 123-45-6789, mail a@b.example, tel +49 30 901820, card 4111 1111 1111 1111 (12/27), \
         iban DE89370400440532013000, host 203.0.113.7, mac 00:1A:2B:3C:4D:5E, \
         1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa, cpf 111.444.777-35, ghp_16C7e42F292c6912E7710c838347Ae178B4a, \
         eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgN, \
         postgres://u:p@db/x\n-----BEGIN PRIVATE KEY-----\n{KEY_LINE}\n-----END PRIVATE KEY-----\nBye."
    );
    for kind in PiiKind::ALL {
        let detector = Arc::new(crate::pii::detector(&[kind]).unwrap());
        let (redacted, findings) = whole(&detector, &text);
        assert!(!findings.is_empty() && redacted.ends_with("Bye."), "{kind}: {redacted}");
        check_every_split(&detector, &text).unwrap();
    }
}

#[test]
fn ordinary_text_is_held_up_to_the_current_word() {
    let detector = Arc::new(crate::pii::detector(&PiiKind::defaults().collect::<Vec<_>>()).unwrap());
    let mut redactor = StreamRedactor::new(detector);
    let mut masker = Masker::new(MaskStyle::Kind);
    let mut output = String::new();
    for (piece, expected) in [
        ("Hello", ""),
        (" world", "Hello "),
        (", it is ", "Hello world, it is "),
        ("日本", "Hello world, it is 日本"),
    ] {
        redactor.push(piece, &mut masker, &mut output).unwrap();
        assert_eq!(output, expected);
    }
}
