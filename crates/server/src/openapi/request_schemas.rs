//! Schemas of the request bodies of inference routes, as far as the gateway reads them. Other members are passed on to the
//! provider.

use serde_json::{Value, json};

/// The schema of the body at a path; `None` if its handler declares it.
pub fn find(path: &str) -> Option<Value> {
    let model =
        json!({"type": "string", "minLength": 1, "description": "A model, an alias or `provider/model`"});
    let stream = json!({"type": "boolean", "description": "Answer with server-sent events"});
    let output_bound = json!({"type": "integer", "minimum": 1});
    let object = |properties: Value, required: &[&str]| {
        Some(json!({"type": "object", "properties": properties, "required": required}))
    };
    let messages = json!({"type": "array", "minItems": 1, "items": {"type": "object"}});
    let text_or_list = json!({"type": ["string", "array"]});
    match path {
        "/v1/chat/completions" => object(
            json!({
                "model": model, "messages": messages, "stream": stream, "max_tokens": output_bound,
                "temperature": {"type": "number", "minimum": 0, "maximum": 2, "default": 1},
            }),
            &["model", "messages"],
        ),
        "/v1/messages" => object(
            json!({"model": model, "messages": messages, "stream": stream, "max_tokens": output_bound}),
            &["model", "messages", "max_tokens"],
        ),
        "/v1/messages/count_tokens" => {
            object(json!({"model": model, "messages": messages}), &["model", "messages"])
        }
        "/v1/responses" => {
            object(json!({"model": model, "input": text_or_list, "stream": stream}), &["model"])
        }
        "/v1/responses/compact" | "/v1/responses/input_tokens" => {
            object(json!({"model": model, "input": text_or_list}), &["model"])
        }
        "/v1/completions" => {
            object(json!({"model": model, "prompt": text_or_list, "stream": stream}), &["model"])
        }
        "/v1/embeddings" => object(json!({"model": model, "input": text_or_list}), &["model", "input"]),
        "/v1/rerank" => object(
            json!({"model": model, "query": {"type": "string"}, "documents": {"type": "array"}}),
            &["model", "query", "documents"],
        ),
        _ => None,
    }
}
