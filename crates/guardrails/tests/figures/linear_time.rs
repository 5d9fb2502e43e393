//! Time of searches: twice the text takes at most 2.2 times as long, whatever the machine and the build.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests that print their figures")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use guardrails::injection::InjectionRules;
use guardrails::kind::PiiKind;
use guardrails::patterns::{PatternSet, PatternUse};
use guardrails::pii;
use guardrails::placeholder::{MaskStyle, Masker};
use guardrails::stream::StreamRedactor;
use rustix::time::{ClockId, clock_gettime};

const MEBIBYTE: usize = 1 << 20;
const MOST_ROUNDS: usize = 12;
const MOST_TIMES: f64 = 2.2;
/// Time that does not count, because other work on the machine may cost as much.
const SLACK: Duration = Duration::from_millis(20);

/// Compares the smallest times of several rounds, of which the first one builds the automata. Rounds end when the times
/// are as expected, which those of a slower algorithm never are.
#[track_caller]
fn assert_linear(name: &str, size: usize, text: &dyn Fn(usize) -> String, run: &mut dyn FnMut(&str)) {
    let texts = [text(size), text(2 * size)];
    let [mut single, mut double] = [Duration::MAX; 2];
    let is_linear = (0..MOST_ROUNDS).any(|round| {
        single = processor_time(|| run(&texts[0])).min(single);
        double = processor_time(|| run(&texts[1])).min(double);
        round > 0 && double <= single.mul_f64(MOST_TIMES) + SLACK
    });
    println!("{name}: {single:.1?} for {size} bytes, {double:.1?} for twice as many");
    assert!(is_linear, "{name}: {single:?}, and {double:?} for twice the text");
}

/// The processor time of the thread, on which other work has less influence than on the time of day.
fn processor_time(run: impl FnOnce()) -> Duration {
    let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default();
    let started = now();
    run();
    now().saturating_sub(started)
}

fn assert_linear_patterns(
    name: &str,
    patterns: &[String],
    usage: PatternUse,
    text: &dyn Fn(usize) -> String,
) {
    let set = PatternSet::compile(patterns, usage).unwrap();
    assert_linear(name, MEBIBYTE, text, &mut |text| {
        black_box(set.find_all(text)).unwrap();
    });
}

fn words(size: usize, vocabulary: &[&str]) -> String {
    let line: String =
        (0..997).map(|place| format!("{} ", vocabulary[place * place % vocabulary.len()])).collect();
    let mut text = line.repeat(size / line.len() + 1);
    let end = (size - 4..=size).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    text.truncate(end);
    text
}

const MIXED: [&str; 7] = ["café", "Straße", "alpha-17", "2024", "日本語", "and", "item-4431"];

#[test]
fn nested_repetition_takes_linear_time() {
    let pattern = ["(a+)+$".to_owned()];
    let no_match = |size: usize| "a".repeat(size - 1) + "b";
    assert_linear_patterns("(a+)+$ without a match", &pattern, PatternUse::Input, &no_match);
    let whole = |size: usize| "a".repeat(size);
    assert_linear_patterns("(a+)+$ with a match", &pattern, PatternUse::Input, &whole);
}

/// A pattern with a number in it.
type Shape = fn(usize) -> String;

#[test]
fn a_thousand_patterns_take_linear_time() {
    let shapes: [(&str, Shape); 3] = [
        ("1,000 literals", |number| format!("alpha-{number:04}-[a-z]{{1,16}}")),
        ("1,000 classes", |number| format!("[a-z]{{3,10}}[0-9]{{1,6}}x{number}")),
        ("1,000 words", |number| format!(r"\b[A-Z]{{2}}{number}[0-9]{{4,8}}\b")),
    ];
    for (name, shape) in shapes {
        let patterns: Vec<String> = (0..1_000).map(shape).collect();
        assert_linear_patterns(name, &patterns, PatternUse::Output, &|size| words(size, &MIXED));
    }
}

#[test]
fn personal_data_is_detected_in_linear_time() {
    let detector = pii::detector(&PiiKind::ALL).unwrap();
    let vocabulary =
        ["a@b.example", "4111-1111", "tel", "host=x", "https://", "-----BEGIN", "1.2.3.4", "eyJ0"];
    assert_linear("personal data", MEBIBYTE / 8, &|size| words(size, &vocabulary), &mut |text| {
        black_box(detector.find_all(text, "")).unwrap();
    });
}

#[test]
fn injections_are_scored_in_linear_time() {
    let rules = InjectionRules::new().unwrap();
    let vocabulary = ["ignore", "all", "previous", "i", "g", "n", "0", "you are now", "aWdub3Jl", "69676e6f"];
    assert_linear("injection", MEBIBYTE / 8, &|size| words(size, &vocabulary), &mut |text| {
        black_box(rules.assess(text));
    });
}

#[test]
fn held_text_that_grows_in_small_pieces_takes_linear_time() {
    let set = PatternSet::compile(&["<[a-z]{1,8000}>"], PatternUse::Output).unwrap();
    let detector = Arc::new(set.into_detector());
    let text = |size: usize| format!("<{}", "abcdefg".repeat(1_000)).repeat(size / 7_001);
    assert_linear("held text", MEBIBYTE / 8, &text, &mut |text| {
        let mut redactor = StreamRedactor::new(Arc::clone(&detector));
        let mut masker = Masker::new(MaskStyle::Kind);
        let mut output = String::new();
        for piece in text.as_bytes().chunks(4).filter_map(|piece| std::str::from_utf8(piece).ok()) {
            redactor.push(piece, &mut masker, &mut output).unwrap();
        }
        redactor.finish(&mut masker, &mut output).unwrap();
        assert_eq!(output.len(), text.len());
    });
}
