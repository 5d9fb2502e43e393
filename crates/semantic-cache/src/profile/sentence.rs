//! Quantities, and the parts that persons have in a text, by its function words.

use crate::lexicon::LEXICON;
use crate::tokens::{Token, TokenClass};

/// Quantifiers and persons of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sentence {
    /// "All", "every".
    of_all: bool,
    /// "Most people".
    of_most: bool,
    /// "Some", "a few".
    of_some: bool,
    /// Number of times that "only" is in the text.
    only: usize,
    /// "Me", "us".
    speaker_is_object: bool,
    /// "Him", "her", "them".
    other_is_object: bool,
    /// "Me" behind a verb that does something to the speaker: "blocked me", and not "show me".
    speaker_is_acted_on: bool,
    /// The text starts with "can I", "did we".
    asks_for_speaker: bool,
    /// The text starts with "can my", "did our", and is not in the passive voice.
    asks_for_possession: bool,
    /// "What is my", "what is a".
    asks_for_own: bool,
    asks_for_any: bool,
    /// Verbs that the speaker does: "I cancelled", "I have to pay".
    done: Vec<String>,
    /// Verbs in the passive voice: "was cancelled", "get paid".
    suffered: Vec<String>,
    /// Means and forms: "by car", "as JSON".
    means: Vec<String>,
    /// Words behind "with", "for" and "by" in texts about a replacement: "replace A with B".
    replacements: Vec<(String, String)>,
    /// Keys of all content words, if no preposition is in the text.
    without_preposition: Vec<String>,
}

/// Verbs whose indirect object does not change a question.
const TELLING: [&str; 16] = [
    "tell", "show", "give", "help", "teach", "send", "let", "get", "remind", "explain", "lets", "tells",
    "helps", "walk", "guide", "bring",
];
const AUXILIARIES: [&str; 15] = [
    "can", "could", "may", "might", "should", "shall", "must", "do", "does", "did", "will", "would", "is",
    "are", "am",
];
/// Verbs whose object changes places with what follows "with", "for" or "by".
const REPLACING: [&str; 8] =
    ["replace", "replacing", "substitute", "substituting", "swap", "swapping", "exchange", "trade"];
/// Words between "I" and its verb.
const BEFORE_VERB: [&str; 18] = [
    "have", "had", "has", "to", "need", "want", "must", "should", "can", "could", "do", "did", "not", "just",
    "already", "ever", "also", "will",
];
/// Words before a participle in the passive voice.
const BEFORE_PARTICIPLE: [&str; 10] =
    ["was", "were", "is", "are", "been", "be", "being", "get", "got", "gets"];

/// Prepositions that may stand for "by" and "as".
const PREPOSITIONS: [&str; 11] =
    ["by", "as", "with", "using", "via", "through", "on", "in", "per", "from", "of"];

impl Sentence {
    pub fn read(tokens: &[Token]) -> Self {
        let words: Vec<&Token> = tokens.iter().filter(|token| token.class == TokenClass::Word).collect();
        let at = |index: usize| words.get(index).map_or("", |token| token.text.as_str());
        let mut sentence = Self::default();
        for (index, token) in words.iter().enumerate() {
            sentence.read_word(token, if index > 0 { at(index - 1) } else { "" }, at(index + 1));
            match token.text.as_str() {
                "i" | "we" => {
                    let verb = (index + 1..).find(|next| !BEFORE_VERB.contains(&at(*next))).map_or("", at);
                    sentence.done.extend(key_of(verb));
                }
                word if BEFORE_PARTICIPLE.contains(&word) => {
                    let verb = if at(index + 1) == "not" { at(index + 2) } else { at(index + 1) };
                    sentence.suffered.extend(key_of(verb).filter(|_| is_participle(verb)));
                }
                "by" | "as" if index > 0 && !is_participle(at(index - 1)) && at(index + 1) != "default" => {
                    sentence.means.extend(key_of(at(index + 1)));
                }
                _ => {}
            }
        }
        if words.iter().all(|token| !PREPOSITIONS.contains(&token.text.as_str())) {
            sentence.without_preposition = words.iter().filter_map(|token| key_of(&token.text)).collect();
        }
        if words.iter().any(|token| REPLACING.contains(&token.text.as_str())) {
            let pairs =
                words.windows(2).filter(|pair| matches!(pair[0].text.as_str(), "with" | "for" | "by"));
            let read = |pair: &[&Token]| Some((pair[0].text.clone(), key_of(&pair[1].text)?));
            sentence.replacements = pairs.filter_map(read).collect();
        }
        let starts_with_auxiliary = AUXILIARIES.contains(&at(0));
        sentence.asks_for_speaker = starts_with_auxiliary && matches!(at(1), "i" | "we");
        sentence.asks_for_possession =
            starts_with_auxiliary && matches!(at(1), "my" | "our") && sentence.suffered.is_empty();
        let asks_what = at(0) == "what" && matches!(at(1), "is" | "are");
        sentence.asks_for_own = asks_what && matches!(at(2), "my" | "our");
        sentence.asks_for_any = asks_what && matches!(at(2), "a" | "an");
        sentence
    }

