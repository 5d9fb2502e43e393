//! Property tests: encoded values are read back unchanged.

use bytes::Bytes;
use domain::call::Format;
use domain::canon::{
    Collector, Content, Effort, FunctionTool, Media, MediaSource, Opaque, Origin, OutputFormat, Part, Prompt,
    Reasoning, Reply, Role, Sampling, StopReason, Thinking, Tool, ToolCall, ToolChoice, ToolResult, Turn,
};
use domain::usage::{Tokens, Usage};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::given::{
    MODEL, client, decoding, encoded, followed, narrated, parsed, rendering, state, upstream,
};

fn words() -> impl Strategy<Value = String> {
    "[a-zäß\"\\\\\n ]{1,20}"
}

fn arguments() -> impl Strategy<Value = String> {
    prop::collection::hash_map("[a-z]{1,5}", words(), 0..3)
        .prop_map(|members| serde_json::to_string(&members.into_iter().collect::<Value>()).unwrap())
}

fn signature() -> impl Strategy<Value = Option<String>> {
    prop::option::of("[A-Za-z0-9+/]{4,12}=")
}

/// Native state as a client sends it, without the model name.
fn native(data: String, whole: bool) -> Opaque {
    Opaque { origin: Origin { format: Format::Gemini, model: String::new() }, data, whole, text: None }
}

fn user_part() -> impl Strategy<Value = Part> {
    let media =
        |source, kind: &str| Media { source, media_type: Some(kind.into()), detail: None, name: None };
    prop_oneof![
        words().prop_map(Part::text),
        "[A-Za-z0-9]{8}"
            .prop_map(move |data| Content::Image(media(MediaSource::Data(data), "image/png")).into()),
        "[A-Za-z0-9]{8}"
            .prop_map(move |data| Content::Audio(media(MediaSource::Data(data), "audio/wav")).into()),
        "[a-z]{1,8}".prop_map(move |name| {
            let url = MediaSource::Url(format!("https://example.com/{name}.pdf"));
            Content::Document(media(url, "application/pdf")).into()
        }),
        Just(
            Content::Foreign { format: Format::Gemini, value: json!({"executableCode": {"code": "1"}}) }
                .into()
        ),
    ]
}

/// A model turn and the results of its calls. Every call but the first may lack a signature.
fn exchange() -> impl Strategy<Value = Vec<Turn>> {
    let call = ("[a-z_]{1,8}", arguments(), words(), any::<bool>(), "[A-Za-z0-9]{4}");
    let said = prop::option::of((words(), signature()));
    (prop::collection::vec(call, 0..3), said, prop::collection::vec(user_part(), 1..3), any::<u32>())
        .prop_map(|(calls, said, user, seed)| {
            let mut model = Vec::new();
            if let Some((text, signature)) = said {
                model.push(Part::text(text));
                // Before a call without a signature it would be read as that call's.
                if let Some(signature) = signature {
                    let opaque = Some(native(signature, true));
                    model.push(Content::Thinking(Thinking { text: String::new(), opaque }).into());
                }
            }
            let mut results = Vec::new();
            for (at, (name, arguments, said, is_error, signature)) in calls.into_iter().enumerate() {
                let id = format!("id_{seed}_{at}");
                let opaque = (at == 0).then(|| native(signature, false));
                let call = ToolCall { id: id.clone(), name: name.clone(), arguments, custom: false, opaque };
                model.push(Content::ToolCall(call).into());
                let parts = vec![Part::text(said)];
                results.push(
                    Content::ToolResult(ToolResult { call_id: id, name: Some(name), parts, is_error }).into(),
                );
            }
            let turns = [(Role::Assistant, model), (Role::Tool, results), (Role::User, user)];
            turns
                .into_iter()
                .filter(|(_, parts)| !parts.is_empty())
                .map(|(role, parts)| Turn::new(role, parts))
                .collect()
        })
}

fn tools() -> impl Strategy<Value = (Vec<Tool>, Option<ToolChoice>)> {
    let choice = |names: Vec<String>| {
        let several = names.len() > 1;
        let among = move |required| ToolChoice::Among { names: names.clone(), required };
        prop_oneof![
            Just(None),
            Just(Some(ToolChoice::Auto)),
            Just(Some(ToolChoice::None)),
            Just(Some(ToolChoice::Required)),
            Just(Some(if several { among(true) } else { ToolChoice::Auto })),
            Just(Some(if several { among(false) } else { ToolChoice::Named("f0".into()) })),
        ]
    };
    (1usize..4).prop_flat_map(move |count| {
        let names: Vec<String> = (0..count).map(|at| format!("f{at}")).collect();
        let tool = |name: &String| {
            Tool::Function(FunctionTool {
                name: name.clone(),
                description: Some(format!("Does {name}.")),
                parameters: Some(
                    json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}}),
                ),
                ..FunctionTool::default()
            })
        };
        (Just(names.iter().map(tool).collect()), choice(names))
    })
}

fn reasoning() -> impl Strategy<Value = Option<Reasoning>> {
    let level = prop::sample::select(vec![Effort::Low, Effort::High]);
    let shown = prop::option::of(prop::sample::select(vec!["auto".to_owned(), "none".to_owned()]));
    prop::option::of((level, shown).prop_map(|(effort, summary)| Reasoning {
        enabled: Some(true),
        effort: Some(effort),
        summary,
        ..Reasoning::default()
    }))
}

