//! The classes of characters that the tokenizer distinguishes.

use regex_syntax::hir::{Class, HirKind};

use crate::error::ModelError;

/// The classes of characters that the tokenizer distinguishes.
pub struct CharClasses {
    control: CharClass,
    mark: CharClass,
    punctuation: CharClass,
}

impl CharClasses {
    pub fn new() -> Result<Self, ModelError> {
        let [control, mark, punctuation] = [r"\p{C}", r"\p{Mn}", r"\p{P}"].map(CharClass::new);
        Ok(Self { control: control?, mark: mark?, punctuation: punctuation? })
    }

    /// Whether a character is dropped: controls, formats, unassigned and private characters.
    pub fn is_dropped(&self, character: char) -> bool {
        match character {
            '\t' | '\n' | '\r' => false,
            ' '..='~' => false,
            char::REPLACEMENT_CHARACTER => true,
            _ => self.control.contains(character),
        }
    }

    /// Whether a character is an accent without a width of its own.
    pub fn is_mark(&self, character: char) -> bool {
        !character.is_ascii() && self.mark.contains(character)
    }

    /// Whether a character is a word by itself.
    pub fn is_punctuation(&self, character: char) -> bool {
        if character.is_ascii() {
            character.is_ascii_punctuation()
        } else {
            self.punctuation.contains(character)
        }
    }
}

/// Whether a character is an ideograph: a word by itself.
pub fn is_ideograph(character: char) -> bool {
    matches!(u32::from(character),
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F | 0x2B740..=0x2B81F
        | 0x2B820..=0x2CEAF | 0xF900..=0xFAFF | 0x2F800..=0x2FA1F)
}

/// Ranges of characters, in order.
struct CharClass(Vec<(char, char)>);

impl CharClass {
    /// Reads a class from the Unicode tables of the pattern syntax.
    fn new(pattern: &str) -> Result<Self, ModelError> {
        let parsed = regex_syntax::parse(pattern).map(regex_syntax::hir::Hir::into_kind);
        match parsed {
            Ok(HirKind::Class(Class::Unicode(class))) => {
                Ok(Self(class.iter().map(|range| (range.start(), range.end())).collect()))
            }
            _ => Err(ModelError::new(format!("The character class {pattern} is not known."))),
        }
    }

    fn contains(&self, character: char) -> bool {
        let after = self.0.partition_point(|(start, _)| *start <= character);
        after > 0 && character <= self.0[after - 1].1
    }
}
