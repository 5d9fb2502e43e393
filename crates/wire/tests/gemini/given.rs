//! Shared helpers and fixtures of the tests of this format.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use domain::call::Format;
use domain::canon::{Content, Event, Opaque, Origin, Part, Prompt, Reply, ToolCall, ToolResult};
use domain::fault::Fault;
use wire::codec::{
    ClientCodec, Decoding, EchoedRequest, Encoded, IdGenerator, Rendering, Target, UpstreamCodec,
};
use wire::formats;
use wire::sse::Splitter;
use wire::vendors;

pub const MODEL: &str = "gemini-3-pro-preview";

pub fn client() -> &'static dyn ClientCodec {
    formats::client(Format::Gemini)
}

pub fn upstream() -> &'static dyn UpstreamCodec {
    formats::upstream(Format::Gemini)
}

pub fn fixtures(folder: &str) -> Vec<(String, Bytes)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gemini").join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), Bytes::from(fs::read(path).unwrap()))).collect()
}

pub fn encoded(prompt: &Prompt, model: &str) -> Encoded {
    let vendor = vendors::find("gemini").unwrap();
    let prompt_cache = Default::default();
    let target = Target { model, stream: false, vendor, max_output: None, prompt_cache };
    upstream().encode(prompt, &target).unwrap()
}

pub fn parsed(body: Bytes) -> Result<Prompt, Fault> {
    client().parse(&client().peek(body)?)
}

pub fn decoding() -> Decoding {
    Decoding {
        provider: "acme".into(),
        model: MODEL.into(),
        schema_tool: Some("json_output".into()),
        ids: IdGenerator::new("0seed"),
    }
}

pub fn rendering() -> Rendering {
    Rendering {
        ids: IdGenerator::new("0seed"),
        created: 0,
        provider: "acme".into(),
        model: MODEL.into(),
        requested_model: "asked-model".into(),
        latency_ms: 5,
        include_usage: true,
        tools: Arc::new([]),
        request: EchoedRequest::default(),
    }
}

/// The events of a stream that arrives in these chunks, and its fault, if any.
pub fn followed(chunks: impl IntoIterator<Item = Bytes>) -> (Vec<Event>, Option<Fault>) {
    let mut splitter = Splitter::new(1 << 20);
    let mut decoder = upstream().decoder(decoding());
    let mut events = Vec::new();
    for chunk in chunks {
        splitter.push(chunk);
        while let Some(event) = splitter.next().unwrap() {
            if let Err(fault) = decoder.decode_event(&event, &mut events) {
                return (events, Some(fault));
            }
        }
    }
    if let Some(event) = splitter.finish()
        && let Err(fault) = decoder.decode_event(&event, &mut events)
    {
        return (events, Some(fault));
    }
    let fault = decoder.close(&mut events).err();
    (events, fault)
}

pub fn narrated(reply: Reply) -> Bytes {
    let mut renderer = client().renderer(rendering());
    let mut out = BytesMut::new();
    reply.into_events().iter().for_each(|event| renderer.write(event, &mut out));
    out.freeze()
}

pub fn state(format: Format, data: &str) -> Opaque {
    let origin = Origin { format, model: MODEL.into() };
    Opaque { origin, data: data.into(), whole: false, text: None }
}

pub fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), arguments: arguments.into(), custom: false, opaque: None }
}

pub fn result(id: &str, parts: Vec<Part>) -> Part {
    let result = ToolResult { call_id: id.into(), name: None, parts, is_error: false };
    Part::new(Content::ToolResult(result)).at("messages[9]")
}
