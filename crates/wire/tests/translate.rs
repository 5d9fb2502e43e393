//! Translation between all pairs of formats: content that both can express is preserved.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a translation that fails should stop the test")]

use std::sync::Arc;

use bytes::BytesMut;
use domain::call::Format;
use domain::canon::{
    Collector, Content, Media, MediaSource, OutputFormat, Part, Prompt, Reply, Role, StopReason, Tool,
    ToolCall, ToolChoice, ToolResult, Turn,
};
use domain::canon::{FunctionTool, Thinking};
use domain::usage::{Tokens, Usage};
use proptest::prelude::*;
use serde_json::json;
use wire::codec::{Decoding, EchoedRequest, IdGenerator, PromptCacheMode, Rendering, Target};
use wire::formats;
use wire::sse::Splitter;
use wire::vendors;

/// A vendor with that main format, and a model of it that accepts every parameter.
fn place(format: Format) -> (&'static str, &'static str) {
    match format {
        Format::Chat => ("openai_compatible", "large"),
        Format::Responses => ("openai", "gpt-4o"),
        Format::Messages => ("anthropic", "claude-sonnet-4-5"),
        Format::Gemini => ("gemini", "gemini-3-pro"),
    }
}

fn target(format: Format, stream: bool) -> Target<'static> {
    let (vendor, model) = place(format);
    let prompt_cache = PromptCacheMode::Manual;
    Target { model, stream, vendor: vendors::find(vendor).unwrap(), max_output: Some(8192), prompt_cache }
}

/// The prompt encoded in that format and parsed again.
fn through(prompt: &Prompt, format: Format) -> Prompt {
    let encoded = formats::upstream(format).encode(prompt, &target(format, false)).unwrap();
    let client = formats::client(format);
    let request = client
        .peek(encoded.body.clone())
        .unwrap_or_else(|fault| panic!("{format:?} {fault}: {}", String::from_utf8_lossy(&encoded.body)));
    client
        .parse(&request)
        .unwrap_or_else(|fault| panic!("{format:?} {fault}: {}", String::from_utf8_lossy(&encoded.body)))
}

/// The content that every format can express, without paths and the client's format.
fn essence(prompt: &Prompt) -> String {
    let mut lines = vec![format!(
        "max {:?} temperature {:?} stop {:?} choice {:?} output {:?}",
        prompt.max_output, prompt.sampling.temperature, prompt.stop, prompt.tool_choice, prompt.output
    )];
    for tool in &prompt.tools {
        let Tool::Function(tool) = tool else { continue };
        lines.push(format!("tool {} {:?} {:?}", tool.name, tool.description, tool.parameters));
    }
    let mut last = None;
    for turn in &prompt.turns {
        let role = if turn.role == Role::Developer { Role::System } else { turn.role };
        for part in &turn.parts {
            if last != Some(role) {
                lines.push(format!("{role:?}:"));
                last = Some(role);
            }
            // Consecutive paragraphs of one role may be joined.
            if let (Content::Text(text), Some(said)) = (&part.content, lines.last_mut())
                && let Some(said) = said.strip_prefix("text ").map(str::to_owned)
            {
                lines.pop();
                lines.push(format!("text {said}\n\n{text}"));
                continue;
            }
            lines.push(match &part.content {
                Content::Text(text) => format!("text {text}"),
                Content::Image(media) => format!("image {:?} {:?}", media.source, media.media_type),
                Content::ToolCall(call) => {
                    let arguments: serde_json::Value = serde_json::from_str(&call.arguments).unwrap();
                    format!("call {} {} {arguments}", call.id, call.name)
                }
                Content::ToolResult(result) => {
                    let said: String = result.parts.iter().filter_map(Part::as_text).collect();
                    format!("result {} {said:?}", result.call_id)
                }
                other => format!("{other:?}"),
            });
        }
    }
    lines.join("\n")
}

fn words() -> impl Strategy<Value = String> {
    "[a-zA-Zäöü€😀\"\\\\\n{}<>&]{1,12}( [a-zA-Z0-9.,]{1,8}){0,4}"
        .prop_filter("not blank", |text| !text.trim().is_empty())
}

