//! The WordPiece tokenizer of uncased BERT models.

mod char_class;
#[cfg(test)]
mod tests;
mod word_splitter;

use std::collections::HashMap;

use crate::error::ModelError;
use char_class::CharClasses;
use word_splitter::WordSplitter;

/// Longer words become the unknown piece.
const MAX_WORD: usize = 100;

/// The WordPiece tokenizer of uncased BERT models.
pub struct Tokenizer {
    ids: HashMap<Box<str>, u32>,
    classes: CharClasses,
    start: u32,
    end: u32,
    unknown: u32,
}

impl Tokenizer {
    /// Builds the tokenizer from its vocabulary: one piece per line, in the order of their ids.
    pub fn new(vocabulary: &str) -> Result<Self, ModelError> {
        let ids: HashMap<Box<str>, u32> = vocabulary.lines().map(Box::from).zip(0..).collect();
        let id = |piece: &str| {
            let missing = || ModelError::new(format!("The vocabulary does not contain {piece}."));
            ids.get(piece).copied().ok_or_else(missing)
        };
        let (start, end, unknown) = (id("[CLS]")?, id("[SEP]")?, id("[UNK]")?);
        Ok(Self { ids, classes: CharClasses::new()?, start, end, unknown })
    }

    /// The first `limit` word pieces of a text. The names of special pieces are ordinary text.
    pub fn pieces(&self, text: &str, limit: usize) -> Vec<u32> {
        let mut pieces = Vec::new();
        let mut words = WordSplitter::new(text, &self.classes);
        while pieces.len() < limit
            && let Some(word) = words.next_word()
        {
            self.split_word(word, &mut pieces);
        }
        pieces.truncate(limit);
        pieces
    }

    /// Pieces between the marks of start and end.
    pub fn with_marks(&self, pieces: &[u32]) -> Vec<u32> {
        let mut marked = Vec::with_capacity(pieces.len() + 2);
        marked.push(self.start);
        marked.extend_from_slice(pieces);
        marked.push(self.end);
        marked
    }

    pub fn unknown(&self) -> u32 {
        self.unknown
    }

    /// Splits a word into the longest known pieces, from left to right. A word with an unknown part is one unknown
    /// piece.
    fn split_word(&self, word: &str, pieces: &mut Vec<u32>) {
        let before = pieces.len();
        if word.chars().count() > MAX_WORD {
            pieces.push(self.unknown);
            return;
        }
        let mut candidate = String::with_capacity(word.len() + 2);
        let mut start = 0;
        while start < word.len() {
            candidate.clear();
            if start > 0 {
                candidate.push_str("##");
            }
            let prefix = candidate.len();
            candidate.push_str(&word[start..]);
            let id = loop {
                if candidate.len() == prefix {
                    break None;
                }
                if let Some(id) = self.ids.get(candidate.as_str()) {
                    break Some(*id);
                }
                candidate.pop();
            };
            let Some(id) = id else {
                pieces.truncate(before);
                pieces.push(self.unknown);
                return;
            };
            pieces.push(id);
            start += candidate.len() - prefix;
        }
    }
}
