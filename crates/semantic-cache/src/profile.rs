//! Profile of a text: the facts that two texts must agree on to share an answer.

mod decoration;
mod modality;
mod reader;
mod sentence;

use crate::lexicon::QuestionKind;
use modality::Modality;
use sentence::Sentence;

/// One word with a meaning of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContentWord {
    /// Canonical synonym or stem.
    pub concept: String,
    /// The word as it is written, in lower case.
    pub written: String,
    /// Written with a capital inside a sentence, or an identifier.
    pub is_name: bool,
    /// An identifier: no other spelling means the same.
    pub is_exact: bool,
    pub role: Option<Role>,
    /// Joined with the word before it by "and" or "or".
    pub is_joined: bool,
}

/// Relation in which a word stands, by the preposition before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    To,
    From,
    Than,
    By,
    In,
    Of,
    About,
    For,
    With,
    /// "Without", "except", "instead of".
    Without,
}

/// Persons and times that a text speaks of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Grammar {
    /// "I", "we" as the subject.
    pub first_person: bool,
    /// "You" as the subject.
    pub second_person: bool,
    pub my: bool,
    pub your: bool,
    pub male: bool,
    pub female: bool,
    /// "Am I".
    pub speaker_is: bool,
    /// "Are you".
    pub listener_is: bool,
    pub future: bool,
    pub past: bool,
    /// A form of "be" in the past.
    pub was: bool,
    /// A form of "be" in the present.
    pub is: bool,
    /// "Who did", "who does": asks for the object.
    pub asks_for_object: bool,
    /// A form of "do".
    pub has_do: bool,
    /// A personal pronoun follows a content word: "sue you".
    pub person_is_object: bool,
    /// "By" is in the text.
    pub is_passive: bool,
}

/// Facts about a text that the [veto](crate::veto::check) compares. Costs some microseconds for each word, so that a
/// query is profiled once and compared with several entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextProfile {
    /// Numbers in their order.
    pub(crate) numbers: Vec<String>,
    /// Whether the text has the word "one", which may be a number.
    pub(crate) has_one: bool,
    pub(crate) symbols: Vec<String>,
    /// Emoji at the end that add no meaning.
    pub(crate) decoration: Vec<String>,
    /// Two numbers as a range: "3 to 5".
    pub(crate) has_range: bool,
    pub(crate) quoted: Vec<String>,
    pub(crate) words: Vec<ContentWord>,
    pub(crate) negations: usize,
    /// The first question.
    pub(crate) question: Option<QuestionKind>,
    /// All questions, each kind once.
    pub(crate) questions: Vec<QuestionKind>,
    pub(crate) sentence: Sentence,
    pub(crate) modality: Modality,
    pub(crate) grammar: Grammar,
    /// All neighbouring words written as one, for compounds such as "sign up".
    pub(crate) compounds: Vec<String>,
}

impl TextProfile {
    pub fn new(text: &str) -> Self {
        reader::read(text)
    }

    pub(crate) fn has(&self, concept: &str) -> bool {
        self.words.iter().any(|word| word.concept == concept)
    }
}
