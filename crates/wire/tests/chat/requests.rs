//! Requests of real clients: parsed, encoded again, and rejected with a path if they are invalid.

use domain::call::Format;
use domain::canon::{Content, Opaque, Origin, Role, ToolChoice};
use serde_json::{Value, json};

use crate::{parse, sent};

/// Checks that a chat client's request is encoded unchanged, except for the values in `normalised`.
#[track_caller]
fn check_round(mut body: Value, normalised: &[(&str, Value)]) {
    let prompt = parse(&body).unwrap();
    let (back, dropped) = sent(&prompt, "openai_compatible", "m");
    assert!(dropped.is_empty(), "{dropped:?}");
    for (pointer, value) in normalised {
        *body.pointer_mut(pointer).unwrap() = value.clone();
    }
    body["model"] = "m".into();
    assert_eq!(back, body, "{back:#}");
}

#[test]
fn an_agent_with_tools_is_written_back_as_it_was() {
    check_round(
        json!({
            "model": "x", "messages": [
                {"role": "system", "content": "You are an agent."},
                {"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}]},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}},
                    {"id": "call_2", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}]},
                {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
                {"role": "tool", "tool_call_id": "call_2", "content": "done"},
                {"role": "user", "content": "a"}, {"role": "user", "content": "b", "name": "bob"}],
            "tools": [
                {"type": "function", "function": {"name": "read", "description": "Reads.", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}, "strict": true}},
                {"type": "function", "function": {"name": "bare"}},
                {"type": "custom", "custom": {"name": "patch", "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: x"}}}},
                {"type": "web_search_2027", "depth": 3}],
            "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "read"}}, {"type": "custom", "custom": {"name": "patch"}}]}},
            "parallel_tool_calls": false,
            "response_format": {"type": "json_schema", "json_schema": {"name": "out", "schema": {"type": "object"}, "strict": true}},
            "max_tokens": 100, "temperature": 0.5, "top_p": 0.9, "presence_penalty": 1.0, "frequency_penalty": -1.0, "top_k": 5, "seed": 7,
            "stop": ["a", "b", "c", "d", "e"], "verbosity": "low", "user": "u", "metadata": {"k": "v"}, "service_tier": "flex", "n": 2,
            "logprobs": true, "top_logprobs": 3, "logit_bias": {"1": 2}, "prediction": {"type": "content", "content": "x"}, "web_search_options": {},
        }),
        &[],
    );
}

#[test]
fn transport_stays_behind_and_the_newer_limit_wins() {
    let prompt = parse(&json!({
        "model": "x", "messages": [{"role": "user", "content": "Hi"}], "stream": true, "stream_options": {"include_usage": true},
        "store": true, "provider": "here", "safety_identifier": "s",
        "max_tokens": 5, "max_completion_tokens": 9, "stop": "END", "reasoning_effort": "none", "response_format": {"type": "text"}, "user": null,
    }))
    .unwrap();
    assert!(prompt.extra.is_empty(), "{:?}", prompt.extra);
    assert_eq!((prompt.max_output, prompt.user.as_deref(), prompt.output), (Some(9), Some("s"), None));
    assert_eq!((prompt.stop, prompt.reasoning.unwrap().enabled), (vec!["END".to_owned()], Some(false)));
    let prompt =
        parse(&json!({"messages": [{"role": "user", "content": "Hi"}], "provider": {"order": ["x"]}}));
    assert_eq!(prompt.unwrap().extra["provider"]["order"][0], "x");
}

#[test]
fn functions_of_old_become_tools_with_ids_of_their_own() {
    let prompt = parse(&json!({
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": null, "function_call": {"name": "look", "arguments": "{}"}},
            {"role": "function", "name": "look", "content": "one"},
            {"role": "assistant", "content": null, "function_call": {"name": "look", "arguments": "{}"}},
            {"role": "function", "name": "look", "content": "two"}],
        "functions": [{"name": "look", "parameters": {"type": "object"}}], "function_call": {"name": "look"},
    }))
    .unwrap();
    assert_eq!(prompt.tool_choice, Some(ToolChoice::Named("look".into())));
    let (body, _) = sent(&prompt, "openai", "gpt-4o");
    let ids: Vec<&Value> =
        body["messages"].as_array().unwrap().iter().filter_map(|m| m.get("tool_call_id")).collect();
    assert_eq!(ids, ["call_look", "call_look_2"]);
    assert_eq!(body["messages"][3]["tool_calls"][0]["id"], "call_look_2");
    assert_eq!(body["tools"][0]["function"]["name"], "look");
}

