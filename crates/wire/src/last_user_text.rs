//! The last turn of a conversation, if it is plain text of the user: the only part in which similar requests may differ.

#[cfg(test)]
mod tests;

use std::ops::Range;

use domain::call::{Format, Surface};
use domain::canon::Role;

use crate::codec::Request;
use crate::json::{self, Object};
use crate::request_identity::is_bound_to_form;
use crate::text_parts::{TextKind, TextPart, request_texts};

/// Members that let a model use tools, or that have a text behind the last turn.
const EXCLUDED: [&str; 4] = ["tools", "functions", "web_search_options", "prediction"];

/// The text of the last turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastUserText {
    pub text: String,
    /// The JSON string in the body, with its quotes.
    pub value: Range<usize>,
}

/// The text of the last turn; `None` if that is anything but one text of the user, or if the request has tools, tool calls
/// or results, images or other files, or asks for an answer that is more than a text.
pub fn find(surface: Surface, request: &Request) -> Option<LastUserText> {
    let Surface::Converse(format) = surface else { return None };
    let Request { body, object, .. } = request;
    let has = |name: &&str| object.value(body, name).is_some_and(|value| body[value] != *b"[]");
    if EXCLUDED.iter().any(has) || is_bound_to_form(surface, request) || !is_text_only(surface, request) {
        return None;
    }
    let value = match format {
        Format::Chat | Format::Messages => {
            let turn = last_object(body, object.value(body, "messages")?)?;
            user_text(body, &turn, "content")
        }
        Format::Responses => {
            let input = object.value(body, "input")?;
            match body[input.start] {
                b'"' => Some(input),
                _ => {
                    let item = last_object(body, input)?;
                    let is_message = matches!(&*string(body, &item, "type"), "" | "message");
                    user_text(body, &item, "content").filter(|_| is_message)
                }
            }
        }
        Format::Gemini => user_text(body, &last_object(body, object.value(body, "contents")?)?, "parts"),
    }?;
    let text = json::string_at(body, &value)?.into_owned();
    (!text.trim().is_empty()).then_some(LastUserText { text, value })
}

/// Whether all turns have texts alone.
fn is_text_only(surface: Surface, Request { body, object, .. }: &Request) -> bool {
    let texts = request_texts(surface, body, object);
    let is_text =
        |part: &TextPart| part.role != Role::Tool && matches!(part.kind, TextKind::Text | TextKind::Signed);
    !texts.has_unreadable_parts && texts.parts.iter().all(is_text)
}

/// The one text of a turn of the user, which is a string or the only element of an array.
fn user_text(body: &[u8], turn: &Object, content: &str) -> Option<Range<usize>> {
    // Gemini's API takes a content without a role for the user's.
    let is_user = match turn.value(body, "role") {
        Some(role) => json::string_at(body, &role)? == "user",
        None => content == "parts",
    };
    let value = turn.value(body, content).filter(|_| is_user)?;
    let value = match body[value.start] {
        b'"' => return Some(value),
        b'[' => {
            let mut parts = json::scan_array(body, value).ok()?;
            let part = parts.pop()?;
            parts.is_empty().then_some(part)?
        }
        _ => value,
    };
    let part = json::scan_within(body, value).ok()?;
    let is_text = matches!(&*string(body, &part, "type"), "" | "text" | "input_text");
    part.value(body, "text").filter(|text| is_text && body[text.start] == b'"')
}

/// The last element of an array, if that is an object.
fn last_object(body: &[u8], array: Range<usize>) -> Option<Object> {
    let mut last = None;
    json::visit_array(body, array, |element| last = Some(element)).ok()?;
    json::scan_within(body, last?).ok()
}

fn string(body: &[u8], object: &Object, name: &str) -> String {
    let value = object.value(body, name);
    value.and_then(|value| json::string_at(body, &value)).unwrap_or_default().into_owned()
}
