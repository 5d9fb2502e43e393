//! Context words: values that look like ordinary numbers count only if a word before them says what they are.

use crate::detector::Occurrence;

/// Whether one of the words stands before the occurrence. Words are given in lower case.
pub fn has_word_before(found: &Occurrence<'_>, words: &[&str]) -> bool {
    let (lead, before) = found.context();
    let contains = |text: &str| {
        let text = text.to_lowercase();
        words.iter().any(|word| contains_word(&text, word))
    };
    contains(before) || !lead.is_empty() && contains(lead)
}

/// Whether a text contains a word that does not continue another one to its left.
fn contains_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(start, _)| {
        let starts_word = !text[..start].chars().next_back().is_some_and(|last| last.is_ascii_alphanumeric());
        let following = &text[start + word.len()..];
        // Short words would be found inside of others.
        let ends_word = word.len() > 4 || !following.starts_with(|next: char| next.is_ascii_alphabetic());
        starts_word && ends_word
    })
}

#[cfg(test)]
mod tests {
    use super::contains_word;

    #[test]
    fn words_are_found_at_their_start() {
        assert!(contains_word("my ssn: ", "ssn"));
        assert!(contains_word("my_ssn=", "ssn"));
        assert!(contains_word("steuernummern: ", "steuernummer"));
        assert!(!contains_word("business ", "sin"));
        assert!(!contains_word("single ", "sin"));
    }
}
