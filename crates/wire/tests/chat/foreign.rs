//! Prompts from clients of other formats, encoded for chat completions vendors.

use domain::call::Format;
use domain::canon::{
    CacheMark, Content, CustomTool, Effort, ForeignTool, FunctionTool, Media, MediaSource, Opaque, Origin,
    OutputFormat, Part, Prompt, Reasoning, Role, Thinking, Tool, ToolCall, ToolChoice, ToolResult, Turn,
};
use serde_json::{Value, json};
use wire::codec::Target;
use wire::formats;

use crate::{encode, sent};

fn media(source: MediaSource, media_type: &str) -> Media {
    Media { source, media_type: Some(media_type.into()), detail: None, name: None }
}

fn call(id: &str, name: &str, arguments: &str) -> Part {
    let (id, name, arguments) = (id.into(), name.into(), arguments.into());
    Content::ToolCall(ToolCall { id, name, arguments, custom: false, opaque: None }).into()
}

fn result(id: &str, parts: Vec<Part>, is_error: bool) -> Part {
    Content::ToolResult(ToolResult { call_id: id.into(), name: Some("shot".into()), parts, is_error }).into()
}

/// An agent that uses all features of Anthropic's format.
fn agent() -> Prompt {
    let mut prompt = Prompt::new(Format::Messages);
    let state = Opaque {
        origin: Origin { format: Format::Messages, model: "claude".into() },
        data: "sig".into(),
        whole: false,
        text: None,
    };
    let image = || Content::Image(media(MediaSource::Data("AAAA".into()), "image/png"));
    prompt.turns = vec![
        Turn::new(
            Role::System,
            vec![
                Part::text("You are an agent.").cached(Some(CacheMark::FiveMinutes)),
                Part::text("Be brief."),
            ],
        ),
        Turn::new(
            Role::User,
            vec![
                Part::text("Read these"),
                Part::new(image()).at("messages[0].content[1]"),
                Content::Document(Media {
                    name: Some("a.txt".into()),
                    ..media(MediaSource::Text("plain".into()), "text/plain")
                })
                .into(),
                Content::Document(media(MediaSource::Data("JVBE".into()), "application/pdf")).into(),
                Part::new(Content::Document(media(
                    MediaSource::Url("https://x/y.pdf".into()),
                    "application/pdf",
                )))
                .at("messages[0].content[4]"),
            ],
        ),
        Turn::new(
            Role::Assistant,
            vec![
                Content::Thinking(Thinking { text: "secret".into(), opaque: Some(state) }).into(),
                Part::text("I look."),
                call("toolu_1", "shot", ""),
                call("toolu_2", "shot", "{\"n\":2}"),
            ],
        ),
        Turn::new(
            Role::Tool,
            vec![
                result("toolu_1", vec![Part::text("see"), Part::new(image())], false),
                result("toolu_2", vec![Part::text("it failed")], true),
            ],
        ),
        Turn::new(Role::User, vec![Part::text("one"), Part::text("two")]),
    ];
    prompt.tools = vec![
        Tool::Function(FunctionTool {
            name: "shot".into(),
            cache: Some(CacheMark::OneHour),
            ..FunctionTool::default()
        }),
        Tool::Custom(CustomTool {
            name: "patch".into(),
            namespace: Some("ns__".into()),
            ..CustomTool::default()
        }),
        Tool::Foreign(ForeignTool {
            format: Format::Messages,
            place: "tools[2]".into(),
            value: json!({"type": "web_search_20250305"}),
        }),
    ];
    prompt.tool_choice = Some(ToolChoice::Required);
    prompt.parallel_tools = Some(false);
    prompt.max_output = Some(32_000);
    prompt.sampling.temperature = Some(0.0);
    prompt.sampling.top_k = Some(40);
    prompt.stop = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
    prompt.reasoning = Some(Reasoning { enabled: Some(true), budget: Some(31_999), ..Reasoning::default() });
    prompt.user = Some("u".repeat(100));
    prompt.service_tier = Some("standard_only".into());
    prompt.extra = json!({"context_management": {"edits": []}}).as_object().unwrap().clone();
    prompt
}

