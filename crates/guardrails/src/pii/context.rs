//! Context words: values that look like ordinary numbers count only if a word before them says what they are.

use crate::detector::Occurrence;

/// Whether one of the words stands before the occurrence. Words are given in lower case.
pub fn has_word_before(found: &Occurrence<'_>, words: &[&str]) -> bool {
    let (lead, before) = found.context();
    contains_any(before, words) || !lead.is_empty() && contains_any(lead, words)
}

/// Whether one of the words stands before the occurrence without digits in between, as the name of its value does.
pub fn has_name_before(found: &Occurrence<'_>, words: &[&str]) -> bool {
    let (lead, before) = found.context();
    let has_digit = before.contains(|letter: char| letter.is_ascii_digit());
    match has_digit || lead.is_empty() {
        true => contains_any(after_digits(before), words),
        false => contains_any(&format!("{} {before}", after_digits(lead)), words),
    }
}

/// The rest of a text behind its last digit.
fn after_digits(text: &str) -> &str {
    let start = text.rfind(|last: char| last.is_ascii_digit()).map_or(0, |last| last + 1);
    &text[start..]
}

/// Whether a text contains one of the words, also as a part of a name such as `homePhone`, or as one such as `IdNr`.
fn contains_any(text: &str, words: &[&str]) -> bool {
    let apart = words_of(text);
    let contains = |text: &str| words.iter().any(|word| contains_word(text, word));
    contains(&apart) || {
        let whole = text.to_lowercase();
        whole != apart && contains(&whole)
    }
}

/// A text in lower case, with the words of names such as `homePhone` apart; `iPhone` is one word.
fn words_of(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 8);
    let (mut is_lower, mut letters) = (false, 0);
    for character in text.chars() {
        if is_lower && letters > 1 && character.is_uppercase() {
            words.push(' ');
            letters = 0;
        }
        is_lower = character.is_lowercase();
        letters = if character.is_alphabetic() { letters + 1 } else { 0 };
        words.extend(character.to_lowercase());
    }
    words
}

/// Whether a text contains a word that does not continue another one to its left.
fn contains_word(text: &str, word: &str) -> bool {
    // Scripts without capitals, such as Chinese, have no spaces between words, or join them with others.
    if word.starts_with(|first: char| first.is_alphabetic() && !is_cased(first)) {
        return text.contains(word);
    }
    // Short words would be found inside of others.
    let is_short = word.chars().count() <= 4;
    text.match_indices(word).any(|(start, _)| {
        let joins = |last: char| last.is_numeric() || is_cased(last);
        let starts_word = !text[..start].chars().next_back().is_some_and(joins);
        starts_word && !(is_short && text[start + word.len()..].starts_with(is_cased))
    })
}

fn is_cased(letter: char) -> bool {
    letter.is_lowercase() || letter.is_uppercase()
}

#[cfg(test)]
mod tests {
    use super::{contains_any, contains_word, words_of};

    #[test]
    fn words_are_found_at_their_start() {
        assert!(contains_word("my ssn: ", "ssn"));
        assert!(contains_word("my_ssn=", "ssn"));
        assert!(contains_word("steuernummern: ", "steuernummer"));
        assert!(contains_word(&words_of("\"homePhone\": "), "phone"));
        assert!(contains_word(&words_of("dateOfBirth="), "date of birth"));
        assert!(contains_any("meine IdNr. ", &["idnr"]));
        assert!(contains_any("\"homePhone\": ", &["phone"]));
        assert!(!contains_any("\"homePhone\": ", &["mephone"]));
        assert!(!contains_word("business ", "sin"));
        assert!(!contains_word("single ", "sin"));
        assert!(!contains_any("Пользователь ", &["тел"]));
        assert!(!contains_any("télévision ", &["tél"]));
        assert!(!contains_any("iPhone ", &["phone"]));
        assert!(contains_any("Тел. ", &["тел"]));
        assert!(contains_any("Tél : ", &["tél"]));
        assert!(contains_any("我的电话是", &["电话"]));
        assert!(contains_any("我的tel", &["tel"]));
    }
}
