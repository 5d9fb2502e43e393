//! The lexical veto: whether two similar texts may share an answer.
//!
//! Embeddings of "5 km in miles" and "6 km in miles", or of "with" and "without", are almost the same. The veto compares
//! what they do not show. It is one-sided: to pass is necessary and not sufficient, the cosine decides beside it.

mod content;
mod direction;
#[cfg(test)]
mod tests;

use crate::lexicon::QuestionKind;
use crate::profile::{Role, TextProfile};

/// Difference between two texts for which they do not share an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Veto {
    Number,
    Unit,
    /// All or some, only.
    Quantity,
    /// A name, an identifier, an address.
    Name,
    /// Texts between quotation marks.
    Quotation,
    /// Mathematical symbols.
    Symbol,
    Negation,
    Antonym,
    /// The kind of the question: who, when, why, whether.
    Question,
    /// The same words in the opposite relation: from A to B, from B to A.
    Direction,
    /// Mine or yours, he or she.
    Person,
    Tense,
    /// Any other word that only one of the texts has.
    Word,
}

impl Veto {
    /// Stable name, for logs and explanations.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Unit => "unit",
            Self::Quantity => "quantity",
            Self::Name => "name",
            Self::Quotation => "quotation",
            Self::Symbol => "symbol",
            Self::Negation => "negation",
            Self::Antonym => "antonym",
            Self::Question => "question",
            Self::Direction => "direction",
            Self::Person => "person",
            Self::Tense => "tense",
            Self::Word => "word",
        }
    }
}

/// Compares two texts. `Ok` if they differ in no way that the veto knows.
pub fn check(a: &TextProfile, b: &TextProfile) -> Result<(), Veto> {
    let is_vetoed = |vetoed: bool, veto: Veto| if vetoed { Err(veto) } else { Ok(()) };
    is_vetoed(!same_numbers(a, b), Veto::Number)?;
    is_vetoed(!same_symbols(a, b), Veto::Symbol)?;
    is_vetoed(!a.quoted.is_empty() && !b.quoted.is_empty() && a.quoted != b.quoted, Veto::Quotation)?;
    is_vetoed(a.negations != b.negations, Veto::Negation)?;
    is_vetoed(a.sentence.differs_in_quantity(&b.sentence) || differ_in_excess(a, b), Veto::Quantity)?;
    is_vetoed(differ_in_exclusion(a, b) || differ_in_exclusion(b, a), Veto::Negation)?;
    content::check(a, b)?;
    is_vetoed(!compatible_questions(a, b) || ask_for_different_parts(a, b), Veto::Question)?;
    is_vetoed(differ_in_modal(a, b), Veto::Question)?;
    is_vetoed(differ_in_conjunction(a, b) || a.modality.differs_in_sense(&b.modality), Veto::Word)?;
    is_vetoed(direction::is_reversed(a, b), Veto::Direction)?;
    is_vetoed(differ_in_person(a, b) || a.sentence.differs_in_persons(&b.sentence), Veto::Person)?;
    let is_anyone = a.modality.both_speak_of_anyone(&b.modality);
    is_vetoed(a.sentence.differs_in_speaker(&b.sentence) && !is_anyone, Veto::Person)?;
    is_vetoed(a.modality.differs_in_subject(&b.modality), Veto::Person)?;
    is_vetoed(differ_in_tense(a, b), Veto::Tense)
}

/// Compares two texts that are not profiled yet.
pub fn check_texts(a: &str, b: &str) -> Result<(), Veto> {
    check(&TextProfile::new(a), &TextProfile::new(b))
}

/// Numbers agree in their order. "One" may stand for 1 or be a pronoun.
fn same_numbers(a: &TextProfile, b: &TextProfile) -> bool {
    let without_one = |profile: &TextProfile| -> Vec<String> {
        profile.numbers.iter().filter(|number| *number != "1").cloned().collect()
    };
    a.numbers == b.numbers || ((a.has_one || b.has_one) && without_one(a) == without_one(b))
}

/// Symbols agree in their order. The hyphen of "3-5" is "3 to 5", and a text may have a decoration that the other lacks.
fn same_symbols(a: &TextProfile, b: &TextProfile) -> bool {
    let without_hyphens =
        |profile: &TextProfile| profile.symbols.iter().filter(|s| *s != "-").cloned().collect::<Vec<_>>();
    let is_same =
        a.symbols == b.symbols || ((a.has_range || b.has_range) && without_hyphens(a) == without_hyphens(b));
    let is_plain = a.decoration.is_empty() || b.decoration.is_empty() || a.decoration == b.decoration;
    is_same && is_plain
}

/// Whether a text excludes something that the other one has and does not exclude: "with milk, without sugar".
fn differ_in_exclusion(a: &TextProfile, b: &TextProfile) -> bool {
    let is_excluded = |profile: &TextProfile, concept: &str| {
        profile.words.iter().any(|word| word.concept == concept && word.role == Some(Role::Without))
    };
    let excluded = a.words.iter().filter(|word| word.role == Some(Role::Without));
    excluded.into_iter().any(|word| b.has(&word.concept) && !is_excluded(b, &word.concept))
}

