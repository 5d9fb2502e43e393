//! Direction: the same words in the opposite relation.

use std::collections::BTreeMap;

use crate::lexicon::QuestionKind;
use crate::profile::{ContentWord, Role, TextProfile};

/// Relations in which two words cannot change places.
const DIRECTED: [Role; 8] =
    [Role::To, Role::From, Role::Than, Role::By, Role::In, Role::Of, Role::About, Role::For];

/// Relations that contradict each other for the same word.
const OPPOSITE: [(Role, Role); 4] =
    [(Role::From, Role::To), (Role::From, Role::For), (Role::By, Role::About), (Role::By, Role::For)];

/// Whether two texts with the same content words relate them in opposite directions.
pub fn is_reversed(a: &TextProfile, b: &TextProfile) -> bool {
    // A distance is the same in both directions.
    if a.has("distanc") && b.has("distanc") {
        return false;
    }
    DIRECTED.iter().any(|role| is_exchanged(a, b, *role))
        || has_opposite_roles(a, b)
        || has_opposite_roles(b, a)
        || is_mirrored(a, b)
        || has_exchanged_subject(a, b)
        || has_exchanged_names(a, b)
        || has_other_relation(a, b)
        || has_other_relation(b, a)
        || asks_for_other_part(a, b)
        || asks_for_other_part(b, a)
}

fn has_role(profile: &TextProfile, concept: &str, role: Role) -> bool {
    profile.words.iter().any(|word| word.concept == concept && word.role == Some(role))
}

/// Whether a word has this role in one text, another word in the other text, and both words are in both texts.
fn is_exchanged(a: &TextProfile, b: &TextProfile, role: Role) -> bool {
    let only = |of: &TextProfile, other: &TextProfile| {
        let in_role = of.words.iter().filter(move |word| word.role == Some(role));
        in_role.filter(|w| other.has(&w.concept) && !has_role(other, &w.concept, role)).count()
    };
    only(a, b) > 0 && only(b, a) > 0
}

fn has_opposite_roles(a: &TextProfile, b: &TextProfile) -> bool {
    OPPOSITE.iter().any(|(one, other)| {
        let contradicts = |word: &&ContentWord| {
            word.role == Some(*one)
                && has_role(b, &word.concept, *other)
                && !has_role(b, &word.concept, *one)
                && !has_role(a, &word.concept, *other)
        };
        a.words.iter().any(|word| contradicts(&word))
    })
}

/// Whether two words changed places around a third: "A beats B" and "B beats A".
fn is_mirrored(a: &TextProfile, b: &TextProfile) -> bool {
    let (in_a, in_b) = (positions(a), positions(b));
    a.words.iter().any(|pivot| {
        let (Some(at_a), Some(at_b)) = (in_a.get(pivot.concept.as_str()), in_b.get(pivot.concept.as_str()))
        else {
            return false;
        };
        // "A and B" is "B and A".
        if is_joined(a, *at_a) || is_joined(b, *at_b) {
            return false;
        }
        let crossed = |from_left: bool| {
            in_a.iter().any(|(concept, position)| {
                let in_other =
                    in_b.get(concept).filter(|_| !a.numbers.iter().any(|number| number == concept));
                in_other.is_some_and(|other| {
                    if from_left { position < at_a && other > at_b } else { position > at_a && other < at_b }
                })
            })
        };
        crossed(true) && crossed(false)
    })
}

fn is_joined(profile: &TextProfile, at: usize) -> bool {
    profile.words.iter().skip(at).take(2).any(|word| word.is_joined)
}

/// Position of the first occurrence of each concept.
fn positions(profile: &TextProfile) -> BTreeMap<&str, usize> {
    let words = profile.words.iter().enumerate().rev();
    words.map(|(at, word)| (word.concept.as_str(), at)).collect()
}

/// Whether subject and object changed places: "which cities did Rome conquer" and "which cities conquered Rome", "can
/// an employer sue you" and "can you sue an employer". Neighbours change places in paraphrases, too, so that the
/// grammar has to differ as well.
fn has_exchanged_subject(a: &TextProfile, b: &TextProfile) -> bool {
    let differs =
        a.grammar.has_do != b.grammar.has_do || a.grammar.person_is_object != b.grammar.person_is_object;
    // Neighbours without a preposition that are not part of "A and B".
    let free = |profile: &TextProfile| -> Vec<(String, String)> {
        let pairs = profile.words.windows(2).enumerate();
        let is_free = |at: usize, pair: &[ContentWord]| {
            pair.iter().all(|word| word.role.is_none())
                && !is_joined(profile, at)
                && !is_joined(profile, at + 1)
        };
        let chosen = pairs.filter(|(at, pair)| is_free(*at, pair));
        chosen.map(|(_, pair)| (pair[0].concept.clone(), pair[1].concept.clone())).collect()
    };
    let swapped = |(x, y): (String, String)| free(b).contains(&(y, x));
    differs && !a.grammar.is_passive && !b.grammar.is_passive && free(a).into_iter().any(swapped)
}

/// Whether two names that follow each other changed places: "flights Rome Paris".
fn has_exchanged_names(a: &TextProfile, b: &TextProfile) -> bool {
    let neighbours = |profile: &TextProfile| -> Vec<(String, String)> {
        let names = |pair: &&[ContentWord]| {
            pair.iter().all(|word| word.is_name) && pair[0].role == pair[1].role && !pair[1].is_joined
        };
        let pairs = profile.words.windows(2).filter(names);
        pairs.map(|pair| (pair[0].concept.clone(), pair[1].concept.clone())).collect()
    };
    let exchanged = neighbours(b);
    neighbours(a).into_iter().any(|(x, y)| x != y && exchanged.contains(&(y, x)))
}

/// Relations of a name that contradict each other: "work for Acme", "work with Acme".
const OF_NAMES: [(Role, Role); 1] = [(Role::With, Role::For)];

/// Whether a name follows the same word in another relation: "work for Acme" and "work with Acme", "buy from Acme" and
/// "buy Acme".
fn has_other_relation(a: &TextProfile, b: &TextProfile) -> bool {
    let contradicts = |one: Option<Role>, other: Option<Role>| {
        (one == Some(Role::From) && other.is_none())
            || OF_NAMES.iter().any(|(x, y)| one == Some(*x) && other == Some(*y))
    };
    a.words.windows(2).filter(|pair| pair[1].is_name && pair[0].role.is_none()).any(|pair| {
        b.words.windows(2).any(|other| {
            other[0].concept == pair[0].concept
                && other[1].concept == pair[1].concept
                && contradicts(pair[1].role, other[1].role)
        })
    })
}

/// Whether both texts ask who, one of them for the object: "who was hired by Sam" and "who hired Sam".
fn asks_for_other_part(a: &TextProfile, b: &TextProfile) -> bool {
    let both_ask_who = a.question == Some(QuestionKind::Who) && b.question == a.question;
    let is_agent = |word: &ContentWord| word.role == Some(Role::By) && b.has(&word.concept);
    both_ask_who && !b.grammar.is_passive && a.words.iter().any(is_agent)
}
