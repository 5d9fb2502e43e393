//! Validates the contents of a Gemini request: roles, parts, calls and responses, thought signatures.

use serde_json::Value;

use super::super::memory::Memory;
use super::super::model_name::ModelName;
use super::super::rejection::{ValidationResult, decode, given, list};
use super::refuse;
use super::validate::members;

const DATA: [&str; 9] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
];

const BESIDE_DATA: [&str; 8] = [
    "thought",
    "thoughtSignature",
    "videoMetadata",
    "mediaResolution",
    "partMetadata",
    "audioTranscription",
    "mediaProcessing",
    "speechMetadata",
];

/// Accepted placeholders for the signature of another model's call.
const PASSES: [&str; 2] = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

pub(super) fn validate(request: &Value, name: &ModelName, memory: &Memory) -> ValidationResult {
    let contents = list(&request["contents"]);
    if contents.is_empty() {
        return Err(refuse("contents", "* GenerateContentRequest.contents: contents is not specified"));
    }
    for (index, content) in contents.iter().enumerate() {
        let path = format!("contents[{index}]");
        members(content, &path, &["role", "parts"])?;
        if given(content, "role").is_some_and(|role| role != "user" && role != "model") {
            return Err(refuse(&path, "Please use a valid role: user, model."));
        }
        if list(&content["parts"]).is_empty() {
            return Err(refuse(
                &path,
                format!("* GenerateContentRequest.{path}.parts: contents.parts must not be empty."),
            ));
        }
        for (place, one) in list(&content["parts"]).iter().enumerate() {
            part(one, content["role"] == "model", &format!("{path}.parts[{place}]"), memory)?;
        }
    }
    pairing(contents)?;
    if name.is_gemini_3() { signatures(contents) } else { Ok(()) }
}

fn part(part: &Value, of_model: bool, path: &str, memory: &Memory) -> ValidationResult {
    members(part, path, &[DATA.as_slice(), BESIDE_DATA.as_slice()].concat())?;
    let data: Vec<&str> = DATA.into_iter().filter(|member| part.get(*member).is_some()).collect();
    let [kind] = data.as_slice() else {
        return Err(refuse(
            path,
            format!(
                "* GenerateContentRequest.{path}.data: required oneof field 'data' must have one initialized field"
            ),
        ));
    };
    let (value, inside) = (&part[*kind], format!("{path}.{kind}"));
    match *kind {
        "text" if !value.is_string() => {
            return Err(refuse(path, format!("Invalid value at '{inside}' (TYPE_STRING), {value}")));
        }
        "inlineData" => {
            members(value, &inside, &["mimeType", "data", "displayName"])?;
            let readable = value["data"].as_str().and_then(decode).is_some();
            if !readable || !value["mimeType"].is_string() {
                return Err(refuse(
                    path,
                    format!("Invalid value at '{inside}.data' (TYPE_BYTES), Base64 decoding failed"),
                ));
            }
        }
        "fileData" => members(value, &inside, &["mimeType", "fileUri", "displayName"])?,
        "functionCall" => {
            members(value, &inside, &["id", "name", "args", "partialArgs", "willContinue"])?;
            if !of_model
                || !value["name"].is_string()
                || given(value, "args").is_some_and(|args| !args.is_object())
            {
                return Err(refuse(
                    path,
                    format!("Invalid value at '{inside}.args' (type.googleapis.com/google.protobuf.Struct)"),
                ));
            }
        }
        "functionResponse" => {
            members(value, &inside, &["id", "name", "response", "willContinue", "scheduling", "parts"])?;
            if of_model || !value["response"].is_object() {
                return Err(refuse(
                    path,
                    format!(
                        "Invalid value at '{inside}.response' (type.googleapis.com/google.protobuf.Struct)"
                    ),
                ));
            }
        }
        _ => {}
    }
    match part["thoughtSignature"].as_str() {
        Some(signature) if !PASSES.contains(&signature) && !memory.issued(signature) => {
            Err(refuse(path, "Corrupted thought signature."))
        }
        _ => Ok(()),
    }
}

fn of_kind<'v>(content: &'v Value, kind: &'static str) -> Vec<&'v Value> {
    list(&content["parts"]).iter().filter_map(|part| part.get(kind)).collect()
}

fn pairing(contents: &[Value]) -> ValidationResult {
    let mut before: Option<&Value> = None;
    let mut open: Vec<&Value> = Vec::new();
    for (index, content) in contents.iter().enumerate() {
        let path = format!("contents[{index}]");
        let (calls, responses) = (of_kind(content, "functionCall"), of_kind(content, "functionResponse"));
        if !calls.is_empty() && before.is_none_or(|before| before["role"] == "model") {
            return Err(refuse(
                &path,
                "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
            ));
        }
        if open.is_empty() && !responses.is_empty() {
            return Err(refuse(
                &path,
                "Please ensure that function response turn comes immediately after a function call turn.",
            ));
        }
        if open.len() != responses.len() {
            return Err(refuse(
                &path,
                "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
            ));
        }
        for response in responses {
            let answers = |call: &&Value| {
                let ids = (given(call, "id"), given(response, "id"));
                call["name"] == response["name"]
                    && !matches!(ids, (Some(call), Some(response)) if call != response)
            };
            let Some(found) = open.iter().position(answers) else {
                return Err(refuse(
                    &path,
                    "Please ensure that the function response names match the function calls.",
                ));
            };
            open.remove(found);
        }
        open = calls;
        before = Some(content);
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(refuse(
            "contents",
            "Please ensure that function call turn is followed by a function response turn.",
        ))
    }
}

/// Requires the signature on the first call of every step in the current turn.
fn signatures(contents: &[Value]) -> ValidationResult {
    let asks =
        |content: &Value| content["role"] != "model" && of_kind(content, "functionResponse").is_empty();
    let start = contents.iter().rposition(asks).unwrap_or(0);
    for (index, content) in contents.iter().enumerate().skip(start) {
        let first = list(&content["parts"]).iter().find(|part| part.get("functionCall").is_some());
        if let Some(part) = first.filter(|part| given(part, "thoughtSignature").is_none()) {
            let name = part["functionCall"]["name"].as_str().unwrap_or_default();
            let message = format!(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:{name}`, position {index}."
            );
            return Err(refuse(&format!("contents[{index}]"), message));
        }
    }
    Ok(())
}
