//! Word tables of the veto: function words, question frames, synonyms, antonyms, units, irregular forms.
//!
//! The tables are text files beside this one. They are read once, through the same tokeniser as the texts.

use std::sync::LazyLock;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use crate::stem::stem;
use crate::tokens::{join_numbers, tokenise};

/// Kind of a question, by the word or phrase that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionKind {
    What,
    How,
    HowMany,
    Why,
    When,
    Where,
    Who,
    /// "Can", "may", "is it possible".
    Can,
    Should,
    /// "Must", "do I have to".
    Must,
    /// Any other question for yes or no.
    Whether,
}

/// Effect of a phrase on the words of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phrase {
    /// Politeness and filling: removed.
    Skip,
    Question(QuestionKind),
}

/// The tables in the form in which they are read.
pub struct Lexicon {
    function_words: HashSet<&'static str>,
    optional: HashSet<String>,
    light_verbs: HashSet<String>,
    units: HashSet<String>,
    /// Inflected form → base form.
    irregular: HashMap<&'static str, &'static str>,
    frames: PhraseTable<Phrase>,
    synonyms: PhraseTable<String>,
    antonyms: HashSet<(String, String)>,
}

/// Phrases by their first key, longest first.
type PhraseTable<T> = HashMap<String, Vec<(Vec<String>, T)>>;

/// Words that are ignored between the words of a phrase.
const DETERMINERS: [&str; 18] = [
    "a", "an", "the", "some", "any", "my", "your", "our", "their", "its", "his", "her", "this", "these",
    "those", "all", "each", "every",
];
/// Persons that stand for anyone.
const ANYONE: [&str; 6] = ["i", "you", "we", "one", "u", "someone"];

pub static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::load);

impl Lexicon {
    fn load() -> Self {
        let mut lexicon = Self {
            function_words: include_str!("lexicon/function_words.txt").split_whitespace().collect(),
            optional: HashSet::new(),
            light_verbs: HashSet::new(),
            units: HashSet::new(),
            irregular: irregular_forms(),
            frames: HashMap::new(),
            synonyms: HashMap::new(),
            antonyms: HashSet::new(),
        };
        lexicon.load_synonyms();
        lexicon.load_frames();
        lexicon.load_antonyms();
        let concepts =
            |text: &'static str| text.split_whitespace().map(|word| lexicon.concept(word)).collect();
        let light_verbs: HashSet<String> = concepts(include_str!("lexicon/light_verbs.txt"));
        let mut optional: HashSet<String> = concepts(include_str!("lexicon/optional_words.txt"));
        optional.extend(light_verbs.iter().cloned());
        let units = concepts(include_str!("lexicon/units.txt"));
        Self { optional, light_verbs, units, ..lexicon }
    }

    fn load_synonyms(&mut self) {
        for line in include_str!("lexicon/synonyms.txt").lines() {
            let members: Vec<Vec<String>> = line.split(',').map(|entry| self.keys(entry)).collect();
            let Some(canonical) = members.first().map(|keys| keys.join(" ")) else { continue };
            for keys in members.into_iter().filter(|keys| !keys.is_empty()) {
                add_phrase(&mut self.synonyms, keys, canonical.clone());
            }
        }
    }

    fn load_frames(&mut self) {
        for line in include_str!("lexicon/frames.txt").lines() {
            let Some((kind, entries)) = line.split_once(':') else { continue };
            let phrase = match kind {
                "how" => Phrase::Question(QuestionKind::How),
                "howmany" => Phrase::Question(QuestionKind::HowMany),
                "why" => Phrase::Question(QuestionKind::Why),
                "when" => Phrase::Question(QuestionKind::When),
                "where" => Phrase::Question(QuestionKind::Where),
                "who" => Phrase::Question(QuestionKind::Who),
                "what" => Phrase::Question(QuestionKind::What),
                "can" => Phrase::Question(QuestionKind::Can),
                "should" => Phrase::Question(QuestionKind::Should),
                "must" => Phrase::Question(QuestionKind::Must),
                _ => Phrase::Skip,
            };
            for entry in entries.split(',') {
                let keys = self.keys(entry);
                add_phrase(&mut self.frames, keys, phrase.clone());
            }
        }
    }

