//! Requests of other clients, encoded for each generation of Claude.

use domain::call::Format;
use domain::canon::{
    CacheMark, Content, CustomTool, Effort, ForeignTool, FunctionTool, Media, MediaSource, Opaque, Origin,
    OutputFormat, Part, Prompt, Reasoning, Role, Thinking, Tool, ToolCall, ToolChoice, ToolResult, Turn,
};
use serde_json::{Value, json};

use crate::{MODEL, accepted, encode_for, encoded};

const OLD: &str = "claude-sonnet-4-5-20250929";
const OLDER: &str = "claude-sonnet-4-20250514";

pub fn text(role: Role, text: &str) -> Turn {
    Turn::new(role, vec![Part::text(text)])
}

pub fn call(id: &str) -> Part {
    let (name, arguments) = ("look".to_owned(), r#"{"at":1}"#.to_owned());
    Content::ToolCall(ToolCall { id: id.into(), name, arguments, custom: false, opaque: None }).into()
}

pub fn result(id: &str) -> Turn {
    let parts = vec![Part::text("seen")];
    let result = ToolResult { call_id: id.into(), name: None, parts, is_error: false };
    Turn::new(Role::Tool, vec![Content::ToolResult(result).into()])
}

pub fn chat(turns: Vec<Turn>) -> Prompt {
    Prompt { turns, ..Prompt::new(Format::Chat) }
}

fn hello() -> Prompt {
    chat(vec![text(Role::User, "Hello")])
}

fn function(name: &str) -> Tool {
    Tool::Function(FunctionTool { name: name.into(), ..FunctionTool::default() })
}

fn effort(effort: Effort) -> Option<Reasoning> {
    Some(Reasoning { effort: Some(effort), ..Reasoning::default() })
}

#[track_caller]
fn check(prompt: &Prompt, model: &str, expected: Value, dropped: &[&str]) {
    let (body, names) = encoded(prompt, model);
    accepted::check(&body, model);
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&body[name], value, "{name} of {body}");
    }
    assert_eq!(names, dropped, "{body}");
}

#[test]
fn system_texts_are_lifted_placed_or_marked_in_order() {
    let prompt = chat(vec![
        text(Role::System, "One"),
        text(Role::Developer, "Two"),
        text(Role::User, "Hello"),
        text(Role::System, "Three"),
        text(Role::Assistant, "Hi"),
        text(Role::Developer, "Four"),
        text(Role::User, "Bye"),
    ]);
    let system = json!([{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}]);
    let marked = "<system>\nFour\n</system>";
    let last = json!({"role": "user", "content": [{"type": "text", "text": marked}, {"type": "text", "text": "Bye"}]});
    let expected = json!({"system": system, "messages": [
        {"role": "user", "content": "Hello"},
        {"role": "system", "content": "Three"},
        {"role": "assistant", "content": "Hi"},
        last,
    ]});
    check(&prompt, MODEL, expected, &[]);
    let first =
        json!([{"type": "text", "text": "Hello"}, {"type": "text", "text": "<system>\nThree\n</system>"}]);
    let expected = json!({"system": system, "messages": [
        {"role": "user", "content": first}, {"role": "assistant", "content": "Hi"}, last,
    ]});
    check(&prompt, OLD, expected, &[]);
    let only = chat(vec![text(Role::System, "One"), text(Role::System, "Ask")]);
    let expected = json!({"system": [{"type": "text", "text": "One"}], "messages": [{"role": "user", "content": "Ask"}]});
    check(&only, MODEL, expected, &[]);
}

#[test]
fn neighbours_are_merged_and_parallel_results_come_first_in_one_message() {
    let prompt = chat(vec![
        text(Role::User, "One"),
        text(Role::User, "Two"),
        Turn::new(Role::Assistant, vec![Part::text(""), call("a.1"), call("b:1")]),
        result("b:1"),
        text(Role::User, "Meanwhile"),
        result("a.1"),
        text(Role::Assistant, "   "),
    ]);
    let used = |id: &str| json!({"type": "tool_use", "id": id, "name": "look", "input": {"at": 1}});
    let tool_result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "seen"});
    let expected = json!({"messages": [
        {"role": "user", "content": [{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}]},
        {"role": "assistant", "content": [used("a_1"), used("b_1")]},
        {"role": "user", "content": [tool_result("b_1"), tool_result("a_1"), {"type": "text", "text": "Meanwhile"}]},
    ]});
    check(&prompt, MODEL, expected, &[]);
}

