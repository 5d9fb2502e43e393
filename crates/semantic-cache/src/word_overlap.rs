//! Word overlap of two texts, the measure of `prompt_similarity_threshold`.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::stem::stem;
use crate::tokens::{normalise, tokenise};

/// Share of the distinct words of two texts that are in both, from 0 to 1 (the Jaccard index). Words are compared
/// without capitals and inflection. Two texts without words overlap completely.
pub fn word_overlap(a: &str, b: &str) -> f32 {
    let words = |text: &str| -> BTreeSet<String> {
        tokenise(&normalise(text)).iter().map(|token| stem(&token.text)).collect()
    };
    let (a, b) = (words(a), words(b));
    let shared = a.intersection(&b).count();
    let all = a.len() + b.len() - shared;
    if all == 0 { 1.0 } else { shared as f32 / all as f32 }
}
