//! Tests of event classification, one line per kind of event observed at providers.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(data: &str, class: Class, finish: bool, content_bytes: usize) -> Seen {
    let seen = classify(data.as_bytes());
    assert_eq!((seen.class, seen.finish, seen.content_bytes), (class, finish, content_bytes), "{data}");
    seen
}

/// A chunk as OpenAI frames it, around the content of its only choice.
fn chunk(choice: &str) -> String {
    format!(
        r#"{{"id":"chatcmpl-9","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o","system_fingerprint":"fp_1","choices":[{{"index":0,{choice}}}],"usage":null}}"#
    )
}

#[test]
fn frames_around_the_answer() {
    check("", Class::Ignorable, false, 0);
    check("[DONE]", Class::Terminal, false, 0);
    check(" [DONE] ", Class::Terminal, false, 0);
    check(r#"{"type":"ping"}"#, Class::Ignorable, false, 0);
    check("<html>", Class::Error, false, 0);
    check("[DONE", Class::Error, false, 0);
}

#[test]
fn empty_deltas_are_lifecycle_events() {
    for delta in [
        r#"{"role":"assistant"}"#,
        r#"{"role":"assistant","content":""}"#,
        r#"{"role":"assistant","content":null,"refusal":null,"tool_calls":[],"reasoning_content":""}"#,
        r#"{ "role": "assistant", "content": "" }"#,
        "{}",
    ] {
        check(
            &chunk(&format!(r#""delta":{delta},"logprobs":null,"finish_reason":null"#)),
            Class::Lifecycle,
            false,
            0,
        );
    }
    let azure = r#"{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0}]}"#;
    check(azure, Class::Lifecycle, false, 0);
    check(&chunk(r#""delta":{"role":"assistant"},"content_filter_results":{}"#), Class::Lifecycle, false, 0);
}

#[test]
fn content_of_every_kind() {
    let says = |choice: &str, bytes| check(&chunk(choice), Class::Content, false, bytes);
    says(r#""delta":{"content":"Hello"},"finish_reason":null"#, 5);
    says(r#""delta": {"content": "Hello"}, "finish_reason": null"#, 5);
    says(r#""delta":{"role":"assistant","content":" a\n\"b\""},"finish_reason":null"#, 6);
    says(r#""delta":{"content":null,"reasoning_content":"Hm"},"finish_reason":null"#, 2);
    says(
        r#""delta":{"content":"","reasoning":"Hm","reasoning_details":[{"text":"Hm"}]},"finish_reason":null"#,
        2,
    );
    says(r#""delta":{"refusal":"No"},"finish_reason":null"#, 2);
    says(r#""delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a"}}]},"finish_reason":null"#, 3);
    says(r#""delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":""}}]}"#, 1);
    says(r#""delta":{"audio":{"data":"AAAA"}},"finish_reason":null"#, 0);
    says(r#""delta":{"brand_new":1},"finish_reason":null"#, 0);
    check(r#"{"something":"else"}"#, Class::Content, false, 0);
}

#[test]
fn an_end_is_content() {
    check(&chunk(r#""delta":{},"logprobs":null,"finish_reason":"stop""#), Class::Content, true, 0);
    check(&chunk(r#""delta":{"content":"!"},"finish_reason":"length""#), Class::Content, true, 1);
    check(&chunk(r#""finish_reason":"stop","delta":{"content":"!"}"#), Class::Content, true, 1);
}

#[test]
fn several_choices_are_summed() {
    let text = r#"{"choices":[{"index":0,"delta":{"content":"ab"},"finish_reason":null},{"index":1,"delta":{"content":"cde"},"finish_reason":"stop"}]}"#;
    check(text, Class::Content, true, 5);
}

#[test]
fn usage_is_found_wherever_it_is() {
    for (text, class, bytes) in [
        (r#"{"choices":[],"usage":{"prompt_tokens":1}}"#, Class::Usage, 0),
        (r#"{"choices": [ ], "usage": {"prompt_tokens":1} }"#, Class::Usage, 0),
        (r#"{"choices":null,"usage":{"prompt_tokens":1}}"#, Class::Usage, 0),
        (r#"{"usage":{"prompt_tokens":1}}"#, Class::Usage, 0),
        (
            r#"{"choices":[{"index":0,"delta":{"content":"x"}}],"usage":{"prompt_tokens":1}}"#,
            Class::Content,
            1,
        ),
        (r#"{"usage":null,"x_groq":{"id":"r","usage":{"prompt_tokens":1}},"choices":[]}"#, Class::Usage, 0),
        (
            r#"{"choices":[{"index":0,"delta":{"content":"x"},"usage":{"prompt_tokens":1}}]}"#,
            Class::Content,
            1,
        ),
    ] {
        let seen = check(text, class, false, bytes);
        assert_eq!(&text[seen.usage.unwrap()], r#"{"prompt_tokens":1}"#);
    }
}

#[test]
fn text_that_looks_like_keys_is_only_text() {
    let inner = chunk(
        r#""delta":{"content":"{\"usage\":{\"x\":1},\"error\":\"e\",\"finish_reason\":\"stop\"}"},"finish_reason":null"#,
    );
    let seen = classify(inner.as_bytes());
    assert_eq!((seen.class, seen.usage, seen.finish), (Class::Content, None, false));
    let value = chunk(r#""delta":{"content":"usage"},"finish_reason":null"#);
    assert_eq!(classify(value.as_bytes()).usage, None);
}

#[test]
fn errors_are_errors() {
    check(r#"{"error":{"message":"overloaded","code":502}}"#, Class::Error, false, 0);
    check(r#"{"error":"boom"}"#, Class::Error, false, 0);
    check(r#"{"object":"error","message":"no","code":400}"#, Class::Error, false, 0);
    let late = r#"{"id":"g","error":{"code":502,"message":"gone"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}"#;
    check(late, Class::Error, false, 0);
    check(&chunk(r#""delta":{"content":"x"},"error":null"#), Class::Content, false, 1);
}

proptest! {
    /// The fast path must agree with the full parse.
    #[test]
    fn the_fast_classifier_agrees_with_the_full_one(text in ".{1,40}", reason in prop::option::of("[a-z]{1,5}"), early: bool, key in 0..3usize) {
        let key = ["content", "reasoning_content", "reasoning"][key];
        let text = serde_json::Value::from(text);
        let reason = serde_json::Value::from(reason);
        let (before, after) = if early { (format!("\"finish_reason\":{reason},"), String::new()) } else { (String::new(), format!(",\"finish_reason\":{reason}")) };
        let data = chunk(&format!("{before}\"delta\":{{\"{key}\":{text}}}{after}"));
        let fast = classify_common(data.as_bytes());
        let fast = fast.map(|seen| Seen { text: None, ..seen });
        prop_assert_eq!(fast, Some(examine(data.as_bytes())));
    }

    #[test]
    fn nothing_panics(data in "[\"{}a-z:,\\\\\\[\\] ]{0,60}", prefix in 0..4usize) {
        let prefix = ["", "{\"choices\":[{\"delta\":{\"content\":", "{\"usage\":", "{\"delta\":{\"content\":\""][prefix];
        classify(format!("{prefix}{data}").as_bytes());
    }
}
