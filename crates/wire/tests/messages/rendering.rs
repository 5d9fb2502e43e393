//! Canonical answers rendered for Anthropic clients, complete and streamed.

use bytes::{Bytes, BytesMut};
use domain::call::Format;
use domain::canon::{
    Block, Content, Delta, Event, Opaque, Origin, Part, Reply, StopReason, Thinking, ToolCall,
};
use domain::fault;
use domain::usage::{Tokens, Usage};
use serde_json::{Value, json};

use crate::{client, parse, render_stream, rendering};

fn state(format: Format, data: &str, whole: bool) -> Opaque {
    Opaque { origin: Origin { format, model: "some-model".into() }, data: data.into(), whole, text: None }
}

fn thought(text: &str, opaque: Option<Opaque>) -> Part {
    Content::Thinking(Thinking { text: text.into(), opaque }).into()
}

fn call(id: &str, opaque: Option<Opaque>) -> Part {
    let (name, arguments) = ("look".to_owned(), r#"{"at":1}"#.to_owned());
    Content::ToolCall(ToolCall { id: id.into(), name, arguments, custom: false, opaque }).into()
}

/// An answer of another provider with every kind of content.
fn reply() -> Reply {
    Reply {
        id: Some("chatcmpl-1".into()),
        model: Some("gemini-3-pro".into()),
        parts: vec![
            thought("Readable", Some(state(Format::Responses, "r", false))),
            thought("Unsigned", None),
            thought("", Some(state(Format::Responses, "encrypted", true))),
            thought("", None),
            Part::text(""),
            Part::text("Hello \"you\""),
            call("c1", Some(state(Format::Gemini, "signed", false))),
            call("c2", None),
        ],
        stop: StopReason::ToolCalls,
        usage: Some(Usage {
            tokens: Tokens {
                input: 3,
                cache_read: 4,
                cache_write_5m: 1,
                output: 5,
                reasoning: 6,
                ..Tokens::default()
            },
            ..Usage::default()
        }),
        raw_usage: Bytes::new(),
    }
}

fn rendered(reply: &Reply) -> Value {
    serde_json::from_slice(&client().render(reply, &mut rendering())).unwrap()
}

/// The message an SDK accumulates from a stream.
fn gathered(stream: &Bytes) -> Value {
    let mut message = Value::Null;
    let mut inputs: Vec<String> = Vec::new();
    let text = std::str::from_utf8(stream).unwrap();
    for event in text.split_terminator("\n\n") {
        let (name, data) = event.split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(name.strip_prefix("event: "), data["type"].as_str());
        let index = data["index"].as_u64().unwrap_or_default() as usize;
        match data["type"].as_str().unwrap() {
            "message_start" => message = data["message"].clone(),
            "content_block_start" => {
                let blocks = message["content"].as_array_mut().unwrap();
                assert_eq!(blocks.len(), index, "blocks open in order");
                blocks.push(data["content_block"].clone());
                inputs.push(String::new());
            }
            "content_block_delta" => {
                let (field, more) = match data["delta"]["type"].as_str().unwrap() {
                    "text_delta" => ("text", &data["delta"]["text"]),
                    "thinking_delta" => ("thinking", &data["delta"]["thinking"]),
                    "signature_delta" => ("signature", &data["delta"]["signature"]),
                    "input_json_delta" => {
                        inputs[index].push_str(data["delta"]["partial_json"].as_str().unwrap());
                        continue;
                    }
                    other => panic!("{other}"),
                };
                let grown = &mut message["content"][index][field];
                *grown = format!("{}{}", grown.as_str().unwrap(), more.as_str().unwrap()).into();
            }
            "content_block_stop" if !inputs[index].is_empty() => {
                message["content"][index]["input"] = serde_json::from_str(&inputs[index]).unwrap();
            }
            "message_delta" => {
                message["stop_reason"] = data["delta"]["stop_reason"].clone();
                message["stop_sequence"] = data["delta"]["stop_sequence"].clone();
                message["usage"] = data["usage"].clone();
            }
            _ => {}
        }
    }
    message
}

#[test]
fn whole_and_streamed_an_answer_is_the_same_to_the_client() {
    let whole = rendered(&reply());
    assert_eq!(gathered(&render_stream(&reply().into_events())), whole);
    insta::assert_json_snapshot!("rendered", whole);
}

#[test]
fn the_stream_as_it_is_written() {
    let events = reply().into_events();
    let stream = render_stream(&events);
    insta::assert_snapshot!("rendered_stream", std::str::from_utf8(&stream).unwrap());
}

#[test]
fn echoed_state_returns_to_its_provider() {
    let mut message = rendered(&reply());
    let turn = json!({"role": "assistant", "content": message["content"].take()});
    let prompt = parse(&json!({"messages": [{"role": "user", "content": "x"}, turn]})).unwrap();
    let expected: Vec<Part> = reply()
        .parts
        .into_iter()
        .filter(|part| !matches!(&part.content, Content::Text(text) if text.is_empty()))
        .filter(|part| part.content != thought("", None).content)
        .collect();
    assert_eq!(prompt.turns[1].parts, expected);
}

#[test]
fn no_sealed_or_unsigned_thought_passes_for_anthropics_own() {
    let bare = Reply { parts: vec![thought("Hm", None)], ..Reply::default() };
    let body = client().render(&bare, &mut rendering());
    assert!(wire::codec::carries_sealed_state(&body));
    let native = Reply {
        parts: vec![thought("Hm", Some(state(Format::Messages, "EqQB", false)))],
        ..Reply::default()
    };
    assert_eq!(rendered(&native)["content"][0]["signature"], "EqQB");
}

#[test]
fn a_thought_that_is_only_signed_stays_one() {
    let native =
        Reply { parts: vec![thought("", Some(state(Format::Messages, "EqQB", false)))], ..Reply::default() };
    let expected = json!([{"type": "thinking", "thinking": "", "signature": "EqQB"}]);
    assert_eq!(rendered(&native)["content"], expected);
    assert_eq!(gathered(&render_stream(&native.into_events()))["content"], expected);
}

#[test]
fn a_refusal_is_text_with_its_reason() {
    let refusal = Reply { parts: vec![Content::Refusal("No.".into()).into()], ..Reply::default() };
    let whole = rendered(&refusal);
    assert_eq!(whole["content"], json!([{"type": "text", "text": "No."}]));
    assert_eq!(whole["stop_reason"], "refusal");
    assert_eq!(gathered(&render_stream(&refusal.into_events())), whole);
}

#[test]
fn every_stop_reason_is_mapped() {
    for (stop, word, sequence) in [
        (StopReason::EndTurn, "end_turn", None),
        (StopReason::MaxTokens, "max_tokens", None),
        (StopReason::StopSequence(Some("END".into())), "stop_sequence", Some("END")),
        (StopReason::StopSequence(None), "stop_sequence", None),
        (StopReason::ToolCalls, "tool_use", None),
        (StopReason::ContentFilter, "refusal", None),
        (StopReason::Refusal, "refusal", None),
        (StopReason::PauseTurn, "pause_turn", None),
    ] {
        let reply = Reply { stop, ..Reply::default() };
        let whole = rendered(&reply);
        assert_eq!((whole["stop_reason"].as_str(), whole["stop_sequence"].as_str()), (Some(word), sequence));
        assert_eq!(gathered(&render_stream(&reply.into_events())), whole);
    }
}

#[test]
fn usage_after_the_stop_reason_is_sent_with_it() {
    let usage = Usage { tokens: Tokens { input: 7, output: 9, ..Tokens::default() }, ..Usage::default() };
    let stream = render_stream(&[
        Event::Begin { id: None, model: None },
        Event::Finish { reason: StopReason::EndTurn },
        Event::Usage { usage: Box::new(usage), raw: Bytes::new() },
        Event::End,
    ]);
    let message = gathered(&stream);
    assert_eq!(
        (&message["usage"]["input_tokens"], &message["usage"]["output_tokens"]),
        (&json!(7), &json!(9))
    );
    assert_eq!(message["model"], "asked-model");
    let text = std::str::from_utf8(&stream).unwrap();
    assert_eq!(text.matches("event: message_delta").count(), 1);
    assert!(text.ends_with("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"));
}

#[test]
fn custom_input_is_wrapped_as_it_grows() {
    let block = Block::ToolCall { id: "c".into(), name: "patch".into(), custom: true, opaque: None };
    let grow = |more: &str| Event::Delta { index: 0, delta: Delta::Arguments(more.into()) };
    let stream = render_stream(&[
        Event::Begin { id: None, model: None },
        Event::Open { index: 0, block },
        grow("say \"hi\""),
        grow("\n\\ bye\""),
        Event::Close { index: 0 },
        Event::Finish { reason: StopReason::ToolCalls },
        Event::End,
    ]);
    assert_eq!(gathered(&stream)["content"][0]["input"], json!({"input": "say \"hi\"\n\\ bye\""}));
}

#[test]
fn a_broken_answer_ends_with_an_error_and_no_clean_end() {
    let mut renderer = client().renderer(rendering());
    let mut out = BytesMut::new();
    renderer.write(&Event::Begin { id: None, model: None }, &mut out);
    out.clear();
    renderer.fail(&fault::upstream_interrupted("acme"), &mut out);
    let text = std::str::from_utf8(&out).unwrap();
    assert!(
        text.starts_with("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\""),
        "{text}"
    );
    assert!(!text.contains("message_stop"));
}

#[test]
fn events_are_rendered_without_delay() {
    let mut renderer = client().renderer(rendering());
    let mut out = BytesMut::new();
    for event in reply().into_events() {
        let speaks = matches!(&event, Event::Begin { .. } | Event::End)
            || matches!(&event, Event::Delta { delta: Delta::Text(text) | Delta::Arguments(text), .. } if !text.is_empty());
        out.clear();
        renderer.write(&event, &mut out);
        assert!(!speaks || !out.is_empty(), "{event:?}");
    }
}
