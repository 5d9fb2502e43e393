//! Decoding of provider streams and answers in any chunking, and rendering for clients.

use std::fmt::Write as _;

use bytes::{Bytes, BytesMut};
use domain::call::Format;
use domain::canon::{Block, Collector, Content, Delta, Event, Part, Reply, StopReason, Thinking};
use domain::fault;
use domain::usage::{Tokens, Usage};
use proptest::prelude::*;
use serde_json::{Value, json};
use wire::codec::Class;
use wire::sse::Splitter;

use crate::given::{self, MODEL, call, client, decoding, followed, narrated, rendering, state, upstream};

fn shown(events: &[Event]) -> String {
    let mut shown = String::new();
    for event in events {
        match event {
            Event::Usage { usage, .. } => {
                let tokens = serde_json::to_string(&usage.tokens).unwrap();
                writeln!(shown, "Usage {tokens}").unwrap();
            }
            other => writeln!(shown, "{other:?}").unwrap(),
        }
    }
    shown
}

#[test]
fn streams_are_decoded() {
    for (name, stream) in given::fixtures("streams") {
        let (events, fault) = followed([stream]);
        let fault = fault
            .map(|fault| {
                format!("{fault} retryable={}\n", fault.retry_scope != domain::fault::RetryScope::Never)
            })
            .unwrap_or_default();
        insta::assert_snapshot!(format!("stream_{name}"), shown(&events) + &fault);
    }
}

#[test]
fn streams_keep_the_order_every_renderer_relies_on() {
    for (name, stream) in given::fixtures("streams") {
        let (events, fault) = followed([stream]);
        assert!(events.first().is_none_or(|event| matches!(event, Event::Begin { .. })), "{name}");
        let mut open = Vec::new();
        let (mut next, mut finished) = (0, false);
        for event in &events {
            match event {
                Event::Open { index, .. } => {
                    assert_eq!((*index, open.is_empty(), finished), (next, true, false), "{name}");
                    next += 1;
                    open.push(*index);
                }
                Event::Delta { index, .. } => assert_eq!(open.last(), Some(index), "{name}"),
                Event::Close { index } => assert_eq!(open.pop(), Some(*index), "{name}"),
                Event::Finish { .. } => {
                    assert!(open.is_empty() && !finished, "{name}");
                    finished = true;
                }
                Event::Usage { .. } => assert!(!finished, "{name}"),
                Event::Begin { .. } | Event::End => {}
            }
        }
        assert_eq!(fault.is_none(), matches!(events.last(), Some(Event::End)), "{name}");
    }
}

/// The classifier and the decoder must agree on where content begins and where the finish reason is.
#[test]
fn the_glance_and_the_decoder_agree() {
    for (name, stream) in given::fixtures("streams") {
        let mut splitter = Splitter::new(1 << 20);
        splitter.push(stream);
        let mut decoder = upstream().decoder(decoding());
        while let Some(event) = splitter.next().unwrap() {
            let seen = upstream().classify(&event);
            let mut events = Vec::new();
            let read = decoder.decode_event(&event, &mut events);
            if name.starts_with("malformed") || name == "wrong_shape" || name == "usage_after_the_reason" {
                continue;
            }
            assert_eq!(read.is_err(), seen.class == Class::Error, "{name}");
            let content = events.iter().any(|event| event.is_content());
            assert!(!content || seen.class == Class::Content, "{name}: {events:?}");
            let finished = events.iter().any(|event| matches!(event, Event::Finish { .. }));
            assert_eq!(finished, seen.finish && seen.usage.is_some(), "{name}");
        }
    }
}

