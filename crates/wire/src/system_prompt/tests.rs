//! Tests of every mode in every format: the whole body before and after.

use domain::resources::guardrail::SystemPromptMode::{Decorator, Inject, Override};

use super::*;
use crate::json;

/// In JSON: `Be \"kind\".`
const CONTENT: &str = "Be \"kind\".";

#[track_caller]
fn check(format: Format, body: &'static str, cases: &[(SystemPromptMode, Option<&str>)]) {
    let bytes = Bytes::from_static(body.as_bytes());
    let object = json::scan(&bytes).unwrap();
    for (mode, expected) in cases {
        let edited = apply(format, &bytes, &object, *mode, CONTENT);
        let text = edited.as_deref().map(|edited| str::from_utf8(edited).unwrap());
        assert_eq!(text, *expected, "{mode:?} of {body}");
        assert!(edited.is_none_or(|edited| json::scan(&edited).is_ok()), "{mode:?} of {body}");
    }
}

/// Every mode has this result.
#[track_caller]
fn check_all(format: Format, body: &'static str, expected: Option<&str>) {
    check(format, body, &[(Inject, expected), (Override, expected), (Decorator, expected)]);
}

/// A request with instructions: `Inject` leaves it as it is, and the other modes have these results.
#[track_caller]
fn check_edits(format: Format, body: &'static str, overridden: &str, decorated: &str) {
    check(format, body, &[(Inject, None), (Override, Some(overridden)), (Decorator, Some(decorated))]);
}

