//! Recognises stream events that differ from an earlier one only in their text.

use std::ops::Range;

use domain::json::plain_prefix;

use super::{Class, Seen};
use crate::json;
use crate::sse::Event;

/// Templates that are tried for one stream. Providers that change another field with every event would otherwise cost a
/// copy of each event.
const MAX_TEMPLATES: u8 = 8;

/// A content event that was classified. Other events with equal bytes around their text have the same class, so that
/// they are compared instead of split and classified.
#[derive(Debug, Default)]
pub struct ContentTemplate {
    raw: Box<[u8]>,
    /// Position of the text in `raw`.
    text: Range<usize>,
    templates: u8,
}

/// Consecutive events that equal the template except for their text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContentRun {
    /// Length of the events in bytes.
    pub length: usize,
    pub events: u64,
    /// Bytes of text in the events.
    pub content_bytes: usize,
}

impl ContentTemplate {
    /// The events at the start of `bytes` that equal the template except for their text. `bytes` begin with an event.
    pub fn matching_run(&self, bytes: &[u8]) -> ContentRun {
        let mut run = ContentRun::default();
        if self.text.start == 0 {
            return run;
        }
        let (before, after) = (&self.raw[..self.text.start], &self.raw[self.text.end..]);
        while let Some(text) = bytes[run.length..].strip_prefix(before)
            && let Some((end, content_bytes)) = text_extent(text)
            && text[end..].starts_with(after)
        {
            run.length += before.len() + end + after.len();
            run.events += 1;
            run.content_bytes += content_bytes;
        }
        run
    }

    /// Makes an event the template, if its class does not depend on its text.
    pub fn learn(&mut self, event: &Event, seen: &Seen) {
        let (Some(text), Some(data)) = (&seen.text, event.data_range()) else { return };
        if self.templates == MAX_TEMPLATES
            || seen.class != Class::Content
            || seen.finish
            || seen.usage.is_some()
            // A line feed certainly ends an event; after a carriage return one may follow that still belongs to it.
            || !event.raw.ends_with(b"\n")
        {
            return;
        }
        self.templates += 1;
        self.raw = event.raw.as_ref().into();
        self.text = data.start + text.start..data.start + text.end;
    }
}

/// Position of the quote after the text, and the approximate length of the text once it is unescaped; `None` for no text
/// and for text with control characters: a line break would end the data.
fn text_extent(text: &[u8]) -> Option<(usize, usize)> {
    let mut end = plain_prefix(text);
    let mut is_escaped = false;
    while *text.get(end)? == b'\\' && *text.get(end + 1)? >= b' ' {
        is_escaped = true;
        end += 2;
        end += plain_prefix(text.get(end..)?);
    }
    let content_bytes = if is_escaped { json::decoded_len(&text[..end]) } else { end };
    (end > 0 && text[end] == b'"').then_some((end, content_bytes))
}

#[cfg(test)]
mod tests;
