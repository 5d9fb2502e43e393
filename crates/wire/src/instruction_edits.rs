//! Edits of the instructions of a request, by byte range. The formats know where its instructions are.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;

use crate::json::{self, Object, ScanError};
use crate::splice::{Patch, concat};

/// Edits of one body that add or replace instructions.
pub struct InstructionEdits<'a> {
    body: &'a Bytes,
    object: &'a Object,
    /// The instructions to add.
    content: &'a str,
    patch: Patch,
}

impl<'a> InstructionEdits<'a> {
    pub fn new(body: &'a Bytes, object: &'a Object, content: &'a str) -> Self {
        Self { body, object, content, patch: Patch::new() }
    }

    /// The new body; `None` if it is the same.
    pub fn apply(self) -> Option<Bytes> {
        if self.patch.is_empty() {
            return None;
        }
        Some(concat(&self.patch.apply(self.body))).filter(|edited| edited != self.body)
    }

    /// The instructions to add as a JSON string, with quotes.
    pub fn quoted_content(&self) -> String {
        json::quote(self.content)
    }

    /// The value of a top-level member, unless it is absent or null.
    pub fn value(&self, name: &str) -> Option<Range<usize>> {
        self.object.value(self.body, name)
    }

    /// Whether the body has a top-level member, which may be null.
    pub fn has_member(&self, name: &str) -> bool {
        self.object.get(self.body, name).is_some()
    }

    pub fn is_string(&self, value: &Range<usize>) -> bool {
        self.body[value.start] == b'"'
    }

    pub fn is_array(&self, value: &Range<usize>) -> bool {
        self.body[value.start] == b'['
    }

    pub fn is_object(&self, value: &Range<usize>) -> bool {
        self.body[value.start] == b'{'
    }

    /// Whether a value is an empty string or an empty array.
    pub fn is_empty(&self, value: &Range<usize>) -> bool {
        &self.body[value.clone()] == b"\"\""
            || self.elements(value).is_some_and(|elements| elements.is_empty())
    }

    /// The object of a value; `None` if it is of another type or cannot be scanned.
    pub fn object_at(&self, value: &Range<usize>) -> Option<Object> {
        json::scan_within(self.body, value.clone()).ok()
    }

    /// The value of a member, unless it is absent or null.
    pub fn member(&self, object: &Object, name: &str) -> Option<Range<usize>> {
        object.value(self.body, name)
    }

    /// The string of a member; empty if it is absent or of another type.
    pub fn string(&self, object: &Object, name: &str) -> Cow<'a, str> {
        let value = self.member(object, name);
        value.and_then(|value| json::string_at(self.body, &value)).unwrap_or_default()
    }

    /// The elements of an array; `None` if the value is of another type.
    pub fn elements(&self, value: &Range<usize>) -> Option<Vec<Range<usize>>> {
        json::scan_array(self.body, value.clone()).ok()
    }

    /// The indexes of the elements that are messages with the role system or developer.
    pub fn instruction_messages(&self, elements: &[Range<usize>]) -> Vec<usize> {
        (0..elements.len()).filter(|index| self.is_instruction_message(&elements[*index])).collect()
    }

    /// Sets a top-level member to a JSON value.
    pub fn set_member(&mut self, name: &str, json: String) {
        match self.object.get(self.body, name) {
            Some(member) => self.patch.replace(member.value.clone(), json),
            None => self.patch.insert_member(self.object, format!("\"{name}\":{json}")),
        }
    }

    /// Removes a top-level member.
    pub fn remove_member(&mut self, name: &str) {
        if let Some(index) = self.object.position(self.body, name) {
            self.patch.remove_member(self.object, index);
        }
    }

    /// Inserts JSON text before the byte at `position`.
    pub fn insert(&mut self, position: usize, json: String) {
        self.patch.replace(position..position, json);
    }

    /// Inserts the instructions to add and a newline at the start of a string.
    pub fn prefix_string(&mut self, value: &Range<usize>) {
        let mut prefix = Vec::with_capacity(self.content.len() + 2);
        json::push_escaped(&mut prefix, self.content);
        json::push_escaped(&mut prefix, "\n");
        let start = value.start + 1;
        self.patch.replace(start..start, prefix);
    }

    /// Inserts the instructions to add before a content: into a string, or as the first part of an array. Returns
    /// whether it is one of them.
    pub fn prefix_content(&mut self, value: &Range<usize>) -> bool {
        if self.is_string(value) {
            self.prefix_string(value);
            return true;
        }
        let Some(parts) = self.elements(value) else { return false };
        let part = format!(r#"{{"type":"text","text":{}}}"#, self.quoted_content());
        self.insert_first(value, parts.len(), part);
        true
    }

    /// Inserts an element at the start of an array, of which `remaining` elements are not removed.
    pub fn insert_first(&mut self, array: &Range<usize>, remaining: usize, element: String) {
        let comma = if remaining > 0 { "," } else { "" };
        self.insert(array.start + 1, element + comma);
    }

    /// Removes elements of an array, given by their indexes in ascending order, with their commas.
    pub fn remove_elements(&mut self, elements: &[Range<usize>], removed: &[usize]) {
        let first_kept = removed.iter().zip(0..).take_while(|(index, position)| *index == position).count();
        for &index in removed {
            let element = &elements[index];
            // The comma before an element goes with it, or the one behind it before the first that is kept.
            let range = match elements.get(index + 1) {
                _ if index > first_kept => elements[index - 1].end..element.end,
                Some(next) => element.start..next.start,
                None => element.clone(),
            };
            self.patch.replace(range, Bytes::new());
        }
    }

    /// Whether an element is a message with the role system or developer. One that cannot be scanned counts as such: if
    /// the role is repeated, for example, the provider may read either value.
    fn is_instruction_message(&self, element: &Range<usize>) -> bool {
        match json::scan_within(self.body, element.clone()) {
            Ok(message) => matches!(&*self.string(&message, "role"), "system" | "developer"),
            Err(error) => error != ScanError::NotAnObject,
        }
    }
}