fn prompt() -> impl Strategy<Value = Prompt> {
    let output = prop_oneof![
        Just(None),
        Just(Some(OutputFormat::Json)),
        Just(Some(OutputFormat::Schema {
            name: "response".into(),
            description: None,
            schema: json!({"type": "object"}),
            strict: None
        })),
    ];
    let turns = (
        prop::option::of(words()),
        prop::collection::vec(user_part(), 1..3),
        prop::collection::vec(exchange(), 0..3),
    );
    let settings = (
        prop::option::of(0u32..20),
        prop::option::of(1u64..99),
        prop::option::of(0i64..99),
        prop::collection::vec("[a-z]{1,4}", 0..5),
    );
    (turns, tools(), output, settings, reasoning()).prop_map(
        |(
            (system, user, exchanges),
            (tools, tool_choice),
            output,
            (tenths, limit, seed, stop),
            reasoning,
        )| {
            let mut prompt = Prompt::new(Format::Gemini);
            let system = system.map(|text| Turn::new(Role::System, vec![Part::text(text)]));
            let first = Turn::new(Role::User, user);
            prompt.turns = system.into_iter().chain([first]).collect();
            for turn in exchanges.into_iter().flatten() {
                // Consecutive turns of one role become one content.
                match prompt.turns.last_mut() {
                    Some(last) if last.role == turn.role => last.parts.extend(turn.parts),
                    _ => prompt.turns.push(turn),
                }
            }
            (prompt.tools, prompt.tool_choice, prompt.output) = (tools, tool_choice, output);
            let temperature = tenths.map(|tenths| f64::from(tenths) / 10.0);
            prompt.sampling = Sampling { temperature, top_k: limit, seed, ..Sampling::default() };
            (prompt.max_output, prompt.stop, prompt.reasoning) = (limit, stop, reasoning);
            prompt.extra.insert("safetySettings".into(), json!([{"category": "X"}]));
            prompt.extra.insert("toolConfig.retrievalConfig".into(), json!({"a": 1}));
            prompt.extra.insert("generationConfig.responseLogprobs".into(), json!(true));
            prompt
        },
    )
}

fn merge_adjacent_parts(parts: &mut Vec<Part>) -> StopReason {
    // Adjacent parts of one kind are one block in a stream.
    parts.dedup_by(|next, last| match (&next.content, &mut last.content) {
        (Content::Text(more), Content::Text(text)) => {
            text.push_str(more);
            true
        }
        (Content::Thinking(_), Content::Thinking(_)) => true,
        _ => false,
    });
    let called = parts.iter().any(|part| matches!(part.content, Content::ToolCall(_)));
    if called { StopReason::ToolCalls } else { StopReason::EndTurn }
}

fn reply() -> impl Strategy<Value = Reply> {
    let owned = |data: String, whole| Opaque { whole, ..state(Format::Gemini, &data) };
    let part = prop_oneof![
        words().prop_map(Part::text),
        (words(), signature()).prop_map(move |(text, signature)| {
            let opaque = signature.map(|signature| owned(signature, false));
            Content::Thinking(Thinking { text, opaque }).into()
        }),
        "[a-z]{4}".prop_map(move |data| {
            Content::Thinking(Thinking { text: String::new(), opaque: Some(owned(data, true)) }).into()
        }),
        ("[a-z0-9]{4}", "[a-z_]{1,8}", arguments(), signature()).prop_map(
            move |(id, name, arguments, signature)| {
                let opaque = signature.map(|signature| owned(signature, false));
                Content::ToolCall(ToolCall { id, name, arguments, custom: false, opaque }).into()
            }
        ),
        Just(Content::Foreign { format: Format::Gemini, value: json!({"inlineData": {"data": "x"}}) }.into()),
    ];
    let usage = prop::option::of((1u64..999, 0u64..99, 0u64..99));
    (prop::collection::vec(part, 0..6), usage, any::<bool>()).prop_map(|(mut parts, usage, cut)| {
        let stop = merge_adjacent_parts(&mut parts);
        let tokens = |(input, cache_read, output)| Tokens { input, cache_read, output, ..Tokens::default() };
        let usage = usage.map(|counts| Usage { tokens: tokens(counts), ..Usage::default() });
        let stop = if cut { StopReason::MaxTokens } else { stop };
        Reply { id: Some("r".into()), model: Some(MODEL.into()), parts, stop, usage, raw_usage: Bytes::new() }
    })
}

proptest! {
    #[test]
    fn prompts_round_trip(prompt in prompt()) {
        let encoded = encoded(&prompt, MODEL);
        prop_assert!(encoded.dropped.is_empty(), "{:?}", encoded.dropped);
        let text = String::from_utf8_lossy(&encoded.body).into_owned();
        let back = parsed(encoded.body).unwrap();
        prop_assert_eq!(back, prompt, "{}", text);
    }

    #[test]
    fn replies_round_trip(reply in reply()) {
        let body = client().render(&reply, &mut rendering());
        let back = upstream().decode(&body, &mut decoding()).unwrap();
        prop_assert_eq!(Reply { raw_usage: Bytes::new(), ..back }, reply);
    }

    #[test]
    fn streamed_replies_round_trip(reply in reply()) {
        let (events, fault) = followed([narrated(reply.clone())]);
        prop_assert_eq!(fault, None);
        let mut collector = Collector::default();
        events.iter().for_each(|event| collector.take(event));
        prop_assert_eq!(Reply { raw_usage: Bytes::new(), ..collector.finish() }, reply);
    }
}
