//! Requests of real clients: parsed, and encoded for Anthropic.

use bytes::Bytes;
use domain::call::Format;
use domain::canon::{Content, Role};
use serde_json::{Value, json};
use wire::codec::{Served, Target};
use wire::splice;
use wire::sse::Splitter;

use crate::{accepted, client, encoded, fixtures, native, parse, target, upstream};

#[test]
fn a_round_trip_within_the_format_loses_nothing() {
    for (name, body) in fixtures("requests") {
        let sent: Value = serde_json::from_slice(&body).unwrap();
        let prompt = parse(&sent).unwrap();
        let model = sent["model"].as_str().unwrap();
        let (back, dropped) = encoded(&prompt, model);
        accepted::check(&back, model);
        assert_eq!(dropped, [""; 0], "{name}");
        let mut expected = sent.clone();
        expected.as_object_mut().unwrap().shift_remove("stream");
        if let Value::String(text) = &sent["system"] {
            expected["system"] = json!([{"type": "text", "text": text}]);
        }
        assert_eq!(back, expected, "{name}");
    }
}

#[test]
fn the_canonical_view_of_each_client() {
    for (name, body) in fixtures("requests") {
        let prompt = parse(&serde_json::from_slice(&body).unwrap()).unwrap();
        insta::assert_debug_snapshot!(format!("prompt_{name}"), prompt);
    }
}

#[test]
fn tool_results_form_a_turn_before_the_users_text() {
    let prompt = parse(&json!({"messages": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {"x": 1.5}}]},
        {"role": "user", "content": [
            {"type": "text", "text": "Well?"},
            {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "seen"}]},
        ]},
    ]}))
    .unwrap();
    let roles: Vec<Role> = prompt.turns.iter().map(|turn| turn.role).collect();
    assert_eq!(roles, [Role::Assistant, Role::Tool, Role::User]);
    let Content::ToolCall(call) = &prompt.turns[0].parts[0].content else { panic!() };
    assert_eq!(call.arguments, r#"{"x":1.5}"#);
    let Content::ToolResult(result) = &prompt.turns[1].parts[0].content else { panic!() };
    assert_eq!(result.name.as_deref(), Some("look"));
    assert_eq!(prompt.turns[1].parts[0].place.0, "messages[1].content[1]");
    assert_eq!(result.parts[0].place.0, "messages[1].content[1].content[0]");
}

#[test]
fn transport_is_no_extra_and_nulls_are_absent() {
    let prompt = parse(&json!({
        "model": "m", "stream": true, "provider": "openai", "system": null, "temperature": null, "container": null,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": null, "citations": null}]}],
    }))
    .unwrap();
    assert!(prompt.extra.is_empty(), "{:?}", prompt.extra);
    assert_eq!((prompt.format, prompt.turns.len()), (Format::Messages, 1));
    let kept = parse(&json!({"provider": {"order": ["x"]}, "messages": [{"role": "user", "content": "x"}]}))
        .unwrap();
    assert!(kept.extra.contains_key("provider"));
}

#[test]
fn the_caller_of_a_tool_is_kept_unless_it_is_direct() {
    let call =
        |caller: Value| json!({"type": "tool_use", "id": "a", "name": "n", "input": {}, "caller": caller});
    let parsed =
        |caller| parse(&json!({"messages": [{"role": "assistant", "content": [call(caller)]}]})).unwrap();
    assert!(parsed(json!({"type": "direct"})).extra.is_empty());
    let kept = parsed(json!({"type": "code_execution_20250825", "tool_id": "s"}));
    assert!(kept.extra.contains_key("messages[0].content[0].caller"));
}

#[track_caller]
fn spliced(body: &'static str, stream: bool, expected: &str) {
    let request = client().peek(Bytes::from_static(body.as_bytes())).unwrap();
    let target = Target { stream, ..target("claude-opus-5") };
    assert_eq!(splice::concat(&native().splice(&request, &target)), expected);
}

