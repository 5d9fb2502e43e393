//! Chat completions through the canonical model: client requests, provider answers, and round trips.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be read should stop the test")]

mod answers;
mod foreign;
mod requests;
mod rounds;
mod streams;
mod vendors;

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use domain::call::Format;
use domain::canon::{Collector, Event, Prompt, Reply};
use domain::fault::Fault;
use serde_json::Value;
use wire::codec::{Decoding, EchoedRequest, Encoded, IdGenerator, Rendering, Target};
use wire::formats;
use wire::sse::Splitter;
use wire::vendors as all;

fn parse(body: &Value) -> Result<Prompt, Fault> {
    let client = formats::client(Format::Chat);
    client.parse(&client.peek(Bytes::from(body.to_string()))?)
}

fn encode(prompt: &Prompt, vendor: &str, model: &str) -> Encoded {
    let vendor = all::find(vendor).unwrap();
    let prompt_cache = Default::default();
    let target = Target { model, stream: false, vendor, max_output: None, prompt_cache };
    formats::upstream(Format::Chat).encode(prompt, &target).unwrap()
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// The body for a vendor, and the dropped parameters.
fn sent(prompt: &Prompt, vendor: &str, model: &str) -> (Value, Vec<String>) {
    let encoded = encode(prompt, vendor, model);
    (json(&encoded.body), encoded.dropped.names().to_vec())
}

fn decoding(schema_tool: Option<&str>) -> Decoding {
    Decoding {
        provider: "acme".into(),
        model: "model-1".into(),
        schema_tool: schema_tool.map(str::to_owned),
        ids: IdGenerator::new("seed"),
    }
}

fn rendering(include_usage: bool) -> Rendering {
    Rendering {
        ids: IdGenerator::new("seed"),
        created: 1_700_000_000,
        provider: "acme".into(),
        model: "model-1".into(),
        requested_model: "asked-model".into(),
        latency_ms: 142,
        include_usage,
        tools: Arc::from([]),
        request: EchoedRequest::default(),
    }
}

/// Decodes a stream that arrives in these chunks.
fn decode_stream(chunks: impl IntoIterator<Item = Bytes>, decoding: Decoding) -> Result<Vec<Event>, Fault> {
    let mut decoder = formats::upstream(Format::Chat).decoder(decoding);
    let mut splitter = Splitter::new(1 << 20);
    let mut events = Vec::new();
    for chunk in chunks {
        splitter.push(chunk);
        while let Some(event) = splitter.next().unwrap() {
            decoder.decode_event(&event, &mut events)?;
        }
    }
    if let Some(event) = splitter.finish() {
        decoder.decode_event(&event, &mut events)?;
    }
    decoder.close(&mut events)?;
    Ok(events)
}

/// Checks the order: Begin first, blocks in order and one at a time, Finish after the last of them, End last.
#[track_caller]
fn check_order(events: &[Event]) {
    let (mut open, mut next, mut finished) = (None, 0, false);
    for (at, event) in events.iter().enumerate() {
        match event {
            Event::Begin { .. } => assert_eq!(at, 0),
            Event::Open { index, .. } => {
                assert!(open.is_none() && *index == next && !finished, "{events:#?}");
                open = Some(*index);
                next += 1;
            }
            Event::Delta { index, .. } => assert_eq!(open, Some(*index), "{events:#?}"),
            Event::Close { index } => assert_eq!(open.take(), Some(*index), "{events:#?}"),
            Event::Usage { .. } => {}
            Event::Finish { .. } => {
                assert!(open.is_none() && !finished, "{events:#?}");
                finished = true;
            }
            Event::End => assert!(finished && at + 1 == events.len(), "{events:#?}"),
        }
    }
    assert_eq!(events.last(), Some(&Event::End));
}

fn gather(events: &[Event]) -> Reply {
    let mut collector = Collector::default();
    events.iter().for_each(|event| collector.take(event));
    collector.finish()
}

fn render_stream(events: &[Event], rendering: Rendering) -> Bytes {
    let mut renderer = formats::client(Format::Chat).renderer(rendering);
    let mut out = BytesMut::new();
    events.iter().for_each(|event| renderer.write(event, &mut out));
    out.freeze()
}
