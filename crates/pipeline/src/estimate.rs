//! Counting what no provider counted for us: the prompt with a real tokenizer, the answer from its length.

use domain::usage::{Tokens, Usage};
use serde_json::Value;

/// Prompts beyond this are counted by length: an estimate is not worth a second of a core.
const TOKENIZER_LIMIT: usize = 1024 * 1024;

/// Per message, the role and the separators a chat template adds.
const MESSAGE_OVERHEAD: u64 = 4;

/// Where the dialects have what is said to the model.
const SAID: [&str; 10] = [
    "messages",
    "system",
    "instructions",
    "input",
    "contents",
    "systemInstruction",
    "system_instruction",
    "prompt",
    "query",
    "documents",
];

pub fn usage(model: &str, prompt: &[u8], content_bytes: u64) -> Usage {
    let tokens = Tokens {
        input: prompt_tokens(model, prompt),
        output: catalog::estimate_tokens_from_bytes(content_bytes),
        ..Tokens::default()
    };
    Usage { tokens, estimated: true, ..Usage::default() }
}

/// The rest of an answer: its prompt has so many bytes more, which were said before.
pub fn rest(model: &str, prompt: &[u8], repeated: u64, content_bytes: u64, bound: Option<u64>) -> Usage {
    let mut usage = usage(model, prompt, content_bytes);
    usage.tokens.input += catalog::estimate_tokens_from_bytes(repeated);
    usage.tokens.output = output(content_bytes, bound);
    usage
}

/// The tokens that so much of an answer has, no more than the call allows.
pub fn output(content_bytes: u64, bound: Option<u64>) -> u64 {
    let tokens = catalog::estimate_tokens_from_bytes(content_bytes);
    bound.map_or(tokens, |bound| tokens.min(bound))
}

pub fn prompt_tokens(model: &str, prompt: &[u8]) -> u64 {
    let body = match serde_json::from_slice::<Value>(prompt) {
        Ok(body) if prompt.len() <= TOKENIZER_LIMIT => body,
        _ => return catalog::estimate_tokens_from_bytes(prompt.len() as u64),
    };
    let mut text = String::new();
    let said = SAID.iter().filter_map(|name| body.get(*name));
    let mut messages = 0;
    for value in said {
        messages += value.as_array().map_or(1, Vec::len) as u64;
        collect(value, &mut text);
    }
    // Tool definitions are part of the prompt too, as the provider renders them.
    let tools = body.get("tools").map(Value::to_string).unwrap_or_default();
    catalog::count_tokens(model, &text) + catalog::count_tokens(model, &tools) + MESSAGE_OVERHEAD * messages
}

fn collect(value: &Value, text: &mut String) {
    match value {
        Value::String(part) if !part.starts_with("data:") => {
            text.push_str(part);
            text.push('\n');
        }
        Value::Array(parts) => parts.iter().for_each(|part| collect(part, text)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, text)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_counted_and_marked() {
        let usage = usage("gpt-4o", br#"{"messages":[{"role":"user","content":"hello world"}]}"#, 40);
        assert!(usage.estimated);
        assert_eq!(usage.tokens.output, 10);
        assert!((5..=12).contains(&usage.tokens.input), "{}", usage.tokens.input);
    }
}
