//! Byte searches in a stream event that avoid parsing: its id, and whether it has choices.

use std::sync::LazyLock;

use memchr::memmem::Finder;

static ID: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"id\""));
static CHOICES: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"choices\""));

/// The upstream's response id, if this event contains one.
pub fn event_id(data: &[u8]) -> Option<String> {
    let value = value_after(data, &ID)?.strip_prefix(b"\"")?;
    let end = memchr::memchr2(b'"', b'\\', value)?;
    let id = std::str::from_utf8(&value[..end]).ok()?;
    (!id.is_empty() && id.len() <= 200 && value[end] == b'"').then(|| id.to_owned())
}

/// False if `choices` is empty, as in the first chunk of some providers.
pub fn has_choices(data: &[u8]) -> bool {
    let Some(value) = value_after(data, &CHOICES) else { return true };
    !value.strip_prefix(b"[").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"]"))
}

fn value_after<'a>(data: &'a [u8], key: &Finder<'_>) -> Option<&'a [u8]> {
    let at = key.find(data)? + key.needle().len();
    Some(data[at..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start())
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
