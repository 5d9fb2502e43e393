//! Prompts of other formats encoded for this one: adapted and dropped parameters.

use domain::canon::{
    CacheMark, Content, CustomTool, Effort, FunctionTool, Media, MediaSource, Opaque, Origin, OutputFormat,
    Part, Reasoning, Role, Thinking, ToolCall, ToolResult, Turn,
};
use serde_json::json;

use super::*;

fn prompt(format: Format) -> Prompt {
    let mut prompt = Prompt::new(format);
    prompt.turns.push(Turn::new(Role::User, vec![Part::text("hi")]));
    prompt
}

#[test]
fn dropped_parameters_have_the_clients_names() {
    let mut chat = prompt(Format::Chat);
    chat.stop = vec!["x".into()];
    chat.choices = 2;
    chat.sampling.seed = Some(1);
    chat.sampling.temperature = Some(0.5);
    chat.sampling.presence_penalty = Some(1.0);
    chat.extra.insert("logit_bias".into(), json!({}));
    let encoded = encode_for(&chat, "gpt-5");
    assert_eq!(
        encoded.dropped.names(),
        ["temperature", "seed", "presence_penalty", "stop", "n", "logit_bias"]
    );
    let encoded = encode_for(&chat, "gpt-4.1");
    assert!(!encoded.dropped.names().contains(&"temperature".to_owned()));
    assert_eq!(json(&encoded.body)["temperature"], 0.5);

    let mut messages = prompt(Format::Messages);
    messages.sampling.top_k = Some(5);
    messages.service_tier = Some("standard_only".into());
    messages.user = Some("u".repeat(65));
    messages.turns[0].parts[0].cache = Some(CacheMark::FiveMinutes);
    messages.reasoning = Some(Reasoning { enabled: Some(true), budget: Some(9000), ..Reasoning::default() });
    let encoded = encode_for(&messages, "gpt-4.1");
    assert_eq!(
        encoded.dropped.names(),
        ["cache_control", "top_k", "thinking", "metadata.user_id", "service_tier"]
    );
}

#[test]
fn reasoning_uses_the_targets_values() {
    let effort = |format, reasoning: Reasoning| {
        let mut prompt = prompt(format);
        prompt.reasoning = Some(reasoning);
        json(&encode_for(&prompt, "gpt-5").body)["reasoning"].clone()
    };
    let of = |effort| Reasoning { effort: Some(effort), ..Reasoning::default() };
    assert_eq!(effort(Format::Chat, of(Effort::XHigh)), json!({"effort": "xhigh"}));
    assert_eq!(effort(Format::Messages, of(Effort::Max)), json!({"effort": "high"}));
    assert_eq!(effort(Format::Gemini, of(Effort::Minimal)), json!({"effort": "low"}));
    let off = || Reasoning { enabled: Some(false), ..Reasoning::default() };
    assert_eq!(effort(Format::Chat, off()), json!({"effort": "none"}));
    assert_eq!(effort(Format::Messages, off()), Value::Null);
    let budget = Reasoning { enabled: Some(true), budget: Some(9000), ..Reasoning::default() };
    assert_eq!(effort(Format::Messages, budget), json!({"effort": "medium", "summary": "auto"}));
    let shown = Reasoning { summary: Some("summarized".into()), adaptive: true, ..Reasoning::default() };
    assert_eq!(effort(Format::Messages, shown), json!({"summary": "auto"}));
    let hidden = Reasoning { summary: Some("none".into()), ..of(Effort::Low) };
    assert_eq!(effort(Format::Gemini, hidden), json!({"effort": "low"}));
}

#[test]
fn the_request_has_the_members_of_the_api() {
    let mut chat = prompt(Format::Chat);
    chat.max_output = Some(5);
    chat.turns.insert(0, Turn::new(Role::System, vec![Part::text("a"), Part::text("b")]));
    chat.turns.push(Turn::new(Role::System, vec![Part::text("later")]));
    chat.tools = vec![Tool::Function(FunctionTool { name: "f".into(), ..FunctionTool::default() })];
    let body = json(&encode_for(&chat, "gpt-5").body);
    assert_eq!(
        body,
        json!({
            "model": "gpt-5", "instructions": "a\n\nb",
            "input": [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
                {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "later"}]},
            ],
            "max_output_tokens": 16,
            "tools": [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": false}],
            "include": ["reasoning.encrypted_content"], "store": false,
        })
    );
    let plain = json(&encode_for(&chat, "gpt-4.1").body);
    assert!(plain.get("include").is_none());
}

