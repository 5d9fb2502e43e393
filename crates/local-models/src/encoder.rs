//! The sentence encoder: texts to vectors of unit length.

use std::path::Path;

use crate::error::ModelError;
use crate::header::ModelKind;
use crate::model_file::{LoadedModel, load_kind};

#[cfg(test)]
mod tests;

/// A sentence encoder. The cosine of two of its vectors is their scalar product.
pub struct Encoder {
    model: LoadedModel,
    identity: String,
}

impl Encoder {
    /// Loads an imported encoder.
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        let model = load_kind(path, ModelKind::Encoder)?;
        Ok(Self { identity: model.header.identity(), model })
    }

    /// The vector of a text, of length 1. Word pieces beyond the model's maximum are ignored.
    pub fn embed(&self, text: &str) -> Vec<f32> {
        let LoadedModel { header, tokenizer, bert, .. } = &self.model;
        let pieces = tokenizer.pieces(text, header.max_pieces - 2);
        let mut vector = bert.pool(&tokenizer.with_marks(&pieces));
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        if length > 0.0 {
            vector.iter_mut().for_each(|value| *value /= length);
        }
        vector
    }

    /// The number of word pieces of a text, without the marks of start and end.
    pub fn word_pieces(&self, text: &str) -> usize {
        self.model.tokenizer.pieces(text, usize::MAX).len()
    }

    /// The size of its vectors.
    pub fn dimensions(&self) -> usize {
        self.model.header.config.hidden
    }

    /// Model, quantisation and version. Vectors of encoders with different identities are not comparable.
    pub fn identity(&self) -> &str {
        &self.identity
    }
}
