//! Parses the blocks of a message.

use domain::call::Format;
use domain::canon::{
    CacheMark, Content, Media, MediaSource, Opaque, Part, Role, Thinking, ToolCall, ToolResult,
};
use domain::fault::Fault;
use serde_json::{Map, Value};

use crate::members::{Members, elements, wrong};
use crate::{embedded, tool_ids};

type Extra = Map<String, Value>;

/// Reads content, which is a string or an array of blocks.
pub(super) fn parts(content: Value, place: &str, role: Role, extra: &mut Extra) -> Result<Vec<Part>, Fault> {
    let blocks = match content {
        Value::String(text) => return Ok(vec![Part::text(text).at(place)]),
        blocks @ Value::Array(_) => elements(blocks, place)?,
        _ => return Err(wrong(place, "a string or an array of content blocks")),
    };
    let mut parts = Vec::with_capacity(blocks.len());
    for (index, value) in blocks.into_iter().enumerate() {
        parts.push(block(Members::of(value, format!("{place}[{index}]"))?, role, extra)?);
    }
    if role == Role::Assistant {
        reattach(&mut parts);
    }
    Ok(parts)
}

fn block(mut node: Members, role: Role, extra: &mut Extra) -> Result<Part, Fault> {
    let kind = match node.peek_string("type") {
        Some(kind) => kind.to_owned(),
        None => return Err(wrong(node.path("type"), allowed(role))),
    };
    let place = node.own_path().to_owned();
    if role != Role::System && is_foreign(&kind, &node) {
        let content = Content::Foreign { format: Format::Messages, value: node.into_value() };
        return Ok(Part::new(content).at(place));
    }
    node.take("type");
    let cache = cache_mark(&mut node)?;
    let content = match (kind.as_str(), role) {
        ("text", _) => Content::Text(node.required_string("text")?),
        ("image", Role::User | Role::Tool) => Content::Image(image(&mut node)?),
        ("document", Role::User | Role::Tool) => Content::Document(document(&mut node)?),
        ("tool_result", Role::User) => Content::ToolResult(result(&mut node, extra)?),
        ("thinking", Role::Assistant) => Content::Thinking(thinking(&mut node)?),
        ("redacted_thinking", Role::Assistant) => Content::Thinking(redacted(&mut node)?),
        ("tool_use", Role::Assistant) => Content::ToolCall(call(&mut node)?),
        _ => return Err(wrong(node.path("type"), allowed(role))),
    };
    node.store_rest(extra);
    Ok(Part::new(content).at(place).cached(cache))
}

fn allowed(role: Role) -> &'static str {
    match role {
        Role::System | Role::Developer => "'text'",
        Role::Assistant => "'text', 'thinking', 'redacted_thinking', 'tool_use' or a block of a server tool",
        Role::Tool => "'text', 'image', 'document' or 'search_result'",
        Role::User => "'text', 'image', 'document', 'tool_result' or 'search_result'",
    }
}

/// Whether the block type only exists at Anthropic.
fn is_foreign(kind: &str, node: &Members) -> bool {
    match kind {
        "tool_use" | "tool_result" => false,
        "search_result" | "container_upload" | "tool_reference" | "compaction" => true,
        "document" => node.peek("source").and_then(|source| source["type"].as_str()) == Some("content"),
        _ => kind.ends_with("_tool_use") || kind.ends_with("_tool_result"),
    }
}

pub(super) fn cache_mark(node: &mut Members) -> Result<Option<CacheMark>, Fault> {
    let Some(mut mark) = node.object("cache_control")? else { return Ok(None) };
    if mark.required_string("type")? != "ephemeral" {
        return Err(wrong(mark.path("type"), "'ephemeral'"));
    }
    match mark.string("ttl")?.as_deref() {
        None | Some("5m") => Ok(Some(CacheMark::FiveMinutes)),
        Some("1h") => Ok(Some(CacheMark::OneHour)),
        Some(_) => Err(wrong(mark.path("ttl"), "'5m' or '1h'")),
    }
}

