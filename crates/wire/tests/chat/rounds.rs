//! Property tests: encoded values are read back unchanged.

use bytes::Bytes;
use domain::call::Format;
use domain::canon::{
    CacheMark, Content, CustomTool, Effort, FunctionTool, Media, MediaSource, Opaque, Origin, OutputFormat,
    Part, Prompt, Reasoning, Reply, Role, Sampling, StopReason, Thinking, Tool, ToolCall, ToolChoice,
    ToolResult, Turn,
};
use domain::usage::{Tokens, Usage};
use proptest::option::of;
use proptest::prelude::*;
use serde_json::json;
use wire::formats;
use wire::formats::chat;

use crate::{check_order, decode_stream, decoding, encode, gather, parse, render_stream, rendering};

fn word() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9_-]{1,12}"
}

fn text() -> impl Strategy<Value = String> {
    "\\PC{1,20}|[ \"\\\\\n\u{1}{}]{1,8}"
}

fn native_state() -> impl Strategy<Value = Opaque> {
    word().prop_map(|data| Opaque {
        origin: Origin { format: Format::Chat, model: String::new() },
        data,
        whole: false,
        text: None,
    })
}

fn any_state() -> impl Strategy<Value = Opaque> {
    let format =
        prop::sample::select(vec![Format::Messages, Format::Gemini, Format::Responses, Format::Chat]);
    (format, word()).prop_map(|(format, data)| Opaque {
        origin: Origin { format, model: "model-1".into() },
        data,
        whole: false,
        text: None,
    })
}

/// Thinking with text, or redacted without.
fn thinking(state: impl Strategy<Value = Opaque>) -> impl Strategy<Value = Part> {
    (prop_oneof![text(), Just(String::new())], state).prop_map(|(text, opaque)| {
        let opaque = Some(Opaque { whole: text.is_empty(), ..opaque });
        Content::Thinking(Thinking { text, opaque }).into()
    })
}

fn user_part() -> impl Strategy<Value = Part> {
    let media = |source, media_type: &str| Media {
        source,
        media_type: Some(media_type.into()),
        detail: None,
        name: None,
    };
    let content = prop_oneof![
        4 => text().prop_map(Content::Text),
        1 => (word(), of(word())).prop_map(move |(data, detail)| Content::Image(Media { detail, ..media(MediaSource::Data(data), "image/png") })),
        1 => word().prop_map(|it| Content::Image(Media { source: MediaSource::Url(format!("https://{it}")), media_type: None, detail: None, name: None })),
        1 => word().prop_map(move |data| Content::Audio(media(MediaSource::Data(data), "audio/wav"))),
        1 => (word(), of(word())).prop_map(move |(data, name)| Content::Document(Media { name, ..media(MediaSource::Data(data), "application/pdf") })),
        1 => word().prop_map(|id| Content::Document(Media { source: MediaSource::File(id), media_type: None, detail: None, name: None })),
    ];
    let mark = of(prop_oneof![Just(CacheMark::FiveMinutes), Just(CacheMark::OneHour)]);
    (content, mark).prop_map(|(content, mark)| Part::new(content).cached(mark))
}

fn call(number: usize, custom: bool, opaque: Option<Opaque>, name: String, free: String) -> Part {
    let arguments = if custom { free } else { json!({ "a": free }).to_string() };
    Content::ToolCall(ToolCall { id: format!("call_{number}"), name, arguments, custom, opaque }).into()
}

