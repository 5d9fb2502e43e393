//! Counts placeholders that a model has altered, such as `[Email_k7f3q]`, `EMAIL_k7f3q` or `[EMAIL_k7f3]`.

use crate::kind::PiiKind;
use crate::placeholder::PlaceholderMap;

/// Longer words are no placeholders.
const LONGEST_WORD: usize = 64;
/// Fewer characters behind the name of a kind are an ordinary word.
const SHORTEST_CODE: usize = 3;

/// Counts words in text that was not restored. The words may arrive in pieces.
#[derive(Debug, Default)]
pub struct AlteredCounter {
    /// The current word of letters, digits and underscores.
    word: String,
    /// Whether a bracket stands before the current word.
    is_bracketed: bool,
    count: usize,
}

impl AlteredCounter {
    pub fn push(&mut self, text: &str, map: &PlaceholderMap) {
        if map.is_empty() {
            return;
        }
        for character in text.chars() {
            if character.is_ascii_alphanumeric() || character == '_' {
                if self.word.len() <= LONGEST_WORD {
                    self.word.push(character);
                }
            } else {
                self.end_word(character == ']', map);
                self.is_bracketed = character == '[';
            }
        }
    }

    /// Ends the current word: the text ends here, or a placeholder follows that was restored.
    pub fn end(&mut self, map: &PlaceholderMap) {
        self.end_word(false, map);
        self.is_bracketed = false;
    }

    pub fn count(&self) -> usize {
        self.count
    }

    fn end_word(&mut self, closes_bracket: bool, map: &PlaceholderMap) {
        if self.is_altered(closes_bracket, map) {
            self.count += 1;
        }
        self.word.clear();
    }

    /// Whether the word is the name of a kind with a code: any code inside of brackets, a code of this call otherwise.
    fn is_altered(&self, closes_bracket: bool, map: &PlaceholderMap) -> bool {
        let Some((name, code)) = self.word.rsplit_once('_') else { return false };
        let name = name.to_ascii_uppercase();
        if code.len() < SHORTEST_CODE || !PiiKind::ALL.iter().any(|kind| kind.placeholder_name() == name) {
            return false;
        }
        let original = format!("[{name}_{}]", code.to_ascii_lowercase());
        self.is_bracketed && closes_bracket || map.value(&original).is_some()
    }
}