fn image(node: &mut Members) -> Result<Media, Fault> {
    let mut source = Members::of(node.required("source")?, node.path("source"))?;
    let mut media =
        Media { source: MediaSource::Url(String::new()), media_type: None, detail: None, name: None };
    match source.required_string("type")?.as_str() {
        "base64" => {
            let data = source.required_string("data")?;
            embedded::check(&data, &source.path("data"))?;
            media.media_type = Some(source.required_string("media_type")?);
            media.source = MediaSource::Data(data);
        }
        "url" => media.source = MediaSource::Url(source.required_string("url")?),
        "file" => media.source = MediaSource::File(source.required_string("file_id")?),
        _ => return Err(wrong(source.path("type"), "'base64', 'url' or 'file'")),
    }
    Ok(media)
}

fn document(node: &mut Members) -> Result<Media, Fault> {
    let mut source = Members::of(node.required("source")?, node.path("source"))?;
    let kind = source.required_string("type")?;
    let media_type = source.string("media_type")?;
    let (source, media_type) = match kind.as_str() {
        "base64" => {
            let media_type = media_type.unwrap_or_else(|| "application/pdf".to_owned());
            (MediaSource::Data(source.required_string("data")?), Some(media_type))
        }
        "text" => (MediaSource::Text(source.required_string("data")?), Some("text/plain".to_owned())),
        "url" => (MediaSource::Url(source.required_string("url")?), None),
        "file" => (MediaSource::File(source.required_string("file_id")?), None),
        _ => return Err(wrong(source.path("type"), "'base64', 'text', 'url', 'file' or 'content'")),
    };
    Ok(Media { source, media_type, detail: None, name: node.string("title")? })
}

fn result(node: &mut Members, extra: &mut Extra) -> Result<ToolResult, Fault> {
    let place = node.path("content");
    let parts = match node.take("content") {
        Some(content) => parts(content, &place, Role::Tool, extra)?,
        None => Vec::new(),
    };
    let is_error = node.boolean("is_error")?.unwrap_or(false);
    let call_id = tool_ids::restore(node.required_string("tool_use_id")?);
    Ok(ToolResult { call_id, name: None, parts, is_error })
}

/// Reads opaque state. State without data was only sealed to record its origin.
fn state(text: &str) -> Option<Opaque> {
    Some(Opaque::open(text, Format::Messages)).filter(|opaque| !opaque.data.is_empty())
}

fn thinking(node: &mut Members) -> Result<Thinking, Fault> {
    let text = node.required_string("thinking")?;
    let opaque = node.string("signature")?.as_deref().and_then(state);
    Ok(Thinking { text, opaque })
}

fn redacted(node: &mut Members) -> Result<Thinking, Fault> {
    let data = node.required_string("data")?;
    let opaque = Opaque::unseal(&data).or_else(|| Some(Opaque { whole: true, ..state(&data)? }));
    Ok(Thinking { text: String::new(), opaque })
}

fn call(node: &mut Members) -> Result<ToolCall, Fault> {
    let id = tool_ids::restore(node.required_string("id")?);
    let name = node.required_string("name")?;
    let arguments = match node.required("input")? {
        input @ Value::Object(_) => input.to_string(),
        _ => return Err(wrong(node.path("input"), "an object")),
    };
    // `direct`, the common case, means that the model itself made the call.
    if let Some(caller) = node.take("caller").filter(|caller| caller["type"] != "direct") {
        node.put("caller", caller);
    }
    Ok(ToolCall { id, name, arguments, custom: false, opaque: None })
}

/// Reattaches Gemini's call state, which was rendered as a redacted thinking block right before its call.
fn reattach(parts: &mut Vec<Part>) {
    let mut index = 0;
    while index + 1 < parts.len() {
        let state = match &parts[index].content {
            Content::Thinking(Thinking { text, opaque: Some(opaque) }) if text.is_empty() => {
                Some(opaque).filter(|opaque| opaque.origin.format == Format::Gemini && !opaque.whole).cloned()
            }
            _ => None,
        };
        if let (Some(state), Content::ToolCall(call)) = (state, &mut parts[index + 1].content) {
            call.opaque = Some(state);
            parts.remove(index);
        }
        index += 1;
    }
}
