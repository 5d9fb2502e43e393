//! The last turn of every format, and the requests that have none.

use bytes::Bytes;

use super::*;
use crate::formats;
use crate::request_identity;

const CHAT: Surface = Surface::Converse(Format::Chat);
const RESPONSES: Surface = Surface::Converse(Format::Responses);
const MESSAGES: Surface = Surface::Converse(Format::Messages);
const GEMINI: Surface = Surface::Converse(Format::Gemini);

fn request(surface: Surface, body: &str) -> Request {
    formats::native(surface).peek(Bytes::from(body.to_owned())).unwrap()
}

fn text(surface: Surface, body: &str) -> Option<String> {
    find(surface, &request(surface, body)).map(|found| found.text)
}

#[test]
fn the_last_turn_is_found_in_every_format() {
    for (surface, body) in [
        (
            CHAT,
            r#"{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"a\n\u0062"}]}"#,
        ),
        (
            CHAT,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a\nb"}]}],"tools":[]}"#,
        ),
        (RESPONSES, r#"{"model":"m","input":"a\nb"}"#),
        (RESPONSES, r#"{"model":"m","input":[{"role":"user","content":"a\nb"}]}"#),
        (
            RESPONSES,
            r#"{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a\nb"}]}]}"#,
        ),
        (MESSAGES, r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a\nb"}]}"#),
        (
            MESSAGES,
            r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"a\nb","cache_control":{"type":"ephemeral"}}]}]}"#,
        ),
        (GEMINI, r#"{"contents":[{"role":"user","parts":[{"text":"a\nb"}]}]}"#),
        (
            GEMINI,
            r#"{"contents":[{"parts":[{"text":"x"}]},{"role":"model","parts":[{"text":"y"}]},{"parts":[{"text":"a\nb"}]}]}"#,
        ),
    ] {
        assert_eq!(text(surface, body).as_deref(), Some("a\nb"), "{body}");
    }
}

#[test]
fn requests_with_more_than_texts_have_none() {
    let image = r#"{"type":"image_url","image_url":{"url":"https://a.example/x.png"}}"#;
    for (surface, body) in [
        (CHAT, r#"{"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}"#.to_owned()),
        (CHAT, r#"{"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","content":null}]}"#.to_owned()),
        (CHAT, r#"{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function"}]}"#.to_owned()),
        (CHAT, r#"{"model":"m","messages":[{"role":"user","content":"a"}],"functions":[{"name":"f"}]}"#.to_owned()),
        (CHAT, r#"{"model":"m","messages":[{"role":"user","content":"a"}],"prediction":{"type":"content","content":"b"}}"#.to_owned()),
        (CHAT, r#"{"model":"m","messages":[{"role":"user","content":"a"}],"n":2}"#.to_owned()),
        (CHAT, r#"{"model":"m","messages":[{"role":"user","content":"  "}]}"#.to_owned()),
        (CHAT, r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}"#.to_owned()),
        (CHAT, format!(r#"{{"model":"m","messages":[{{"role":"user","content":[{image}]}},{{"role":"user","content":"a"}}]}}"#)),
        (
            CHAT,
            r#"{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"a"}]}"#
                .to_owned(),
        ),
        (CHAT, r#"{"model":"m","messages":[{"role":"tool","content":"r"},{"role":"user","content":"a"}]}"#.to_owned()),
        (RESPONSES, r#"{"model":"m","input":[{"type":"function_call_output","call_id":"1","output":"r"},{"role":"user","content":"a"}]}"#.to_owned()),
        (RESPONSES, r#"{"model":"m","input":[{"type":"function_call_output","call_id":"1","output":"r"}]}"#.to_owned()),
        (RESPONSES, r#"{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"https://a.example/x"}]}]}"#.to_owned()),
        (MESSAGES, r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r"}]}]}"#.to_owned()),
        (
            MESSAGES,
            r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"Sure:"}]}"#
                .to_owned(),
        ),
        (GEMINI, r#"{"contents":[{"role":"user","parts":[{"text":"a"},{"inlineData":{"mimeType":"image/png","data":"AA=="}}]}]}"#.to_owned()),
        (GEMINI, r#"{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"a":1}}}]}]}"#.to_owned()),
        (Surface::Embeddings, r#"{"model":"m","input":"a"}"#.to_owned()),
    ] {
        assert_eq!(text(surface, &body), None, "{body}");
    }
}

#[test]
fn requests_that_differ_in_the_last_text_alone_are_the_same_without_it() {
    let identity = |surface: Surface, body: &str| {
        let request = request(surface, body);
        let found = find(surface, &request).unwrap();
        let mut parts = Vec::new();
        request_identity::visit_without(surface, &request, &found.value, |part| parts.push(part.to_vec()));
        parts
    };
    let chat = |earlier: &str, last: &str, more: &str| {
        format!(
            r#"{{"model":"m", "messages":[{{"role":"user","content":"{earlier}"}},{{"role":"user", "content":"{last}"}}]{more}}}"#
        )
    };
    let plain = identity(CHAT, &chat("x", "one", ""));
    assert_eq!(identity(CHAT, &chat("x", "another, longer", "")), plain);
    assert_eq!(identity(CHAT, &chat("x", "one", r#","stream":true"#)), plain);
    assert_ne!(identity(CHAT, &chat("y", "one", "")), plain);
    assert_ne!(identity(CHAT, &chat("x", "one", r#","temperature":0"#)), plain);
    assert!(!plain.iter().any(|part| String::from_utf8_lossy(part).contains("one")));
}