    fn read_word(&mut self, token: &Token, before: &str, next: &str) {
        match token.text.as_str() {
            "all" | "every" | "each" => self.of_all = true,
            "some" | "few" | "several" => self.of_some = true,
            "most" => self.of_most |= next.ends_with('s') || matches!(next, "people" | "men" | "women"),
            "only" => self.only += 1,
            "me" | "us" if !token.is_acronym => {
                self.speaker_is_object = true;
                let is_verb = !before.is_empty() && !LEXICON.is_function_word(before);
                self.speaker_is_acted_on |= is_verb && !TELLING.contains(&before);
            }
            "him" | "them" => self.other_is_object = true,
            // "Her" before another content word is a possessive.
            "her" => self.other_is_object |= next.is_empty() || LEXICON.is_function_word(next),
            _ => {}
        }
    }

    /// Whether two texts speak of different quantities: all or some, only one thing or any.
    pub fn differs_in_quantity(&self, other: &Self) -> bool {
        let is_opposite = |a: &Self, b: &Self| {
            let is_part = (!a.of_some && b.of_some) || (!a.of_most && b.of_most);
            a.of_all && is_part && !b.of_all
        };
        is_opposite(self, other) || is_opposite(other, self) || self.only != other.only
    }

    /// Whether persons and means have other parts: "does he love me" and "do I love him", "ship a car" and "ship by car",
    /// "was cancelled" and "I cancelled",
    /// "can I see my employer's" and "can my employer see my", "what is my limit" and "what is a limit".
    pub fn differs_in_persons(&self, other: &Self) -> bool {
        let differs = |a: &Self, b: &Self| {
            let is_exchanged =
                a.speaker_is_object && !a.other_is_object && b.other_is_object && !b.speaker_is_object;
            let is_reversed = a.done.iter().any(|verb| b.suffered.contains(verb) && !b.done.contains(verb))
                && !a.done.iter().any(|verb| a.suffered.contains(verb));
            is_exchanged
                || is_reversed
                || a.means.iter().any(|means| b.without_preposition.contains(means))
                || a.asks_for_speaker && b.asks_for_possession
                || a.asks_for_own && b.asks_for_any
        };
        let replaces_another = |(preposition, key): &(String, String)| {
            other.replacements.iter().any(|(by, with)| by == preposition && with != key)
        };
        differs(self, other) || differs(other, self) || self.replacements.iter().any(replaces_another)
    }

    /// Whether something is done to the speaker in one text alone: "who blocked me".
    pub fn differs_in_speaker(&self, other: &Self) -> bool {
        self.speaker_is_acted_on != other.speaker_is_acted_on
    }
}

fn is_participle(word: &str) -> bool {
    word.ends_with("ed") || LEXICON.is_irregular_form(word)
}

/// The key of a word, unless it is a function word.
fn key_of(word: &str) -> Option<String> {
    if word.is_empty() || LEXICON.is_function_word(word) { None } else { LEXICON.key(word) }
}
