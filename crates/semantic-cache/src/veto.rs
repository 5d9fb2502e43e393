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
    is_vetoed(a.symbols != b.symbols, Veto::Symbol)?;
    is_vetoed(!a.quoted.is_empty() && !b.quoted.is_empty() && a.quoted != b.quoted, Veto::Quotation)?;
    is_vetoed(a.negations != b.negations, Veto::Negation)?;
    is_vetoed(a.sentence.differs_in_quantity(&b.sentence), Veto::Quantity)?;
    is_vetoed(differ_in_exclusion(a, b) || differ_in_exclusion(b, a), Veto::Negation)?;
    content::check(a, b)?;
    is_vetoed(!compatible_questions(a, b) || ask_for_different_parts(a, b), Veto::Question)?;
    is_vetoed(direction::is_reversed(a, b), Veto::Direction)?;
    is_vetoed(differ_in_person(a, b) || a.sentence.differs_in_persons(&b.sentence), Veto::Person)?;
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

fn differ_in_tense(a: &TextProfile, b: &TextProfile) -> bool {
    let both_ask = |kind| a.question == Some(kind) && b.question == Some(kind);
    let both_ask_who = both_ask(QuestionKind::Who);
    let asks_for_state = both_ask_who || both_ask(QuestionKind::Whether) || both_ask(QuestionKind::When);
    let (a, b) = (&a.grammar, &b.grammar);
    let future = (a.future && !b.future && b.past) || (b.future && !a.future && a.past);
    let state = asks_for_state && ((a.is && !a.was && b.was && !b.is) || (b.is && !b.was && a.was && !a.is));
    future || state || (both_ask_who && a.asks_for_object != b.asks_for_object)
}
