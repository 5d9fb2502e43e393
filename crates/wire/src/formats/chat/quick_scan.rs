//! Byte searches in a stream event that avoid parsing: its id, and whether it has choices.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::json;

static ID: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"id\""));
static CHOICES: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"choices\""));

/// The upstream's response id, if this event contains one.
pub fn event_id(data: &[u8]) -> Option<String> {
    let id = json::find_plain_string(data, &ID)?;
    (!id.is_empty() && id.len() <= 200).then(|| id.to_owned())
}

/// False if `choices` is empty, as in the first chunk of some providers.
pub fn has_choices(data: &[u8]) -> bool {
    let Some(value) = json::find_key(data, 0, &CHOICES) else { return true };
    !data[value..].strip_prefix(b"[").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_empty_choices_are_seen() {
        assert_eq!(event_id(br#"{"id": "chatcmpl-1","choices":[]}"#).as_deref(), Some("chatcmpl-1"));
        assert_eq!(event_id(br#"{"id":"","choices":[]}"#), None);
        assert!(!has_choices(br#"{"id":"","choices": [ ]}"#));
        assert!(has_choices(br#"{"choices":[{"delta":{"role":"assistant"}}]}"#));
    }
}
