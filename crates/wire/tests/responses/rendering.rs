//! Responses rendered for clients, complete and streamed.

use domain::canon::{Content, Delta, Opaque, Origin, Part, StopReason, Thinking, ToolCall};
use domain::usage::{Tokens, Usage};
use domain::{canon::Block, fault};
use serde_json::json;

use super::*;

fn tools() -> Vec<Tool> {
    parse(&json(&fixture("clients/codex.json"))).unwrap().tools
}

fn call(id: &str, name: &str, arguments: &str, opaque: Option<Opaque>) -> Part {
    let (id, name, arguments) = (id.into(), name.into(), arguments.into());
    Content::ToolCall(ToolCall { id, name, arguments, custom: false, opaque }).into()
}

fn state(format: Format, data: &str) -> Opaque {
    Opaque { origin: Origin { format, model: "m".into() }, data: data.into(), whole: false, text: None }
}

fn reply() -> Reply {
    Reply {
        id: Some("chatcmpl-1".into()),
        model: Some("upstream".into()),
        parts: vec![
            Content::Thinking(Thinking {
                text: "hm\n".into(),
                opaque: Some(state(Format::Messages, "sig==")),
            })
            .into(),
            Part::text("Let me \"see\"."),
            call("call_1", "shell", "{\"command\":[]}", Some(state(Format::Gemini, "thought"))),
            call("call_2", "mcp__docs__search", "", None),
            call("call_3", "apply_patch", "{\"input\":\"*** Begin\\n\"}", None),
            Part::text("after"),
            Content::Refusal("no".into()).into(),
        ],
        stop: StopReason::ToolCalls,
        usage: Some(Usage {
            tokens: Tokens { input: 10, cache_read: 5, output: 7, reasoning: 3, ..Tokens::default() },
            ..Usage::default()
        }),
        raw_usage: Bytes::new(),
    }
}

fn request() -> Value {
    json!({"instructions": "Be brief.", "reasoning": {"effort": "low"}, "text": {"verbosity": "low"}, "store": false,
        "metadata": {"a": "b"}, "temperature": null, "tools": [{"type": "function", "name": "shell"}]})
}

#[test]
fn a_whole_response_has_all_its_members() {
    let body = client().render(&reply(), &mut rendering(&tools(), request()));
    insta::assert_snapshot!(serde_json::to_string_pretty(&json(&body)).unwrap());
}

#[test]
fn a_stream_has_every_event_and_ends_as_the_whole() {
    let stream = render_stream(&reply().into_events(), rendering(&tools(), request()));
    insta::assert_snapshot!(std::str::from_utf8(&stream).unwrap());
    let events = data_of(&stream);
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number);
    }
    let whole = client().render(&reply(), &mut rendering(&tools(), request()));
    assert_eq!(events.last().unwrap()["response"], json(&whole));
    assert!(stream.ends_with(b"data: [DONE]\n\n"));
}

#[test]
fn unset_parameters_have_defaults() {
    let body = json(&client().render(&Reply::default(), &mut rendering(&[], json!({}))));
    assert_eq!(
        body,
        json!({
            "id": "resp_0199", "object": "response", "created_at": 1_750_000_000, "status": "completed",
            "background": false, "error": null, "incomplete_details": null, "instructions": null,
            "max_output_tokens": null, "max_tool_calls": null, "model": "mine/gpt-5", "output": [],
            "parallel_tool_calls": true, "previous_response_id": null, "prompt_cache_key": null,
            "reasoning": {"effort": null, "summary": null}, "safety_identifier": null, "service_tier": "default",
            "store": true, "temperature": 1.0, "text": {"format": {"type": "text"}}, "tool_choice": "auto",
            "tools": [], "top_logprobs": 0, "top_p": 1.0, "truncation": "disabled", "user": null, "metadata": {},
            "usage": null,
        })
    );
}