    fn load_antonyms(&mut self) {
        for line in include_str!("lexicon/antonyms.txt").lines() {
            let Some((left, right)) = line.split_once('/') else { continue };
            let concepts = |side: &str| side.split(',').map(|word| self.concept(word)).collect::<Vec<_>>();
            let (left, right) = (concepts(left), concepts(right));
            for a in &left {
                for b in &right {
                    self.antonyms.insert((a.clone(), b.clone()));
                    self.antonyms.insert((b.clone(), a.clone()));
                }
            }
        }
    }

    /// Keys of the words of a phrase.
    fn keys(&self, phrase: &str) -> Vec<String> {
        join_numbers(tokenise(phrase)).iter().filter_map(|token| self.key(&token.text)).collect()
    }

    /// Key of one word in phrases: base form, any person as "i"; `None` for a determiner.
    pub fn key(&self, word: &str) -> Option<String> {
        if DETERMINERS.contains(&word) {
            return None;
        }
        if ANYONE.contains(&word) {
            return Some("i".to_owned());
        }
        Some(self.irregular.get(word).map_or_else(|| stem(word), |base| stem(base)))
    }

    /// The concept of a word or phrase of a table: its canonical synonym, or its key.
    fn concept(&self, phrase: &str) -> String {
        let keys = self.keys(phrase);
        match self.synonym_at(&keys) {
            Some((canonical, used)) if used == keys.len() => canonical.to_owned(),
            _ => keys.join(" "),
        }
    }

    /// The longest question frame or filling that starts here, and its length.
    pub fn frame_at(&self, keys: &[String]) -> Option<(&Phrase, usize)> {
        longest(&self.frames, keys)
    }

    /// The canonical form of the longest synonym that starts here, and its length.
    pub fn synonym_at(&self, keys: &[String]) -> Option<(&str, usize)> {
        longest(&self.synonyms, keys).map(|(canonical, used)| (canonical.as_str(), used))
    }

    pub fn is_function_word(&self, word: &str) -> bool {
        self.function_words.contains(word)
    }

    /// Whether a text means the same without this concept.
    pub fn is_optional(&self, concept: &str) -> bool {
        self.optional.contains(concept)
    }

    /// Whether a concept is a verb that can be left out, and not replaced by another one of them.
    pub fn is_light_verb(&self, concept: &str) -> bool {
        self.light_verbs.contains(concept)
    }

    pub fn is_unit(&self, concept: &str) -> bool {
        self.units.contains(concept)
    }

    pub fn are_antonyms(&self, a: &str, b: &str) -> bool {
        self.antonyms.contains(&(a.to_owned(), b.to_owned()))
    }

    /// Whether a word is an irregular past form, such as "won".
    pub fn is_irregular_form(&self, word: &str) -> bool {
        self.irregular.contains_key(word)
    }
}

fn irregular_forms() -> HashMap<&'static str, &'static str> {
    let mut forms = HashMap::new();
    for line in include_str!("lexicon/irregular.txt").lines() {
        let mut words = line.split_whitespace();
        if let Some(base) = words.next() {
            forms.extend(words.map(|form| (form, base)));
        }
    }
    forms
}

fn add_phrase<T>(table: &mut PhraseTable<T>, keys: Vec<String>, value: T) {
    let Some(first) = keys.first() else { return };
    let phrases = table.entry(first.clone()).or_default();
    // The first table row that names a phrase decides about it.
    if phrases.iter().all(|(known, _)| *known != keys) {
        phrases.push((keys, value));
        phrases.sort_by_key(|(keys, _)| std::cmp::Reverse(keys.len()));
    }
}

fn longest<'a, T>(table: &'a PhraseTable<T>, keys: &[String]) -> Option<(&'a T, usize)> {
    let phrases = table.get(keys.first()?)?;
    phrases.iter().find(|(phrase, _)| keys.starts_with(phrase)).map(|(phrase, value)| (value, phrase.len()))
}
