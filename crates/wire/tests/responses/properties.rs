//! Property tests: decoding does not depend on the chunking, and encoded values are read back unchanged.

use domain::canon::{
    Content, CustomTool, Effort, FunctionTool, Media, MediaSource, Opaque, Origin, OutputFormat, Part,
    Reasoning, Role, Sampling, StopReason, Thinking, ToolCall, ToolChoice, ToolResult, Turn,
};
use domain::usage::{Tokens, Usage};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[a-z ]{1,12}"].prop_filter("not empty", |text| !text.trim().is_empty())
}

fn word() -> impl Strategy<Value = String> {
    "[a-z][a-z_0-9]{0,8}"
}

fn opaque(format: Format, model: &'static str) -> impl Strategy<Value = Opaque> {
    "[A-Za-z0-9+/=]{1,20}".prop_map(move |data| Opaque {
        origin: Origin { format, model: model.into() },
        data,
        whole: false,
        text: None,
    })
}

fn media() -> impl Strategy<Value = Part> {
    let image = (option::of(Just("high".to_owned())), any::<bool>()).prop_map(|(detail, embedded)| {
        let (source, media_type) = if embedded {
            (MediaSource::Data("iVBO".into()), Some("image/png".to_owned()))
        } else {
            (MediaSource::Url("https://example.com/x.png".into()), None)
        };
        Content::Image(Media { source, media_type, detail, name: None })
    });
    let file = option::of(word()).prop_map(|name| {
        let (source, media_type) = (MediaSource::Data("JVBE".into()), Some("application/pdf".to_owned()));
        Content::Document(Media { source, media_type, detail: None, name })
    });
    let stored = word().prop_map(|id| {
        Content::Document(Media { source: MediaSource::File(id), media_type: None, detail: None, name: None })
    });
    prop_oneof![image, file, stored].prop_map(Part::new)
}

fn spoken() -> impl Strategy<Value = Part> {
    prop_oneof![text().prop_map(Part::text), media()]
}

/// An assistant turn with calls, and their results.
fn exchange(number: usize) -> impl Strategy<Value = Vec<Turn>> {
    let thought = (text(), opaque(Format::Responses, ""))
        .prop_map(|(text, opaque)| Content::Thinking(Thinking { text, opaque: Some(opaque) }).into());
    let call = (word(), any::<bool>(), vec(spoken(), 0..3));
    (option::of(thought), vec(text(), 0..2), vec(call, 0..3)).prop_map(move |(thought, texts, calls)| {
        let mut said: Vec<Part> = thought.into_iter().chain(texts.into_iter().map(Part::text)).collect();
        let mut results = Vec::new();
        for (index, (name, custom, parts)) in calls.into_iter().enumerate() {
            let id = format!("call_{number}_{index}");
            let arguments = if custom { "x \"y\"".to_owned() } else { "{\"a\":1}".to_owned() };
            let call = ToolCall { id: id.clone(), name: name.clone(), arguments, custom, opaque: None };
            said.push(Content::ToolCall(call).into());
            let result = ToolResult { call_id: id, name: Some(name), parts, is_error: false };
            results.push(Part::new(Content::ToolResult(result)));
        }
        let turns = [Turn::new(Role::Assistant, said), Turn::new(Role::Tool, results)];
        turns.into_iter().filter(|turn| !turn.parts.is_empty()).collect()
    })
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let asked = || (prop_oneof![Just(Role::User), Just(Role::Developer)], vec(spoken(), 1..3));
    let round = |number| (asked(), exchange(number));
    (option::of(text()), round(0), round(1)).prop_map(|(system, first, second)| {
        let mut turns: Vec<Turn> =
            system.into_iter().map(|text| Turn::new(Role::System, vec![Part::text(text)])).collect();
        for ((role, parts), exchange) in [first, second] {
            turns.push(Turn::new(role, parts));
            turns.extend(exchange);
        }
        turns
    })
}

fn tools() -> impl Strategy<Value = Vec<Tool>> {
    let function = (option::of(text()), option::of(any::<bool>()), any::<bool>());
    let tool = (word(), option::of(Just("ns__".to_owned())), function, any::<bool>());
    let tool = tool.prop_map(|(name, namespace, (description, strict, schema), custom)| {
        if custom {
            return Tool::Custom(CustomTool { name, namespace, description, format: None });
        }
        let parameters = schema.then(|| json!({"type": "object", "properties": {"x": {}}}));
        Tool::Function(FunctionTool { name, namespace, description, parameters, strict, cache: None })
    });
    vec(tool, 0..4)
}

/// Decimal fractions with two digits: not every double survives JSON exactly.
fn hundredths(count: i32) -> f64 {
    f64::from(count) / 100.0
}

