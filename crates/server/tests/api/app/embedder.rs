//! A deterministic embedder for tests of the semantic cache.

use pipeline::services::embedder::{TextEncoder, estimated_word_pieces};
use testkit::word_vector;

/// Encodes texts by their words. A text with the word `unembeddable` fails.
pub struct WordEncoder;

impl TextEncoder for WordEncoder {
    fn embed(&self, text: &str) -> Result<Vec<f32>, String> {
        match text.contains("unembeddable") {
            true => Err("the text cannot be embedded".to_owned()),
            false => Ok(word_vector(text)),
        }
    }

    fn word_pieces(&self, text: &str) -> Result<usize, String> {
        Ok(estimated_word_pieces(text))
    }

    fn identity(&self) -> Result<String, String> {
        Ok("words float32 1".to_owned())
    }
}
