//! Function words that change a question: modal verbs, conjunctions, particles, tenses and subjects.

use crate::lexicon::LEXICON;
use crate::tokens::{Token, TokenClass};

/// Facts about the function words of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Modality {
    /// "Can", "could", "may", but for "can I do".
    can: bool,
    /// "Should", but for "should I do".
    should: bool,
    /// Words on both sides of "and" and "or".
    both: Vec<(String, String)>,
    either: Vec<(String, String)>,
    /// "Too" before another word: "too hot".
    too: bool,
    /// "Too much", "too many"; "too little", "too few".
    too_much: bool,
    too_little: bool,
    still: bool,
    already: bool,
    whose: bool,
    /// "Get" and "give".
    gets: bool,
    gives: bool,
    /// "Used for", and any form of "use" or "purpose".
    used_for: bool,
    use_or_purpose: bool,
    /// The preposition behind "what is": "what is in".
    what_is_at: Option<String>,
    starts_with_what_is: bool,
    /// Words and the particles behind them: "look up".
    particles: Vec<(String, String)>,
    /// "Do", "does" and "did" before the subject of a question.
    does: bool,
    did: bool,
    /// A form of "be" before a personal pronoun: "are you", "were you".
    is_person: bool,
    was_person: bool,
    subject: Subjects,
    /// The first subject behind an auxiliary at the start.
    first_subject: String,
    /// "You" at the end or before a preposition, but not in "for you".
    listener_is_object: bool,
    speaker_is_object: bool,
    /// "About me", "from me".
    concerns_speaker: bool,
}

/// Personal pronouns that are subjects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Subjects {
    i: bool,
    you: bool,
    we: bool,
    he: bool,
    she: bool,
    they: bool,
}

const AUXILIARIES: [&str; 14] = [
    "can", "could", "may", "might", "should", "must", "do", "does", "did", "will", "would", "is", "are", "am",
];
const PARTICLES: [&str; 10] = ["up", "in", "on", "at", "into", "through", "over", "along", "across", "for"];
const PLACES: [&str; 8] = ["in", "on", "at", "with", "for", "under", "behind", "inside"];
const PRONOUNS: [&str; 7] = ["i", "you", "we", "they", "he", "she", "it"];

impl Modality {
    pub fn read(tokens: &[Token]) -> Self {
        let words: Vec<&Token> = tokens.iter().filter(|t| t.class != TokenClass::Symbol).collect();
        let at = |index: usize| words.get(index).map_or("", |token| token.text.as_str());
        let mut modality = Self::default();
        for index in 0..words.len() {
            let before = if index > 0 { at(index - 1) } else { "" };
            modality.read_modal(at(index), at(index + 2));
            modality.read_word(at(index), before, at(index + 1));
            modality.read_subject(at(index), before, at(index + 1));
        }
        if AUXILIARIES.contains(&at(0)) {
            modality.first_subject = at(1).to_owned();
        }
        modality.starts_with_what_is = at(0) == "what" && matches!(at(1), "is" | "are" | "was");
        modality.what_is_at = Some(at(2)).filter(|place| PLACES.contains(place)).map(str::to_owned);
        modality
    }

    /// "What should I do" and "what can I do" ask for the same.
    fn read_modal(&mut self, word: &str, verb: &str) {
        match word {
            "can" | "could" | "may" if verb != "do" => self.can = true,
            "should" if verb != "do" => self.should = true,
            _ => {}
        }
    }

    fn read_word(&mut self, word: &str, before: &str, next: &str) {
        let sides = || Some((key_of(before)?, key_of(next)?));
        match word {
            "and" => self.both.extend(sides()),
            "or" => self.either.extend(sides()),
            "too" => self.too |= !next.is_empty() && !LEXICON.is_function_word(next),
            "much" | "many" if before == "too" => self.too_much = true,
            "little" | "few" if before == "too" => self.too_little = true,
            "still" => self.still = true,
            "already" => self.already = true,
            "whose" => self.whose = true,
            "get" | "gets" | "getting" => self.gets = true,
            "give" | "gives" | "giving" => self.gives = true,
            "used" if next == "for" => (self.used_for, self.use_or_purpose) = (true, true),
            "use" | "uses" | "used" | "using" | "purpose" => self.use_or_purpose = true,
            _ => {}
        }
        if PARTICLES.contains(&word) {
            self.particles.extend(key_of(before).map(|verb| (verb, word.to_owned())));
        }
    }

    fn read_subject(&mut self, word: &str, before: &str, next: &str) {
        let subject = &mut self.subject;
        match word {
            "i" => subject.i = true,
            "we" => subject.we = true,
            "he" => subject.he = true,
            "she" => subject.she = true,
            "they" => subject.they = true,
            "me" => {
                self.speaker_is_object = true;
                self.concerns_speaker |= matches!(before, "about" | "from" | "of" | "with" | "at");
            }
            "you" => {
                let ends =
                    next.is_empty() || matches!(next, "with" | "to" | "from" | "in" | "on" | "at" | "for");
                let is_object = ends && before != "for" && !AUXILIARIES.contains(&before);
                self.listener_is_object |= is_object;
                subject.you |= !is_object;
            }
            "do" | "does" => self.does |= PRONOUNS.contains(&next) || !LEXICON.is_function_word(next),
            "did" => self.did = true,
            "is" | "are" | "am" => self.is_person |= PRONOUNS[..6].contains(&next),
            "was" | "were" => self.was_person |= PRONOUNS[..6].contains(&next),
            _ => {}
        }
    }

