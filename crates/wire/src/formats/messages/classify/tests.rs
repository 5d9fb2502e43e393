//! Tests of event classification, one line per kind of event, with and without its name.

use super::*;

#[track_caller]
fn check(data: &str, class: Class, finish: bool, content_bytes: usize) -> Seen {
    let name = kind(data.as_bytes()).map(<[u8]>::to_vec);
    let seen = classify(None, data.as_bytes());
    assert_eq!((seen.class, seen.finish, seen.content_bytes), (class, finish, content_bytes), "{data}");
    assert_eq!(classify(name.as_deref(), data.as_bytes()), seen, "{data}");
    seen
}

#[test]
fn every_event_of_a_stream() {
    let start =
        r#"{"type":"message_start","message":{"id":"msg_1","content":[],"usage":{"input_tokens":3}}}"#;
    let seen = check(start, Class::Lifecycle, false, 0);
    assert_eq!(&start[seen.usage.unwrap()], r#"{"input_tokens":3}"#);
    assert_eq!(event_id(start.as_bytes()).as_deref(), Some("msg_1"));
    let block =
        |block: &str| format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#);
    check(&block(r#"{"type":"text","text":""}"#), Class::Lifecycle, false, 0);
    check(&block(r#"{"type":"thinking","thinking":"","signature":""}"#), Class::Lifecycle, false, 0);
    check(&block(r#"{"type":"text","text":"Hi"}"#), Class::Content, false, 2);
    let call = block(r#"{"type":"tool_use","id":"toolu_1","name":"ls","input":{}}"#);
    check(&call, Class::Content, false, 2);
    assert_eq!(event_id(call.as_bytes()), None);
    check(&block(r#"{"type":"redacted_thinking","data":"x"}"#), Class::Content, false, 0);
    check(
        &block(r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#),
        Class::Content,
        false,
        10,
    );
    check(&block(r#"{"type":"something_new"}"#), Class::Content, false, 0);
    let delta = |delta: &str| format!(r#"{{"type": "content_block_delta", "index": 0, "delta": {delta}}}"#);
    check(&delta(r#"{"type":"text_delta","text":"a\n\"b\""}"#), Class::Content, false, 5);
    check(&delta(r#"{"type":"input_json_delta","partial_json":"{\"text\":"}"#), Class::Content, false, 8);
    check(&delta(r#"{"type": "thinking_delta", "thinking": "Hm"}"#), Class::Content, false, 2);
    check(&delta(r#"{"type":"signature_delta","signature":"EqQB"}"#), Class::Content, false, 0);
    check(r#"{"type":"content_block_stop","index":0}"#, Class::Content, false, 0);
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}}"#;
    let seen = check(end, Class::Content, true, 0);
    assert_eq!(&end[seen.usage.unwrap()], r#"{"output_tokens":9}"#);
    check(r#"{"type":"message_delta","delta":{"stop_reason":null}}"#, Class::Content, false, 0);
    check(r#"{"type":"message_stop"}"#, Class::Terminal, false, 0);
    check(r#"{"type": "ping"}"#, Class::Ignorable, false, 0);
    check(r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#, Class::Error, false, 0);
}

#[test]
fn invalid_events_are_classified() {
    for (data, class) in [
        ("", Class::Ignorable),
        ("[DONE]", Class::Ignorable),
        ("<html>", Class::Error),
        (r#"{"error":{"message":"x"}}"#, Class::Error),
        (r#"{"choices":[]}"#, Class::Content),
    ] {
        assert_eq!(classify(None, data.as_bytes()).class, class, "{data}");
    }
}

#[test]
fn the_end_of_a_block_is_seen() {
    assert!(ends_block(br#"{"type":"content_block_stop","index":0}"#));
    assert!(!ends_block(br#"{"type":"message_stop"}"#));
}
