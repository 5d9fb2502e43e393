//! Tests of streaming redaction: every split equals the whole, and no byte of a match leaves before its decision.

use proptest::prelude::*;

use super::*;
use crate::automaton;
use crate::patterns::{PatternSet, PatternUse};
use crate::placeholder::MaskStyle;
use crate::redact::{apply, redact};

fn detector(patterns: &[&str]) -> Arc<Detector> {
    Arc::new(PatternSet::compile(patterns, PatternUse::Output).unwrap().into_detector())
}

fn masker() -> Masker {
    Masker::new(MaskStyle::Fixed("#".to_owned()))
}

/// The text with its findings replaced, and where they stand in the original.
pub fn whole(detector: &Detector, text: &str) -> (String, Vec<(usize, usize)>) {
    let edits = redact(detector, text, "", &mut masker()).unwrap();
    (apply(text, &edits), edits.iter().map(|edit| (edit.range.start, edit.range.end)).collect())
}

/// Pushes pieces and checks after each that nothing of a finding was passed on as it is.
pub fn streamed(
    detector: &Arc<Detector>,
    pieces: &[&str],
    findings: &[(usize, usize)],
) -> Result<String, TestCaseError> {
    let mut redactor = StreamRedactor::new(Arc::clone(detector));
    let mut output = String::new();
    let mut passed = 0;
    let mut early = None;
    let mut visit = |piece: Piece<'_>| match piece {
        Piece::Kept(text) => {
            let range = passed..passed + text.len();
            early = early
                .or(findings.iter().find(|(start, end)| range.start < *end && *start < range.end).copied());
            passed = range.end;
            output.push_str(text);
        }
        Piece::Found(_, value) => {
            passed += value.len();
            output.push('#');
        }
    };
    for piece in pieces {
        redactor.push_pieces(piece, &mut visit).unwrap();
    }
    redactor.finish_pieces(&mut visit).unwrap();
    prop_assert_eq!(early, None, "text of a finding was passed on: {:?}", pieces);
    Ok(output)
}

pub fn check_every_split(detector: &Arc<Detector>, text: &str) -> Result<(), TestCaseError> {
    let (expected, findings) = whole(detector, text);
    let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    for cut in &bounds {
        let (first, second) = text.split_at(*cut);
        prop_assert_eq!(&streamed(detector, &[first, second], &findings)?, &expected, "split at {}", cut);
    }
    let characters: Vec<&str> = bounds.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
    prop_assert_eq!(&streamed(detector, &characters, &findings)?, &expected, "character by character");
    Ok(())
}

const PATTERN_SETS: [&[&str]; 9] = [
    &["secret"],
    &["(?:x )?secret", "a{2,6}b"],
    &[r"\bkey\b", r"\bkey-\d{1,4}\b"],
    &["a{1,3}", "a{1,8}b", "b{2}a"],
    &["ab?c?", "b{1,4}c$", "^a"],
    &["é{1,3}", "e", r"\w{2,4}!"],
    &[r"[a-z]{1,12}@[a-z]{1,8}\.(?:com|example)"],
    &["(?m)^ab", "(?m)ba$", r"a\B"],
    &["fi", "a.{0,100}?b"],
];

fn text() -> impl Strategy<Value = String> {
    let parts = vec![
        "a",
        "a",
        "b",
        "b",
        "c",
        "e",
        "é",
        "e\u{301}",
        "\u{301}",
        "\u{200B}",
        "ﬁ",
        "i",
        " ",
        "\n",
        "!",
        "x ",
        "secret",
        "ｓecret",
        "secre",
        "key",
        "key-12",
        "a@b.com",
        "bob@",
        ".example",
        "1",
        "中",
        "か",
        "\u{3099}",
        "\u{E0061}",
    ];
    proptest::collection::vec(proptest::sample::select(parts), 0..14).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn every_split_equals_the_whole(set in 0..PATTERN_SETS.len(), text in text()) {
        check_every_split(&detector(PATTERN_SETS[set]), &text)?;
    }

    #[test]
    fn random_pieces_equal_the_whole(
        set in 0..PATTERN_SETS.len(),
        pieces in proptest::collection::vec(text(), 0..12),
    ) {
        let detector = detector(PATTERN_SETS[set]);
        let (expected, findings) = whole(&detector, &pieces.concat());
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        prop_assert_eq!(streamed(&detector, &pieces, &findings)?, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_split_equals_the_whole_for_random_patterns(
        patterns in proptest::collection::vec(automaton::tests::pattern(true), 1..5),
        text in automaton::tests::text(),
    ) {
        let Ok(set) = PatternSet::compile(&patterns, PatternUse::Output) else { return Err(TestCaseError::reject("")) };
        check_every_split(&Arc::new(set.into_detector()), &text)?;
    }
}

/// The text that leaves after each push.
fn push_all(patterns: &[&str], pieces: &[&str]) -> Vec<String> {
    let mut redactor = StreamRedactor::new(detector(patterns));
    let mut masker = masker();
    let mut outputs = Vec::new();
    for piece in pieces {
        let mut output = String::new();
        redactor.push(piece, &mut masker, &mut output).unwrap();
        outputs.push(output);
    }
    let mut output = String::new();
    redactor.finish(&mut masker, &mut output).unwrap();
    outputs.push(output);
    outputs
}

#[test]
fn text_that_starts_no_match_is_not_held() {
    assert_eq!(
        push_all(&["secret"], &["Hello", " world", ", 日本", "語"]),
        ["Hello", " world", ", 日本", "語", ""]
    );
    assert_eq!(push_all(&["secret"], &["Hell", "o s", "o so"]), ["Hell", "o ", "so ", "so"]);
    assert_eq!(push_all(&["secret"], &["les secre", "t se", "cre", "t!"]), ["les ", "# ", "", "#!", ""]);
}

#[test]
fn a_match_is_decided_when_nothing_can_change_it() {
    assert_eq!(push_all(&[r"\d{4}"], &["a 12", "34", "5 678"]), ["a ", "#", "5 ", "678"]);
    assert_eq!(push_all(&[r"\bkey\b"], &["key", "s key", " end"]), ["", "keys ", "# end", ""]);
}

#[test]
fn marks_that_arrive_late_are_part_of_the_character() {
    assert_eq!(push_all(&["café"], &["caf", "e", "\u{301}", "!"]), ["", "", "", "#!", ""]);
    assert_eq!(push_all(&["cafe"], &["caf", "e", "\u{301}", "!"]), ["", "", "", "cafe\u{301}!", ""]);
    assert_eq!(push_all(&["x"], &["e", "\u{301}", "x"]), ["e", "\u{301}", "", "#"]);
}

#[test]
fn held_text_is_bounded() {
    let mut redactor = StreamRedactor::new(detector(&["<[a-z]{1,8000}>"]));
    let mut output = String::new();
    redactor.push("before <", &mut masker(), &mut output).unwrap();
    let mut held: usize = 0;
    for _ in 0..20_000 {
        redactor.push("abcd", &mut masker(), &mut output).unwrap();
        held = held.max(redactor.held_bytes());
    }
    assert!(held < 8_600, "{held}");
    assert_eq!(output.len() + redactor.held_bytes(), 8 + 80_000);
    let mut redactor = StreamRedactor::new(detector(&["<[a-z]{1,8000}>"]));
    redactor.push("<", &mut masker(), &mut output).unwrap();
    let invisible = "\u{200B}".repeat(1000);
    let error = (0..100).find_map(|_| redactor.push(&invisible, &mut masker(), &mut output).err());
    assert_eq!(error, Some(StreamError::TooMuchHeld));
}