#[test]
fn each_vendor_gets_what_it_takes_and_the_rest_is_named() {
    for (vendor, model) in [
        ("openai", "gpt-4o"),
        ("openai", "gpt-5"),
        ("openai", "o3"),
        ("deepseek", "deepseek-v4-pro"),
        ("mistral", "mistral-large-latest"),
        ("vllm", "qwen"),
        ("openrouter", "openai/gpt-5.2"),
        ("minimax", "MiniMax-M2"),
        ("moonshot", "kimi-k2.6"),
        ("xai", "grok-4.3"),
    ] {
        let (body, dropped) = sent(&agent(), vendor, model);
        let shown = json!({"body": body, "dropped": dropped});
        insta::assert_json_snapshot!(format!("agent_at_{vendor}_{}", model.replace('/', "_")), shown);
    }
}

fn plain() -> Prompt {
    let mut prompt = Prompt::new(Format::Responses);
    prompt.turns = vec![Turn::new(Role::User, vec![Part::text("Hi")])];
    prompt
}

#[test]
fn roles_and_limits_are_called_as_the_vendor_calls_them() {
    let mut prompt = plain();
    prompt.turns.insert(0, Turn::new(Role::Developer, vec![Part::text("Be brief.")]));
    prompt.max_output = Some(9);
    for (vendor, model, role, name) in [
        ("openai", "gpt-4o", "developer", "max_tokens"),
        ("openai", "o4-mini", "developer", "max_completion_tokens"),
        ("ollama", "llama3", "system", "max_tokens"),
        ("groq", "llama", "system", "max_tokens"),
    ] {
        let (body, _) = sent(&prompt, vendor, model);
        assert_eq!(
            (&body["messages"][0]["role"], &body[name]),
            (&json!(role), &json!(9)),
            "{vendor}/{model}"
        );
    }
}

#[test]
fn efforts_use_the_models_values() {
    let effort = |effort| Reasoning { enabled: Some(true), effort: Some(effort), ..Reasoning::default() };
    let off = Reasoning { enabled: Some(false), ..Reasoning::default() };
    let budget = |budget| Reasoning { enabled: Some(true), budget: Some(budget), ..Reasoning::default() };
    let adaptive = Reasoning { adaptive: true, ..Reasoning::default() };
    for (vendor, model, reasoning, word, named) in [
        ("openai", "gpt-5", effort(Effort::Minimal), json!("minimal"), false),
        ("openai", "gpt-5", effort(Effort::Max), json!("high"), false),
        ("openai", "gpt-5", off.clone(), json!("minimal"), false),
        ("openai", "gpt-5.1", off.clone(), json!("none"), false),
        ("openai", "gpt-5.2", effort(Effort::Max), json!("xhigh"), false),
        ("openai", "gpt-5.1", effort(Effort::Minimal), json!("low"), false),
        ("openai", "o3", budget(1024), json!("low"), false),
        ("openai", "o3", budget(8192), json!("medium"), false),
        ("openai", "o3", adaptive, Value::Null, false),
        ("openai", "gpt-4o", effort(Effort::High), Value::Null, true),
        ("openai", "gpt-4o", off.clone(), Value::Null, false),
        ("openai", "gpt-5-chat-latest", effort(Effort::High), Value::Null, true),
        ("groq", "openai/gpt-oss-120b", effort(Effort::XHigh), json!("high"), false),
        ("groq", "qwen/qwen3-32b", off, json!("none"), false),
        ("groq", "qwen/qwen3-32b", effort(Effort::Low), Value::Null, false),
        ("xai", "grok-3-mini", effort(Effort::Medium), json!("low"), false),
        ("xai", "grok-4", effort(Effort::High), Value::Null, true),
        ("deepseek", "deepseek-v4-pro", effort(Effort::Max), json!("max"), false),
        ("openrouter", "x", effort(Effort::Max), json!("xhigh"), false),
    ] {
        let prompt = Prompt { reasoning: Some(reasoning.clone()), ..plain() };
        let (body, dropped) = sent(&prompt, vendor, model);
        assert_eq!(body["reasoning_effort"], word, "{vendor}/{model} {reasoning:?}");
        assert_eq!(!dropped.is_empty(), named, "{vendor}/{model} {dropped:?}");
    }
}

