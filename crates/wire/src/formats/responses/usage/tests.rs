//! Tests that totals are read into disjoint buckets and written back.

use domain::usage::Tokens;
use proptest::prelude::*;

use super::*;

#[test]
fn the_apis_own_totals_are_taken_apart() {
    let raw = br#"{"input_tokens":100,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":10},
        "output_tokens":50,"output_tokens_details":{"reasoning_tokens":20},"total_tokens":150}"#;
    let tokens = read_usage(raw).unwrap().tokens;
    let expected = Tokens {
        input: 30,
        cache_read: 60,
        cache_write_5m: 10,
        output: 30,
        reasoning: 20,
        ..Tokens::default()
    };
    assert_eq!(tokens, expected);
}

proptest! {
    #[test]
    fn written_usage_reads_back(
        (input, cache_read, cache_write_5m, audio_input) in (0u64..1_000_000, 0u64..1000, 0u64..1000, 0u64..1000),
        (output, reasoning, audio_output) in (0u64..1_000_000, 0u64..1000, 0u64..1000),
    ) {
        let tokens = Tokens {
            input, cache_read, cache_write_5m, cache_write_1h: 0, audio_input, output, reasoning, audio_output,
        };
        let written = write_usage(&Usage { tokens, ..Usage::default() });
        prop_assert_eq!(&written["total_tokens"], tokens.total());
        let read = read_usage(written.to_string().as_bytes()).unwrap();
        prop_assert_eq!(read.tokens, tokens);
        prop_assert_eq!(read.caveat, None);
    }
}
