//! Content words that only one of two texts has.

use super::Veto;
use crate::lexicon::LEXICON;
use crate::profile::{ContentWord, TextProfile};

/// Vetoes if a content word of one text has no counterpart in the other and is not optional.
pub fn check(a: &TextProfile, b: &TextProfile) -> Result<(), Veto> {
    let mut only_a = unmatched(a, b);
    let mut only_b = unmatched(b, a);
    drop_compounds(&mut only_a, &mut only_b, a, b);
    drop_misspellings(&mut only_a, &mut only_b);
    for x in &only_a {
        if only_b.iter().any(|y| are_opposite(&x.concept, &y.concept)) {
            return Err(Veto::Antonym);
        }
    }
    // A light verb can be left out, and it cannot be replaced: "start running", "keep running".
    let has_light_verb =
        |words: &[&ContentWord]| words.iter().any(|word| LEXICON.is_light_verb(&word.concept));
    if has_light_verb(&only_a) && has_light_verb(&only_b) {
        return Err(Veto::Word);
    }
    let missing = only_a.iter().chain(&only_b).filter(|word| !LEXICON.is_optional(&word.concept));
    missing.map(|word| class(word)).min().map_or(Ok(()), Err)
}

fn are_opposite(one: &str, other: &str) -> bool {
    matches!((one, other), ("more than", "less than") | ("less than", "more than"))
        || LEXICON.are_antonyms(one, other)
}

fn class(word: &ContentWord) -> Veto {
    if LEXICON.is_unit(&word.concept) {
        Veto::Unit
    } else if word.is_name {
        Veto::Name
    } else {
        Veto::Word
    }
}

fn unmatched<'a>(of: &'a TextProfile, other: &TextProfile) -> Vec<&'a ContentWord> {
    of.words.iter().filter(|word| !other.has(&word.concept) && !of.numbers.contains(&word.concept)).collect()
}

/// "Sign up" and "signup", "e-mail" and "email" are the same.
fn drop_compounds(
    only_a: &mut Vec<&ContentWord>,
    only_b: &mut Vec<&ContentWord>,
    a: &TextProfile,
    b: &TextProfile,
) {
    let drop = |parts: &mut Vec<&ContentWord>, wholes: &mut Vec<&ContentWord>, split: &TextProfile| {
        wholes.retain(|whole| {
            let is_compound = split.compounds.contains(&whole.written);
            if is_compound {
                parts.retain(|part| !whole.written.contains(&part.written));
            }
            !is_compound
        });
    };
    drop(only_a, only_b, a);
    drop(only_b, only_a, b);
}

/// Drops pairs of long words that differ by a doubled or by two exchanged letters.
fn drop_misspellings(only_a: &mut Vec<&ContentWord>, only_b: &mut Vec<&ContentWord>) {
    only_a.retain(|x| {
        let is_same = |y: &&ContentWord| !x.is_exact && !y.is_exact && is_misspelling(&x.concept, &y.concept);
        let same = only_b.iter().position(is_same);
        same.map(|at| only_b.remove(at)).is_none()
    });
}

fn is_misspelling(a: &str, b: &str) -> bool {
    let single = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.dedup();
        letters
    };
    let (x, y) = (single(a), single(b));
    if x.len() < 7 || x.len() != y.len() {
        return false;
    }
    let differing: Vec<usize> = (0..x.len()).filter(|at| x[*at] != y[*at]).collect();
    match differing[..] {
        [] => true,
        [i, j] => j == i + 1 && x[i] == y[j] && x[j] == y[i],
        _ => false,
    }
}
