//! Table tests of eligibility.

use super::{Ineligible, check_eligible};

#[test]
fn texts_are_accepted_by_length_and_script() {
    let cases = [
        ("What is the capital of France?", 8, false, Ok(())),
        ("Où est la bibliothèque ? Straße, żółć, ﬁn", 20, false, Ok(())),
        ("How much is 5 µg in mg? 😀", 12, false, Ok(())),
        ("words", 128, false, Ok(())),
        ("words", 129, false, Err(Ineligible::TooLong)),
        ("words", 129, true, Err(Ineligible::TooLong)),
        ("", 0, false, Err(Ineligible::Empty)),
        (" \n?!…", 3, true, Err(Ineligible::Empty)),
        ("Где находится музей?", 8, false, Err(Ineligible::Script)),
        ("Где находится музей?", 8, true, Ok(())),
        ("What does 你好 mean?", 8, false, Err(Ineligible::Script)),
        ("paypaІ with a Cyrillic letter", 8, false, Err(Ineligible::Script)),
    ];
    for (text, word_pieces, is_multilingual, expected) in cases {
        assert_eq!(check_eligible(text, word_pieces, is_multilingual), expected, "{text}");
    }
}