#[test]
fn chat_without_instructions() {
    check_all(
        Format::Chat,
        "{ \"temperature\": 1.0e3,\n\"messages\" :\t[ {\"role\":\"user\",\"content\":\"\\u0061\"} ] , \"n\":1}",
        Some(
            "{ \"temperature\": 1.0e3,\n\"messages\" :\t[{\"role\":\"system\",\"content\":\"Be \\\"kind\\\".\"}, \
             {\"role\":\"user\",\"content\":\"\\u0061\"} ] , \"n\":1}",
        ),
    );
    for body in [r#"{"model":"m"}"#, r#"{"messages":null}"#, r#"{"messages":"a"}"#, r#"{"messages":[]}"#] {
        check_all(Format::Chat, body, None);
    }
    check_all(
        Format::Chat,
        r#"{"messages":[5]}"#,
        Some(r#"{"messages":[{"role":"system","content":"Be \"kind\"."},5]}"#),
    );
}

#[test]
fn chat_with_instructions() {
    check_edits(
        Format::Chat,
        r#"{"messages":[ {"role":"user"} , {"content":"a\n\ud800", "role":"system"} , {"role":"developer","content":"b"}],"top_p":1.0e0}"#,
        r#"{"messages":[{"role":"system","content":"Be \"kind\"."}, {"role":"user"}],"top_p":1.0e0}"#,
        r#"{"messages":[ {"role":"user"} , {"content":"Be \"kind\".\na\n\ud800", "role":"system"} , {"role":"developer","content":"b"}],"top_p":1.0e0}"#,
    );
    check_edits(
        Format::Chat,
        r#"{"messages":[{"role":"developer","content":[{"type":"text","text":"a","cache_control":{}}]},{"role":"system"},{"role":"user"}]}"#,
        r#"{"messages":[{"role":"system","content":"Be \"kind\"."},{"role":"user"}]}"#,
        r#"{"messages":[{"role":"developer","content":[{"type":"text","text":"Be \"kind\"."},{"type":"text","text":"a","cache_control":{}}]},{"role":"system"},{"role":"user"}]}"#,
    );
}

#[test]
fn chat_with_unusual_instructions() {
    let only = Some(r#"{"messages":[{"role":"system","content":"Be \"kind\"."}]}"#);
    let body = r#"{"messages":[{"role":"system","content":"Be \"kind\"."}]}"#;
    check(Format::Chat, body, &[(Inject, None), (Override, None)]);
    check(
        Format::Chat,
        r#"{"messages":[{"role":"system","content":[]}]}"#,
        &[
            (Override, only),
            (
                Decorator,
                Some(r#"{"messages":[{"role":"system","content":[{"type":"text","text":"Be \"kind\"."}]}]}"#),
            ),
        ],
    );
    // A content that cannot be edited, and a role that can be read in two ways.
    check(
        Format::Chat,
        r#"{"messages":[{"role":"system","content":null}]}"#,
        &[
            (Override, only),
            (
                Decorator,
                Some(
                    r#"{"messages":[{"role":"system","content":"Be \"kind\"."},{"role":"system","content":null}]}"#,
                ),
            ),
        ],
    );
    check(
        Format::Chat,
        r#"{"messages":[{"role":"user","role":"\u0073ystem"}, {"role":"\u0073ystem"}]}"#,
        &[(Inject, None), (Override, only)],
    );
}

#[test]
fn removed_messages_take_their_commas() {
    let system = |content: &str| format!(r#"{{"role":"system","content":"{content}"}}"#);
    let new = system(r#"Be \"kind\"."#);
    for (roles, expected) in
        [("s", ""), ("ss", ""), ("su", "1"), ("us", "0"), ("ssu", "2"), ("susus", "1,3"), ("uussu", "0,1,4")]
    {
        let message = |(index, role): (usize, char)| match role {
            's' => system("x"),
            _ => index.to_string(),
        };
        let messages: Vec<String> = roles.chars().enumerate().map(message).collect();
        let body = Bytes::from(format!(r#"{{"messages":[{}]}}"#, messages.join(",")));
        let object = json::scan(&body).unwrap();
        let edited = apply(Format::Chat, &body, &object, Override, CONTENT).unwrap();
        let rest = if expected.is_empty() { String::new() } else { format!(",{expected}") };
        let expected = format!(r#"{{"messages":[{new}{rest}]}}"#);
        assert_eq!(str::from_utf8(&edited).unwrap(), expected, "{roles}");
    }
}

#[test]
fn responses() {
    check_all(
        Format::Responses,
        "{\n \"input\":\"a\", \"temperature\":1.0e3\n}",
        Some("{\n \"input\":\"a\", \"temperature\":1.0e3,\"instructions\":\"Be \\\"kind\\\".\"\n}"),
    );
    for body in [
        r#"{"instructions":null,"input":[{"role":"user"}]}"#,
        r#"{"instructions":"","input":[{"role":"user"}]}"#,
    ] {
        let expected = r#"{"instructions":"Be \"kind\".","input":[{"role":"user"}]}"#;
        check_all(Format::Responses, body, Some(expected));
    }
    check_all(
        Format::Responses,
        r#"{"previous_response_id":"r"}"#,
        Some(r#"{"previous_response_id":"r","instructions":"Be \"kind\"."}"#),
    );
    check_all(Format::Responses, r#"{"input":{},"instructions":"a"}"#, None);
    check_edits(
        Format::Responses,
        r#"{"instructions" : "a" ,"input":"b"}"#,
        r#"{"instructions" : "Be \"kind\"." ,"input":"b"}"#,
        r#"{"instructions" : "Be \"kind\".\na" ,"input":"b"}"#,
    );
    check_edits(
        Format::Responses,
        r#"{"input":[{"type":"message","role":"developer"}, {"type":"additional_tools","role":"developer"},{"role":"system"}]}"#,
        r#"{"input":[{"type":"additional_tools","role":"developer"}],"instructions":"Be \"kind\"."}"#,
        r#"{"input":[{"type":"message","role":"developer"}, {"type":"additional_tools","role":"developer"},{"role":"system"}],"instructions":"Be \"kind\"."}"#,
    );
    check(
        Format::Responses,
        r#"{"input":"a","instructions":5}"#,
        &[
            (Inject, None),
            (Override, Some(r#"{"input":"a","instructions":"Be \"kind\"."}"#)),
            (Decorator, None),
        ],
    );
}

#[test]
fn messages() {
    check_all(
        Format::Messages,
        "{ \"max_tokens\":1.0e3 ,\r\n\"messages\": [ {} ]}",
        Some("{ \"max_tokens\":1.0e3 ,\r\n\"messages\": [ {} ],\"system\":\"Be \\\"kind\\\".\"}"),
    );
    for body in [
        r#"{"system":null,"messages":[]}"#,
        r#"{"system":"","messages":[]}"#,
        r#"{"system":[ ],"messages":[]}"#,
    ] {
        check_all(Format::Messages, body, Some(r#"{"system":"Be \"kind\".","messages":[]}"#));
    }
    check_all(Format::Messages, r#"{"system":"a","messages":"b"}"#, None);
    check_edits(
        Format::Messages,
        r#"{"messages":[{"role":"user"}],"system":"a"}"#,
        r#"{"messages":[{"role":"user"}],"system":"Be \"kind\"."}"#,
        r#"{"messages":[{"role":"user"}],"system":"Be \"kind\".\na"}"#,
    );
    check_edits(
        Format::Messages,
        r#"{"system":[ {"type":"text","text":"a","cache_control":{"type":"ephemeral"}}],"messages":[]}"#,
        r#"{"system":"Be \"kind\".","messages":[]}"#,
        r#"{"system":[{"type":"text","text":"Be \"kind\"."}, {"type":"text","text":"a","cache_control":{"type":"ephemeral"}}],"messages":[]}"#,
    );
    check_edits(
        Format::Messages,
        r#"{"messages":[{"role":"user"}, {"role":"system","content":"a"}]}"#,
        r#"{"messages":[{"role":"user"}],"system":"Be \"kind\"."}"#,
        r#"{"messages":[{"role":"user"}, {"role":"system","content":"a"}],"system":"Be \"kind\"."}"#,
    );
    check(Format::Messages, r#"{"messages":[],"system":5}"#, &[(Inject, None), (Decorator, None)]);
}

#[test]
fn gemini_without_instructions() {
    check_all(
        Format::Gemini,
        "{\t\"contents\" : {\"parts\":{\"text\":\"a\"}} ,\"x\": -0.50E+1 }",
        Some(
            "{\t\"contents\" : {\"parts\":{\"text\":\"a\"}} ,\"x\": -0.50E+1,\
             \"systemInstruction\":{\"parts\":[{\"text\":\"Be \\\"kind\\\".\"}]} }",
        ),
    );
    for value in ["null", r#""""#, "{}", r#"{"role":"system","parts":[ ]}"#, r#"{"parts":null}"#] {
        let body = Bytes::from(format!(r#"{{"system_instruction":{value},"contents":[]}}"#));
        let object = json::scan(&body).unwrap();
        for mode in [Inject, Override, Decorator] {
            let edited = apply(Format::Gemini, &body, &object, mode, CONTENT).unwrap();
            let expected = r#"{"system_instruction":{"parts":[{"text":"Be \"kind\"."}]},"contents":[]}"#;
            assert_eq!(str::from_utf8(&edited).unwrap(), expected, "{mode:?} of {value}");
        }
    }
    check_all(Format::Gemini, r#"{"contents":"a"}"#, None);
    check_all(Format::Gemini, r#"{"systemInstruction":"a"}"#, None);
}

#[test]
fn gemini_with_instructions() {
    check_edits(
        Format::Gemini,
        r#"{"systemInstruction": "a\u0062", "contents":[]}"#,
        r#"{"systemInstruction": {"parts":[{"text":"Be \"kind\"."}]}, "contents":[]}"#,
        r#"{"systemInstruction": {"parts":[{"text":"Be \"kind\".\na\u0062"}]}, "contents":[]}"#,
    );
    check_edits(
        Format::Gemini,
        r#"{"contents":[],"system_instruction":{"role":"user","parts":[ {"text":"a"}]}}"#,
        r#"{"contents":[],"system_instruction":{"parts":[{"text":"Be \"kind\"."}]}}"#,
        r#"{"contents":[],"system_instruction":{"role":"user","parts":[{"text":"Be \"kind\"."}, {"text":"a"}]}}"#,
    );
    check_edits(
        Format::Gemini,
        r#"{"contents":[],"systemInstruction":{"parts":{"text":"a"}},"system_instruction":"b"}"#,
        r#"{"contents":[],"systemInstruction":{"parts":[{"text":"Be \"kind\"."}]}}"#,
        r#"{"contents":[],"systemInstruction":{"parts":[{"text":"Be \"kind\"."},{"text":"a"}]},"system_instruction":"b"}"#,
    );
}