#[test]
fn the_limit_of_the_answer_is_always_there() {
    let limit = |asked, most| {
        let prompt = Prompt { max_output: asked, ..hello() };
        let body: Value = serde_json::from_slice(&encode_for(&prompt, MODEL, most).body).unwrap();
        body["max_tokens"].as_u64().unwrap()
    };
    assert_eq!(limit(Some(7), None), 7);
    assert_eq!(limit(Some(7), Some(64)), 7);
    assert_eq!(limit(Some(70), Some(64)), 64);
    assert_eq!(limit(None, Some(64)), 64);
    assert_eq!(limit(None, None), 4096);
}

#[test]
fn budgets_leave_room_for_the_answer() {
    let plan = |effort_wanted, asked, most| {
        let prompt = Prompt { max_output: asked, reasoning: effort(effort_wanted), ..hello() };
        let encoded = encode_for(&prompt, OLD, most);
        let body: Value = serde_json::from_slice(&encoded.body).unwrap();
        accepted::check(&body, OLD);
        (
            body["thinking"]["budget_tokens"].as_u64(),
            body["max_tokens"].as_u64().unwrap(),
            encoded.dropped.names().len(),
        )
    };
    assert_eq!(plan(Effort::High, None, None), (Some(16_384), 20_480, 0));
    assert_eq!(plan(Effort::High, None, Some(64_000)), (Some(16_384), 64_000, 0));
    assert_eq!(plan(Effort::High, Some(8000), Some(64_000)), (Some(6976), 8000, 0));
    assert_eq!(plan(Effort::Low, Some(100), Some(64_000)), (Some(1024), 1124, 0));
    assert_eq!(plan(Effort::Minimal, Some(5000), None), (Some(1024), 5000, 0));
    assert_eq!(plan(Effort::Low, Some(100), Some(1000)), (None, 100, 1));
}

#[test]
fn thinking_by_generation() {
    let prompt = Prompt { reasoning: effort(Effort::XHigh), ..hello() };
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    check(&prompt, MODEL, json!({"thinking": adaptive, "output_config": {"effort": "xhigh"}}), &[]);
    check(
        &prompt,
        "claude-opus-4-6",
        json!({"thinking": adaptive, "output_config": {"effort": "high"}}),
        &[],
    );
    check(
        &prompt,
        OLD,
        json!({"thinking": {"type": "enabled", "budget_tokens": 24_576}, "output_config": null}),
        &[],
    );
    check(&prompt, "claude-3-5-sonnet-20241022", json!({"thinking": null}), &["reasoning_effort"]);
    let none =
        Prompt { reasoning: Some(Reasoning { enabled: Some(false), ..Reasoning::default() }), ..hello() };
    check(&none, OLD, json!({"thinking": {"type": "disabled"}}), &[]);
    check(&none, "claude-sonnet-5-5", json!({"thinking": {"type": "between_tools"}}), &[]);
    check(&none, "claude-opus-5-5", json!({"thinking": null}), &["reasoning_effort"]);
    let counted = Reasoning { enabled: Some(true), budget: Some(9000), ..Reasoning::default() };
    let counted = Prompt { format: Format::Messages, reasoning: Some(counted), ..hello() };
    check(
        &counted,
        MODEL,
        json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}}),
        &[],
    );
    let only_effort = Prompt { format: Format::Messages, reasoning: effort(Effort::Low), ..hello() };
    check(&only_effort, MODEL, json!({"thinking": null, "output_config": {"effort": "low"}}), &[]);
    check(&only_effort, OLD, json!({"thinking": null, "output_config": null}), &["output_config.effort"]);
}

#[test]
fn thoughts_go_back_only_to_the_model_that_had_them() {
    let thought = |format, model: &str| {
        let opaque = Opaque {
            origin: Origin { format, model: model.into() },
            data: "sig".into(),
            whole: false,
            text: None,
        };
        Part::new(Content::Thinking(Thinking { text: "Hm".into(), opaque: Some(opaque) }))
    };
    let prompt = |thought: Part| {
        let turns =
            vec![text(Role::User, "x"), Turn::new(Role::Assistant, vec![call("a"), thought]), result("a")];
        Prompt { reasoning: effort(Effort::Low), ..chat(turns) }
    };
    let enabled = json!({"type": "enabled", "budget_tokens": 2048});
    let own = prompt(thought(Format::Messages, OLD));
    let (body, dropped) = encoded(&own, OLD);
    accepted::check(&body, OLD);
    assert_eq!((&body["thinking"], dropped.len()), (&enabled, 0));
    assert_eq!(
        body["messages"][1]["content"][0],
        json!({"type": "thinking", "thinking": "Hm", "signature": "sig"})
    );
    // Without its thinking block the turn cannot continue with a thinking budget; with adaptive thinking it can.
    for other in [thought(Format::Gemini, OLD), thought(Format::Messages, "claude-opus-5"), Part::text("Hm")]
    {
        let prompt = prompt(other);
        check(&prompt, OLD, json!({"thinking": null}), &["reasoning_effort"]);
        assert!(encoded(&prompt, MODEL).0["thinking"].is_object());
    }
}