#[test]
fn native_requests_keep_their_bytes() {
    spliced(
        r#"{ "model": "mine/opus",  "messages":[{"role":"user","content":"x"}], "new_beta" : {"a":1.0} }"#,
        false,
        r#"{ "model": "claude-opus-5",  "messages":[{"role":"user","content":"x"}], "new_beta" : {"a":1.0} }"#,
    );
    spliced(
        r#"{"provider":"acme","model":"opus","messages":[{}],"stream":false}"#,
        true,
        r#"{"model":"claude-opus-5","messages":[{}],"stream":true}"#,
    );
    spliced(r#"{"messages":[{}]}"#, true, r#"{"messages":[{}],"model":"claude-opus-5","stream":true}"#);
}

/// Claude Code drops the thinking of turns whose `model` is not the one it requested.
#[test]
fn a_whole_answer_names_the_model_that_was_asked_for() {
    for (said, expected) in [
        (
            r#"{"id":"m", "model" : "claude-opus-5","content":[ ]}"#,
            r#"{"id":"m", "model" : "mine/\"opus\"","content":[ ]}"#,
        ),
        (r#"{"id":"m", "content":[]}"#, r#"{"id":"m", "content":[],"model":"mine/\"opus\""}"#),
        (r#"{"model":"mine/\u0022opus\"", "content":[]}"#, r#"{"model":"mine/\u0022opus\"", "content":[]}"#),
    ] {
        let body = Bytes::from_static(said.as_bytes());
        let answer = upstream().read_answer(&body).unwrap();
        let requested_model = "mine/\"opus\"";
        let served = Served { provider: "acme", model: "claude-opus-5", requested_model, latency_ms: 3 };
        assert_eq!(splice::concat(&native().splice_answer(&body, &answer, &served)), expected);
    }
}

#[test]
fn a_native_stream_names_the_model_that_was_asked_for() {
    const START: &str =
        r#"{"type":"message_start","message":{"id":"msg_1","model":"claude-opus-5","x":[1.50]}}"#;
    const ASKED: &str = r#"{"type":"message_start","message":{"id":"msg_1","model":"mine/opus","x":[1.50]}}"#;
    const DELTA: &str = r#"{"type":"content_block_delta","delta":{"text":"\"message_start\" model"}}"#;
    let check = |event: String, expected: Option<String>| {
        let mut splitter = Splitter::new(1 << 16);
        splitter.push(event.into());
        let event = splitter.next().unwrap().unwrap();
        let reframed = native().reframe(&event, "mine/opus");
        assert_eq!(reframed.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()), expected);
    };
    for (before, after) in [("event: message_start\ndata: ", "\n\n"), ("id: 7\r\ndata:", "\r\n\r\n")] {
        check(format!("{before}{START}{after}"), Some(format!("{before}{ASKED}{after}")));
        check(format!("{before}{ASKED}{after}"), None);
    }
    let split = START.replace(r#""message":"#, "\ndata: \"message\":");
    let joined = ASKED.replace(r#""message":"#, "\ndata: \"message\":");
    check(format!("data: {split}\n\n"), Some(format!("data: {joined}\n\n")));
    check(format!("event: content_block_delta\ndata: {DELTA}\n\n"), None);
    check(format!("data: {DELTA}\n\n"), None);
}

/// Anthropic accepts letters, digits, `_` and `-` in ids, and otherwise rejects the whole request.
#[test]
fn tool_ids_that_anthropic_refuses_are_mapped_in_a_native_request() {
    let ids = |call: &str, result: &str| {
        format!(
            r#"{{"model":"claude-opus-5","messages":[{{"role":"assistant","content":[{{"type":"tool_use","id":"{call}","name":"f","input":{{"id":"functions.f:0"}}}}]}},{{"role":"user","content":[{{"tool_use_id": "{result}","type":"tool_result"}}]}}]}}"#
        )
    };
    let legal = wire::tool_ids::to_legal("functions.f:0").into_owned();
    spliced(ids("functions.f:0", "functions.f:0").leak(), false, &ids(&legal, &legal));
    spliced(ids("toolu_1", "toolu_1").leak(), false, &ids("toolu_1", "toolu_1"));
    spliced(ids(&legal, &legal).leak(), false, &ids(&legal, &legal));
}