/// Text, then calls, and the results of the calls.
fn exchange() -> impl Strategy<Value = Vec<Turn>> {
    let calls = prop::collection::vec((any::<bool>(), of(native_state()), word(), text(), text()), 0..3);
    let thoughts = prop::collection::vec(thinking(native_state()), 0..3);
    (prop::collection::vec(user_part(), 1..3), thoughts, of(text()), calls).prop_map(
        |(user, thoughts, said, calls)| {
            let mut parts = thoughts;
            parts.extend(said.map(Part::text));
            let mut results = Vec::new();
            for (number, (custom, opaque, name, free, answer)) in calls.into_iter().enumerate() {
                parts.push(call(number, custom, opaque, name.clone(), free));
                let result = ToolResult {
                    call_id: format!("call_{number}"),
                    name: Some(name),
                    parts: vec![Part::text(answer)],
                    is_error: false,
                };
                results.push(Part::from(Content::ToolResult(result)));
            }
            let mut turns = vec![Turn::new(Role::User, user), Turn::new(Role::Assistant, parts)];
            if !results.is_empty() {
                turns.push(Turn::new(Role::Tool, results));
            }
            turns.retain(|turn| !turn.parts.is_empty());
            turns
        },
    )
}

fn tools() -> impl Strategy<Value = Vec<Tool>> {
    let function = (word(), of(text()), of(Just(json!({"type": "object"}))), of(any::<bool>())).prop_map(
        |(name, description, parameters, strict)| {
            Tool::Function(FunctionTool {
                name,
                namespace: None,
                description,
                parameters,
                strict,
                cache: None,
            })
        },
    );
    let format = Just(json!({"type": "grammar", "syntax": "lark", "definition": "start: x"}));
    let custom = (word(), of(text()), of(format)).prop_map(|(name, description, format)| {
        Tool::Custom(CustomTool { name, namespace: None, description, format })
    });
    prop::collection::vec(prop_oneof![function, custom], 0..3)
}

fn prompt() -> impl Strategy<Value = Prompt> {
    let system = of(text().prop_map(|text| Turn::new(Role::System, vec![Part::text(text)])));
    // Eighths are exact in binary and in decimal.
    let eighths = |range: std::ops::Range<i32>| of(range.prop_map(|eighth| f64::from(eighth) / 8.0));
    let sampling =
        (eighths(0..16), eighths(0..8), of(0..100u64), of(any::<i64>()), eighths(-16..16), eighths(-16..16))
            .prop_map(|(temperature, top_p, top_k, seed, presence_penalty, frequency_penalty)| Sampling {
                temperature,
                top_p,
                top_k,
                seed,
                presence_penalty,
                frequency_penalty,
            });
    let output = of(prop_oneof![
        Just(OutputFormat::Json),
        (word(), of(text()), of(any::<bool>())).prop_map(|(name, description, strict)| {
            OutputFormat::Schema { name, description, schema: json!({"type": "object"}), strict }
        }),
    ]);
    let effort = of(prop::sample::select(vec![Effort::Minimal, Effort::Low, Effort::High, Effort::XHigh]));
    let choice = prop_oneof![Just(ToolChoice::Auto), Just(ToolChoice::None), Just(ToolChoice::Required)];
    let labels =
        (of(word()), of(word()), of(word()), 1..4u64, of(1..9999u64), prop::collection::vec(text(), 0..3));
    (system, prop::collection::vec(exchange(), 1..4), tools(), sampling, output, effort, choice, labels)
        .prop_map(
            |(
                system,
                turns,
                tools,
                sampling,
                output,
                effort,
                choice,
                (user, service_tier, verbosity, choices, max_output, stop),
            )| {
                let mut prompt = Prompt::new(Format::Chat);
                prompt.turns = system.into_iter().chain(turns.into_iter().flatten()).collect();
                prompt.tool_choice = (!tools.is_empty()).then_some(choice);
                prompt.parallel_tools = (!tools.is_empty()).then_some(true);
                prompt.reasoning = effort.map(|effort| Reasoning {
                    enabled: Some(true),
                    effort: Some(effort),
                    ..Reasoning::default()
                });
                prompt.extra = json!({"logprobs": true}).as_object().cloned().unwrap_or_default();
                Prompt {
                    tools,
                    sampling,
                    output,
                    user,
                    service_tier,
                    verbosity,
                    choices,
                    max_output,
                    stop,
                    ..prompt
                }
            },
        )
}

