//! The Responses format end to end: requests of real clients, provider answers, and rendered responses.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be read should stop the test")]

#[path = "responses/bad_input.rs"]
mod bad_input;
#[path = "responses/clients.rs"]
mod clients;
#[path = "responses/encoding.rs"]
mod encoding;
#[path = "responses/properties.rs"]
mod properties;
#[path = "responses/rendering.rs"]
mod rendering;

use std::fs;
use std::path::Path;

use bytes::{Bytes, BytesMut};
use domain::call::{Format, Surface};
use domain::canon::{Collector, Event, Prompt, Reply, Tool};
use domain::fault::Fault;
use serde_json::Value;
use wire::codec::{
    ClientCodec, Decoding, EchoedRequest, Encoded, IdGenerator, Native, Rendering, Target, UpstreamCodec,
};
use wire::formats;
use wire::sse::Splitter;
use wire::vendors;

pub fn client() -> &'static dyn ClientCodec {
    formats::client(Format::Responses)
}

pub fn upstream() -> &'static dyn UpstreamCodec {
    formats::upstream(Format::Responses)
}

pub fn native() -> &'static dyn Native {
    formats::native(Surface::Converse(Format::Responses))
}

pub fn fixture(path: &str) -> Bytes {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/responses").join(path)).unwrap().into()
}

pub fn parse(body: &Value) -> Result<Prompt, Fault> {
    let request = client().peek(Bytes::from(body.to_string()))?;
    client().parse(&request)
}

pub fn encode_for(prompt: &Prompt, model: &str) -> Encoded {
    let vendor = vendors::find("openai").unwrap();
    let prompt_cache = Default::default();
    let target = Target { model, stream: false, vendor, max_output: None, prompt_cache };
    upstream().encode(prompt, &target).unwrap()
}

pub fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

pub fn decoding() -> Decoding {
    Decoding {
        provider: "acme".into(),
        model: "gpt-5".into(),
        schema_tool: None,
        ids: IdGenerator::new("seed"),
    }
}

pub fn rendering(tools: &[Tool], request: Value) -> Rendering {
    let mut request = request;
    request["input"] = "x".into();
    let request = EchoedRequest::new(&client().peek(Bytes::from(request.to_string())).unwrap());
    Rendering {
        ids: IdGenerator::new("0199"),
        created: 1_750_000_000,
        provider: "mine".into(),
        model: "gpt-5".into(),
        requested_model: "asked-model".into(),
        latency_ms: 12,
        include_usage: true,
        tools: tools.into(),
        request,
    }
}

/// Decodes a provider's bytes, split at these lengths.
pub fn decode_stream(bytes: &Bytes, cuts: &[usize]) -> Result<Vec<Event>, Fault> {
    let mut decoder = upstream().decoder(decoding());
    let mut splitter = Splitter::new(1 << 20);
    let mut events = Vec::new();
    let mut rest = bytes.clone();
    for cut in cuts.iter().copied().chain([usize::MAX]) {
        splitter.push(rest.split_to(cut.min(rest.len())));
        while let Some(event) = splitter.next().unwrap() {
            decoder.decode_event(&event, &mut events)?;
        }
    }
    decoder.close(&mut events)?;
    Ok(events)
}

pub fn collect(events: &[Event]) -> Reply {
    let mut collector = Collector::default();
    events.iter().for_each(|event| collector.take(event));
    collector.finish()
}

/// Renders these events as the client's stream.
pub fn render_stream(events: &[Event], rendering: Rendering) -> Bytes {
    let mut renderer = client().renderer(rendering);
    let mut out = BytesMut::new();
    events.iter().for_each(|event| renderer.write(event, &mut out));
    out.freeze()
}

