//! Splits a text into the pieces that are tokenized on their own: words, numbers, punctuation, white space.

use regex_automata::{Anchored, Input, meta::Regex};

/// White space before a piece: all but its last character, which belongs to the piece.
const BEFORE_PIECE: &str = "\\s+\\s";
const WHITE_SPACE: &str = "\\s+";

/// The pattern whose last character is only looked at.
const LOOKS_AHEAD: usize = 1;

pub struct Splitter {
    regex: Regex,
}

impl Splitter {
    /// OpenAI's patterns contain `\s+(?!\S)`, a negative look-ahead, which the engine does not have. `\s+\s` without the last
    /// character of the match is the same: the patterns before it match white space at the end of a text.
    #[expect(clippy::expect_used, reason = "the patterns are constants, and tests compile them")]
    pub fn new(pattern: &str) -> Self {
        let regex = Regex::new_many(&[pattern, BEFORE_PIECE, WHITE_SPACE]).expect("valid patterns");
        Self { regex }
    }

    /// The pieces of a text in order. Together they are the text.
    pub fn pieces<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a str> {
        let mut rest = text;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (piece, after) = rest.split_at(self.first_piece(rest));
            rest = after;
            Some(piece)
        })
    }

    /// The length of the first piece, at least one character.
    fn first_piece(&self, text: &str) -> usize {
        let Some(found) = self.regex.find(Input::new(text).anchored(Anchored::Yes)) else {
            return text.len();
        };
        let looked_at = match found.pattern().as_usize() {
            LOOKS_AHEAD => text[..found.end()].chars().next_back().map_or(0, char::len_utf8),
            _ => 0,
        };
        found.end() - looked_at
    }
}
