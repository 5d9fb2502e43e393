//! The source text of a JSON string, by the lengths of its decoded characters.

use std::collections::VecDeque;

/// Source text in order of arrival. It is taken from the front as the decoded text is decided.
#[derive(Debug, Default)]
pub struct RawText {
    parts: VecDeque<RawPart>,
}

#[derive(Debug)]
enum RawPart {
    /// Text that stands for itself, and how much of it was taken.
    Plain(String, usize),
    /// The length of a decoded character, and its escape.
    Escape(usize, String),
}

impl RawText {
    pub fn push_plain(&mut self, text: &str) {
        match self.parts.back_mut() {
            Some(RawPart::Plain(last, _)) => last.push_str(text),
            _ => self.parts.push_back(RawPart::Plain(text.to_owned(), 0)),
        }
    }

    pub fn push_escape(&mut self, decoded_length: usize, escape: &str) {
        self.parts.push_back(RawPart::Escape(decoded_length, escape.to_owned()));
    }

    /// Takes the source of the next decoded bytes, which end with a character.
    pub fn take(&mut self, decoded_length: usize, mut visit: impl FnMut(&str)) {
        let mut missing = decoded_length;
        while missing > 0 {
            match self.parts.front_mut() {
                None => return,
                Some(RawPart::Plain(text, taken)) => {
                    let length = missing.min(text.len() - *taken);
                    visit(&text[*taken..*taken + length]);
                    *taken += length;
                    missing -= length;
                    if *taken == text.len() {
                        self.parts.pop_front();
                    }
                }
                Some(RawPart::Escape(length, escape)) => {
                    visit(escape);
                    missing = missing.saturating_sub(*length);
                    self.parts.pop_front();
                }
            }
        }
    }
}
