//! Finds the ids of objects stored at a provider that a complete body refers to.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::{JsonFieldExtractor, MemberScope};
use crate::json;

/// Texts of which a body with a reference contains at least one; all of them are found in one pass.
const MARKS: [&str; 5] = ["file_id", "\"conversation", "\"container", "vector_store_id", "\\u00"];
static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(MARKS).ok());

/// The ids of stored objects that a complete body refers to. A substring search first rules out most bodies, which
/// are then not parsed.
pub fn references_in(body: &[u8]) -> Vec<String> {
    if FINDER.as_ref().is_some_and(|finder| !finder.is_match(body)) {
        return Vec::new();
    }
    let mut extractor = JsonFieldExtractor::with_references();
    let mut found = Vec::new();
    extractor.feed(body, |member| {
        if member.place == MemberScope::Within("conversation") && member.name == "id" {
            let value = member.value.unwrap_or_default();
            found.extend(json::string_at(value, &(0..value.len())).map(|id| id.into_owned()));
        }
    });
    found.extend(extractor.take_references());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_found_in_every_dialect() {
        for (body, expected) in [
            (r#"{"messages":[{"content":[{"type":"file","file":{"file_id":"file-1"}}]}]}"#, "file-1"),
            (r#"{"conversation":"conv_1"}"#, "conv_1"),
            (r#"{"conversation":{"id":"conv_2"}}"#, "conv_2"),
            (r#"{"\u0063onversation":{"id":"conv_3"}}"#, "conv_3"),
            (r#"{"container":"container_1"}"#, "container_1"),
            (r#"{"tools":[{"type":"file_search","vector_store_ids":["vs_1"]}]}"#, "vs_1"),
        ] {
            assert_eq!(references_in(body.as_bytes()), [expected], "{body}");
        }
        assert!(references_in(br#"{"messages":[{"content":"the conversation"}]}"#).is_empty());
    }
}
