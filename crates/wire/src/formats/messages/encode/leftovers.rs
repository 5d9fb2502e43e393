//! Members without a canonical field, kept by their path and restored when the request is encoded.

use std::collections::HashMap;

use domain::call::Format;
use domain::canon::Prompt;
use serde_json::{Map, Value};

/// The members, by the path of their object.
#[derive(Default)]
pub(super) struct Leftovers<'a>(HashMap<&'a str, Vec<(&'a str, &'a Value)>>);

impl<'a> Leftovers<'a> {
    /// Collects the leftover members; only clients of this format have any.
    pub(super) fn of(prompt: &'a Prompt) -> Self {
        let mut leftovers = Self::default();
        if prompt.format == Format::Messages {
            for (name, value) in &prompt.extra {
                if let Some((path, member)) = name.rsplit_once('.') {
                    leftovers.0.entry(path).or_default().push((member, value));
                }
            }
        }
        leftovers
    }

    pub(super) fn is_nested(name: &str) -> bool {
        name.contains('.')
    }

    pub(super) fn restore(&self, path: &str, object: &mut Map<String, Value>) {
        if self.0.is_empty() {
            return;
        }
        for (member, value) in self.0.get(path).into_iter().flatten() {
            object.insert((*member).to_owned(), (*value).clone());
        }
    }
}
