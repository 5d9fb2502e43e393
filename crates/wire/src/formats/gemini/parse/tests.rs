//! Tests of request parsing: accepted requests, and faults with the path of the offending value.

use bytes::Bytes;
use domain::canon::{Content, Effort, OutputFormat, Role, Tool, ToolChoice};
use serde_json::{Value, json};

use super::*;
use crate::formats::gemini::request::peek;

fn read(body: Value) -> Result<Prompt, Fault> {
    parse(&peek(Bytes::from(body.to_string()))?)
}

#[track_caller]
fn refused(body: Value, param: &str) {
    let fault = read(body.clone()).unwrap_err();
    assert_eq!((fault.status, fault.param.as_deref()), (400, Some(param)), "{body}: {fault}");
    assert!(fault.message.contains(param), "{fault}");
}

#[test]
fn bad_contents_are_refused_by_path() {
    let one = |part: Value| json!({"contents": [{"role": "user", "parts": [{"text": "a"}, part]}]});
    refused(json!({"contents": [{"role": "assistant", "parts": []}]}), "contents[0].role");
    refused(json!({"contents": [{"role": 3}]}), "contents[0].role");
    refused(json!({"contents": ["x"]}), "contents[0]");
    refused(json!({"contents": [{"parts": "x"}]}), "contents[0].parts");
    refused(one(json!({})), "contents[0].parts[1]");
    refused(one(json!({"video": 1})), "contents[0].parts[1]");
    refused(one(json!({"text": 1})), "contents[0].parts[1].text");
    refused(one(json!({"inlineData": {"data": ""}})), "contents[0].parts[1].inlineData.mimeType");
    refused(one(json!({"inline_data": {"mime_type": "image/png"}})), "contents[0].parts[1].inline_data.data");
    refused(one(json!({"fileData": {}})), "contents[0].parts[1].fileData.fileUri");
    refused(one(json!({"functionCall": {"name": "f"}})), "contents[0].parts[1]");
    let orphan = json!({"functionResponse": {"name": "f", "response": {}}});
    refused(one(orphan), "contents[0].parts[1].functionResponse");
    let large = "A".repeat(28 << 20);
    let large = one(json!({"inlineData": {"mimeType": "image/png", "data": large}}));
    assert_eq!(read(large).unwrap_err().param.as_deref(), Some("contents[0].parts[1].inlineData.data"));
    refused(
        json!({"contents": [{}], "systemInstruction": {"parts": [{}]}}),
        "systemInstruction.parts[0].text",
    );
}

#[test]
fn bad_settings_are_refused_by_path() {
    let with = |config: Value| json!({"contents": [{}], "generationConfig": config});
    refused(with(json!({"temperature": 3})), "generationConfig.temperature");
    refused(with(json!({"topK": 0.5})), "generationConfig.topK");
    refused(with(json!({"stopSequences": "x"})), "generationConfig.stopSequences");
    refused(
        with(json!({"thinkingConfig": {"thinkingLevel": "huge"}})),
        "generationConfig.thinkingConfig.thinkingLevel",
    );
    refused(
        with(json!({"thinkingConfig": {"thinkingBudget": -2}})),
        "generationConfig.thinkingConfig.thinkingBudget",
    );
    refused(
        with(json!({"responseMimeType": "application/json", "responseSchema": 1})),
        "generationConfig.responseSchema",
    );
    let mode = json!({"functionCallingConfig": {"mode": "SOME"}});
    refused(json!({"contents": [{}], "toolConfig": mode}), "toolConfig.functionCallingConfig.mode");
    let tools = json!([{"functionDeclarations": [{"description": "x"}]}]);
    refused(json!({"contents": [{}], "tools": tools}), "tools[0].functionDeclarations[0].name");
}