#[test]
fn consecutive_results_share_a_turn_and_texts_do_not() {
    let prompt = parse(&json!({"messages": [
        {"role": "user", "content": "a"}, {"role": "user", "content": "b"},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": ""}}, {"id": "2", "type": "function", "function": {"name": "g", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "2", "content": [{"type": "text", "text": "x"}]}, {"role": "tool", "tool_call_id": "1", "content": null}]}))
    .unwrap();
    let roles: Vec<Role> = prompt.turns.iter().map(|turn| turn.role).collect();
    assert_eq!(roles, [Role::User, Role::User, Role::Assistant, Role::Tool]);
    let Content::ToolResult(first) = &prompt.turns[3].parts[0].content else { panic!() };
    assert_eq!((first.call_id.as_str(), first.name.as_deref()), ("2", Some("g")));
    assert_eq!(prompt.turns[3].parts[1].place.0, "messages[4]");
}

#[test]
fn thoughts_come_first_and_find_their_states() {
    let sealed = Opaque {
        origin: Origin { format: Format::Messages, model: "claude".into() },
        data: "sig".into(),
        whole: false,
        text: Some("the very words".into()),
    };
    let prompt = parse(&json!({"messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Yes", "reasoning_content": "words", "reasoning_details": [
            {"type": "reasoning.text", "signature": sealed.seal(), "index": 0},
            {"type": "reasoning.encrypted", "data": "blob", "index": 1},
            {"type": "reasoning.encrypted", "data": "for the call", "id": "c", "index": 2}],
         "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "ok"}]}))
    .unwrap();
    let parts = &prompt.turns[1].parts;
    let Content::Thinking(first) = &parts[0].content else { panic!() };
    assert_eq!(first.text, "the very words");
    assert_eq!(first.opaque, Some(Opaque { text: None, ..sealed }));
    let Content::Thinking(second) = &parts[1].content else { panic!() };
    let state = second.opaque.as_ref().unwrap();
    assert_eq!((state.data.as_str(), state.whole, second.text.as_str()), ("blob", true, ""));
    let Content::ToolCall(call) = &parts[3].content else { panic!() };
    assert_eq!(call.opaque.as_ref().unwrap().data, "for the call");
    // Only state from a chat model is sent to one.
    let (body, _) = sent(&prompt, "openrouter", "m");
    assert_eq!(
        body["messages"][1]["reasoning_details"],
        json!([{"type": "reasoning.encrypted", "data": "blob"}, {"type": "reasoning.encrypted", "data": "for the call", "id": "c"}])
    );
}

#[test]
fn details_of_a_provider_go_back_with_all_they_had() {
    let details = json!([
        {"type": "reasoning.text", "text": "hm", "signature": "s", "format": "anthropic-claude-v1", "index": 0},
        {"type": "reasoning.encrypted", "data": "d", "id": "rs_1", "format": "openai-responses-v1", "index": 1}]);
    let prompt = parse(
        &json!({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes", "reasoning": "hm", "reasoning_details": details}]}),
    );
    let (body, _) = sent(&prompt.unwrap(), "openrouter", "m");
    assert_eq!(body["messages"][1]["reasoning_details"], details);
}

#[test]
fn mistakes_are_named_by_their_path() {
    let huge = format!("data:image/png;base64,{}", "A".repeat(28 << 20));
    let user = |content: Value| json!({"messages": [{"role": "user", "content": content}]});
    let with = |name: &str, value: Value| {
        let mut body = user("Hi".into());
        body[name] = value;
        body
    };
    let assistant = |mut members: Value| {
        let mut message = json!({"role": "assistant"});
        message.as_object_mut().unwrap().append(members.as_object_mut().unwrap());
        json!({"messages": [{"role": "user", "content": "Hi"}, message]})
    };
    for (body, param) in [
        (json!({"messages": [{"role": "robot", "content": "Hi"}]}), "messages[0].role"),
        (json!({"messages": [{"content": "Hi"}]}), "messages[0].role"),
        (json!({"messages": ["Hi"]}), "messages[0]"),
        (json!({"messages": [{"role": "user"}]}), "messages[0].content"),
        (user(json!(5)), "messages[0].content"),
        (user(json!([{"type": "video"}])), "messages[0].content[0].type"),
        (user(json!([{"text": "x"}])), "messages[0].content[0].type"),
        (user(json!([{"type": "text", "text": 1}])), "messages[0].content[0].text"),
        (
            user(json!([{"type": "image_url", "image_url": {"url": "ftp://x"}}])),
            "messages[0].content[0].image_url.url",
        ),
        (
            user(json!([{"type": "image_url", "image_url": {"url": "data:image/png,x"}}])),
            "messages[0].content[0].image_url.url",
        ),
        (
            user(json!([{"type": "image_url", "image_url": {"url": huge}}])),
            "messages[0].content[0].image_url.url",
        ),
        (
            user(json!([{"type": "input_audio", "input_audio": {"data": "x"}}])),
            "messages[0].content[0].input_audio.format",
        ),
        (user(json!([{"type": "file", "file": {}}])), "messages[0].content[0].file.file_data"),
        (
            json!({"messages": [{"role": "system", "content": [{"type": "image_url", "image_url": "http://x"}]}]}),
            "messages[0].content[0].type",
        ),
        (json!({"messages": [{"role": "tool", "content": "x"}]}), "messages[0].tool_call_id"),
        (
            json!({"messages": [{"role": "tool", "tool_call_id": "no", "content": "x"}]}),
            "messages[0].tool_call_id",
        ),
        (json!({"messages": [{"role": "function", "name": "no", "content": "x"}]}), "messages[0].name"),
        (
            assistant(json!({"tool_calls": [{"type": "function", "function": {"name": "f"}}]})),
            "messages[1].tool_calls[0].id",
        ),
        (assistant(json!({"tool_calls": [{"id": "1", "type": "magic"}]})), "messages[1].tool_calls[0].type"),
        (
            assistant(json!({"tool_calls": [{"id": "1", "function": {"arguments": "{}"}}]})),
            "messages[1].tool_calls[0].function.name",
        ),
        (assistant(json!({"reasoning_details": ["x"]})), "messages[1].reasoning_details[0]"),
        (with("tools", json!([{"function": {"name": "f"}}])), "tools[0].type"),
        (with("tools", json!([{"type": "function"}])), "tools[0].function"),
        (
            with("tools", json!([{"type": "function", "function": {"name": "f", "parameters": []}}])),
            "tools[0].function.parameters",
        ),
        (with("tools", json!({})), "tools"),
        (with("tool_choice", json!("maybe")), "tool_choice"),
        (with("tool_choice", json!({"type": "function"})), "tool_choice.function"),
        (
            with("tool_choice", json!({"type": "allowed_tools", "allowed_tools": {"mode": "x"}})),
            "tool_choice.allowed_tools.mode",
        ),
        (with("response_format", json!({"type": "xml"})), "response_format.type"),
        (
            with("response_format", json!({"type": "json_schema", "json_schema": {}})),
            "response_format.json_schema.name",
        ),
        (with("stop", json!([1])), "stop[0]"),
        (with("stop", json!(1)), "stop"),
        (with("seed", json!("x")), "seed"),
        (with("top_p", json!("x")), "top_p"),
        (with("reasoning_effort", json!("immense")), "reasoning_effort"),
        (with("parallel_tool_calls", json!("x")), "parallel_tool_calls"),
    ] {
        let fault = parse(&body).expect_err(param);
        assert_eq!((fault.status, fault.code.as_str()), (400, "invalid_parameter"), "{param}");
        assert_eq!(fault.param.as_deref(), Some(param), "{}", fault.message);
    }
}
