//! The type of an event, from its `event:` line or the `type` in its data.

use std::borrow::Cow;

use crate::json;
use crate::sse;

/// The event's type; `None` if neither is given.
pub fn of<'a>(event: &'a sse::Event, data: &'a [u8]) -> Option<Cow<'a, [u8]>> {
    match event.name() {
        Some(name) if name.starts_with(b"response.") || name == b"error" => Some(Cow::Borrowed(name)),
        named => of_data(data).or_else(|| named.map(Cow::Borrowed)),
    }
}

/// The `type` in the data, which nearly every server writes first.
pub fn of_data(data: &[u8]) -> Option<Cow<'_, [u8]>> {
    if let Some(rest) = data.strip_prefix(b"{\"type\":\"") {
        let end = memchr::memchr2(b'"', b'\\', rest)?;
        if rest[end] == b'"' {
            return Some(Cow::Borrowed(&rest[..end]));
        }
    }
    let object = json::scan(data).ok()?;
    let kind = json::string_at(data, &object.value(data, "type")?)?;
    (!kind.contains(['\n', '\r'])).then(|| Cow::Owned(kind.into_owned().into_bytes()))
}
