//! Finds the known name that is most similar to an unknown one.

use strsim::damerau_levenshtein as distance;

pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let nearest = known.into_iter().min_by_key(|name| distance(name, word));
    nearest.filter(|name| distance(name, word) <= name.len().max(4) / 2)
}

/// The nearest name as a "Did you mean" sentence to append to a message; empty if nothing is similar.
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map(|name| format!(" Did you mean '{name}'?")).unwrap_or_default()
}
