//! Direction: the same words in the opposite relation.

use crate::profile::{ContentWord, Role, TextProfile};

/// Relations in which two words cannot change places.
const DIRECTED: [Role; 9] =
    [Role::To, Role::From, Role::Than, Role::By, Role::In, Role::Of, Role::About, Role::For, Role::Over];

/// Relations that contradict each other for the same word.
const OPPOSITE: [(Role, Role); 3] = [(Role::From, Role::To), (Role::By, Role::About), (Role::By, Role::For)];

/// Whether two texts with the same content words relate them in opposite directions.
pub fn is_reversed(a: &TextProfile, b: &TextProfile) -> bool {
    DIRECTED.iter().any(|role| is_exchanged(a, b, *role))
        || has_opposite_roles(a, b)
        || has_opposite_roles(b, a)
        || is_mirrored(a, b)
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
    let concepts = |profile: &TextProfile| -> Vec<String> { profile.words.iter().map(|w| w.concept.clone()).collect() };
    let (a, b) = (concepts(a), concepts(b));
    let mirrored = |x: &[String], y: &[String]| x[0] == y[2] && x[1] == y[1] && x[2] == y[0] && x[0] != x[2];
    a.windows(3).any(|x| b.windows(3).any(|y| mirrored(x, y)))
}