/// Concepts about which "how" and "what" ask the same.
const HOW_OR_WHAT: [&str; 5] = ["differenc", "weather", "mean", "pronounc", "temperatur"];

/// Concepts about which "when" and "what" ask the same.
const WHEN_OR_WHAT: [&str; 4] = ["tim", "dat", "deadlin", "day"];

fn compatible_questions(a: &TextProfile, b: &TextProfile) -> bool {
    use QuestionKind::{Can, How, HowMany, What, When, Whether};
    let both_have = |concepts: &[&str]| concepts.iter().any(|concept| a.has(concept) && b.has(concept));
    let (Some(asked_a), Some(asked_b)) = (a.question, b.question) else {
        // A fragment or a command can ask for a thing, for instructions or for a number.
        return a
            .question
            .or(b.question)
            .is_none_or(|kind| matches!(kind, What | How | HowMany | Whether | Can));
    };
    match (asked_a, asked_b) {
        _ if asked_a == asked_b => true,
        (Can, Whether) | (Whether, Can) | (What, HowMany) | (HowMany, What) => true,
        (What, How) | (How, What) => both_have(&HOW_OR_WHAT),
        (What, When) | (When, What) => both_have(&WHEN_OR_WHAT),
        _ => false,
    }
}

/// Whether each of two texts asks something that the other does not: "what is it and when is it due", "what is it and
/// where is it". Words that also introduce relative clauses count only if both texts have one of their own.
fn ask_for_different_parts(a: &TextProfile, b: &TextProfile) -> bool {
    use QuestionKind::{How, HowMany, When, Where, Who, Why};
    let has_own = |of: &TextProfile, other: &TextProfile| {
        let is_part = |kind: &&QuestionKind| matches!(kind, How | HowMany | When | Where | Who | Why);
        of.questions.iter().filter(is_part).any(|kind| !other.questions.contains(kind))
    };
    a.question == b.question && has_own(a, b) && has_own(b, a)
}

fn differ_in_person(a: &TextProfile, b: &TextProfile) -> bool {
    let (a, b) = (&a.grammar, &b.grammar);
    let gender = (a.male && !a.female && b.female && !b.male) || (a.female && !a.male && b.male && !b.female);
    // "How do I reset my password" and "how do you reset your password" speak of anyone.
    let owner = (a.my && !a.your && b.your && !b.my && !(a.first_person && b.second_person))
        || (a.your && !a.my && b.my && !b.your && !(a.second_person && b.first_person));
    let identity = (a.speaker_is && b.listener_is) || (a.listener_is && b.speaker_is);
    gender || owner || identity
}

fn both_ask(a: &TextProfile, b: &TextProfile, kinds: &[QuestionKind]) -> bool {
    a.question == b.question && a.question.is_some_and(|kind| kinds.contains(&kind))
}

/// "Is it hot" and "is it too hot" ask for different things, "why is it hot" and "why is it too hot" do not.
fn differ_in_excess(a: &TextProfile, b: &TextProfile) -> bool {
    use QuestionKind::{Can, Should, Whether};
    a.modality.has_opposite_excess(&b.modality)
        || (both_ask(a, b, &[Can, Should, Whether]) && a.modality.differs_in_excess(&b.modality))
}

/// "What should I eat" and "what can I eat". "How should I" and "how can I" ask for the same.
fn differ_in_modal(a: &TextProfile, b: &TextProfile) -> bool {
    use QuestionKind::{What, When, Where, Who};
    both_ask(a, b, &[What, When, Where, Who]) && a.modality.differs_in_modal(&b.modality)
}

/// "Should I use A or B" and "should I use A and B". "Which of A and B" is "A or B".
fn differ_in_conjunction(a: &TextProfile, b: &TextProfile) -> bool {
    use QuestionKind::{Can, How, Should, Whether};
    both_ask(a, b, &[Can, How, Should, Whether]) && a.modality.differs_in_conjunction(&b.modality)
}

/// Concepts that are different every day, so that "is" and "was" ask for different things.
const CHANGING: [&str; 8] = ["cost", "rat", "weather", "temperatur", "scor", "statu", "valu", "population"];

fn differ_in_tense(a: &TextProfile, b: &TextProfile) -> bool {
    use QuestionKind::{When, Whether, Who};
    let both_ask_who = both_ask(a, b, &[Who]);
    let asks_for_event = both_ask(a, b, &[When, Whether]);
    let has_changing = CHANGING.iter().any(|concept| a.has(concept) && b.has(concept));
    let asks_for_state = both_ask_who || asks_for_event || has_changing;
    if asks_for_event && a.modality.differs_in_do(&b.modality) || a.modality.differs_in_be(&b.modality) {
        return true;
    }
    let (a, b) = (&a.grammar, &b.grammar);
    let future = (a.future && !b.future && b.past)
        || (b.future && !a.future && a.past)
        || (both_ask_who && a.future != b.future && (a.is || b.is));
    let state = asks_for_state && ((a.is && !a.was && b.was && !b.is) || (b.is && !b.was && a.was && !a.is));
    future || state || (both_ask_who && a.asks_for_object != b.asks_for_object)
}
