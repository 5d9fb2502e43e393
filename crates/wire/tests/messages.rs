//! The Messages format, for clients and for Anthropic.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

#[path = "messages/accepted.rs"]
mod accepted;
#[path = "messages/answers.rs"]
mod answers;
#[path = "messages/bad_input.rs"]
mod bad_input;
#[path = "messages/breakpoints.rs"]
mod breakpoints;
#[path = "messages/clients.rs"]
mod clients;
#[path = "messages/encoding.rs"]
mod encoding;
#[path = "messages/generations.rs"]
mod generations;
#[path = "messages/generators.rs"]
mod generators;
#[path = "messages/properties.rs"]
mod properties;
#[path = "messages/rendering.rs"]
mod rendering;
#[path = "messages/streams.rs"]
mod streams;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use domain::call::{Format, Surface};
use domain::canon::{Collector, Event, Prompt, Reply};
use domain::fault::Fault;
use serde_json::Value;
use wire::codec::{
    ClientCodec, Decoding, EchoedRequest, Encoded, IdGenerator, Native, PromptCacheMode, Rendering, Target,
    UpstreamCodec,
};
use wire::formats;
use wire::sse::Splitter;
use wire::vendors;

const MODEL: &str = "claude-opus-4-8";

fn client() -> &'static dyn ClientCodec {
    formats::client(Format::Messages)
}

fn upstream() -> &'static dyn UpstreamCodec {
    formats::upstream(Format::Messages)
}

fn native() -> &'static dyn Native {
    formats::native(Surface::Converse(Format::Messages))
}

fn fixtures(folder: &str) -> Vec<(String, Bytes)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/messages").join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), Bytes::from(fs::read(path).unwrap()))).collect()
}

fn parse(body: &Value) -> Result<Prompt, Fault> {
    client().parse(&client().peek(Bytes::from(body.to_string()))?)
}

/// A target at Anthropic. Breakpoints are neither added nor removed.
fn target(model: &str) -> Target<'_> {
    let (vendor, prompt_cache) = (vendors::find("anthropic").unwrap(), PromptCacheMode::Manual);
    Target { model, stream: false, vendor, max_output: None, prompt_cache }
}

fn encode_for(prompt: &Prompt, model: &str, max_output: Option<u64>) -> Encoded {
    upstream().encode(prompt, &Target { max_output, ..target(model) }).unwrap()
}

/// The body for a model, and the names of the dropped parameters.
fn encoded(prompt: &Prompt, model: &str) -> (Value, Vec<String>) {
    let encoded = encode_for(prompt, model, None);
    (serde_json::from_slice(&encoded.body).unwrap(), encoded.dropped.names().to_vec())
}

fn decoding(schema_tool: Option<&str>) -> Decoding {
    Decoding {
        provider: "acme".into(),
        model: MODEL.into(),
        schema_tool: schema_tool.map(str::to_owned),
        ids: IdGenerator::new("seed"),
    }
}

fn rendering() -> Rendering {
    Rendering {
        ids: IdGenerator::new("seed"),
        created: 1,
        provider: "acme".into(),
        model: "some-model".into(),
        requested_model: "asked-model".into(),
        latency_ms: 1,
        include_usage: true,
        tools: Arc::from([]),
        request: EchoedRequest::default(),
    }
}

/// Decodes a stream that arrives in these chunks.
fn decode_stream(chunks: &[Bytes], schema_tool: Option<&str>) -> Result<Vec<Event>, Fault> {
    let mut splitter = Splitter::new(1 << 20);
    let mut decoder = upstream().decoder(decoding(schema_tool));
    let mut events = Vec::new();
    for chunk in chunks {
        splitter.push(chunk.clone());
        while let Some(event) = splitter.next().unwrap() {
            decoder.decode_event(&event, &mut events)?;
        }
    }
    decoder.close(&mut events)?;
    Ok(events)
}

fn render_stream(events: &[Event]) -> Bytes {
    let mut renderer = client().renderer(rendering());
    let mut out = BytesMut::new();
    events.iter().for_each(|event| renderer.write(event, &mut out));
    out.freeze()
}

fn collect(events: &[Event]) -> Reply {
    let mut collector = Collector::default();
    events.iter().for_each(|event| collector.take(event));
    collector.finish()
}
