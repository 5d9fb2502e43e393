//! Tests that totals are read into buckets and written back.

use proptest::prelude::*;

use super::*;

#[test]
fn totals_become_disjoint_buckets() {
    let usage = read_usage(
        br#"{"promptTokenCount":100,"cachedContentTokenCount":40,"candidatesTokenCount":20,"thoughtsTokenCount":7,
            "toolUsePromptTokenCount":5,"totalTokenCount":132,
            "promptTokensDetails":[{"modality":"TEXT","tokenCount":70},{"modality":"AUDIO","tokenCount":30}],
            "cacheTokensDetails":[{"modality":"AUDIO","tokenCount":10}],
            "candidatesTokensDetails":[{"modality":"AUDIO","tokenCount":8}]}"#,
    )
    .unwrap();
    let expected = Tokens {
        input: 45,
        cache_read: 40,
        audio_input: 20,
        output: 12,
        reasoning: 7,
        audio_output: 8,
        ..Tokens::default()
    };
    assert_eq!((usage.tokens, usage.caveat), (expected, None));
    assert_eq!(usage.tokens.total(), 132);
}

#[test]
fn nonsense_is_clamped_and_flagged() {
    assert_eq!(read_usage(b"{}"), None);
    assert_eq!(read_usage(br#"{"totalTokenCount":3}"#), None);
    let usage = read_usage(br#"{"promptTokenCount":-4,"candidatesTokenCount":1e30}"#).unwrap();
    assert_eq!((usage.tokens.output, usage.untold), (0, Untold { input: false, output: true }));
    assert!(usage.caveat.unwrap().contains("promptTokenCount was -4"));
    let usage = read_usage(br#"{"promptTokenCount":4,"cachedContentTokenCount":9}"#).unwrap();
    assert_eq!((usage.tokens.input, usage.tokens.cache_read, usage.caveat.is_some()), (0, 4, true));
}

proptest! {
    #[test]
    fn written_usage_reads_back(counts in prop::array::uniform6(0u64..1_000_000)) {
        let [input, cache_read, audio_input, output, reasoning, audio_output] = counts;
        let tokens =
            Tokens { input, cache_read, audio_input, output, reasoning, audio_output, ..Tokens::default() };
        let usage = Usage { tokens, ..Usage::default() };
        let written = write_usage(&usage);
        prop_assert_eq!(written["totalTokenCount"].as_u64(), Some(tokens.total()));
        prop_assert_eq!(read_usage(written.to_string().as_bytes()), Some(usage));
    }

    #[test]
    fn cache_writes_count_as_input(input in 0u64..1000, written in 0u64..1000) {
        let tokens = Tokens { input, cache_write_5m: written, cache_write_1h: written, ..Tokens::default() };
        let totals = write_usage(&Usage { tokens, ..Usage::default() });
        let read = read_usage(totals.to_string().as_bytes()).unwrap();
        prop_assert_eq!(read.tokens.total(), tokens.total());
    }
}