prop_compose! {
    fn prompts()(
        turns in turns(),
        tools in tools(),
        choice in option::of(0..4u8),
        parallel_tools in option::of(any::<bool>()),
        output in option::of(any::<bool>()),
        max_output in option::of(16u64..1_000_000),
        (temperature, top_p) in (option::of((0..=200i32).prop_map(hundredths)), option::of((0..=100i32).prop_map(hundredths))),
        effort in option::of(0..7usize),
        summary in option::of(Just("concise".to_owned())),
        verbosity in option::of(Just("low".to_owned())),
        user in option::of(word()),
        metadata in option::of(word()),
        truncation in any::<bool>(),
    ) -> Prompt {
        let mut prompt = Prompt::new(Format::Responses);
        prompt.tool_choice = choice.map(|choice| match (choice, tools.first().and_then(Tool::flat_name)) {
            (0, _) => ToolChoice::Auto,
            (1, _) => ToolChoice::None,
            (2, Some(name)) => ToolChoice::Among { names: vec![name], required: true },
            (3, Some(name)) => ToolChoice::Named(name),
            _ => ToolChoice::Required,
        });
        prompt.turns = turns;
        prompt.tools = tools;
        prompt.parallel_tools = parallel_tools;
        prompt.output = output.map(|schema| if schema {
            let schema = json!({"type": "object"});
            OutputFormat::Schema { name: "n".into(), description: Some("d".into()), schema, strict: Some(true) }
        } else {
            OutputFormat::Json
        });
        prompt.max_output = max_output;
        prompt.sampling = Sampling { temperature, top_p, ..Sampling::default() };
        let effort = effort.map(|effort| Effort::ALL.get(effort).copied());
        let reasoning = Reasoning {
            enabled: (effort == Some(None)).then_some(false), effort: effort.flatten(), summary, ..Reasoning::default()
        };
        prompt.reasoning = (reasoning != Reasoning::default()).then_some(reasoning);
        prompt.verbosity = verbosity;
        prompt.user = user;
        prompt.metadata = metadata.map(|value| json!({"label": value}));
        if truncation {
            prompt.extra.insert("truncation".into(), "auto".into());
        }
        prompt
    }
}

fn replies() -> impl Strategy<Value = Reply> {
    let thought = (any::<String>(), option::of(opaque(Format::Responses, "gpt-5")))
        .prop_map(|(text, opaque)| Content::Thinking(Thinking { text, opaque }));
    let call = (word(), word(), any::<bool>()).prop_map(|(id, name, custom)| {
        let arguments = if custom { "any \"text\"" } else { "{\"a\":[1]}" }.to_owned();
        Content::ToolCall(ToolCall { id, name, arguments, custom, opaque: None })
    });
    let foreign = word().prop_map(|word| Content::Foreign {
        format: Format::Responses,
        value: json!({"type": "web_search_call", "id": word}),
    });
    let part = prop_oneof![any::<String>().prop_map(Content::Text), thought, call, foreign];
    (vec(part.prop_map(Part::new), 0..6), 0..3u8, option::of((1u64..1000, 1u64..1000, 0u64..500))).prop_map(
        |(parts, stop, usage)| {
            let called = parts.iter().any(|part| matches!(part.content, Content::ToolCall(_)));
            let stop = match stop {
                0 => StopReason::MaxTokens,
                1 => StopReason::ContentFilter,
                _ if called => StopReason::ToolCalls,
                _ => StopReason::EndTurn,
            };
            let usage = usage.map(|(input, output, reasoning)| Usage {
                tokens: Tokens { input, output, reasoning, cache_read: 7, ..Tokens::default() },
                ..Usage::default()
            });
            Reply { parts, stop, usage, ..Reply::default() }
        },
    )
}

/// The reply without id, model and raw usage, which are not round-tripped.
fn comparable(reply: Reply) -> Reply {
    Reply { id: None, model: None, raw_usage: Bytes::new(), ..reply }
}

proptest! {
    #[test]
    fn streams_decode_the_same_at_any_chunk_boundaries(cuts in vec(0usize..400, 0..60)) {
        for name in ["everything", "sparse"] {
            let stream = fixture(&format!("streams/{name}.sse"));
            prop_assert_eq!(decode_stream(&stream, &cuts).unwrap(), decode_stream(&stream, &[]).unwrap());
        }
    }

    #[test]
    fn encoded_prompts_parse_to_the_same_prompt(prompt in prompts()) {
        let encoded = encode_for(&prompt, "gpt-4.1");
        prop_assert_eq!(encoded.dropped.names(), &[] as &[String]);
        prop_assert_eq!(parse(&json(&encoded.body)).unwrap(), prompt);
    }

    #[test]
    fn rendered_replies_decode_to_the_same_reply(reply in replies()) {
        let body = client().render(&reply, &mut rendering(&[], json!({})));
        let read = upstream().decode(&body, &mut decoding()).unwrap();
        prop_assert_eq!(comparable(read), reply);
    }

    #[test]
    fn rendered_streams_decode_to_the_same_reply(reply in replies(), cuts in vec(0usize..300, 0..20)) {
        let stream = render_stream(&reply.clone().into_events(), rendering(&[], json!({})));
        let events = decode_stream(&stream, &cuts).unwrap();
        check_order(&events);
        prop_assert_eq!(comparable(collect(&events)), reply);
    }
}