#[test]
fn every_stop_reason_has_its_status() {
    for (stop, status, reason) in [
        (StopReason::EndTurn, "completed", Value::Null),
        (StopReason::StopSequence(Some("x".into())), "completed", Value::Null),
        (StopReason::ToolCalls, "completed", Value::Null),
        (StopReason::PauseTurn, "completed", Value::Null),
        (StopReason::MaxTokens, "incomplete", json!({"reason": "max_output_tokens"})),
        (StopReason::ContentFilter, "incomplete", json!({"reason": "content_filter"})),
        (StopReason::Refusal, "incomplete", json!({"reason": "content_filter"})),
    ] {
        let reply = Reply { stop, ..Reply::default() };
        let body = json(&client().render(&reply, &mut rendering(&[], json!({}))));
        assert_eq!((&body["status"], &body["incomplete_details"]), (&json!(status), &reason));
        let stream = render_stream(&reply.into_events(), rendering(&[], json!({})));
        let events = data_of(&stream);
        assert_eq!(events.last().unwrap()["type"], format!("response.{status}"));
    }
}

#[test]
fn a_broken_answer_is_created_fails_and_raises() {
    let mut renderer = client().renderer(rendering(&[], json!({})));
    let mut out = BytesMut::new();
    renderer.fail(&fault::upstream_interrupted("mine"), &mut out);
    let kinds: Vec<Value> = data_of(&out).iter().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds, ["response.created", "response.in_progress", "response.failed", "error"]);

    let mut renderer = client().renderer(rendering(&[], json!({})));
    let mut out = BytesMut::new();
    let reply = Reply { parts: vec![Part::text("said"), Part::text("not")], ..Reply::default() };
    for event in reply.into_events() {
        if matches!(event, Event::Close { index: 1 }) {
            break;
        }
        renderer.write(&event, &mut out);
    }
    renderer.fail(&fault::upstream_interrupted("mine"), &mut out);
    let events = data_of(&out);
    let [.., failed, error] = events.as_slice() else { panic!() };
    assert_eq!(failed["response"]["status"], "failed");
    assert_eq!(failed["response"]["error"]["code"], "upstream_invalid_response");
    assert_eq!(failed["response"]["output"].as_array().unwrap().len(), 1);
    assert_eq!(error["error"]["code"], "upstream_invalid_response");
    assert_eq!(error["sequence_number"], events.len() - 1);
    assert!(!out.ends_with(b"[DONE]\n\n"));
}

/// State that a client sends back reaches the model that created it, with the same call.
#[test]
fn state_survives_the_client() {
    let request = json!({"input": "x"});
    let original = reply();
    let whole = json(&client().render(&original, &mut rendering(&tools(), request.clone())));
    let stream = render_stream(&original.clone().into_events(), rendering(&tools(), request));
    let streamed: Vec<Value> = data_of(&stream)
        .into_iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|event| event["item"].clone())
        .collect();
    for output in [whole["output"].as_array().unwrap().clone(), streamed] {
        let mut input = vec![json!({"role": "user", "content": "x"})];
        input.extend(output);
        let prompt = parse(&json!({"input": input})).unwrap();
        let parts = &prompt.turns[1].parts;
        assert_eq!(parts[..2], original.parts[..2]);
        let Content::ToolCall(call) = &parts[2].content else { panic!("{parts:?}") };
        assert_eq!((call.id.as_str(), &call.opaque), ("call_1", &Some(state(Format::Gemini, "thought"))));
        let Content::ToolCall(other) = &parts[3].content else { panic!("{parts:?}") };
        assert_eq!((other.name.as_str(), &other.opaque), ("mcp__docs__search", &None));
        let Content::ToolCall(custom) = &parts[4].content else { panic!("{parts:?}") };
        assert!(custom.custom && custom.arguments == "*** Begin\n");
    }
}

#[test]
fn state_after_its_call_is_matched() {
    let block = Block::ToolCall { id: "c".into(), name: "f".into(), custom: false, opaque: None };
    let late = state(Format::Gemini, "late");
    let events = [
        Event::Begin { id: None, model: None },
        Event::Open { index: 0, block },
        Event::Delta { index: 0, delta: Delta::Opaque(late.clone()) },
        Event::Close { index: 0 },
        Event::Finish { reason: StopReason::ToolCalls },
        Event::End,
    ];
    let events = data_of(&render_stream(&events, rendering(&[], json!({}))));
    let output = events.last().unwrap()["response"]["output"].clone();
    let prompt = parse(&json!({"input": output})).unwrap();
    let Content::ToolCall(call) = &prompt.turns[0].parts[0].content else { panic!() };
    assert_eq!((prompt.turns[0].parts.len(), &call.opaque), (1, &Some(late)));
}