#[test]
fn a_turn_of_several_messages_needs_its_thought_only_at_its_beginning() {
    let opaque = Opaque::open("sig", Format::Messages);
    let thought = Part::new(Content::Thinking(Thinking { text: "Hm".into(), opaque: Some(opaque) }));
    let prompt = |first: Vec<Part>| {
        let turns = vec![
            text(Role::User, "x"),
            Turn::new(Role::Assistant, first),
            result("a"),
            Turn::new(Role::Assistant, vec![call("b")]),
            result("b"),
        ];
        Prompt { reasoning: effort(Effort::Low), ..chat(turns) }
    };
    assert!(encoded(&prompt(vec![thought, call("a")]), OLD).0["thinking"].is_object());
    assert!(encoded(&prompt(vec![call("a")]), OLD).0["thinking"].is_null());
}

#[test]
fn redacted_thinking_is_returned_unchanged() {
    let opaque = Opaque { whole: true, ..Opaque::open("blob", Format::Messages) };
    let thought = Content::Thinking(Thinking { text: String::new(), opaque: Some(opaque) }).into();
    let turns =
        vec![text(Role::User, "x"), Turn::new(Role::Assistant, vec![thought, call("a")]), result("a")];
    let (body, _) = encoded(&chat(turns), MODEL);
    assert_eq!(body["messages"][1]["content"][0], json!({"type": "redacted_thinking", "data": "blob"}));
}

#[test]
fn sampling_by_generation() {
    let mut prompt = hello();
    prompt.sampling.temperature = Some(1.6);
    prompt.sampling.top_p = Some(0.5);
    prompt.sampling.top_k = Some(3);
    prompt.sampling.seed = Some(1);
    prompt.sampling.presence_penalty = Some(0.0);
    prompt.sampling.frequency_penalty = Some(0.5);
    let rest = ["seed", "frequency_penalty"];
    let old = json!({"temperature": 1.0, "top_p": null, "top_k": 3});
    check(&prompt, OLD, old, &["top_p", rest[0], rest[1]]);
    let new = json!({"temperature": null, "top_p": null, "top_k": null});
    check(&prompt, MODEL, new.clone(), &["temperature", "top_p", "top_k", rest[0], rest[1]]);
    prompt.reasoning = effort(Effort::Low);
    check(&prompt, OLD, new, &["temperature", "top_p", "top_k", rest[0], rest[1]]);
    let mut usual = hello();
    usual.sampling.temperature = Some(1.0);
    check(&usual, MODEL, json!({"temperature": null}), &[]);
}

#[test]
fn tools_and_the_choice_among_them() {
    let mut prompt = hello();
    let described = Tool::Function(FunctionTool {
        name: "list".into(),
        namespace: Some("fs_".into()),
        description: Some("Lists".into()),
        parameters: Some(json!({"properties": {"n": {"type": "integer", "minimum": 1}}})),
        strict: Some(true),
        cache: Some(CacheMark::OneHour),
    });
    let custom = Tool::Custom(CustomTool { name: "patch".into(), ..CustomTool::default() });
    let foreign = ForeignTool { format: Format::Responses, place: "tools[2]".into(), value: json!({}) };
    prompt.tools = vec![described, custom, Tool::Foreign(foreign)];
    prompt.tool_choice = Some(ToolChoice::Named("fs_list".into()));
    prompt.parallel_tools = Some(false);
    let (body, dropped) = encoded(&prompt, MODEL);
    assert_eq!(dropped, ["tools.strict", "tools[2]"]);
    assert_eq!(
        body["tools"][0],
        json!({
            "name": "fs_list", "description": "Lists",
            "input_schema": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}},
            "cache_control": {"type": "ephemeral", "ttl": "1h"},
        })
    );
    assert_eq!(body["tools"][1]["input_schema"]["required"], json!(["input"]));
    let choice = json!({"type": "tool", "name": "fs_list", "disable_parallel_tool_use": true});
    assert_eq!(body["tool_choice"], choice);
    // The older generation has no strict tools, and a thinking model cannot be forced to call one.
    let (body, dropped) = encoded(&prompt, OLDER);
    assert_eq!(dropped, ["tools.strict", "tools[2]"]);
    assert_eq!(body["tools"][0].get("strict"), None);
    prompt.reasoning = effort(Effort::Low);
    let (body, dropped) = encoded(&prompt, OLD);
    accepted::check(&body, OLD);
    assert_eq!(body["tool_choice"], json!({"type": "auto", "disable_parallel_tool_use": true}));
    assert_eq!(dropped, ["tools.strict", "tools[2]", "tool_choice"]);
}

