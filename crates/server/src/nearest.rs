//! The known name that looks most like one nobody knows.

use strsim::damerau_levenshtein as distance;

pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let nearest = known.into_iter().min_by_key(|name| distance(name, word));
    nearest.filter(|name| distance(name, word) <= name.len().max(4) / 2)
}

/// The same as a sentence that goes on from another, empty where nothing comes near.
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map(|name| format!(" Did you mean '{name}'?")).unwrap_or_default()
}