#[test]
fn sampling_is_clamped_or_left_out_and_named() {
    let mut prompt = Prompt::new(Format::Messages);
    prompt.turns = plain().turns;
    prompt.sampling.temperature = Some(1.7);
    prompt.sampling.top_p = Some(0.5);
    prompt.sampling.presence_penalty = Some(1.0);
    let (body, dropped) = sent(&prompt, "openai", "gpt-5");
    assert!(["temperature", "top_p", "presence_penalty"].iter().all(|name| body.get(name).is_none()));
    assert_eq!(dropped, ["temperature", "top_p", "presence_penalty"]);
    let (body, dropped) = sent(&prompt, "minimax", "M");
    assert_eq!((&body["temperature"], dropped.len()), (&json!(1.0), 0));
    prompt.sampling.temperature = Some(1.0);
    prompt.sampling.top_p = None;
    prompt.sampling.presence_penalty = Some(0.0);
    assert!(sent(&prompt, "openai", "gpt-5").1.is_empty(), "defaults need not be said");
}

#[test]
fn schemas_are_sent_natively_by_a_tool_or_as_text() {
    let mut prompt = plain();
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    prompt.output = Some(OutputFormat::Schema {
        name: "my out".into(),
        description: None,
        schema: schema.clone(),
        strict: Some(true),
    });
    let (body, _) = sent(&prompt, "openai", "gpt-4o");
    assert_eq!(
        body["response_format"],
        json!({"type": "json_schema", "json_schema": {"name": "my_out", "schema": schema, "strict": true}})
    );
    let encoded = encode(&prompt, "deepseek", "deepseek-chat");
    let body: Value = serde_json::from_slice(&encoded.body).unwrap();
    assert_eq!(encoded.schema_tool.as_deref(), Some("json_output"));
    assert_eq!(body["tools"][0]["function"]["parameters"], schema);
    assert_eq!(body["tool_choice"], json!({"type": "function", "function": {"name": "json_output"}}));
    assert!(body.get("response_format").is_none());
    let encoded = encode(&prompt, "zai", "glm-4.6");
    let body: Value = serde_json::from_slice(&encoded.body).unwrap();
    assert_eq!((encoded.schema_tool, &body["response_format"]["type"]), (None, &json!("json_object")));
    assert_eq!(body["messages"][0]["role"], "system");
    assert!(body["messages"][0]["content"].as_str().unwrap().contains("\"properties\""));
    prompt.tools = vec![Tool::Function(FunctionTool { name: "f".into(), ..FunctionTool::default() })];
    let (body, _) = sent(&prompt, "deepseek", "deepseek-chat");
    assert_eq!((&body["tool_choice"], body["tools"].as_array().unwrap().len()), (&json!("required"), 2));
}

#[test]
fn an_inexpressible_tool_choice_hides_the_other_tools() {
    let tool = |name: &str| Tool::Function(FunctionTool { name: name.into(), ..FunctionTool::default() });
    let mut prompt = plain();
    prompt.tools = vec![tool("a"), tool("b")];
    prompt.tool_choice = Some(ToolChoice::Among { names: vec!["b".into()], required: true });
    let (body, _) = sent(&prompt, "vllm", "m");
    assert_eq!((&body["tool_choice"], body["tools"].as_array().unwrap().len()), (&json!("required"), 1));
    let (body, _) = sent(&prompt, "openai", "gpt-5");
    assert_eq!(
        (&body["tool_choice"]["type"], body["tools"].as_array().unwrap().len()),
        (&json!("allowed_tools"), 2)
    );
    prompt.tools.clear();
    prompt.parallel_tools = Some(true);
    let (body, dropped) = sent(&prompt, "vllm", "m");
    assert!(body.get("tool_choice").is_none() && body.get("parallel_tool_calls").is_none());
    assert_eq!(dropped, ["tool_choice"]);
}

#[test]
fn streams_ask_for_usage_as_the_vendor_wants_it() {
    for (name, options) in
        [("openai", json!({"include_usage": true})), ("mistral", Value::Null), ("perplexity", Value::Null)]
    {
        let vendor = wire::vendors::find(name).unwrap();
        let prompt_cache = Default::default();
        let target = Target { model: "m", stream: true, vendor, max_output: Some(5), prompt_cache };
        let prompt = Prompt { max_output: Some(9), ..plain() };
        let body = formats::upstream(Format::Chat).encode(&prompt, &target).unwrap().body;
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((&body["stream"], &body["stream_options"]), (&json!(true), &options), "{name}");
        assert_eq!(body["max_tokens"], 5, "no more than the model can say");
    }
}
