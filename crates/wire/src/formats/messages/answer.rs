//! Reads the fields of a complete answer that the gateway needs, and sets the model name in native answers.
//!
//! Claude Code drops the thinking blocks of turns whose `model` is not the one it requested, and Anthropic then rejects
//! the next turn. `X-Gateway-Model` names the target that served.

use std::ops::Range;
use std::sync::LazyLock;

use bytes::Bytes;
use memchr::memmem::Finder;

use crate::codec::{Answer, Served};
use crate::count;
use crate::json::{self, Object, ScanError};
use crate::splice::{self, Patch};
use crate::sse;

static START: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"message_start\""));

pub fn read_answer(body: &[u8]) -> Result<Answer, ScanError> {
    let object = json::scan(body)?;
    let content = object.value(body, "content").filter(|range| body[range.start] == b'[');
    let error = object.value(body, "error").filter(|_| content.is_none());
    if content.is_none() && error.is_none() {
        return Err(ScanError::Syntax { at: object.close, expected: "an array 'content'" });
    }
    let usage = object.value(body, "usage").filter(|range| body[range.start] == b'{');
    let reports_output =
        usage.as_ref().is_some_and(|usage| count::has_count(&body[usage.clone()], &["output_tokens"]));
    let content_bytes = content.filter(|_| !reports_output).map_or(0, |content| content_bytes(body, content));
    let id = object.get(body, "id").and_then(|member| json::string_at(body, &member.value));
    Ok(Answer { id: id.map(|id| id.into_owned()), usage, content_bytes, error, object })
}

/// Sets the model name to the requested one. The official clients parse strictly, so no members are added.
pub fn splice_answer(body: &Bytes, answer: &Answer, served: &Served<'_>) -> Vec<Bytes> {
    match rename(body, &answer.object, served.requested_model) {
        Some(patch) => patch.apply(body),
        None => vec![body.clone()],
    }
}

/// Sets the model name in the first event of a stream to the requested one; `None` for other events, or if the name is
/// already right.
pub fn reframe(event: &sse::Event, requested: &str) -> Option<Bytes> {
    let data = event.data();
    let is_start = match event.name() {
        Some(name) if !name.is_empty() && name != b"message" => name == b"message_start",
        _ => START.find(&data).is_some(),
    };
    if !is_start {
        return None;
    }
    let data = Bytes::copy_from_slice(&data);
    let object = json::scan(&data).ok()?;
    let message = json::scan_within(&data, object.value(&data, "message")?).ok()?;
    let patch = rename(&data, &message, requested)?;
    Some(event.with_data(&splice::concat(&patch.apply(&data))))
}

fn rename(body: &[u8], message: &Object, requested: &str) -> Option<Patch> {
    let mut patch = Patch::new();
    match message.get(body, "model") {
        _ if requested.is_empty() => return None,
        Some(member) if json::string_at(body, &member.value).is_some_and(|model| model == requested) => {
            return None;
        }
        Some(member) => patch.replace(member.value.clone(), json::quote(requested)),
        None => patch.insert_member(message, format!("\"model\":{}", json::quote(requested))),
    }
    Some(patch)
}

fn content_bytes(body: &[u8], content: Range<usize>) -> usize {
    let blocks = json::scan_array(body, content).unwrap_or_default();
    let of_block = |block: Range<usize>| {
        let Ok(block) = json::scan_within(body, block) else { return 0 };
        let length = |name| match block.value(body, name).map(|range| &body[range]) {
            Some([b'"', inside @ .., b'"']) => json::decoded_len(inside),
            Some(value) => value.len(),
            None => 0,
        };
        ["text", "thinking", "name", "input"].into_iter().map(length).sum()
    };
    blocks.into_iter().map(of_block).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_usage_or_an_estimate_are_read() {
        let body = br#"{"id":"msg_1","type":"message","content":[{"type":"text","text":"a\nb"}],"usage":{"input_tokens":1}}"#;
        let answer = read_answer(body).unwrap();
        assert_eq!(answer.id.as_deref(), Some("msg_1"));
        assert_eq!(&body[answer.usage.unwrap()], br#"{"input_tokens":1}"#);
        let body =
            br#"{"content":[{"type":"text","text":"abc"},{"type":"tool_use","name":"ls","input":{"a":1}}]}"#;
        assert_eq!(read_answer(body).unwrap().content_bytes, 3 + 2 + 7);
        let body = br#"{"type":"error","error":{"type":"api_error","message":"no"}}"#;
        assert!(read_answer(body).unwrap().error.is_some());
        assert!(read_answer(b"{}").is_err());
    }
}