fn part() -> impl Strategy<Value = Part> {
    let image = Media {
        source: MediaSource::Data("iVBORw0KGgo=".into()),
        media_type: Some("image/png".into()),
        detail: None,
        name: None,
    };
    prop_oneof![4 => words().prop_map(Part::text), 1 => Just(Part::new(Content::Image(image)))]
}

/// A user message, and possibly tool calls with their results.
fn exchange(number: usize) -> impl Strategy<Value = Vec<Turn>> {
    (prop::collection::vec(part(), 1..3), words(), 0usize..3, words()).prop_map(
        move |(user, said, calls, result)| {
            let mut assistant = vec![Part::text(said)];
            let mut results = Vec::new();
            for call in 0..calls {
                let id = format!("call_{number}_{call}");
                assistant.push(Part::new(Content::ToolCall(ToolCall {
                    id: id.clone(),
                    name: "look_up".into(),
                    arguments: json!({"what": result, "deep": {"n": call}}).to_string(),
                    custom: false,
                    opaque: None,
                })));
                results.push(Part::new(Content::ToolResult(ToolResult {
                    call_id: id,
                    name: Some("look_up".into()),
                    parts: vec![Part::text(format!("found {result} {call}"))],
                    is_error: false,
                })));
            }
            let mut turns = vec![Turn::new(Role::User, user), Turn::new(Role::Assistant, assistant)];
            if !results.is_empty() {
                turns.push(Turn::new(Role::Tool, results));
            }
            turns
        },
    )
}

fn prompt() -> impl Strategy<Value = Prompt> {
    let turns = (exchange(0), exchange(1), words()).prop_map(|(first, second, last)| {
        let mut turns = first;
        turns.extend(second);
        turns.push(Turn::new(Role::User, vec![Part::text(last)]));
        turns
    });
    let output = prop::option::of(Just(OutputFormat::Schema {
        name: "answer".into(),
        description: None,
        schema: json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}),
        strict: None,
    }));
    (prop::option::of(words()), turns, prop::option::of(16u64..4096), prop::option::of(0u8..=10), output).prop_map(
        |(system, turns, max_output, temperature, output)| {
            let mut prompt = Prompt::new(Format::Chat);
            prompt.turns = system.map(|text| Turn::new(Role::System, vec![Part::text(text)])).into_iter().collect();
            prompt.turns.extend(turns);
            prompt.max_output = max_output;
            prompt.sampling.temperature = temperature.map(|tenths| f64::from(tenths) / 10.0);
            prompt.output = output;
            prompt.tools = vec![Tool::Function(FunctionTool {
                name: "look_up".into(),
                description: Some("Looks something up.".into()),
                parameters: Some(json!({
                    "type": "object", "properties": {"what": {"type": "string"}, "deep": {"type": "object"}}, "required": ["what"],
                })),
                ..FunctionTool::default()
            })];
            prompt.tool_choice = Some(ToolChoice::Auto);
            prompt
        },
    )
}

/// Removes differences between targets: Claude always gets a limit and never a schema name.
fn comparable(mut prompt: Prompt, other: &Prompt) -> Prompt {
    if other.max_output.is_none() {
        prompt.max_output = None;
    }
    for output in [&mut prompt.output] {
        if let Some(OutputFormat::Schema { name, strict, description, .. }) = output {
            (*name, *strict, *description) = ("answer".into(), None, None);
        }
    }
    prompt
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn prompts_come_through_every_pair(prompt in prompt()) {
        for client in Format::ALL {
            let asked = through(&prompt, client);
            for upstream in Format::ALL {
                let received = through(&asked, upstream);
                let (left, right) = (comparable(asked.clone(), &prompt), comparable(received, &prompt));
                prop_assert_eq!(essence(&left), essence(&right), "{:?} → {:?}", client, upstream);
            }
        }
    }

    #[test]
    fn replies_come_through_every_pair(reply in reply()) {
        for upstream in Format::ALL {
            for client in Format::ALL {
                let decoded = decoded(upstream, &rendered(upstream, &reply));
                prop_assert_eq!(describe_reply(&decoded), describe_reply(&reply), "{:?}", upstream);
                let again = self::decoded(client, &rendered(client, &decoded));
                prop_assert_eq!(describe_reply(&again), describe_reply(&reply), "{:?} → {:?}", upstream, client);
                let streamed = followed(client, &narrated(client, &followed(upstream, &narrated(upstream, &reply))));
                prop_assert_eq!(describe_reply(&streamed), describe_reply(&reply), "{:?} → {:?}, streamed", upstream, client);
            }
        }
    }
}