#[test]
fn a_whole_answer_is_decoded() {
    for (name, body) in given::fixtures("answers") {
        let reply = upstream().decode(&body, &mut decoding()).unwrap();
        insta::assert_snapshot!(format!("answer_{name}"), format!("{reply:#?}"));
    }
    let fault =
        upstream().decode(br#"{"candidates":[{"content":{"parts":[]}}]}"#, &mut decoding()).unwrap_err();
    assert_eq!(
        (fault.code.as_str(), fault.retry_scope != domain::fault::RetryScope::Never),
        ("upstream_invalid_response", true)
    );
    let fault =
        upstream().decode(br#"{"error":{"code":429,"message":"Slow down."}}"#, &mut decoding()).unwrap_err();
    assert_eq!((fault.status, fault.message.as_str()), (429, "Slow down."));
    let second = r#"{"content":{"parts":[{"text":"other"}]},"finishReason":"MAX_TOKENS","index":1}"#;
    let first = r#"{"content":{"parts":[{"text":"one"}]},"finishReason":"STOP","index":0}"#;
    for order in [[first, second], [second, first]] {
        let body = format!(r#"{{"candidates":[{}]}}"#, order.join(","));
        let reply = upstream().decode(body.as_bytes(), &mut decoding()).unwrap();
        assert_eq!((reply.parts, reply.stop), (vec![Part::text("one")], StopReason::EndTurn));
    }
    let blocked = br#"{"promptFeedback":{"blockReason":"SAFETY"}}"#;
    let reply = upstream().decode(blocked, &mut decoding()).unwrap();
    assert_eq!((reply.stop, reply.parts), (StopReason::ContentFilter, vec![]));
}

#[test]
fn stop_reasons_are_distinguished() {
    let stop = |reason: &str| {
        let body = json!({"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": reason}]});
        upstream().decode(body.to_string().as_bytes(), &mut decoding()).unwrap().stop
    };
    assert_eq!(stop("STOP"), StopReason::EndTurn);
    assert_eq!(stop("MAX_TOKENS"), StopReason::MaxTokens);
    for reason in ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"] {
        assert_eq!(stop(reason), StopReason::ContentFilter, "{reason}");
    }
    for reason in ["MALFORMED_FUNCTION_CALL", "OTHER", "SOMETHING_NEW"] {
        assert_eq!(stop(reason), StopReason::EndTurn, "{reason}");
    }
    let written = |stop: StopReason| {
        let body = client().render(&Reply { stop, ..Reply::default() }, &mut rendering());
        serde_json::from_slice::<Value>(&body).unwrap()["candidates"][0]["finishReason"].clone()
    };
    for (stop, reason) in [
        (StopReason::EndTurn, "STOP"),
        (StopReason::StopSequence(Some("x".into())), "STOP"),
        (StopReason::ToolCalls, "STOP"),
        (StopReason::PauseTurn, "STOP"),
        (StopReason::MaxTokens, "MAX_TOKENS"),
        (StopReason::ContentFilter, "SAFETY"),
        (StopReason::Refusal, "SAFETY"),
    ] {
        assert_eq!(written(stop), reason);
    }
}

fn reply() -> Reply {
    let mut run = call("toolu_1", "run", "{\"cmd\": \"ls\"}");
    run.opaque = Some(state(Format::Gemini, "sig=="));
    let vouched = Thinking { text: "Hm.".into(), opaque: Some(state(Format::Messages, "EqQ=")) };
    Reply {
        id: Some("msg_1".into()),
        model: Some("claude".into()),
        parts: vec![
            Content::Thinking(vouched).into(),
            Part::text("Näxt \"step\"\n"),
            Content::ToolCall(call("toolu_0", "look", "")).into(),
            Content::ToolCall(run).into(),
        ],
        stop: StopReason::ToolCalls,
        usage: Some(Usage {
            tokens: Tokens { input: 5, cache_read: 3, output: 7, reasoning: 2, ..Tokens::default() },
            ..Usage::default()
        }),
        raw_usage: Bytes::new(),
    }
}

#[test]
fn a_client_is_written_whole_answers_and_streams() {
    let body: Value = serde_json::from_slice(&client().render(&reply(), &mut rendering())).unwrap();
    insta::assert_snapshot!("rendered", serde_json::to_string_pretty(&body).unwrap());
    let stream = narrated(reply());
    insta::assert_snapshot!("rendered_stream", std::str::from_utf8(&stream).unwrap().replace("\r\n", "␍␊\n"));
}

