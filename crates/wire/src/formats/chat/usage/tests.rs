//! Tests that every provider's usage is read into the same disjoint buckets.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(json: &str, expected: Tokens) -> Usage {
    let usage = read_usage(json.as_bytes()).unwrap();
    assert_eq!(usage.tokens, expected, "{json}");
    usage
}

#[test]
fn openai_details_are_parts_of_their_totals() {
    let usage = check(
        r#"{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,
            "prompt_tokens_details":{"cached_tokens":60,"audio_tokens":10,"cache_write_tokens":5},
            "completion_tokens_details":{"reasoning_tokens":30,"audio_tokens":4,"accepted_prediction_tokens":0}}"#,
        Tokens {
            input: 25,
            cache_read: 60,
            cache_write_5m: 5,
            audio_input: 10,
            output: 16,
            reasoning: 30,
            audio_output: 4,
            ..Tokens::default()
        },
    );
    assert_eq!((usage.caveat, usage.reported_cost, usage.estimated), (None, None, false));
}

#[test]
fn each_provider_has_its_own_names() {
    let plain = |input, output| Tokens { input, output, ..Tokens::default() };
    check(r#"{"prompt_tokens":3,"completion_tokens":4}"#, plain(3, 4));
    check(r#"{"input_tokens":3,"output_tokens":4}"#, plain(3, 4));
    check(r#"{"prompt_tokens":3,"completion_tokens":4,"prompt_tokens_details":null}"#, plain(3, 4));
    check(r#"{"prompt_tokens":3.0,"completion_tokens":null}"#, plain(3, 0));
    check(
        r#"{"prompt_tokens":10,"completion_tokens":1,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":2}"#,
        Tokens { cache_read: 8, ..plain(2, 1) },
    );
    check(
        r#"{"prompt_tokens":10,"completion_tokens":1,"cached_tokens":8}"#,
        Tokens { cache_read: 8, ..plain(2, 1) },
    );
}

#[test]
fn reasoning_outside_the_completion_is_derived_from_the_total() {
    check(
        r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":315,"completion_tokens_details":{"reasoning_tokens":300}}"#,
        Tokens { input: 10, output: 5, reasoning: 300, ..Tokens::default() },
    );
}

#[test]
fn costs_come_as_a_figure_or_an_object() {
    let cost = |json: &str| read_usage(json.as_bytes()).unwrap().reported_cost;
    assert_eq!(cost(r#"{"prompt_tokens":1,"cost":0.00014}"#), Some(Nanos(140_000)));
    assert_eq!(cost(r#"{"prompt_tokens":1,"cost":{"total_cost":0.006}}"#), Some(Nanos(6_000_000)));
    assert_eq!(cost(r#"{"prompt_tokens":1,"cost":0}"#), Some(Nanos(0)));
    assert_eq!(cost(r#"{"prompt_tokens":1,"cost":-1}"#), None);
    assert_eq!(cost(r#"{"prompt_tokens":1,"cost":"free"}"#), None);
}

#[test]
fn impossible_counts_are_clamped_with_a_caveat() {
    let caveat = |json: &str, tokens| check(json, tokens).caveat.unwrap();
    let negative =
        caveat(r#"{"prompt_tokens":-5,"completion_tokens":2}"#, Tokens { output: 2, ..Tokens::default() });
    assert_eq!(negative, "prompt_tokens was -5 and was taken as 0");
    let absurd =
        check(r#"{"prompt_tokens":1e300,"completion_tokens":2}"#, Tokens { output: 2, ..Tokens::default() });
    assert_eq!(absurd.caveat.as_deref(), Some("prompt_tokens was 1e300 and is not believed"));
    assert_eq!(absurd.untold, Untold { input: true, output: false }, "it is counted instead");
    caveat(
        r#"{"prompt_tokens":10,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":50}}"#,
        Tokens { cache_read: 10, ..Tokens::default() },
    );
}

#[test]
fn an_object_without_counts_is_no_usage() {
    for json in ["null", "[]", "{}", r#"{"total_tokens":null}"#, "{", r#"{"prompt_tokens":"many"}"#] {
        assert_eq!(read_usage(json.as_bytes()), None, "{json}");
    }
}

proptest! {
    #[test]
    fn buckets_always_sum_to_the_totals(prompt in 0u64..100_000_000, completion in 0u64..100_000_000, parts: [u32; 5]) {
        let [cached, written, audio_in, reasoning, audio_out] = parts;
        let json = format!(
            r#"{{"prompt_tokens":{prompt},"completion_tokens":{completion},"prompt_tokens_details":{{"cached_tokens":{cached},"cache_write_tokens":{written},"audio_tokens":{audio_in}}},"completion_tokens_details":{{"reasoning_tokens":{reasoning},"audio_tokens":{audio_out}}}}}"#
        );
        let tokens = read_usage(json.as_bytes()).unwrap().tokens;
        prop_assert_eq!(tokens.total_input(), prompt);
        prop_assert_eq!(tokens.total_output(), completion);
    }
}
