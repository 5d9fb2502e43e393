//! Requests encoded for Gemini, from Gemini clients and from clients of other formats.

use bytes::Bytes;
use domain::call::Format;
use domain::canon::{
    CacheMark, Content, CustomTool, Effort, Field, ForeignTool, FunctionTool, Media, MediaSource,
    OutputFormat, Part, Prompt, Reasoning, Role, Sampling, Thinking, Tool, ToolCall, ToolChoice, ToolResult,
    Turn,
};
use serde_json::{Value, json};

use crate::given::{self, MODEL, call, encoded, parsed, result, state};

const FLASH: &str = "gemini-2.5-flash";

fn body(prompt: &Prompt, model: &str) -> Value {
    serde_json::from_slice(&encoded(prompt, model).body).unwrap()
}

fn dropped(prompt: &Prompt, model: &str) -> Vec<String> {
    encoded(prompt, model).dropped.names().to_vec()
}

fn asking(format: Format, turns: Vec<Turn>) -> Prompt {
    Prompt { turns, ..Prompt::new(format) }
}

fn user(text: &str) -> Turn {
    Turn::new(Role::User, vec![Part::text(text)])
}

fn hello(format: Format) -> Prompt {
    asking(format, vec![user("hi")])
}

fn calls(calls: Vec<ToolCall>) -> Turn {
    Turn::new(Role::Assistant, calls.into_iter().map(|call| Content::ToolCall(call).into()).collect())
}

/// Requests of real clients, parsed and encoded again in the same format.
#[test]
fn requests_of_its_own_clients_are_kept() {
    for (name, request) in given::fixtures("requests") {
        let prompt = parsed(request).unwrap();
        let encoded = encoded(&prompt, MODEL);
        assert!(encoded.dropped.is_empty(), "{name}: {:?}", encoded.dropped);
        let sent: Value = serde_json::from_slice(&encoded.body).unwrap();
        insta::assert_snapshot!(format!("request_{name}"), serde_json::to_string_pretty(&sent).unwrap());
        // Normalisation is idempotent.
        assert_eq!(body(&parsed(Bytes::from(sent.to_string())).unwrap(), MODEL), sent, "{name}");
    }
}

/// A conversation of an agent that uses Messages: thinking, parallel calls, results out of order, an image.
fn agent() -> Prompt {
    let picture = Media {
        source: MediaSource::Data("iVBORw0KGgo=".into()),
        media_type: Some("image/png".into()),
        detail: None,
        name: None,
    };
    let mut signed = call("toolu_1", "Read", "{\"path\": \"/a\"}");
    signed.opaque = Some(state(Format::Gemini, "c2ln"));
    let thinking = Thinking { text: "Hm".into(), opaque: Some(state(Format::Messages, "EqQ=")) };
    let model = vec![
        Content::Thinking(thinking).into(),
        Part::text("I look."),
        Content::ToolCall(signed).into(),
        Content::ToolCall(call("toolu_2", "mcp/List", "")).into(),
    ];
    let failed = ToolResult {
        call_id: "toolu_2".into(),
        name: None,
        parts: vec![Part::text("no such server")],
        is_error: true,
    };
    let shown = vec![Part::text("{\"lines\": 2}"), Content::Image(picture).into()];
    let mut prompt = asking(
        Format::Messages,
        vec![
            Turn::new(
                Role::System,
                vec![Part::text("You are."), Part::text("Be brief.").cached(Some(CacheMark::OneHour))],
            ),
            user("Look at both."),
            Turn::new(Role::Assistant, model),
            Turn::new(Role::Tool, vec![Content::ToolResult(failed).into(), result("toolu_1", shown)]),
            Turn::new(Role::User, vec![Part::text("And?"), Part::text("")]),
        ],
    );
    prompt.tools = vec![
        Tool::Function(FunctionTool {
            name: "Read".into(),
            description: Some("Reads.".into()),
            parameters: Some(
                json!({"type": "object", "properties": {"path": {"type": "string"}}, "$schema": "x"}),
            ),
            strict: Some(true),
            ..FunctionTool::default()
        }),
        Tool::Custom(CustomTool {
            name: "List".into(),
            namespace: Some("mcp/".into()),
            ..CustomTool::default()
        }),
        Tool::Foreign(ForeignTool { format: Format::Messages, place: "tools[2]".into(), value: json!({}) }),
    ];
    prompt.tool_choice = Some(ToolChoice::Named("mcp/List".into()));
    prompt.reasoning = Some(Reasoning { enabled: Some(true), budget: Some(4000), ..Reasoning::default() });
    prompt.max_output = Some(8192);
    prompt.user = Some("u".into());
    prompt.extra.insert("context_management".into(), json!({}));
    prompt
}

