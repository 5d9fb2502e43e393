//! Text normalisation with positions: NFKC without invisible characters, aligned with the original text.
//!
//! Matching runs on normalised text, so that full-width digits, ligatures or zero-width characters do not hide a value.
//! Edits are made to the original text, so that everything outside a match stays as it was.

mod alignment;
mod characters;
mod normaliser;
mod segment;

use std::borrow::Cow;
use std::ops::Range;

use alignment::Alignment;
pub use normaliser::{NormalisedBuffer, Normaliser};

/// Settings of a normalisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NormaliseOptions {
    pub fold_case: bool,
    pub tags: TagCharacters,
}

/// Treatment of tag characters (U+E0020 to U+E007E), the invisible copies of ASCII.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TagCharacters {
    /// Text that is spelled in tag characters is matched like visible text.
    #[default]
    ToAscii,
    /// Visible text that is interrupted by tag characters is matched as if they were not there.
    Remove,
}

/// A normalised text, with the positions of its characters in the original.
#[derive(Debug)]
pub struct Normalised<'a> {
    text: Cow<'a, str>,
    /// `None` if both texts have the same characters at the same places.
    alignment: Option<Alignment>,
}

/// Normalises a whole text. Text without characters to change is borrowed.
pub fn normalise(text: &str, options: NormaliseOptions) -> Normalised<'_> {
    let is_unchanged = |character: char| {
        characters::is_stable(character) && !(options.fold_case && characters::is_changed_by_fold(character))
    };
    if text.is_ascii() {
        let folded = options.fold_case && text.bytes().any(|byte| byte.is_ascii_uppercase());
        let text = if folded { Cow::Owned(text.to_ascii_lowercase()) } else { Cow::Borrowed(text) };
        return Normalised { text, alignment: None };
    }
    if text.chars().all(is_unchanged) {
        return Normalised { text: Cow::Borrowed(text), alignment: None };
    }
    let mut normaliser = Normaliser::new(options);
    let mut buffer = NormalisedBuffer::default();
    normaliser.push(text, &mut buffer);
    normaliser.finish(&mut buffer);
    let (text, alignment) = buffer.into_parts();
    Normalised { text: Cow::Owned(text), alignment: Some(alignment) }
}

/// Whether normalisation without case folding keeps this character, unless a following mark combines with it.
pub fn is_preserved(character: char) -> bool {
    characters::is_stable(character)
}

impl Normalised<'_> {
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The bytes of the original that a range of the normalised text was made from.
    ///
    /// A range that covers a part of a character's normal form (the `f` of a ligature) yields the whole character.
    pub fn original_range(&self, range: Range<usize>) -> Range<usize> {
        match &self.alignment {
            Some(alignment) => alignment.original_range(range),
            None => range,
        }
    }

    /// The next position at which a character of the original ends, the given one included.
    pub fn segment_end(&self, position: usize) -> usize {
        match &self.alignment {
            Some(alignment) => alignment.segment_end(position),
            None => position,
        }
    }
}

#[cfg(test)]
mod tests;
