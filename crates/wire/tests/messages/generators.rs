//! Random prompts and answers: exactly expressible ones, and arbitrary ones of any client.

use domain::call::Format;
use domain::canon::{
    CacheMark, Content, Effort, FunctionTool, Media, MediaSource, Opaque, Origin, OutputFormat, Part, Prompt,
    Reasoning, Reply, Role, Sampling, StopReason, Thinking, Tool, ToolCall, ToolChoice, ToolResult, Turn,
};
use domain::usage::{Tokens, Usage};
use proptest::prelude::*;
use serde_json::json;

use crate::MODEL;

fn words() -> impl Strategy<Value = String> {
    "[a-zé\"\\\\\n]{0,6}[a-z]"
}

fn arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("{}".to_owned()),
        words().prop_map(|text| json!({"a": text, "b": [1, 2.5, null]}).to_string()),
    ]
}

fn signed(model: &'static str) -> impl Strategy<Value = Part> {
    (words(), words(), any::<bool>()).prop_map(move |(text, data, whole)| {
        let origin = Origin { format: Format::Messages, model: model.into() };
        let text = if whole { String::new() } else { text };
        Content::Thinking(Thinking { text, opaque: Some(Opaque { origin, data, whole, text: None }) }).into()
    })
}

fn call(id: String) -> impl Strategy<Value = Part> {
    arguments().prop_map(move |arguments| {
        let (id, name) = (id.clone(), "look".to_owned());
        Content::ToolCall(ToolCall { id, name, arguments, custom: false, opaque: None }).into()
    })
}

fn media() -> impl Strategy<Value = Part> {
    let media = |source, media_type: Option<&str>| Media {
        source,
        media_type: media_type.map(str::to_owned),
        detail: None,
        name: None,
    };
    prop_oneof![
        words().prop_map(Part::text),
        Just(Content::Image(media(MediaSource::Url("https://x/a.png".into()), None)).into()),
        Just(Content::Image(media(MediaSource::Data("iVBORw0KGgo=".into()), Some("image/png"))).into()),
        words().prop_map(
            move |text| Content::Document(media(MediaSource::Text(text), Some("text/plain"))).into()
        ),
        Just(Content::Document(media(MediaSource::Data("JVBERi0=".into()), Some("application/pdf"))).into()),
    ]
}

fn result(id: String) -> impl Strategy<Value = Part> {
    (prop::collection::vec(media(), 1..3), any::<bool>()).prop_map(move |(parts, is_error)| {
        let (call_id, name) = (id.clone(), Some("look".to_owned()));
        Content::ToolResult(ToolResult { call_id, name, parts, is_error }).into()
    })
}

fn media_parts() -> impl Strategy<Value = Vec<Part>> {
    prop::collection::vec(media(), 1..3)
}

/// A user turn, an assistant turn with thinking, text and calls, and the results.
fn exchange(number: usize) -> impl Strategy<Value = Vec<Turn>> {
    let ids = move |count: usize| (0..count).map(move |index| format!("toolu_{number}_{index}"));
    (media_parts(), prop::option::of(signed("")), words(), 0..3usize).prop_flat_map(
        move |(asked, thought, text, count)| {
            let calls: Vec<_> = ids(count).map(call).collect();
            let results: Vec<_> = ids(count).map(result).collect();
            (Just(asked), Just(thought), Just(text), calls, results).prop_map(
                |(asked, thought, text, calls, results)| {
                    let spoken = thought.into_iter().chain([Part::text(text)]).chain(calls).collect();
                    let mut turns = vec![Turn::new(Role::User, asked), Turn::new(Role::Assistant, spoken)];
                    if !results.is_empty() {
                        turns.push(Turn::new(Role::Tool, results));
                        turns.push(Turn::new(Role::Assistant, vec![Part::text("Done.")]));
                    }
                    turns
                },
            )
        },
    )
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let system = prop::option::of(prop::collection::vec(words().prop_map(Part::text), 1..3));
    (system, exchange(0), prop::option::of(exchange(1)), media_parts()).prop_map(
        |(system, first, second, last)| {
            let mut turns: Vec<Turn> =
                system.map(|parts| Turn::new(Role::System, parts)).into_iter().collect();
            turns.extend(first);
            turns.extend(second.into_iter().flatten());
            turns.push(Turn::new(Role::User, last));
            turns
        },
    )
}

fn tools() -> impl Strategy<Value = Vec<Tool>> {
    let mark = prop::option::of(prop_oneof![Just(CacheMark::FiveMinutes), Just(CacheMark::OneHour)]);
    let tool =
        (prop::option::of(words()), any::<Option<bool>>(), mark).prop_map(|(description, strict, cache)| {
            let parameters = Some(json!({"type": "object", "properties": {"a": {"type": "string"}}}));
            Tool::Function(FunctionTool {
                name: "look".into(),
                namespace: None,
                description,
                parameters,
                strict,
                cache,
            })
        });
    prop::collection::vec(tool, 1..3)
}

fn choice() -> impl Strategy<Value = ToolChoice> {
    prop_oneof![
        Just(ToolChoice::Auto),
        Just(ToolChoice::None),
        Just(ToolChoice::Required),
        Just(ToolChoice::Named("look".into())),
    ]
}