    /// Whether both texts speak of anyone, one as "I" and one as "you": "if she likes me" and "if she likes you".
    pub fn both_speak_of_anyone(&self, other: &Self) -> bool {
        let is_speaker = |text: &Self| text.subject.i && text.speaker_is_object && !text.subject.you;
        let is_listener = |text: &Self| text.subject.you && text.listener_is_object && !text.subject.i;
        (is_speaker(self) && is_listener(other)) || (is_listener(self) && is_speaker(other))
    }

    /// "What should I eat" and "what can I eat".
    pub fn differs_in_modal(&self, other: &Self) -> bool {
        let differs = |a: &Self, b: &Self| a.can && !a.should && b.should && !b.can;
        differs(self, other) || differs(other, self)
    }

    /// "Tabs or spaces" and "tabs and spaces".
    pub fn differs_in_conjunction(&self, other: &Self) -> bool {
        let joins = |list: &[(String, String)], pair: &(String, String)| {
            list.iter().any(|(x, y)| (x == &pair.0 && y == &pair.1) || (x == &pair.1 && y == &pair.0))
        };
        let differs = |a: &Self, b: &Self| a.both.iter().any(|pair| joins(&b.either, pair));
        differs(self, other) || differs(other, self)
    }

    /// "Is it hot" and "is it too hot".
    pub fn differs_in_excess(&self, other: &Self) -> bool {
        self.too != other.too
    }

    /// "Too much" and "too little".
    pub fn has_opposite_excess(&self, other: &Self) -> bool {
        let differs = |a: &Self, b: &Self| a.too_much && !a.too_little && b.too_little && !b.too_much;
        differs(self, other) || differs(other, self)
    }

    /// "Still" and "already", "give" and "get", "what is it used for" and "what is it", "what is in it" and "what is
    /// it", "look up" and "look at".
    pub fn differs_in_sense(&self, other: &Self) -> bool {
        let differs = |a: &Self, b: &Self| {
            let is_place = a.starts_with_what_is && b.starts_with_what_is && a.what_is_at != b.what_is_at;
            let has_other_particle = |(verb, particle): &(String, String)| {
                let of_b = || b.particles.iter().filter(|(other, _)| other == verb);
                particle == "up" && of_b().next().is_some() && of_b().all(|(_, other)| other != "up")
            };
            (a.still && !a.already && b.already && !b.still)
                || (a.gives && !a.gets && b.gets && !b.gives)
                || (a.used_for && !b.use_or_purpose && b.starts_with_what_is)
                || is_place
                || a.whose != b.whose
                || a.particles.iter().any(has_other_particle)
        };
        differs(self, other) || differs(other, self)
    }

    /// "Do I need it" and "did I need it".
    pub fn differs_in_do(&self, other: &Self) -> bool {
        let differs = |a: &Self, b: &Self| a.does && !a.did && b.did && !b.does;
        differs(self, other) || differs(other, self)
    }

    /// "What are you doing" and "what were you doing".
    pub fn differs_in_be(&self, other: &Self) -> bool {
        let differs = |a: &Self, b: &Self| a.is_person && !a.was_person && b.was_person && !b.is_person;
        differs(self, other) || differs(other, self)
    }

    /// "Why did he leave her" and "why did she leave him", "do you like dogs" and "do dogs like you".
    pub fn differs_in_subject(&self, other: &Self) -> bool {
        let differs = |a: &Self, b: &Self| {
            let (x, y) = (a.subject, b.subject);
            let is_third = y.he || y.she;
            let pronoun = (x.he && !x.she && y.she && !y.he)
                || (x.we && !x.they && y.they && !y.we)
                || (x.i && !x.he && !x.she && is_third && !y.i);
            let is_speaker = matches!(a.first_subject.as_str(), "i" | "we");
            let is_other = matches!(b.first_subject.as_str(), "people" | "they" | "he" | "she" | "others");
            let listener = a.first_subject == "you"
                && !a.listener_is_object
                && b.listener_is_object
                && b.first_subject != "you";
            let exchanged = a.speaker_is_object
                && !a.listener_is_object
                && b.listener_is_object
                && !b.speaker_is_object
                && y.i;
            let concerned = a.concerns_speaker && !x.i && !x.we && y.i && !b.speaker_is_object;
            pronoun || (is_speaker && is_other) || listener || exchanged || concerned
        };
        differs(self, other) || differs(other, self)
    }
}

/// The key of a word, unless it is a function word.
fn key_of(word: &str) -> Option<String> {
    if word.is_empty() || LEXICON.is_function_word(word) { None } else { LEXICON.key(word) }
}
