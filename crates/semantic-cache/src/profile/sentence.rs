//! Quantities and persons of a text, by its function words.

use crate::lexicon::LEXICON;
use crate::tokens::{Token, TokenClass};

/// Quantifiers and the parts that persons have in a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sentence {
    /// "All", "every".
    pub of_all: bool,
    /// "Some", "a few".
    pub of_some: bool,
    /// Number of times that "only" is in the text.
    pub only: usize,
    /// "I", "we".
    pub speaker_acts: bool,
    /// "Me", "us".
    pub speaker_is_object: bool,
    /// "He", "she", "they".
    pub other_acts: bool,
    /// "Him", "her", "them".
    pub other_is_object: bool,
}

impl Sentence {
    pub fn read(tokens: &[Token]) -> Self {
        let mut sentence = Self::default();
        for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.class == TokenClass::Word) {
            match token.text.as_str() {
                "all" | "every" | "each" => sentence.of_all = true,
                "some" | "few" | "several" => sentence.of_some = true,
                "only" => sentence.only += 1,
                "i" | "we" => sentence.speaker_acts = true,
                "me" => sentence.speaker_is_object = true,
                "us" if !token.is_acronym => sentence.speaker_is_object = true,
                "he" | "she" | "they" => sentence.other_acts = true,
                "him" | "them" => sentence.other_is_object = true,
                // "Her" before another content word is a possessive.
                "her" => {
                    let next = tokens.get(at + 1);
                    let is_object = next.is_none_or(|next| LEXICON.is_function_word(&next.text));
                    sentence.other_is_object |= is_object;
                }
                _ => {}
            }
        }
        sentence
    }

    /// Whether two texts speak of different quantities: all or some, only one thing or any.
    pub fn differs_in_quantity(&self, other: &Self) -> bool {
        let is_opposite = |a: &Self, b: &Self| a.of_all && !a.of_some && b.of_some && !b.of_all;
        is_opposite(self, other) || is_opposite(other, self) || self.only != other.only
    }

    /// Whether the persons changed places: "does he love me", "do I love him".
    pub fn exchanges_persons(&self, other: &Self) -> bool {
        let is_exchanged = |a: &Self, b: &Self| {
            let speaker = a.speaker_acts && !a.speaker_is_object && b.speaker_is_object && !b.speaker_acts;
            let third = a.other_is_object && !a.other_acts && b.other_acts && !b.other_is_object;
            speaker && third
        };
        is_exchanged(self, other) || is_exchanged(other, self)
    }
}