fn schema() -> impl Strategy<Value = OutputFormat> {
    Just(OutputFormat::Schema {
        name: "output".into(),
        description: None,
        schema: json!({"type": "object", "properties": {}}),
        strict: None,
    })
}

fn efforts() -> impl Strategy<Value = Effort> {
    prop::sample::select(Effort::ALL.to_vec())
}

/// Prompts that a client of this format can send to a Claude 4.5 model exactly.
pub fn sayable() -> impl Strategy<Value = Prompt> {
    let reasoning =
        prop_oneof![Just(None), Just(Some(Reasoning { enabled: Some(false), ..Reasoning::default() })),];
    let settings = (
        prop::option::of(1..100_000u64),
        prop::option::of((0..=100u32).prop_map(|percent| f64::from(percent) / 100.0)),
        prop::option::of(words()),
        prop::collection::vec(words(), 0..3),
        prop::option::of(schema()),
        reasoning,
    );
    (turns(), tools(), prop::option::of(choice()), settings).prop_map(
        |(turns, tools, tool_choice, settings)| {
            let (max_output, temperature, user, stop, output, reasoning) = settings;
            let max_output = Some(max_output.unwrap_or(4096));
            let sampling = Sampling {
                temperature,
                top_k: max_output.filter(|count| count % 2 == 0),
                ..Sampling::default()
            };
            let parallel_tools =
                tool_choice.as_ref().filter(|choice| **choice != ToolChoice::None).map(|_| false);
            Prompt {
                turns,
                tools,
                tool_choice,
                parallel_tools,
                max_output,
                sampling,
                user,
                stop,
                output,
                reasoning,
                service_tier: Some("default".into()),
                ..Prompt::new(Format::Messages)
            }
        },
    )
}

/// Prompts of any client, in any order that pairs calls and results.
pub fn wild() -> impl Strategy<Value = Prompt> {
    let lone =
        (prop::sample::select(vec![Role::System, Role::Developer, Role::User, Role::Assistant]), "[ a]{0,3}")
            .prop_map(|(role, text)| {
                vec![Turn::new(role, vec![Part::text(text).cached(Some(CacheMark::FiveMinutes))])]
            });
    let pieces = prop::collection::vec(prop_oneof![lone, exchange(0), exchange(1)], 1..6);
    let reasoning =
        (any::<Option<bool>>(), prop::option::of(efforts()), prop::option::of(0..50_000u64), any::<bool>())
            .prop_map(|(enabled, effort, budget, adaptive)| Reasoning {
                enabled,
                effort,
                budget,
                adaptive,
                summary: None,
            });
    let formats = prop::sample::select(vec![Format::Chat, Format::Responses, Format::Gemini]);
    let sampling = (prop::option::of(0.0..2.0), prop::option::of(0.0..1.0), prop::option::of(0..9u64));
    let settings =
        (prop::option::of(reasoning), sampling, prop::option::of(schema()), prop::option::of(1..9000u64));
    (pieces, prop::option::of(tools()), prop::option::of(choice()), formats, settings).prop_map(
        |(
            pieces,
            tools,
            tool_choice,
            format,
            (reasoning, (temperature, top_p, top_k), output, max_output),
        )| {
            let sampling = Sampling { temperature, top_p, top_k, ..Sampling::default() };
            let mut turns: Vec<Turn> = pieces.into_iter().flatten().collect();
            turns.push(Turn::new(Role::User, vec![Part::text("And?")]));
            Prompt {
                turns,
                tool_choice,
                reasoning,
                sampling,
                output,
                max_output,
                tools: tools.unwrap_or_default(),
                stop: vec!["END".into(), " ".into()],
                ..Prompt::new(format)
            }
        },
    )
}

/// Replies that a provider of this format can express exactly.
pub fn reply() -> impl Strategy<Value = Reply> {
    let foreign = Content::Foreign {
        format: Format::Messages,
        value: json!({"type": "web_search_tool_result", "content": []}),
    };
    let part = prop_oneof![
        words().prop_map(Part::text),
        signed(MODEL),
        "[a-z]{1,4}".prop_flat_map(|id| call(format!("toolu_{id}"))),
        Just(Part::new(foreign)),
    ];
    let stop = prop::sample::select(vec![
        StopReason::EndTurn,
        StopReason::MaxTokens,
        StopReason::StopSequence(Some("END".into())),
        StopReason::ToolCalls,
        StopReason::Refusal,
        StopReason::PauseTurn,
    ]);
    let counts = (0..1u64 << 26, 0..1u64 << 26, 0..1u64 << 20, 0..1u64 << 20, 0..1u64 << 26);
    (prop::collection::vec(part, 0..6), stop, counts).prop_map(|(parts, stop, counts)| {
        let (input, cache_read, cache_write_5m, cache_write_1h, output) = counts;
        let tokens =
            Tokens { input, cache_read, cache_write_5m, cache_write_1h, output, ..Tokens::default() };
        Reply {
            id: Some("msg_seed".into()),
            model: Some("claude".into()),
            parts,
            stop,
            usage: Some(Usage { tokens, ..Usage::default() }),
            ..Reply::default()
        }
    })
}
