//! Reads the fields of a complete answer that the gateway needs without translating it.

use std::ops::Range;

use super::classify::part_bytes;
use crate::codec::Answer;
use crate::count;
use crate::json::{self, ScanError};

pub fn read_answer(body: &[u8]) -> Result<Answer, ScanError> {
    let object = json::scan(body)?;
    let error = object.value(body, "error");
    let candidates = object.value(body, "candidates").filter(|range| body[range.start] == b'[');
    if candidates.is_none() && error.is_none() && object.value(body, "promptFeedback").is_none() {
        return Err(ScanError::Syntax { at: object.close, expected: "an array 'candidates'" });
    }
    let usage = object.value(body, "usageMetadata").filter(|range| body[range.start] == b'{');
    let reports_output = usage.as_ref().is_some_and(|usage| {
        count::has_count(&body[usage.clone()], &["candidatesTokenCount", "thoughtsTokenCount"])
    });
    let content_bytes =
        candidates.filter(|_| !reports_output).map_or(0, |candidates| measure_content(body, candidates));
    let id = object.get(body, "responseId").and_then(|member| json::string_at(body, &member.value));
    Ok(Answer { id: id.map(|id| id.into_owned()), usage, content_bytes, error, object })
}

fn measure_content(body: &[u8], candidates: Range<usize>) -> usize {
    let candidates = json::scan_array(body, candidates).unwrap_or_default();
    let parts = candidates.into_iter().flat_map(|candidate| candidate_parts(body, candidate));
    parts.map(|part| part_bytes(body, part)).sum()
}

/// Positions of the parts of a candidate's content.
pub(super) fn candidate_parts(body: &[u8], candidate: Range<usize>) -> Vec<Range<usize>> {
    let content = json::scan_within(body, candidate).ok().and_then(|object| object.value(body, "content"));
    let parts = content
        .and_then(|content| json::scan_within(body, content).ok())
        .and_then(|content| content.value(body, "parts"));
    parts.and_then(|parts| json::scan_array(body, parts).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_other_documents_are_distinguished() {
        let body = br#"{"candidates":[{"content":{"parts":[{"text":"h\u00e9"},{"functionCall":{"name":"f","args":{}}}]}}],"responseId":"r"}"#;
        let answer = read_answer(body).unwrap();
        assert_eq!((answer.id.as_deref(), answer.content_bytes, answer.usage), (Some("r"), 7, None));
        let body = br#"{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":3}}"#;
        let answer = read_answer(body).unwrap();
        assert_eq!(&body[answer.usage.unwrap()], br#"{"promptTokenCount":3}"#);
        assert!(read_answer(br#"{"error":{"code":500}}"#).unwrap().error.is_some());
        assert!(read_answer(b"{}").is_err());
        assert!(read_answer(br#"{"choices":[]}"#).is_err());
    }
}
