//! Restoring reversible placeholders from the map of the same call, in whole texts and in streams.

mod altered;

use std::sync::Arc;

use domain::json::quote;

use crate::placeholder::PlaceholderMap;
use altered::AlteredCounter;

/// The form of the text that values are written into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreTarget {
    Text,
    /// The source text of JSON: values are escaped, because placeholders stand inside of strings.
    Json,
}

/// Replaces placeholders of one call by their values. A placeholder that the model has altered stays and is counted.
pub struct Restorer {
    map: Arc<PlaceholderMap>,
    target: RestoreTarget,
    /// Text that is the start of a placeholder.
    held: String,
    restored: usize,
    altered: AlteredCounter,
}

/// A text with its placeholders restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    pub text: String,
    /// Placeholders that were replaced by their values.
    pub restored: usize,
    /// Texts that look like placeholders of this call but are none.
    pub altered: usize,
}

/// Restores the placeholders of a whole text.
pub fn restore(text: &str, map: &Arc<PlaceholderMap>, target: RestoreTarget) -> Restored {
    let mut restorer = Restorer::new(Arc::clone(map), target);
    let mut output = String::with_capacity(text.len());
    restorer.push(text, &mut output);
    restorer.finish(&mut output);
    Restored { text: output, restored: restorer.restored(), altered: restorer.altered() }
}

impl Restorer {
    pub fn new(map: Arc<PlaceholderMap>, target: RestoreTarget) -> Self {
        Self { map, target, held: String::new(), restored: 0, altered: AlteredCounter::default() }
    }

    /// Appends text and writes to the output what cannot be a part of a placeholder, or is restored.
    ///
    /// A placeholder has a bracket at its start and nowhere else but at its end, so the only text that may become one
    /// starts at the last opening bracket.
    pub fn push(&mut self, text: &str, output: &mut String) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.held.is_empty() {
                let plain = memchr::memchr(b'[', rest.as_bytes()).unwrap_or(rest.len());
                self.altered.push(&rest[..plain], &self.map);
                output.push_str(&rest[..plain]);
                rest = &rest[plain..];
            }
            let Some(next) = rest.chars().next() else { return };
            self.push_character(next, output);
            rest = &rest[next.len_utf8()..];
        }
    }

    /// Writes the held text: the text ends here.
    pub fn finish(&mut self, output: &mut String) {
        self.release(output);
        self.altered.end(&self.map);
    }

    /// Bytes that are held back.
    pub fn held_bytes(&self) -> usize {
        self.held.len()
    }

    /// Placeholders that were restored.
    pub fn restored(&self) -> usize {
        self.restored
    }

    /// Texts that look like placeholders of this call but are none.
    pub fn altered(&self) -> usize {
        self.altered.count()
    }

    fn push_character(&mut self, next: char, output: &mut String) {
        if next == '[' {
            self.release(output);
        }
        self.held.push(next);
        if let Some(value) = self.map.value(&self.held) {
            self.restored += 1;
            self.altered.end(&self.map);
            match self.target {
                RestoreTarget::Text => output.push_str(value),
                RestoreTarget::Json => output.push_str(&escaped(value)),
            }
            self.held.clear();
        } else if !self.map.has_longer(&self.held) {
            self.release(output);
        }
    }

    fn release(&mut self, output: &mut String) {
        self.altered.push(&self.held, &self.map);
        output.push_str(&self.held);
        self.held.clear();
    }
}

fn escaped(value: &str) -> String {
    let quoted = quote(value);
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests;