fn reply() -> impl Strategy<Value = Reply> {
    let calls = prop::collection::vec((any::<bool>(), of(any_state()), word(), text()), 0..3);
    let tokens = prop::array::uniform7(0..1000u64).prop_map(
        |[input, cache_read, cache_write_5m, audio_input, output, reasoning, audio_output]| Tokens {
            input,
            cache_read,
            cache_write_5m,
            cache_write_1h: 0,
            audio_input,
            output,
            reasoning,
            audio_output,
        },
    );
    let thoughts = prop_oneof![
        prop::collection::vec(thinking(any_state()), 0..3),
        text().prop_map(|text| vec![Content::Thinking(Thinking { text, opaque: None }).into()]),
    ];
    (thoughts, of(text()), calls, of(tokens)).prop_map(|(mut parts, said, calls, tokens)| {
        parts.extend(said.map(Part::text));
        let stop = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolCalls };
        for (number, (custom, opaque, name, free)) in calls.into_iter().enumerate() {
            parts.push(call(number, custom, opaque, name, free));
        }
        let usage = tokens.map(|tokens| Usage { tokens, ..Usage::default() });
        Reply {
            id: Some("chatcmpl-seed".into()),
            model: Some("m".into()),
            parts,
            stop,
            usage,
            raw_usage: Bytes::new(),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn encoded_prompts_parse_to_the_same_prompt(prompt in prompt()) {
        let encoded = encode(&prompt, "openrouter", "m");
        prop_assert!(encoded.dropped.is_empty(), "{:?}", encoded.dropped);
        let mut body: serde_json::Value = serde_json::from_slice(&encoded.body).unwrap();
        body.as_object_mut().unwrap().shift_remove("usage");
        prop_assert_eq!(parse(&body).unwrap(), prompt);
    }

    #[test]
    fn rendered_replies_decode_to_the_same_reply(reply in reply()) {
        let body = formats::client(Format::Chat).render(&reply, &mut rendering(false));
        let read = formats::upstream(Format::Chat).decode(&body, &mut decoding(None)).unwrap();
        prop_assert_eq!(Reply { raw_usage: Bytes::new(), ..read }, reply);
    }

    #[test]
    fn rendered_streams_decode_to_the_same_reply(reply in reply(), size in 1usize..64) {
        let bytes = render_stream(&reply.clone().into_events(), rendering(true));
        let chunks = bytes.chunks(size).map(Bytes::copy_from_slice);
        let events = decode_stream(chunks, decoding(None)).unwrap();
        check_order(&events);
        prop_assert_eq!(Reply { raw_usage: Bytes::new(), ..gather(&events) }, reply);
    }

    /// A client that echoes a reply in full keeps the state of every thinking block and call.
    #[test]
    fn echoed_replies_parse_completely(reply in reply()) {
        let body = formats::client(Format::Chat).render(&reply, &mut rendering(false));
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let echo = json!({"messages": [{"role": "user", "content": "Hi"}, body["choices"][0]["message"]]});
        let mut read = parse(&echo).unwrap().turns.pop().unwrap().parts;
        // A client cannot tell which model created a state of this format.
        let native = |opaque: &mut Option<Opaque>| {
            if let Some(opaque) = opaque && opaque.origin.format == Format::Chat {
                opaque.origin.model = "model-1".into();
            }
        };
        for part in &mut read {
            match &mut part.content {
                Content::Thinking(thinking) => native(&mut thinking.opaque),
                Content::ToolCall(call) => native(&mut call.opaque),
                _ => {}
            }
        }
        prop_assert_eq!(read, reply.parts);
    }

    #[test]
    fn written_usage_reads_back(reply in reply()) {
        if let Some(usage) = reply.usage {
            let written = serde_json::to_string(&chat::UsageMember::new(&usage)).unwrap();
            prop_assert_eq!(chat::read_usage(written.as_bytes()).unwrap(), usage);
        }
    }
}
