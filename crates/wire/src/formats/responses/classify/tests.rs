//! Tests that every kind of event is classified, with or without its name.

use bytes::Bytes;

use super::*;
use crate::sse::Splitter;

fn event(text: &str) -> sse::Event {
    let mut splitter = Splitter::new(1 << 16);
    splitter.push(Bytes::copy_from_slice(text.as_bytes()));
    splitter.next().unwrap().unwrap()
}

#[track_caller]
fn check(data: &str, class: Class, content_bytes: usize) {
    let kind = serde_json::from_str::<serde_json::Value>(data).unwrap()["type"].as_str().unwrap().to_owned();
    for text in [format!("data: {data}\n\n"), format!("event: {kind}\ndata: {data}\n\n")] {
        let seen = classify(&event(&text));
        assert_eq!((seen.class, seen.content_bytes), (class, content_bytes), "{text}");
        assert_eq!(seen.finish, class == Class::Terminal, "{text}");
    }
}

#[test]
fn events_have_their_class() {
    use Class::{Content, Error, Failed, Ignorable, Lifecycle, Terminal};
    for (data, class, bytes) in [
        (r#"{"type":"response.created","response":{"id":"resp_1"}}"#, Lifecycle, 0),
        (r#"{"response":{"id":"resp_1"},"type":"response.in_progress"}"#, Lifecycle, 0),
        (r#"{"type":"response.queued","response":{}}"#, Lifecycle, 0),
        (r#"{"type":"response.output_item.added","item":{"type":"message","content":[]}}"#, Lifecycle, 0),
        (r#"{"type":"response.output_item.added","item":{"id":"rs","type":"reasoning"}}"#, Lifecycle, 0),
        (r#"{"type":"response.output_item.added","item":{"type":"function_call","name":"x"}}"#, Content, 0),
        (r#"{"type":"response.output_item.added","item":{"type":"web_search_call"}}"#, Content, 0),
        (r#"{"type":"response.content_part.added","part":{}}"#, Lifecycle, 0),
        (r#"{"type":"response.reasoning_summary_part.added","part":{}}"#, Lifecycle, 0),
        (r#"{"type":"response.output_text.delta","delta":"a\"b"}"#, Content, 3),
        (r#"{"type":"response.output_text.delta","delta" : "abc"}"#, Content, 3),
        (r#"{"type":"response.function_call_arguments.delta","delta":"{}"}"#, Content, 2),
        (r#"{"type":"response.output_text.done","text":"abc"}"#, Content, 0),
        (r#"{"type":"response.output_item.done","item":{"type":"message"}}"#, Content, 0),
        (r#"{"type":"response.completed","response":{"usage":null}}"#, Terminal, 0),
        (r#"{"type":"response.incomplete","response":{}}"#, Terminal, 0),
        (r#"{"type":"response.failed","response":{"error":{"code":"x"}}}"#, Failed, 0),
        (r#"{"type":"response.cancelled","response":{}}"#, Failed, 0),
        (r#"{"type":"error","message":"no"}"#, Error, 0),
        (r#"{"type":"keepalive"}"#, Ignorable, 0),
    ] {
        check(data, class, bytes);
    }
    assert_eq!(classify(&event("data: [DONE]\n\n")).class, Ignorable);
    assert_eq!(classify(&event(": hello\n\n")).class, Ignorable);
    assert_eq!(classify(&event("data: <html>\n\n")).class, Error);
    assert_eq!(classify(&event("data: {\"error\":{\"message\":\"no\"}}\n\n")).class, Error);
}

#[test]
fn the_terminal_event_has_the_usage() {
    let data = r#"{"type":"response.completed","response":{"id":"r","usage":{"input_tokens":1}}}"#;
    let seen = classify(&event(&format!("data: {data}\n\n")));
    assert_eq!(&data[seen.usage.unwrap()], r#"{"input_tokens":1}"#);
}

#[test]
fn the_id_is_that_of_the_response() {
    let created = br#"{"type":"response.created","response":{"output":[{"id":"msg_1"}],"id":"resp_1"}}"#;
    assert_eq!(event_id(created).as_deref(), Some("resp_1"));
    assert_eq!(event_id(br#"{"type":"response.output_text.delta","item_id":"msg_1","delta":"x"}"#), None);
    assert_eq!(event_id(br#"{"type":"response.output_item.added","item":{"id":"msg_1"}}"#), None);
}

#[test]
fn the_end_of_a_block_is_seen() {
    assert!(ends_block(br#"{"type":"response.output_item.done","item":{}}"#));
    assert!(!ends_block(br#"{"type":"response.completed","response":{}}"#));
}