#[test]
fn calls_without_ids_pair_by_name_in_order() {
    let call = |name: &str| json!({"functionCall": {"name": name, "args": {}}});
    let answer = |name: &str, said: &str| json!({"functionResponse": {"id": "own", "name": name, "response": {"output": said}}});
    let prompt = read(json!({"contents": [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [call("f"), call("g"), call("f")]},
        {"role": "function", "parts": [answer("f", "1"), answer("f", "2"), answer("g", "3"), {"text": "on"}]},
    ]}))
    .unwrap();
    let roles: Vec<Role> = prompt.turns.iter().map(|turn| turn.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::User]);
    let results: Vec<(&str, &str)> = prompt.turns[2]
        .parts
        .iter()
        .map(|part| match &part.content {
            Content::ToolResult(result) => (result.call_id.as_str(), result.parts[0].as_text().unwrap()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(results, [("call_1_0", "1"), ("call_1_2", "2"), ("call_1_1", "3")]);
}

#[test]
fn a_signature_finds_its_place() {
    let prompt = read(json!({"contents": [{"role": "model", "parts": [
        {"text": "so", "thought": true}, {"text": " far", "thought": true}, {"text": "", "thought": true, "thoughtSignature": "s1"},
        {"text": "said", "thoughtSignature": "s2"},
        {"functionCall": {"name": "f", "args": {"a": 1}}, "thought_signature": "s3"},
        {"executableCode": {"code": "1"}},
    ]}]}))
    .unwrap();
    let mut seen = prompt.turns[0].parts.iter().map(|part| match &part.content {
        Content::Thinking(thinking) => {
            let opaque = thinking.opaque.as_ref().unwrap();
            format!("thinking {:?} {} {}", thinking.text, opaque.data, opaque.whole)
        }
        Content::ToolCall(call) => format!("call {} {}", call.arguments, call.opaque.as_ref().unwrap().data),
        Content::Text(text) => format!("text {text}"),
        other => format!("{other:?}"),
    });
    assert_eq!(seen.next().unwrap(), "thinking \"so far\" s1 false");
    assert_eq!(seen.next().unwrap(), "text said");
    assert_eq!(seen.next().unwrap(), "thinking \"\" s2 true");
    assert_eq!(seen.next().unwrap(), "call {\"a\":1} s3");
    assert!(seen.next().unwrap().starts_with("Foreign"));
}

#[test]
fn settings_are_read_in_both_spellings() {
    let prompt = read(json!({
        "contents": [{"parts": {"text": "x"}}],
        "system_instruction": {"parts": {"text": "be"}},
        "generation_config": {
            "top_p": 0.5, "topK": 40.0, "max_output_tokens": 12, "stop_sequences": ["a"], "seed": 3,
            "response_mime_type": "application/json",
            "response_schema": {"type": "OBJECT", "properties": {"n": {"type": "INTEGER", "nullable": true}}, "propertyOrdering": ["n"]},
            "thinking_config": {"thinking_level": "HIGH", "include_thoughts": true},
            "response_logprobs": true, "speechConfig": {},
        },
        "tools": [{"function_declarations": [{"name": "f", "parameters": {"type": "OBJECT", "properties": {"l": {"type": "ARRAY", "items": {"type": "STRING"}, "minItems": "1"}}}}]},
                  {"google_search": {}}],
        "tool_config": {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["f"]}, "retrieval_config": {"x": 1}},
        "safetySettings": [], "model": "models/x", "provider": "acme",
    }))
    .unwrap();
    assert_eq!((prompt.turns[0].role, prompt.turns[0].joined_text()), (Role::System, "be".into()));
    assert_eq!(
        (prompt.sampling.top_p, prompt.sampling.top_k, prompt.sampling.seed),
        (Some(0.5), Some(40), Some(3))
    );
    let Some(OutputFormat::Schema { schema, .. }) = &prompt.output else { panic!() };
    assert_eq!(*schema, json!({"type": "object", "properties": {"n": {"type": ["integer", "null"]}}}));
    let reasoning = prompt.reasoning.as_ref().unwrap();
    assert_eq!((reasoning.effort, reasoning.summary.as_deref()), (Some(Effort::High), Some("auto")));
    let Tool::Function(tool) = &prompt.tools[0] else { panic!() };
    let list = json!({"type": "array", "items": {"type": "string"}, "minItems": 1});
    assert_eq!(tool.parameters, Some(json!({"type": "object", "properties": {"l": list}})));
    assert!(matches!(&prompt.tools[1], Tool::Foreign(tool) if tool.place == "tools[1]"));
    assert_eq!(prompt.tool_choice, Some(ToolChoice::Named("f".into())));
    let names: Vec<&str> = prompt.extra.keys().map(String::as_str).collect();
    let expected = [
        "toolConfig.retrievalConfig",
        "generationConfig.responseLogprobs",
        "generationConfig.speechConfig",
        "safetySettings",
    ];
    assert_eq!(names, expected);
}
