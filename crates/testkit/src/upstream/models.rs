//! The listed models, in each format's shape.

use serde_json::{Value, json};

pub(super) const MODELS: [&str; 43] = [
    "text",
    "long",
    "tools",
    "parallel-tools",
    "reasoning",
    "cached",
    "echo",
    "empty",
    "strict",
    "slow-200",
    "drip-20",
    "no-usage",
    "weird-usage",
    "usage-every-chunk",
    "azure-first",
    "huge-event",
    "hang",
    "hang-after-head",
    "hang-mid-stream",
    "reset-before-head",
    "reset-mid-stream",
    "cut-mid-stream",
    "eof-mid-stream",
    "error-400",
    "error-404",
    "error-429",
    "error-500",
    "error-503",
    "error-529",
    "unauthorized",
    "error-in-stream",
    "error-after-content",
    "html",
    "bad-json",
    "empty-body",
    "redacted",
    "schema",
    "stop",
    "max-tokens",
    "refusal",
    "content-filter",
    "see",
    "agent",
];

const OPENAI: [&str; 3] = ["gpt-5-mini", "gpt-4.1", "o4-mini"];
const CLAUDE: [&str; 4] = ["claude-opus-4-8", "claude-sonnet-4-5", "claude-3-5-sonnet", "claude-opus-5"];
const GEMINI: [&str; 2] = ["gemini-3-pro", "gemini-2.5-flash"];

/// Every plain name, then every family with every behaviour.
fn names(families: &[&str]) -> Vec<String> {
    let pairs = families.iter().flat_map(|family| MODELS.map(|model| format!("{family}~{model}")));
    MODELS.iter().map(ToString::to_string).chain(pairs).collect()
}

pub(super) fn openai_list() -> Value {
    let entry =
        |id: String| json!({"id": id, "object": "model", "created": 1_700_000_000, "owned_by": "scripted"});
    json!({"object": "list", "data": names(&OPENAI).into_iter().map(entry).collect::<Vec<_>>()})
}

pub(super) fn anthropic_list() -> Value {
    let names = names(&CLAUDE);
    let entry = |id: &String| json!({"type": "model", "id": id, "display_name": id, "created_at": "2025-01-01T00:00:00Z"});
    let data: Vec<Value> = names.iter().map(entry).collect();
    json!({"data": data, "has_more": false, "first_id": names.first(), "last_id": names.last()})
}

pub(super) fn gemini_list() -> Value {
    let entry = |id: String| {
        json!({
            "name": format!("models/{id}"), "version": "001", "displayName": id,
            "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        })
    };
    json!({"models": names(&GEMINI).into_iter().map(entry).collect::<Vec<_>>()})
}

pub(super) fn ollama_tags() -> Value {
    let entry = |id: String| json!({"name": id, "model": id, "modified_at": "2025-01-01T00:00:00Z", "size": 1, "digest": "0"});
    json!({"models": names(&["llama3"]).into_iter().map(entry).collect::<Vec<_>>()})
}