#[test]
fn every_tool_choice_is_mapped() {
    let choose = |choice, model: &str| {
        let prompt =
            Prompt { tools: vec![function("a"), function("b")], tool_choice: Some(choice), ..hello() };
        let (body, dropped) = encoded(&prompt, model);
        let names: Vec<&str> =
            body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        (body["tool_choice"]["type"].as_str().unwrap().to_owned(), names.join(" "), dropped.len())
    };
    let among = |required| ToolChoice::Among { names: vec!["b".into()], required };
    for (choice, word, tools) in [
        (ToolChoice::Auto, "auto", "a b"),
        (ToolChoice::None, "none", "a b"),
        (ToolChoice::Required, "any", "a b"),
        (ToolChoice::Named("a".into()), "tool", "a b"),
        (among(true), "any", "b"),
        (among(false), "auto", "b"),
    ] {
        assert_eq!(choose(choice.clone(), MODEL), (word.to_owned(), tools.to_owned(), 0));
        let forced = matches!(word, "any" | "tool");
        let softened = if forced { "auto" } else { word };
        assert_eq!(
            choose(choice, "claude-opus-5-5"),
            (softened.to_owned(), tools.to_owned(), usize::from(forced))
        );
    }
    let none = Prompt { tool_choice: Some(ToolChoice::Required), ..hello() };
    check(&none, MODEL, json!({"tools": null, "tool_choice": null}), &[]);
}

fn shaped() -> Prompt {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let output = OutputFormat::Schema { name: "x".into(), description: None, schema, strict: Some(true) };
    Prompt { output: Some(output), ..hello() }
}

#[test]
fn schemas_are_native_or_a_forced_tool() {
    let closed =
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false});
    let format = json!({"format": {"type": "json_schema", "schema": closed}});
    check(&shaped(), OLD, json!({"output_config": format, "tools": null}), &[]);
    assert_eq!(encode_for(&shaped(), OLD, None).schema_tool, None);

    assert_eq!(encode_for(&shaped(), OLDER, None).schema_tool.as_deref(), Some("json_output"));
    let forced = json!({"type": "tool", "name": "json_output", "disable_parallel_tool_use": true});
    check(&shaped(), OLDER, json!({"output_config": null, "tool_choice": forced}), &[]);
    let thinking = Prompt { reasoning: effort(Effort::Low), ..shaped() };
    check(&thinking, OLDER, json!({"tool_choice": forced, "thinking": null}), &["reasoning_effort"]);
    let with_tools = Prompt { tools: vec![function("a")], ..shaped() };
    check(&with_tools, OLDER, json!({"tool_choice": {"type": "any"}}), &[]);
    let named = Prompt { tool_choice: Some(ToolChoice::Named("a".into())), ..with_tools };
    assert_eq!(encode_for(&named, OLDER, None).schema_tool, None);

    let any_json = Prompt { output: Some(OutputFormat::Json), ..hello() };
    check(&any_json, MODEL, json!({"output_config": null}), &["response_format"]);
}

