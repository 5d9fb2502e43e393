//! The words of a text: cleaned, without accents, in lower case, split at spaces, punctuation and ideographs.

use std::iter::Peekable;
use std::str::Chars;

use unicode_normalization::{Decompositions, UnicodeNormalization as _};

use super::char_class::{CharClasses, is_ideograph};

/// The words of a text. Read one by one, so that the rest of a long text costs nothing.
pub struct WordSplitter<'a> {
    characters: Peekable<Decompositions<Cleaned<'a>>>,
    classes: &'a CharClasses,
    word: String,
}

impl<'a> WordSplitter<'a> {
    pub fn new(text: &'a str, classes: &'a CharClasses) -> Self {
        let cleaned = Cleaned { characters: text.chars(), classes };
        Self { characters: cleaned.nfd().peekable(), classes, word: String::new() }
    }

    pub fn next_word(&mut self) -> Option<&str> {
        self.word.clear();
        while let Some(&character) = self.characters.peek() {
            let stands_alone = self.classes.is_punctuation(character) || is_ideograph(character);
            let ends_word = stands_alone || character.is_whitespace();
            if ends_word && !self.word.is_empty() {
                break;
            }
            self.characters.next();
            if stands_alone {
                self.word.push(character);
                break;
            }
            if !ends_word && !self.classes.is_mark(character) {
                self.word.extend(character.to_lowercase());
            }
        }
        (!self.word.is_empty()).then_some(self.word.as_str())
    }
}

/// The characters of a text without those that are dropped.
struct Cleaned<'a> {
    characters: Chars<'a>,
    classes: &'a CharClasses,
}

impl Iterator for Cleaned<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        self.characters.find(|character| !self.classes.is_dropped(*character))
    }
}
