//! Finds the ids of objects stored at a provider that a complete body refers to.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::{JsonFieldExtractor, MemberScope};
use crate::json::{self, KeyFilter};

/// The members that name stored objects.
const NAMES: [&str; 9] = [
    "file_id",
    "file_ids",
    "input_file_id",
    "conversation",
    "conversation_id",
    "container",
    "container_id",
    "vector_store_id",
    "vector_store_ids",
];
const MEMBERS: KeyFilter = KeyFilter::of(&NAMES);

/// Texts of which a body with a reference contains at least one. One search for all of them (`aho-corasick`) takes twice
/// as many instructions.
static MARKS: LazyLock<[Finder<'static>; 5]> = LazyLock::new(|| {
    ["file_id", "\"conversation", "\"container", "vector_store_id", "\\u00"].map(Finder::new)
});

/// The ids of stored objects that a complete body with these keys refers to. The keys, then a substring search, rule out
/// most bodies, which are then not parsed.
pub fn references_in(body: &[u8], keys: KeyFilter) -> Vec<String> {
    if !keys.may_share_key(MEMBERS) || !MARKS.iter().any(|mark| mark.find(body).is_some()) {
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

    fn found(body: &str) -> Vec<String> {
        references_in(body.as_bytes(), json::scan(body.as_bytes()).unwrap().keys)
    }

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
            assert_eq!(found(body), [expected], "{body}");
        }
        for name in NAMES {
            assert_eq!(found(&format!(r#"{{"input":[{{"{name}":"x_1"}}]}}"#)), ["x_1"], "{name}");
        }
        assert!(found(r#"{"messages":[{"content":"the conversation"}]}"#).is_empty());
    }
}
