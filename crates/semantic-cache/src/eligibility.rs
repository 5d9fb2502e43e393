//! Eligibility of texts: which questions the semantic cache may compare.

#[cfg(test)]
mod tests;

/// Most word pieces of a text that is compared. Encoders cut longer texts, or blur them into one vector.
pub const MAX_WORD_PIECES: usize = 128;

/// Reason why a text is not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ineligible {
    /// There is no letter and no digit in the text.
    Empty,
    /// More than [`MAX_WORD_PIECES`].
    TooLong,
    /// Letters of a script that the embedder does not know.
    Script,
}

impl Ineligible {
    /// Stable name, for logs and explanations.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::TooLong => "too_long",
            Self::Script => "script",
        }
    }
}

/// Checks that a text can be compared by its embedding. `word_pieces` is its length in tokens of the embedder.
pub fn check_eligible(text: &str, word_pieces: usize, is_multilingual: bool) -> Result<(), Ineligible> {
    if !text.chars().any(char::is_alphanumeric) {
        return Err(Ineligible::Empty);
    }
    if word_pieces > MAX_WORD_PIECES {
        return Err(Ineligible::TooLong);
    }
    if !is_multilingual && text.chars().any(|c| c.is_alphabetic() && !is_latin(c)) {
        return Err(Ineligible::Script);
    }
    Ok(())
}

/// Whether a letter is of the Latin script, by block.
fn is_latin(letter: char) -> bool {
    matches!(u32::from(letter),
        0x41..=0x5A | 0x61..=0x7A | 0xAA | 0xB5 | 0xBA | 0xC0..=0x24F | 0x250..=0x2AF | 0x1E00..=0x1EFF
        | 0x2C60..=0x2C7F | 0xA722..=0xA7FF | 0xFB00..=0xFB06 | 0xFF21..=0xFF3A | 0xFF41..=0xFF5A)
}
