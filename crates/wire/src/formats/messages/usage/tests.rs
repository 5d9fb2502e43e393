//! Tests of reading, merging and writing usage.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn read(raw: &str, so_far: Option<&Usage>) -> Usage {
    read_usage(raw.as_bytes(), so_far).unwrap()
}

#[test]
fn streamed_usage_comes_in_two_parts() {
    let start = r#"{"input_tokens":10,"cache_creation_input_tokens":30,"cache_read_input_tokens":5,
        "cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20},"output_tokens":1,
        "service_tier":"standard"}"#;
    let first = read(start, None);
    let expected = Tokens {
        input: 10,
        cache_read: 5,
        cache_write_5m: 10,
        cache_write_1h: 20,
        output: 1,
        ..Tokens::default()
    };
    assert_eq!(first.tokens, expected);
    let last = read(r#"{"output_tokens":42}"#, Some(&first));
    assert_eq!(last.tokens, Tokens { output: 42, ..expected });
    // Newer streams repeat the input, without the split of the cache writes.
    let last = read(
        r#"{"input_tokens":11,"cache_creation_input_tokens":30,"cache_read_input_tokens":6,"output_tokens":42}"#,
        Some(&first),
    );
    assert_eq!(last.tokens, Tokens { input: 11, cache_read: 6, output: 42, ..expected });
}

#[test]
fn invalid_counts_are_clamped_with_a_caveat() {
    let usage = read(r#"{"input_tokens":-3,"output_tokens":1e30}"#, None);
    assert_eq!((usage.tokens.output, usage.untold), (0, Untold { input: false, output: true }));
    let caveat = usage.caveat.unwrap();
    assert!(caveat.contains("input_tokens") && caveat.contains("output_tokens"), "{caveat}");
    for raw in ["{}", "[]", "null", r#"{"input_tokens":null}"#, r#"{"tokens":1}"#] {
        assert_eq!(read_usage(raw.as_bytes(), None), None, "{raw}");
    }
}

#[test]
fn only_the_total_written_counts_for_five_minutes() {
    let usage = read(r#"{"input_tokens":1,"cache_creation_input_tokens":7,"output_tokens":2}"#, None);
    assert_eq!((usage.tokens.cache_write_5m, usage.tokens.cache_write_1h), (7, 0));
}

#[test]
fn reasoning_and_audio_of_others_are_inside_the_totals() {
    let tokens =
        Tokens { input: 1, audio_input: 2, output: 3, reasoning: 4, audio_output: 5, ..Tokens::default() };
    let written = write_usage(&Usage { tokens, ..Usage::default() });
    assert_eq!((&written["input_tokens"], &written["output_tokens"]), (&json!(3), &json!(12)));
}

proptest! {
    #[test]
    fn written_usage_reads_back(
        input in 0..1u64 << 26, cache_read in 0..1u64 << 26, cache_write_5m in 0..1u64 << 25,
        cache_write_1h in 0..1u64 << 25, output in 0..1u64 << 26,
    ) {
        let tokens = Tokens { input, cache_read, cache_write_5m, cache_write_1h, output, ..Tokens::default() };
        let written = write_usage(&Usage { tokens, ..Usage::default() }).to_string();
        prop_assert_eq!(read_usage(written.as_bytes(), None).unwrap().tokens, tokens);
    }
}
