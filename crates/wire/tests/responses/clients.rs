//! Requests of real clients: parsed, and encoded in the same format.

use domain::canon::{Content, Role, Tool};
use serde_json::{Value, json};
use wire::codec::Target;
use wire::{splice, vendors};

use super::*;

#[test]
fn clients_requests_are_read_and_written_back() {
    for name in ["codex", "opencode", "sdk"] {
        let request = client().peek(fixture(&format!("clients/{name}.json"))).unwrap();
        let prompt = client().parse(&request).unwrap();
        insta::assert_debug_snapshot!(format!("prompt_{name}"), prompt);
        let model = request.model.clone().unwrap();
        let vendor = vendors::find("openai").unwrap();
        let (stream, prompt_cache) = (request.stream == Some(true), Default::default());
        let target = Target { model: &model, stream, vendor, max_output: None, prompt_cache };
        let encoded = upstream().encode(&prompt, &target).unwrap();
        assert_eq!(encoded.dropped.names(), [""; 0], "{name}");
        insta::assert_snapshot!(format!("encoded_{name}"), pretty(&encoded.body));
        assert_eq!(parse(&json(&encoded.body)).unwrap(), prompt, "{name}");
    }
}

fn pretty(body: &[u8]) -> String {
    serde_json::to_string_pretty(&json(body)).unwrap()
}

#[test]
fn a_native_body_changes_in_three_places_only() {
    let vendor = vendors::find("openai").unwrap();
    for (body, stream, expected) in [
        (
            r#"{ "model":"a/b", "provider":"mine","input":"x" ,"n":1.50}"#,
            false,
            r#"{ "model":"gpt-5","input":"x" ,"n":1.50}"#,
        ),
        (
            r#"{"input":[],"provider":{"order":[]}}"#,
            true,
            r#"{"input":[],"provider":{"order":[]},"model":"gpt-5","stream":true}"#,
        ),
        (r#"{"stream":true,"model":"x","input":[]}"#, true, r#"{"stream":true,"model":"gpt-5","input":[]}"#),
    ] {
        let request = client().peek(Bytes::from(body)).unwrap();
        let prompt_cache = Default::default();
        let target = Target { model: "gpt-5", stream, vendor, max_output: None, prompt_cache };
        let sent = splice::concat(&native().splice(&request, &target));
        assert_eq!(std::str::from_utf8(&sent).unwrap(), expected);
    }
}

#[test]
fn consecutive_items_form_one_turn() {
    let prompt = parse(&json(&fixture("clients/codex.json"))).unwrap();
    let roles: Vec<Role> = prompt.turns.iter().map(|turn| turn.role).collect();
    use Role::{Assistant, Developer, System, Tool as Results, User};
    assert_eq!(roles, [System, Developer, User, Assistant, Results, Assistant, Results, Assistant, User]);
    assert_eq!(prompt.turns[3].parts.len(), 4);
    assert_eq!(prompt.turns[4].parts.len(), 2);
    let Content::ToolResult(result) = &prompt.turns[4].parts[1].content else { panic!() };
    assert_eq!(result.name.as_deref(), Some("mcp__docs__search"));
    let names: Vec<_> = prompt.tools.iter().map(Tool::flat_name).collect();
    let expected =
        [Some("shell"), Some("apply_patch"), Some("mcp__docs__search"), Some("mcp__docs__fetch"), None];
    assert_eq!(names, expected.map(|name| name.map(str::to_owned)));
}

#[test]
fn transport_is_never_extra_and_the_rest_is_kept() {
    let body = json!({
        "model": "m", "provider": "p", "input": "x", "stream": true, "stream_options": {}, "store": true,
        "include": [], "previous_response_id": "r", "background": false, "safety_identifier": "s", "client_metadata": {}, "truncation": "disabled",
        "conversation": null,
    });
    assert!(parse(&body).unwrap().extra.is_empty());
    let body = json!({
        "input": "x", "truncation": "auto", "top_logprobs": 3, "max_tool_calls": 1, "prompt": {"id": "p"}, "new": [1],
        "tool_choice": {"type": "web_search"},
    });
    let names = ["truncation", "top_logprobs", "max_tool_calls", "prompt", "new", "tool_choice"];
    let mut extra: Vec<String> = parse(&body).unwrap().extra.keys().cloned().collect();
    extra.sort();
    let mut names = names.map(str::to_owned);
    names.sort();
    assert_eq!(extra, names);
}

#[test]
fn a_supported_shell_tool_keeps_its_results() {
    let items = json!([
        {"role": "user", "content": "x"},
        {"type": "local_shell_call", "call_id": "c", "action": {}},
        {"type": "function_call_output", "call_id": "c", "output": "y"},
    ]);
    let prompt = parse(&json!({"input": items})).unwrap();
    let written = json(&encode_for(&prompt, "gpt-5").body);
    assert_eq!(written["input"].as_array().unwrap()[1..], items.as_array().unwrap()[1..]);
}

#[test]
fn input_may_be_missing_only_with_a_past() {
    let peek = |body: Value| client().peek(Bytes::from(body.to_string()));
    for past in ["previous_response_id", "conversation", "prompt"] {
        assert!(peek(json!({"model": "m", past: "x"})).is_ok(), "{past}");
    }
    for body in [json!({"model": "m"}), json!({"input": null}), json!({"input": {}}), json!({"input": 5})] {
        assert_eq!(peek(body).unwrap_err().param.as_deref(), Some("input"));
    }
}