/// The data of a stream's events, without the closing mark.
pub fn data_of(stream: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(stream).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

#[test]
fn streamed_and_whole_answers_are_equal() {
    for name in ["everything", "sparse", "refusal", "only_the_end"] {
        let events = decode_stream(&fixture(&format!("streams/{name}.sse")), &[]).unwrap();
        check_order(&events);
        let whole = upstream().decode(&fixture(&format!("answers/{name}.json")), &mut decoding()).unwrap();
        let streamed = collect(&events);
        assert_eq!(json(&streamed.raw_usage), json(&whole.raw_usage), "{name}");
        let streamed = Reply { raw_usage: whole.raw_usage.clone(), ..streamed };
        assert_eq!(streamed, whole, "{name}");
        insta::assert_debug_snapshot!(format!("reply_{name}"), whole.parts);
        insta::assert_debug_snapshot!(format!("events_{name}"), events);
    }
}

/// Checks the order: Begin first, every block opened, closed and numbered in order, Finish and End last.
pub fn check_order(events: &[Event]) {
    let mut open = Vec::new();
    let mut next = 0;
    for (at, event) in events.iter().enumerate() {
        match event {
            Event::Begin { .. } => assert_eq!(at, 0),
            Event::Open { index, .. } => {
                assert_eq!(*index, next);
                next += 1;
                open.push(*index);
            }
            Event::Delta { index, .. } => assert!(open.contains(index)),
            Event::Close { index } => {
                let at = open.iter().position(|open| open == index).unwrap();
                open.remove(at);
            }
            Event::Usage { .. } => {}
            Event::Finish { .. } => assert!(open.is_empty() && at == events.len() - 2),
            Event::End => assert_eq!(at, events.len() - 1),
        }
    }
    assert_eq!(events.last(), Some(&Event::End));
}

#[test]
fn broken_streams_are_faults() {
    let whole = fixture("streams/everything.sse");
    let cut = whole.slice(..whole.len() / 2);
    assert_eq!(decode_stream(&cut, &[]).unwrap_err().code.as_str(), "upstream_invalid_response");
    for (stream, code) in [
        ("data: {\"type\":\"response.output_text.delta\",\"delta\":5}\n\n", "upstream_invalid_response"),
        ("data: nonsense\n\n", "upstream_invalid_response"),
        (
            "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"x\"}\n\n",
            "server_error",
        ),
        (
            "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"x\"}}}\n\n",
            "rate_limit_exceeded",
        ),
    ] {
        assert_eq!(decode_stream(&Bytes::from(stream), &[]).unwrap_err().code.as_str(), code, "{stream}");
    }
    for body in [
        "{}",
        "[]",
        "{\"output\":[{\"type\":\"message\",\"content\":5}]}",
        "{\"status\":\"queued\",\"output\":[]}",
    ] {
        let fault = upstream().decode(body.as_bytes(), &mut decoding()).unwrap_err();
        assert_eq!(fault.code.as_str(), "upstream_invalid_response", "{body}");
    }
    let failed = br#"{"status":"failed","error":{"code":"server_error","message":"x"},"output":[]}"#;
    assert_eq!(upstream().decode(failed, &mut decoding()).unwrap_err().status, 500);
}

#[test]
fn a_schema_tool_is_the_answer_itself() {
    let decoding = || Decoding { schema_tool: Some("weather".into()), ..decoding() };
    let whole = upstream().decode(&fixture("answers/only_the_end.json"), &mut decoding()).unwrap();
    assert_eq!(whole.parts.last().unwrap().as_text(), Some("{\"city\":\"Bonn\"}"));
    assert_eq!(whole.stop, domain::canon::StopReason::EndTurn);
    let mut decoder = upstream().decoder(decoding());
    let (mut splitter, mut events) = (Splitter::new(1 << 20), Vec::new());
    splitter.push(fixture("streams/everything.sse"));
    while let Some(event) = splitter.next().unwrap() {
        decoder.decode_event(&event, &mut events).unwrap();
    }
    assert!(collect(&events).parts.iter().any(|part| part.as_text() == Some("{\"city\":\"Bonn\"}")));
}

#[test]
fn native_events_get_their_name() {
    let mut splitter = Splitter::new(1 << 16);
    splitter.push(Bytes::from_static(
        b"data: {\"type\":\"response.created\"}\n\nevent: x\ndata: {}\n\ndata: [DONE]\n\n",
    ));
    let mut next = || splitter.next().unwrap().unwrap();
    let named = native().reframe(&next(), "m").unwrap();
    assert_eq!(named.as_ref(), b"event: response.created\ndata: {\"type\":\"response.created\"}\n\n");
    assert_eq!(native().reframe(&next(), "m"), None);
    assert_eq!(native().reframe(&next(), "m"), None);
    assert_eq!(native().closing(), b"data: [DONE]\n\n");
}