#[test]
fn media_and_unsupported_content() {
    let media = |source, media_type: Option<&str>| Media {
        source,
        media_type: media_type.map(str::to_owned),
        detail: None,
        name: None,
    };
    let image = |source, media_type| Content::Image(media(source, media_type));
    let document = |source, media_type| Content::Document(media(source, media_type));
    let close =
        Media { detail: Some("high".into()), ..media(MediaSource::Url("https://x/a.png".into()), None) };
    let contents = vec![
        Content::Image(close),
        image(MediaSource::Data("/9j/4AAQ".into()), None),
        image(MediaSource::File("file-1".into()), None),
        document(MediaSource::Data("JVBERi0=".into()), Some("application/pdf")),
        document(MediaSource::Data("aGk=".into()), Some("text/markdown")),
        document(MediaSource::Text("plain".into()), None),
        Content::Audio(media(MediaSource::Data("UklGR".into()), Some("audio/wav"))),
        Content::Foreign { format: Format::Responses, value: json!({"type": "x"}) },
    ];
    let at = |(index, content)| Part::new(content).at(format!("messages[0].content[{index}]"));
    let parts: Vec<Part> = contents.into_iter().enumerate().map(at).collect();
    let expected = json!({"messages": [{"role": "user", "content": [
        {"type": "image", "source": {"type": "url", "url": "https://x/a.png"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "/9j/4AAQ"}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "hi"}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain"}},
    ]}]});
    let dropped = ["detail", "messages[0].content[2]", "messages[0].content[6]", "messages[0].content[7]"];
    check(&chat(vec![Turn::new(Role::User, parts)]), MODEL, expected, &dropped);
}

#[test]
fn the_first_mark_and_the_last_three_are_kept() {
    let parts =
        (0..6).map(|index| Part::text(index.to_string()).cached(Some(CacheMark::FiveMinutes))).collect();
    let (body, dropped) = encoded(&chat(vec![Turn::new(Role::User, parts)]), MODEL);
    accepted::check(&body, MODEL);
    let blocks = body["messages"][0]["content"].as_array().unwrap();
    let marked: Vec<bool> = blocks.iter().map(|block| block.get("cache_control").is_some()).collect();
    assert_eq!(marked, [true, false, false, true, true, true]);
    assert_eq!(dropped, ["cache_control"]);
}

#[test]
fn a_trailing_assistant_turn_is_a_prefill_or_continued() {
    let prompt =
        chat(vec![text(Role::Assistant, "Hi"), text(Role::User, "x"), text(Role::Assistant, "So \n")]);
    let (body, _) = encoded(&prompt, OLD);
    accepted::check(&body, OLD);
    assert_eq!(body["messages"][3], json!({"role": "assistant", "content": "So"}));
    let (body, _) = encoded(&prompt, MODEL);
    accepted::check(&body, MODEL);
    assert_eq!(body["messages"][4], json!({"role": "user", "content": "Continue."}));
}

#[test]
fn the_rest_is_mapped_or_named() {
    let mut prompt = hello();
    prompt.stop = vec!["END".into(), " \n".into(), String::new()];
    prompt.user = Some("u".into());
    prompt.metadata = Some(json!({"a": "b"}));
    prompt.service_tier = Some("default".into());
    prompt.verbosity = Some("low".into());
    prompt.choices = 2;
    prompt.extra.insert("logit_bias".into(), json!({}));
    let expected = json!({"stop_sequences": ["END"], "metadata": {"user_id": "u"}, "service_tier": "standard_only", "logit_bias": null});
    check(&prompt, MODEL, expected, &["stop", "metadata", "verbosity", "n", "logit_bias"]);
    prompt.service_tier = Some("flex".into());
    prompt.user = Some("u".repeat(300));
    let (body, dropped) = encoded(&prompt, MODEL);
    assert_eq!((&body["metadata"], &body["service_tier"]), (&Value::Null, &Value::Null));
    assert!(
        dropped.contains(&"user".to_owned()) && dropped.contains(&"service_tier".to_owned()),
        "{dropped:?}"
    );
}

#[test]
fn non_object_arguments_are_wrapped_and_failures_have_text() {
    let odd = |arguments: &str, custom| {
        let call =
            ToolCall { id: "a".into(), name: "n".into(), arguments: arguments.into(), custom, opaque: None };
        let failed = ToolResult { call_id: "a".into(), name: None, parts: vec![], is_error: true };
        let failed = Turn::new(Role::Tool, vec![Content::ToolResult(failed).into()]);
        let turns = vec![
            text(Role::User, "x"),
            Turn::new(Role::Assistant, vec![Content::ToolCall(call).into()]),
            failed,
        ];
        let (body, _) = encoded(&chat(turns), MODEL);
        accepted::check(&body, MODEL);
        assert_eq!(body["messages"][2]["content"][0]["content"], "The tool failed.");
        body["messages"][1]["content"][0]["input"].clone()
    };
    assert_eq!(odd("", false), json!({}));
    assert_eq!(odd("[1]", false), json!({"input": "[1]"}));
    assert_eq!(odd("{\"a\"", false), json!({"input": "{\"a\""}));
    assert_eq!(odd("ls -l", true), json!({"input": "ls -l"}));
}
