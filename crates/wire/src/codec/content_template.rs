//! Recognises stream events that differ from an earlier one only in their text.

use std::ops::Range;

use super::{Class, Seen};
use crate::json;
use crate::sse::Event;

/// Templates that are tried for one stream. Providers that change another field with every event would otherwise cost a
/// copy of each event.
const MAX_TEMPLATES: u8 = 8;

/// A content event that was classified. Another event with equal bytes around its text has the same class, so that it
/// is compared instead of classified.
#[derive(Debug, Default)]
pub struct ContentTemplate {
    raw: Box<[u8]>,
    /// Position of the data in `raw`.
    data: Range<usize>,
    /// Position of the text in `raw`.
    text: Range<usize>,
    templates: u8,
}

impl ContentTemplate {
    /// The bytes of text in an event that equals the template otherwise.
    pub fn content_bytes(&self, event: &Event) -> Option<usize> {
        let (data, start) = (event.data_range()?, self.text.start);
        // A line break inside of the text would change the data.
        let same_lines =
            data.start == self.data.start && event.raw.len() - data.end == self.raw.len() - self.data.end;
        if start == 0 || !same_lines || !event.raw.starts_with(&self.raw[..start]) {
            return None;
        }
        let (end, length) = json::string_extent(&event.raw, start)?;
        (end > start && event.raw[end..] == self.raw[self.text.end..]).then_some(length)
    }

    /// Makes an event the template, if its class does not depend on its text.
    pub fn learn(&mut self, event: &Event, seen: &Seen) {
        let (Some(text), Some(data)) = (&seen.text, event.data_range()) else { return };
        if self.templates == MAX_TEMPLATES
            || seen.class != Class::Content
            || seen.finish
            || seen.usage.is_some()
        {
            return;
        }
        self.templates += 1;
        self.raw = event.raw.as_ref().into();
        self.data = data.clone();
        self.text = data.start + text.start..data.start + text.end;
    }
}

#[cfg(test)]
mod tests;