/// Arguments arrive in fragments and are rendered whole; text is rendered at once.
#[test]
fn text_is_not_delayed_and_calls_are_gathered() {
    let mut renderer = client().renderer(rendering());
    let mut write = |event: Event| {
        let mut out = BytesMut::new();
        renderer.write(&event, &mut out);
        String::from_utf8(out.to_vec()).unwrap()
    };
    assert_eq!(write(Event::Begin { id: None, model: None }), "");
    write(Event::Open { index: 0, block: Block::Text });
    let piece = write(Event::Delta { index: 0, delta: Delta::Text("a".into()) });
    assert!(piece.contains(r#"{"text":"a"}"#) && piece.contains(MODEL) && piece.contains("0seed"), "{piece}");
    write(Event::Close { index: 0 });
    let block = Block::ToolCall { id: "c".into(), name: "f".into(), custom: false, opaque: None };
    assert_eq!(write(Event::Open { index: 1, block }), "");
    assert_eq!(write(Event::Delta { index: 1, delta: Delta::Arguments("{\"a\":".into()) }), "");
    assert_eq!(write(Event::Delta { index: 1, delta: Delta::Arguments("1}".into()) }), "");
    assert!(write(Event::Close { index: 1 }).contains(r#""args":{"a":1}"#));
    let mut out = BytesMut::new();
    client().renderer(rendering()).fail(&fault::upstream_interrupted("acme"), &mut out);
    assert!(out.starts_with(b"data: {\"error\":{") && out.ends_with(b"}\r\n\r\n"));
}

/// Another format's thinking is restored exactly from a client that only keeps calls.
#[test]
fn foreign_state_survives_clients_that_drop_thoughts() {
    let body: Value = serde_json::from_slice(&client().render(&reply(), &mut rendering())).unwrap();
    let streamed = followed_parts(&narrated(reply()));
    for parts in [body["candidates"][0]["content"]["parts"].clone(), streamed] {
        for keep_thoughts in [true, false] {
            let kept =
                parts.as_array().unwrap().iter().filter(|part| keep_thoughts || part["thought"] != true);
            let content = json!({"role": "model", "parts": kept.collect::<Vec<_>>()});
            let prompt = given::parsed(Bytes::from(json!({"contents": [content]}).to_string())).unwrap();
            let thoughts: Vec<&Thinking> = prompt.turns[0]
                .parts
                .iter()
                .filter_map(|part| match &part.content {
                    Content::Thinking(thinking) => Some(thinking),
                    _ => None,
                })
                .collect();
            assert_eq!(thoughts.len(), 1, "{thoughts:?}");
            assert_eq!(thoughts[0].text, "Hm.");
            let opaque = thoughts[0].opaque.as_ref().unwrap();
            assert_eq!((opaque.data.as_str(), opaque.origin.format), ("EqQ=", Format::Messages));
            let Content::ToolCall(last) = &prompt.turns[0].parts.last().unwrap().content else { panic!() };
            assert_eq!(last.opaque.as_ref().unwrap().data, "sig==");
        }
    }
}

/// The parts of all chunks, as a client collects them.
fn followed_parts(stream: &Bytes) -> Value {
    let mut splitter = Splitter::new(1 << 20);
    splitter.push(stream.clone());
    let mut parts = Vec::new();
    while let Some(event) = splitter.next().unwrap() {
        let piece: Value = serde_json::from_slice(&event.data()).unwrap();
        parts.extend(piece["candidates"][0]["content"]["parts"].as_array().unwrap().clone());
    }
    parts.retain(|part| *part != json!({"text": ""}));
    parts.into()
}

#[test]
fn one_byte_at_a_time_is_the_same_stream() {
    for (name, stream) in given::fixtures("streams") {
        let bytes = (0..stream.len()).map(|at| stream.slice(at..at + 1));
        assert_eq!(followed(bytes), followed([stream.clone()]), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn chunks_do_not_matter(which: prop::sample::Index, cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let fixtures = given::fixtures("streams");
        let (_, stream) = which.get(&fixtures);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let chunks = cuts.windows(2).map(|cut| stream.slice(cut[0]..cut[1]));
        prop_assert_eq!(followed(chunks), followed([stream.clone()]));
    }

    /// Decoding terminates for any bytes, with a fault or an answer.
    #[test]
    fn garbage_is_survived(which: prop::sample::Index, at: prop::sample::Index, byte: u8) {
        let fixtures = given::fixtures("streams");
        let mut stream = which.get(&fixtures).1.to_vec();
        let at = at.index(stream.len());
        stream[at] = byte;
        let (events, fault) = followed([Bytes::from(stream)]);
        let mut collector = Collector::default();
        events.iter().for_each(|event| collector.take(event));
        prop_assert!(fault.is_some() || matches!(events.last(), Some(Event::End)));
    }
}
