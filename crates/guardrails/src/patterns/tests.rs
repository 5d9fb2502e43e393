//! Tests of pattern sets: priorities, positions in the original text, limits and messages.

use super::*;

#[track_caller]
fn compile(patterns: &[&str], usage: PatternUse) -> PatternSet {
    PatternSet::compile(patterns, usage).map_err(|error| error.to_string()).unwrap()
}

#[track_caller]
fn check(patterns: &[&str], text: &str, expected: &[(usize, &str)]) {
    let found = compile(patterns, PatternUse::Input).find_all(text).unwrap();
    let found: Vec<(usize, &str)> = found
        .into_iter()
        .map(|finding| match finding.label {
            Label::Pattern(index) => (index, &text[finding.range]),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn matches_are_leftmost_then_by_order() {
    check(&["b+", "ab"], "xabbb", &[(1, "ab"), (0, "bb")]);
    check(&["ab", "abc"], "abc", &[(0, "ab")]);
    check(&["abc", "ab"], "abc", &[(0, "abc")]);
    check(&[r"\bsecret\b"], "secret, “secret”, secretary", &[(0, "secret"), (0, "secret")]);
    check(&[r"\bÄrzte\b", r"(?i)müller"], "die Ärzte und MÜLLER", &[(0, "Ärzte"), (1, "MÜLLER")]);
    check(&["^start", "end$"], "start end", &[(0, "start"), (1, "end")]);
    check(&[], "anything", &[]);
}

#[test]
fn matches_are_positions_in_the_original() {
    check(&["secret"], "a ｓｅｃｒｅｔ b", &[(0, "ｓｅｃｒｅｔ")]);
    check(&["secret"], "se\u{200B}cr\u{AD}et!", &[(0, "se\u{200B}cr\u{AD}et")]);
    check(&["café"], "cafe\u{301} x", &[(0, "cafe\u{301}")]);
    check(&["f", "i"], "ﬁ i", &[(0, "ﬁ"), (1, "i")]);
}

#[track_caller]
fn refused(patterns: &[&str], usage: PatternUse, index: usize, message: &str) {
    let error = PatternSet::compile(patterns, usage).err().expect("the pattern is refused");
    assert_eq!(error.index, index);
    assert!(error.to_string().contains(message), "{error}");
}

#[test]
fn errors_name_the_pattern_and_the_reason() {
    use PatternUse::{Input, Output};
    refused(
        &["fine", "(open"],
        Input,
        1,
        "patterns[1]: not a regular expression: unclosed group at position 0",
    );
    refused(&["(?=look)"], Input, 0, "look-around");
    refused(&[r"(a)\1"], Input, 0, "backreferences");
    refused(&["a", "b*"], Input, 1, "empty text");
    refused(&[r"\b"], Input, 0, "empty text");
    refused(&[r"[^\s\S]"], Input, 0, "never match");
    refused(&["a\u{200B}b"], Input, 0, "U+200B");
    refused(&["caf(e\u{301})"], Input, 0, "U+0301");
    refused(&["[４-６]"], Input, 0, "U+FF14");
    refused(&["[a-z]{1000}{1000}"], Input, 0, "too large");
    refused(&[&"a".repeat(5000)], Input, 0, "4096 bytes");
    refused(&["fine", r"key=\S+ x"], Output, 1, r"`\S+` has no maximum length");
    refused(&["a{2,}"], Output, 0, "`a{2,}` has no maximum length");
    refused(&["[a-z]{1,9000}x"], Output, 0, "9001 bytes");
    compile(&[r"key=\S{1,100}", "４|4", "[a-z４]"], Output);
    compile(&[r"key=\S+"], Input);
}

#[test]
fn sets_have_a_limit() {
    let many = vec!["x".to_owned(); MAX_PATTERNS + 1];
    refused(
        &many.iter().map(String::as_str).collect::<Vec<_>>(),
        PatternUse::Input,
        MAX_PATTERNS,
        "2000 patterns",
    );
    let large: Vec<String> = (0..400).map(|number| format!("{number}[a-z]{{9000}}")).collect();
    let error = PatternSet::compile(&large, PatternUse::Input).err().expect("the set is refused");
    assert_eq!(error.problem, PatternProblem::SetTooLarge);
}

#[test]
fn a_match_is_found_without_its_position() {
    let set = compile(&["forbidden", "b{3}"], PatternUse::Output);
    assert_eq!(set.is_match("quite for\u{200D}bidden"), Ok(true));
    assert_eq!(set.is_match("quite allowed"), Ok(false));
}