#[test]
fn state_goes_back_only_to_the_model_that_made_it() {
    let thinking = |format, model: &str| {
        let origin = Origin { format, model: model.into() };
        let opaque = Opaque { origin, data: "gAAA".into(), whole: false, text: None };
        Part::new(Content::Thinking(Thinking { text: "hm".into(), opaque: Some(opaque) }))
    };
    let mut chat = prompt(Format::Chat);
    chat.turns.push(Turn::new(
        Role::Assistant,
        vec![
            thinking(Format::Responses, "gpt-5"),
            thinking(Format::Responses, "other"),
            thinking(Format::Messages, "claude"),
            Content::Thinking(Thinking { text: "bare".into(), opaque: None }).into(),
            Part::text("ok"),
        ],
    ));
    let encoded = encode_for(&chat, "gpt-5");
    assert_eq!(
        json(&encoded.body)["input"].as_array().unwrap()[1..],
        [
            json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gAAA"}),
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}),
        ]
    );
    assert!(encoded.dropped.is_empty());
}

#[test]
fn media_and_results_find_their_shape() {
    let media = |source, media_type: Option<&str>, name: Option<&str>| Media {
        source,
        media_type: media_type.map(str::to_owned),
        detail: None,
        name: name.map(str::to_owned),
    };
    let mut messages = prompt(Format::Messages);
    messages.turns[0].parts = vec![
        Content::Document(media(MediaSource::Data("JVBE".into()), Some("application/pdf"), None)).into(),
        Content::Document(media(MediaSource::Text("words".into()), None, Some("Notes"))).into(),
        Part::new(Content::Image(media(MediaSource::File("file_1".into()), None, None)))
            .at("messages[0].content[2]"),
        Content::Audio(media(MediaSource::Data("AAAA".into()), Some("audio/mpeg"), None)).into(),
    ];
    let call =
        ToolCall { id: "c".into(), name: "p".into(), arguments: "x".into(), custom: true, opaque: None };
    messages.turns.push(Turn::new(Role::Assistant, vec![Content::ToolCall(call).into()]));
    let result = ToolResult { call_id: "c".into(), name: None, parts: vec![], is_error: true };
    messages.turns.push(Turn::new(Role::Tool, vec![Content::ToolResult(result).into()]));
    let encoded = encode_for(&messages, "gpt-5");
    assert_eq!(
        json(&encoded.body)["input"],
        json!([
            {"type": "message", "role": "user", "content": [
                {"type": "input_file", "file_data": "data:application/pdf;base64,JVBE", "filename": "document.pdf"},
                {"type": "input_text", "text": "Notes:\n\nwords"},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
            ]},
            {"type": "custom_tool_call", "call_id": "c", "name": "p", "input": "x"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": ""},
        ])
    );
    assert_eq!(encoded.dropped.names(), ["messages[0].content[2]", "is_error"]);
}

#[test]
fn tools_of_other_formats_and_schemas() {
    let mut chat = prompt(Format::Chat);
    chat.tools = vec![
        Tool::Custom(CustomTool { name: "patch".into(), ..CustomTool::default() }),
        Tool::Foreign(domain::canon::ForeignTool {
            format: Format::Chat,
            place: "tools[1]".into(),
            value: json!({}),
        }),
    ];
    chat.tool_choice = Some(domain::canon::ToolChoice::Named("patch".into()));
    chat.output = Some(OutputFormat::Schema {
        name: String::new(),
        description: None,
        schema: json!({"type": "object"}),
        strict: None,
    });
    let encoded = encode_for(&chat, "gpt-5");
    let body = json(&encoded.body);
    assert_eq!(body["tools"], json!([{"type": "custom", "name": "patch"}]));
    assert_eq!(body["tool_choice"], json!({"type": "custom", "name": "patch"}));
    let format = json!({"type": "json_schema", "name": "output", "schema": {"type": "object"}});
    assert_eq!(body["text"], json!({"format": format}));
    assert_eq!((encoded.dropped.names(), encoded.schema_tool), (&["tools[1]".to_owned()][..], None));
}
