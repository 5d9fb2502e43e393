//! What a strict provider refuses before it spends anything.

use serde_json::{Value, json};

const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];

const KNOWN_FIELDS: [&str; 34] = [
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];

/// A refusal: the field and the message.
pub(super) struct Refusal(pub String, pub String);

pub(super) fn validate(request: &Value) -> Result<(), Refusal> {
    let refuse = |param: String, message: String| Err(Refusal(param, message));
    let Some(model) = request["model"].as_str() else {
        return refuse("model".into(), "you must provide a model parameter".into());
    };
    match request["messages"].as_array() {
        None => return refuse("messages".into(), "Missing required parameter: 'messages'.".into()),
        Some(messages) if messages.is_empty() => {
            return refuse("messages".into(), "Invalid 'messages': empty array.".into());
        }
        Some(messages) => validate_turns(messages)?,
    }
    if let Some(temperature) = request["temperature"].as_f64()
        && !(0.0..=2.0).contains(&temperature)
    {
        return refuse(
            "temperature".into(),
            format!("Invalid 'temperature': {temperature} is outside 0..2."),
        );
    }
    let fields = request.as_object().into_iter().flat_map(|object| object.keys());
    if model == "strict"
        && let Some(unknown) = fields.into_iter().find(|field| !KNOWN_FIELDS.contains(&field.as_str()))
    {
        return refuse(unknown.clone(), format!("Unrecognized request argument supplied: {unknown}"));
    }
    Ok(())
}

fn validate_turns(messages: &[Value]) -> Result<(), Refusal> {
    let mut called: Vec<&Value> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if !ROLES.contains(&role) {
            return Err(Refusal(format!("messages[{index}].role"), format!("Invalid value: '{role}'.")));
        }
        if let Some(calls) = message["tool_calls"].as_array() {
            called.extend(calls.iter().map(|call| &call["id"]));
        }
        if role == "tool" && !called.contains(&&message["tool_call_id"]) {
            return Err(Refusal(
                format!("messages[{index}].role"),
                "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
                    .into(),
            ));
        }
    }
    Ok(())
}

impl Refusal {
    pub fn body(&self) -> Vec<u8> {
        error_body(&self.1, "invalid_request_error", Some(&self.0), None)
    }
}

pub(super) fn error_body(message: &str, kind: &str, param: Option<&str>, code: Option<&str>) -> Vec<u8> {
    json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
        .to_string()
        .into_bytes()
}
