//! Stored responses: retrieval, listing, deletion, cancellation; compaction and token counting.

use serde_json::{Value, json};

use super::super::answer::Billed;
use super::super::memory::Stored;
use super::super::model_name::ModelName;
use super::super::openai::{bearer, invalid};
use super::super::rejection::{UpstreamRejection, encode};
use super::super::upstream_request::UpstreamRequest;
use super::{admit, read};

/// Handles everything below `/v1/responses/{id}`.
pub(in super::super) fn manage(
    context: &UpstreamRequest<'_>,
    method: &str,
    rest: &str,
) -> Result<Value, UpstreamRejection> {
    bearer(context)?;
    let (id, action) = rest.split_once('/').unwrap_or((rest, ""));
    let Some(mut stored) = context.memory.stored(id) else {
        let message = format!("Response with id '{id}' not found.");
        return Err(UpstreamRejection { status: 404, ..UpstreamRejection::at("id", message) });
    };
    match (method, action) {
        ("GET", "") => Ok(look(context, id, &mut stored)),
        ("GET", "input_items") => input_items(context, &stored),
        ("DELETE", "") => {
            context.memory.forget(id);
            Ok(json!({"id": id, "object": "response", "deleted": true}))
        }
        ("POST", "cancel") => cancel(context, id, stored),
        _ => Err(UpstreamRejection::new(404, format!("Invalid URL ({method} /v1/responses/{rest})"))),
    }
}

fn is_waiting(stored: &Stored) -> bool {
    stored.document["background"] == true && stored.reads < 2 && stored.document["status"] != "cancelled"
}

/// Retrieves a response. A background response is in progress at the first read and completed at the second.
fn look(context: &UpstreamRequest<'_>, id: &str, stored: &mut Stored) -> Value {
    stored.reads += 1;
    context.memory.store(id, stored.clone());
    let mut document = stored.document.clone();
    if is_waiting(stored) {
        document["status"] = json!("in_progress");
        (document["output"], document["usage"]) = (json!([]), Value::Null);
    }
    document
}

fn cancel(context: &UpstreamRequest<'_>, id: &str, mut stored: Stored) -> Result<Value, UpstreamRejection> {
    if stored.document["background"] != true {
        return Err(UpstreamRejection::new(400, "Cannot cancel a synchronous response."));
    }
    if is_waiting(&stored) {
        stored.document["status"] = json!("cancelled");
        (stored.document["output"], stored.document["usage"]) = (json!([]), Value::Null);
        context.memory.store(id, stored.clone());
    }
    Ok(stored.document)
}

fn input_items(context: &UpstreamRequest<'_>, stored: &Stored) -> Result<Value, UpstreamRejection> {
    let limit = context.parameter("limit").map_or(Ok(20), str::parse::<usize>);
    let limit = limit.ok().filter(|limit| (1..=100).contains(limit));
    let limit = limit.ok_or_else(|| invalid("limit", &json!(context.parameter("limit"))))?;
    let mut items = stored.input.clone();
    match context.parameter("order") {
        None | Some("desc") => items.reverse(),
        Some("asc") => {}
        other => return Err(invalid("order", &json!(other))),
    }
    if let Some(after) = context.parameter("after") {
        let found = items.iter().position(|item| item["id"] == after);
        items.drain(..=found.ok_or_else(|| invalid("after", &json!(after)))?);
    }
    let has_more = items.len() > limit;
    items.truncate(limit);
    let id = |item: Option<&Value>| item.map_or(Value::Null, |item| item["id"].clone());
    let (first, last) = (id(items.first()), id(items.last()));
    Ok(json!({"object": "list", "data": items, "first_id": first, "last_id": last, "has_more": has_more}))
}

pub(in super::super) fn input_tokens(
    context: &UpstreamRequest<'_>,
    request: &Value,
) -> Result<Value, UpstreamRejection> {
    bearer(context)?;
    let name = ModelName::parse(request["model"].as_str().unwrap_or_default());
    let input = admit(context, request, &name)?;
    let tokens = read(context, request, &input.items, name).prompt_tokens();
    Ok(json!({"object": "response.input_tokens", "input_tokens": tokens}))
}

/// Compacts a conversation: user messages are kept, the rest becomes one sealed item.
pub(in super::super) fn compact(
    context: &UpstreamRequest<'_>,
    request: &Value,
) -> Result<(Value, Billed), UpstreamRejection> {
    bearer(context)?;
    let name = ModelName::parse(request["model"].as_str().unwrap_or_default());
    let input = admit(context, request, &name)?;
    let tokens = read(context, request, &input.items, name).prompt_tokens();
    let seal = encode(&format!("compaction:{}", context.id));
    context.memory.seal(&seal, "");
    let is_user = |item: &&Value| item["type"] == "message" && item["role"] == "user";
    let mut output: Vec<Value> = input.items.iter().filter(is_user).cloned().collect();
    let id = format!("cmp_{}", context.id.trim_start_matches("resp_"));
    output.push(json!({"id": id, "type": "compaction", "encrypted_content": seal}));
    let usage = json!({
        "input_tokens": tokens, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": tokens + 1,
    });
    let document = json!({
        "id": context.id, "object": "response.compaction", "created_at": context.created, "output": output,
        "usage": usage,
    });
    Ok((document, Billed { prompt_tokens: tokens, ..Billed::default() }))
}
