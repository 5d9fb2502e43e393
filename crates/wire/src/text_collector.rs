//! Collects the texts of a body by their positions. The formats know the members that have them.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;

use domain::canon::Role;

use crate::json::{self, Object, ScanError};

/// A text of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPart {
    pub role: Role,
    pub kind: TextKind,
    /// The JSON value in the body; for a string, with its quotes.
    pub value: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// A string.
    Text,
    /// A string that contains a JSON document, such as the arguments of a tool call.
    JsonText,
    /// A JSON value whose strings are texts, such as the input of a tool.
    Json,
    /// A string that a signature covers, so that it cannot be edited.
    Signed,
}

/// The texts of a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BodyTexts {
    /// The texts in their order. Parts of other types, such as images, are left out.
    pub parts: Vec<TextPart>,
    /// Whether the body has parts that cannot be inspected: images, audio, files, documents that are not text, and
    /// token numbers. State that a provider encrypted for itself does not count.
    pub has_unreadable_parts: bool,
    /// A member whose name differs from a known one in its capitals alone, such as `Messages`. Some providers read it like
    /// the known one, and its texts are not among the parts.
    pub case_variant: Option<String>,
}

/// The texts of a body so far.
///
/// Arrays are visited element by element: their scanned objects would take many times their length.
pub struct TextCollector<'a> {
    body: &'a [u8],
    texts: BodyTexts,
    /// The first member whose name differs from a known one in its capitals.
    case_variant: RefCell<Option<String>>,
}

/// Adds the texts of a typed part of a content.
pub type AddPart<'a> = fn(&mut TextCollector<'a>, Role, &Object);

impl<'a> TextCollector<'a> {
    pub fn new(body: &'a [u8]) -> Self {
        Self { body, texts: BodyTexts::default(), case_variant: RefCell::default() }
    }

    pub fn finish(self) -> BodyTexts {
        BodyTexts { case_variant: self.case_variant.into_inner(), ..self.texts }
    }

    /// The number of texts so far.
    pub fn count(&self) -> usize {
        self.texts.parts.len()
    }

    /// Records that the body has a part whose content cannot be inspected.
    pub fn mark_unreadable(&mut self) {
        self.texts.has_unreadable_parts = true;
    }

    /// The value of a member, unless it is absent or null.
    pub fn member(&self, object: &Object, name: &str) -> Option<Range<usize>> {
        if let Some(variant) = object.case_variant(self.body, name) {
            self.case_variant.borrow_mut().get_or_insert(variant);
        }
        object.value(self.body, name)
    }

    /// The string of a member; empty if it is absent or of another type.
    pub fn string(&self, object: &Object, name: &str) -> Cow<'a, str> {
        let value = self.member(object, name);
        value.and_then(|value| json::string_at(self.body, &value)).unwrap_or_default()
    }

    /// Whether a member is `true`.
    pub fn is_true(&self, object: &Object, name: &str) -> bool {
        self.member(object, name).is_some_and(|value| &self.body[value] == b"true")
    }

    /// The object of a member; `None` if it is absent or of another type.
    pub fn object(&mut self, object: &Object, name: &str) -> Option<Object> {
        let value = self.member(object, name)?;
        self.object_at(value)
    }

    /// Visits the objects in the array of a member. A single object is an array of one, as Gemini's API accepts it.
    pub fn visit_objects(&mut self, object: &Object, name: &str, mut visit: impl FnMut(&mut Self, &Object)) {
        self.visit_values(object, name, |texts, value| {
            if let Some(element) = texts.object_at(value) {
                visit(texts, &element);
            }
        });
    }

    /// Visits the elements of the array that fills `range`.
    pub fn visit_array(&mut self, range: Range<usize>, mut visit: impl FnMut(&mut Self, Range<usize>)) {
        // The body is valid JSON, so that only a value of another type fails, which has no elements.
        let _ = json::visit_array(self.body, range, |element| visit(self, element));
    }

    /// Adds the text of a member. An object or array in place of a string is added as JSON, because some providers
    /// accept it; a number or boolean in place of a string is ignored.
    pub fn add(&mut self, role: Role, kind: TextKind, object: &Object, name: &str) {
        let Some(value) = self.member(object, name) else { return };
        let kind = match self.body[value.start] {
            b'"' => kind,
            b'{' | b'[' => TextKind::Json,
            _ if kind == TextKind::Json => kind,
            _ => return,
        };
        self.texts.parts.push(TextPart { role, kind, value });
    }

    /// Adds an object as JSON, whatever members it has.
    pub fn add_object(&mut self, role: Role, object: &Object) {
        let value = object.open..object.close + 1;
        self.texts.parts.push(TextPart { role, kind: TextKind::Json, value });
    }

    /// The string of a member of an object whose names the client chooses, so that none is a variant of a known one.
    pub fn free_string(&self, object: &Object, name: &str) -> Option<Cow<'a, str>> {
        object.value(self.body, name).and_then(|value| json::string_at(self.body, &value))
    }

    /// Whether an object has a member whose name differs from a known one in its capitals.
    pub fn has_case_variant(&self, object: &Object, name: &str) -> bool {
        object.case_variant(self.body, name).is_some()
    }

    /// Adds a content that is a string, a typed part or an array of them; `part` adds the texts of a part.
    pub fn add_content(&mut self, role: Role, object: &Object, name: &str, part: AddPart<'a>) {
        self.visit_values(object, name, |texts, value| texts.add_content_value(role, value, part));
    }

    /// Adds an element of a content: a string or a typed part. Other values, such as tokens, are unreadable.
    pub fn add_content_value(&mut self, role: Role, value: Range<usize>, part: AddPart<'a>) {
        match self.body[value.start] {
            b'"' => self.texts.parts.push(TextPart { role, kind: TextKind::Text, value }),
            b'{' => {
                if let Some(object) = self.object_at(value) {
                    part(self, role, &object);
                }
            }
            // A null.
            b'n' => {}
            _ => self.mark_unreadable(),
        }
    }

    /// Visits the elements of the array of a member, or its value if it is not an array.
    fn visit_values(&mut self, object: &Object, name: &str, mut visit: impl FnMut(&mut Self, Range<usize>)) {
        match self.member(object, name) {
            Some(value) if self.body[value.start] == b'[' => self.visit_array(value, visit),
            Some(value) => visit(self, value),
            None => {}
        }
    }

    /// The object of a value; `None` if it is of another type. An object that cannot be scanned is added as JSON of a
    /// user: if a key is repeated, for example, the provider may read either value.
    fn object_at(&mut self, value: Range<usize>) -> Option<Object> {
        match json::scan_within(self.body, value.clone()) {
            Ok(object) => Some(object),
            Err(ScanError::NotAnObject) => None,
            Err(_) => {
                self.texts.parts.push(TextPart { role: Role::User, kind: TextKind::Json, value });
                self.mark_unreadable();
                None
            }
        }
    }
}
