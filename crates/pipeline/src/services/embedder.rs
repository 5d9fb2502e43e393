//! The embedder of the semantic cache: weights in this process, or the embeddings of a provider.

mod local;

use std::sync::Arc;

pub use local::LocalEncoder;

/// Encodes texts as vectors in this process. Its methods take long, and are called on threads that serve no connection.
pub trait TextEncoder: Send + Sync + 'static {
    /// The vector of a text.
    fn embed(&self, text: &str) -> Result<Vec<f32>, String>;

    /// The length of a text in the word pieces of the model.
    fn word_pieces(&self, text: &str) -> Result<usize, String>;

    /// The model, its quantisation and its version: vectors of encoders with the same identity can be compared.
    fn identity(&self) -> Result<String, String>;
}

/// The source of vectors.
#[derive(Clone)]
pub enum Embedder {
    Local(Arc<dyn TextEncoder>),
    /// The embeddings of a model, by its selector.
    Provider(String),
    /// There is none; the text says what is needed.
    Missing(String),
}

impl Embedder {
    /// The missing condition of an embedder; `None` if there is one.
    pub fn requirement(&self) -> Option<&str> {
        match self {
            Self::Missing(requirement) => Some(requirement),
            Self::Local(_) | Self::Provider(_) => None,
        }
    }

    /// The identity of the embedder. Loads a local one, so it is called on threads that serve no connection.
    pub fn identity(&self) -> Result<String, String> {
        match self {
            Self::Local(encoder) => encoder.identity(),
            Self::Provider(selector) => Ok(selector.clone()),
            Self::Missing(requirement) => Err(requirement.clone()),
        }
    }
}

/// An estimate of the word pieces of a text, for embedders whose vocabulary is not known: a piece for every six letters
/// of a word, and one for each other character.
pub fn estimated_word_pieces(text: &str) -> usize {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let pieces: usize = words.map(|word| word.chars().count().div_ceil(6)).sum();
    pieces + text.chars().filter(|letter| !letter.is_alphanumeric() && !letter.is_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_pieces_are_estimated_by_words_and_signs() {
        for (text, pieces) in [("", 0), ("What is it?", 4), ("internationalisation", 4), ("a-b", 3)] {
            assert_eq!(estimated_word_pieces(text), pieces, "{text}");
        }
    }
}