#[test]
fn an_agent_of_another_format_is_translated() {
    for model in [MODEL, FLASH, "gemini-2.0-flash"] {
        let encoded = encoded(&agent(), model);
        let sent: Value = serde_json::from_slice(&encoded.body).unwrap();
        let sent = serde_json::to_string_pretty(&sent).unwrap();
        let dropped = encoded.dropped.names().join(", ");
        insta::assert_snapshot!(format!("agent_{model}"), format!("dropped: {dropped}\n{sent}"));
    }
}

#[test]
fn results_match_their_calls_in_number_name_and_order() {
    let prompt = asking(
        Format::Chat,
        vec![
            user("go"),
            calls(vec![call("a", "f", "{}")]),
            calls(vec![call("b", "g", "[1]"), call("c", "h", "null")]),
            Turn::new(Role::Tool, vec![result("b", vec![Part::text("B"), Part::text("B2")])]),
            Turn::new(Role::System, vec![Part::text("note")]),
            Turn::new(Role::Tool, vec![result("a", vec![])]),
            Turn::new(Role::Tool, vec![result("a", vec![Part::text("again")])]),
            user("on"),
            // A reused id belongs to the new call.
            calls(vec![call("a", "f", "{\"x\":2}")]),
            Turn::new(Role::Tool, vec![result("a", vec![Part::text("A2")])]),
        ],
    );
    let contents = &body(&prompt, FLASH)["contents"];
    let answer = |id: &str, name: &str, response: Value| json!({"functionResponse": {"id": id, "name": name, "response": response}});
    assert_eq!(contents[1]["parts"][1]["functionCall"]["args"], json!({"input": "[1]"}));
    assert_eq!(contents[1]["parts"][2]["functionCall"]["args"], json!({}));
    assert_eq!(
        contents[2]["parts"],
        json!([
            answer("a", "f", json!({"result": ""})),
            answer("b", "g", json!({"result": "B\nB2"})),
            answer("c", "h", json!({"error": "This call was not answered."})),
            {"text": "note"},
            {"text": "on"},
        ])
    );
    assert_eq!(contents[4]["parts"], json!([answer("a", "f", json!({"result": "A2"}))]));
    let roles: Vec<&str> =
        contents.as_array().unwrap().iter().map(|content| content["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "model", "user", "model", "user"]);
    assert_eq!(dropped(&prompt, FLASH), ["messages[9]"]);
}

#[test]
fn a_call_that_was_left_does_not_take_the_result_of_its_namesake() {
    let prompt = asking(
        Format::Chat,
        vec![
            user("go"),
            calls(vec![call("a", "f", "{}")]),
            user("never mind"),
            calls(vec![call("a", "g", "{}")]),
            Turn::new(Role::Tool, vec![result("a", vec![Part::text("A")])]),
            calls(vec![call("z", "f", "{}")]),
        ],
    );
    let contents = &body(&prompt, FLASH)["contents"];
    let response = |content: usize| contents[content]["parts"][0]["functionResponse"]["response"].clone();
    assert_eq!(response(2), json!({"error": "This call was not answered."}));
    assert_eq!(response(4), json!({"result": "A"}));
    // The last call is still unanswered.
    assert_eq!(contents.as_array().unwrap().len(), 6);
}

#[test]
fn unsigned_calls_of_the_current_loop_get_the_placeholder() {
    let turns = vec![
        user("first"),
        calls(vec![call("a", "f", "{}")]),
        Turn::new(Role::Tool, vec![result("a", vec![])]),
        user("second"),
        calls(vec![call("b", "f", "{}"), call("c", "f", "{}")]),
        Turn::new(Role::Tool, vec![result("b", vec![]), result("c", vec![])]),
        calls(vec![call("d", "f", "{}")]),
        Turn::new(Role::Tool, vec![result("d", vec![])]),
    ];
    let mut prompt = asking(Format::Chat, turns);
    // The user's second text is in the same content as the first result.
    prompt.turns.insert(3, Turn::new(Role::Assistant, vec![Part::text("done")]));
    let signatures = |model: &str| -> Vec<Value> {
        let sent = body(&prompt, model);
        let parts = sent["contents"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|content| content["parts"].as_array().unwrap());
        parts
            .filter(|part| part.get("functionCall").is_some())
            .map(|part| part["thoughtSignature"].clone())
            .collect()
    };
    let placeholder = json!("skip_thought_signature_validator");
    assert_eq!(signatures(MODEL), [Value::Null, placeholder.clone(), Value::Null, placeholder]);
    assert_eq!(signatures(FLASH), [Value::Null, Value::Null, Value::Null, Value::Null]);
}

#[test]
fn signatures_go_back_only_to_their_model() {
    let thought = |data: &str| {
        Content::Thinking(Thinking { text: "hm".into(), opaque: Some(state(Format::Gemini, data)) })
    };
    let model = vec![
        Part::text("one"),
        thought("s1").into(),
        Part::text("two"),
        thought("s2").into(),
        Content::ToolCall(call("a", "f", "{}")).into(),
        thought("s3").into(),
    ];
    let prompt = asking(Format::Messages, vec![user("go"), Turn::new(Role::Assistant, model)]);
    let call = |signature: &str| json!({"functionCall": {"id": "a", "name": "f", "args": {}}, "thoughtSignature": signature});
    assert_eq!(
        body(&prompt, MODEL)["contents"][1]["parts"],
        json!([
            {"text": "one", "thoughtSignature": "s1"},
            {"text": "two"},
            call("s2"),
            {"text": "", "thoughtSignature": "s3"},
        ])
    );
    let other = &body(&prompt, "gemini-3-flash-preview")["contents"][1]["parts"];
    let call = call("skip_thought_signature_validator");
    assert_eq!(*other, json!([{"text": "one"}, {"text": "two"}, call]));
}

#[test]
fn thinking_settings_fit_the_model() {
    let config = |reasoning: Reasoning, model: &str| {
        let prompt = Prompt { reasoning: Some(reasoning), ..hello(Format::Messages) };
        body(&prompt, model)["generationConfig"]["thinkingConfig"].clone()
    };
    let effort = |effort| Reasoning { effort: Some(effort), ..Reasoning::default() };
    let off = || Reasoning { enabled: Some(false), ..Reasoning::default() };
    let adaptive = || Reasoning { adaptive: true, effort: Some(Effort::High), ..Reasoning::default() };
    let quiet = || Reasoning { summary: Some("none".into()), ..effort(Effort::Low) };
    let budget = |tokens| Reasoning { budget: Some(tokens), ..Reasoning::default() };
    let level = |word: &str| json!({"thinkingLevel": word, "includeThoughts": true});
    let tokens = |count: i64| json!({"thinkingBudget": count, "includeThoughts": true});
    for (reasoning, model, expected) in [
        (effort(Effort::Minimal), "gemini-3-flash-preview", level("minimal")),
        (effort(Effort::Minimal), "gemini-3-pro-preview", level("low")),
        (effort(Effort::Medium), "gemini-3-pro-preview", level("high")),
        (effort(Effort::Medium), "gemini-3.1-pro-preview", level("medium")),
        (effort(Effort::Max), "gemini-3-flash-preview", level("high")),
        (budget(3000), "gemini-3-flash-preview", level("low")),
        (adaptive(), "gemini-3-flash-preview", level("high")),
        (off(), "gemini-3-flash-preview", json!({"thinkingLevel": "minimal"})),
        (off(), "gemini-3-pro-preview", json!({"thinkingLevel": "low"})),
        (quiet(), "gemini-3-pro-preview", json!({"thinkingLevel": "low"})),
        (effort(Effort::Medium), FLASH, tokens(8192)),
        (effort(Effort::Max), FLASH, tokens(24_576)),
        (budget(3000), FLASH, tokens(3000)),
        (budget(100), "gemini-2.5-flash-lite", tokens(512)),
        (adaptive(), FLASH, tokens(-1)),
        (off(), FLASH, json!({"thinkingBudget": 0})),
        (off(), "gemini-2.5-pro", json!({"thinkingBudget": 128})),
        (off(), "gemini-2.0-flash", Value::Null),
        (effort(Effort::Low), "gemini-2.0-flash", Value::Null),
    ] {
        assert_eq!(config(reasoning.clone(), model), expected, "{reasoning:?} {model}");
    }
    let told = Prompt { reasoning: Some(effort(Effort::Low)), ..hello(Format::Chat) };
    assert_eq!(dropped(&told, "gemini-2.0-flash"), ["reasoning_effort"]);
    let untold = Prompt { reasoning: Some(off()), ..hello(Format::Chat) };
    assert!(dropped(&untold, "gemini-2.0-flash").is_empty());
}

#[test]
fn tools_are_chosen_from() {
    let tool = |name: &str| Tool::Function(FunctionTool { name: name.into(), ..FunctionTool::default() });
    let config = |choice: ToolChoice| {
        let mut prompt = hello(Format::Chat);
        prompt.tools = vec![tool("f"), tool("g h")];
        prompt.tool_choice = Some(choice);
        body(&prompt, FLASH)["toolConfig"]["functionCallingConfig"].clone()
    };
    let among = |required| ToolChoice::Among { names: vec!["f".into(), "g h".into()], required };
    assert_eq!(config(ToolChoice::Auto), json!({"mode": "AUTO"}));
    assert_eq!(config(ToolChoice::None), json!({"mode": "NONE"}));
    assert_eq!(config(ToolChoice::Required), json!({"mode": "ANY"}));
    assert_eq!(
        config(ToolChoice::Named("g h".into())),
        json!({"mode": "ANY", "allowedFunctionNames": ["g:20h"]})
    );
    assert_eq!(config(among(true)), json!({"mode": "ANY", "allowedFunctionNames": ["f", "g:20h"]}));
    assert_eq!(config(among(false)), json!({"mode": "VALIDATED", "allowedFunctionNames": ["f", "g:20h"]}));
}

#[test]
fn a_schema_is_native_unless_tools_are_beside_it() {
    let schema = json!({"type": "object", "additionalProperties": false});
    let mut prompt = hello(Format::Chat);
    let output = OutputFormat::Schema {
        name: "x".into(),
        description: None,
        schema: schema.clone(),
        strict: Some(true),
    };
    prompt.output = Some(output);
    let config = json!({"responseMimeType": "application/json", "responseJsonSchema": schema});
    assert_eq!(body(&prompt, FLASH)["generationConfig"], config);
    prompt.tools = vec![Tool::Function(FunctionTool { name: "f".into(), ..FunctionTool::default() })];
    assert_eq!(body(&prompt, MODEL)["generationConfig"], config);
    assert_eq!(encoded(&prompt, MODEL).schema_tool, None);

    let calling = |choice: Option<ToolChoice>| {
        let prompt = Prompt { tool_choice: choice, ..prompt.clone() };
        let encoded = encoded(&prompt, FLASH);
        assert_eq!(encoded.schema_tool.as_deref(), Some("json_output"));
        let sent: Value = serde_json::from_slice(&encoded.body).unwrap();
        assert_eq!(sent["generationConfig"], Value::Null);
        assert_eq!(sent["tools"][0]["functionDeclarations"][1]["parametersJsonSchema"], schema);
        sent["toolConfig"]["functionCallingConfig"].clone()
    };
    let any = |names: Value| json!({"mode": "ANY", "allowedFunctionNames": names});
    let among = |required| ToolChoice::Among { names: vec!["f".into()], required };
    assert_eq!(calling(None), json!({"mode": "ANY"}));
    assert_eq!(calling(Some(ToolChoice::Auto)), json!({"mode": "ANY"}));
    assert_eq!(calling(Some(ToolChoice::None)), any(json!(["json_output"])));
    assert_eq!(calling(Some(ToolChoice::Required)), any(json!(["f"])));
    assert_eq!(calling(Some(ToolChoice::Named("f".into()))), any(json!(["f"])));
    assert_eq!(calling(Some(among(false))), any(json!(["f", "json_output"])));
    assert_eq!(calling(Some(among(true))), any(json!(["f"])));

    let json = Prompt { output: Some(OutputFormat::Json), ..prompt.clone() };
    assert_eq!(dropped(&json, FLASH), ["response_format"]);
    assert_eq!(body(&json, MODEL)["generationConfig"], json!({"responseMimeType": "application/json"}));
}

#[test]
fn dropped_parameters_have_the_clients_names() {
    let mut prompt = hello(Format::Chat);
    prompt.stop = (0..7).map(|at| format!("s{at}")).collect();
    prompt.sampling = Sampling { seed: Some(1 << 40), temperature: Some(9.0), ..Sampling::default() };
    (prompt.choices, prompt.parallel_tools) = (3, Some(false));
    (prompt.verbosity, prompt.service_tier) = (Some("low".into()), Some("flex".into()));
    (prompt.user, prompt.metadata) = (Some("u".into()), Some(json!({})));
    prompt.extra.insert("logprobs".into(), json!(true));
    let media = |source| Media { source, media_type: None, detail: Some("high".into()), name: None };
    let near = Content::Image(media(MediaSource::Url("https://example.com/x".into())));
    let theirs = Content::Document(media(MediaSource::File("file-1".into())));
    let foreign = Content::Foreign { format: Format::Chat, value: json!({}) };
    prompt.turns[0].parts.extend([
        Part::new(near).at("messages[0].content[1]"),
        Part::new(theirs).at("messages[0].content[2]"),
        Part::new(foreign).at("messages[0].content[3]"),
    ]);
    let sent = body(&prompt, FLASH);
    assert_eq!(sent["generationConfig"]["stopSequences"], json!(["s0", "s1", "s2", "s3", "s4"]));
    assert_eq!(sent["generationConfig"]["temperature"], json!(2.0));
    let parts = json!([{"text": "hi"}, {"fileData": {"fileUri": "https://example.com/x"}}]);
    assert_eq!(sent["contents"][0]["parts"], parts);
    let field = |field: Field| field.name(Format::Chat).to_owned();
    let mut expected =
        vec!["messages[0].content[2]".to_owned(), "messages[0].content[3]".to_owned(), "logprobs".to_owned()];
    use Field::{Choices, ImageDetail, Metadata, ParallelTools, Seed, ServiceTier, Stop, User, Verbosity};
    expected.extend(
        [Choices, ImageDetail, Metadata, ParallelTools, Seed, ServiceTier, Stop, User, Verbosity].map(field),
    );
    let mut names = dropped(&prompt, FLASH);
    names.sort();
    expected.sort();
    assert_eq!(names, expected);
}

#[test]
fn instructions_are_lifted_until_the_talk_begins() {
    let turn = |role, text: &str| Turn::new(role, vec![Part::text(text)]);
    let prompt = asking(
        Format::Chat,
        vec![turn(Role::System, "a"), turn(Role::Developer, "b"), user("c"), turn(Role::System, "d")],
    );
    let sent = body(&prompt, FLASH);
    assert_eq!(sent["systemInstruction"], json!({"parts": [{"text": "a"}, {"text": "b"}]}));
    assert_eq!(sent["contents"], json!([{"role": "user", "parts": [{"text": "c"}, {"text": "d"}]}]));
    let alone = body(&asking(Format::Chat, vec![turn(Role::System, "a")]), FLASH);
    assert_eq!(alone, json!({"contents": [{"role": "user", "parts": [{"text": "a"}]}]}));
}