fn reply() -> impl Strategy<Value = Reply> {
    let parts = (prop::option::of(words()), prop::option::of(words()), 0usize..3, words());
    let usage = (1u64..1000, 0u64..100, 1u64..1000);
    (parts, usage).prop_map(|((thought, text, calls, argument), (input, cache_read, output))| {
        let mut parts: Vec<Part> = Vec::new();
        parts.extend(thought.map(|text| Part::new(Content::Thinking(Thinking { text, opaque: None }))));
        parts.extend(text.map(Part::text));
        for call in 0..calls {
            parts.push(Part::new(Content::ToolCall(ToolCall {
                id: format!("call_{call}"),
                name: "look_up".into(),
                arguments: json!({"what": argument}).to_string(),
                custom: false,
                opaque: None,
            })));
        }
        if !parts.iter().any(|part| !matches!(part.content, Content::Thinking(_))) {
            parts.push(Part::text("nothing"));
        }
        let tokens = Tokens { input, cache_read, output, ..Tokens::default() };
        Reply {
            id: Some("id".into()),
            model: Some("m".into()),
            parts,
            stop: if calls > 0 { StopReason::ToolCalls } else { StopReason::EndTurn },
            usage: Some(Usage { tokens, ..Usage::default() }),
            ..Reply::default()
        }
    })
}

fn describe_reply(reply: &Reply) -> String {
    let parts = reply.parts.iter().map(|part| match &part.content {
        Content::ToolCall(call) => {
            let arguments: serde_json::Value = serde_json::from_str(&call.arguments).unwrap();
            format!("call {} {} {arguments}", call.id, call.name)
        }
        Content::Thinking(thought) => format!("thought {:?}", thought.text),
        other => format!("{other:?}"),
    });
    let tokens = reply
        .usage
        .as_ref()
        .map(|usage| (usage.tokens.total_input(), usage.tokens.cache_read, usage.tokens.total_output()));
    format!("{:?} {:?} {tokens:?}", parts.collect::<Vec<_>>(), reply.stop)
}

fn rendering() -> Rendering {
    Rendering {
        ids: IdGenerator::new("seed"),
        created: 1_700_000_000,
        provider: "acme".into(),
        model: "m".into(),
        requested_model: "asked-model".into(),
        latency_ms: 1,
        include_usage: true,
        tools: Arc::from([]),
        request: EchoedRequest::default(),
    }
}

fn decoding() -> Decoding {
    Decoding { provider: "acme".into(), model: "m".into(), schema_tool: None, ids: IdGenerator::new("seed") }
}

fn rendered(format: Format, reply: &Reply) -> bytes::Bytes {
    formats::client(format).render(reply, &mut rendering())
}

fn decoded(format: Format, body: &[u8]) -> Reply {
    formats::upstream(format)
        .decode(body, &mut decoding())
        .unwrap_or_else(|fault| panic!("{format:?} {fault}: {}", String::from_utf8_lossy(body)))
}

fn narrated(format: Format, reply: &Reply) -> bytes::Bytes {
    let mut renderer = formats::client(format).renderer(rendering());
    let mut written = BytesMut::new();
    for event in reply.clone().into_events() {
        renderer.write(&event, &mut written);
    }
    written.freeze()
}

fn followed(format: Format, stream: &bytes::Bytes) -> Reply {
    let mut decoder = formats::upstream(format).decoder(decoding());
    let (mut splitter, mut events) = (Splitter::new(1 << 20), Vec::new());
    splitter.push(stream.clone());
    while let Some(event) = splitter.next().unwrap() {
        if !event.is_comment_only() {
            decoder
                .decode_event(&event, &mut events)
                .unwrap_or_else(|fault| panic!("{format:?} {fault}: {}", String::from_utf8_lossy(stream)));
        }
    }
    if !events.contains(&domain::canon::Event::End) {
        decoder.close(&mut events).unwrap();
    }
    let mut collector = Collector::default();
    events.iter().for_each(|event| collector.take(event));
    collector.finish()
}
