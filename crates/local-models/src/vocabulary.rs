//! The vocabulary of a model, from the `tokenizer.json` of its package.

use std::collections::HashMap;

use serde::Deserialize;

use crate::error::ModelError;

#[derive(Deserialize)]
struct TokenizerFile {
    model: WordPieceModel,
    normalizer: Normalizer,
}

#[derive(Deserialize)]
struct WordPieceModel {
    #[serde(default)]
    continuing_subword_prefix: String,
    vocab: HashMap<String, usize>,
}

#[derive(Deserialize)]
struct Normalizer {
    #[serde(default)]
    lowercase: bool,
}

/// The word pieces in the order of their ids, one per line.
pub fn read_vocabulary(tokenizer: &[u8], size: usize) -> Result<String, ModelError> {
    let unsupported =
        || ModelError::new("tokenizer.json does not describe a WordPiece tokenizer of an uncased model.");
    let file: TokenizerFile = serde_json::from_slice(tokenizer).map_err(|_| unsupported())?;
    if !file.normalizer.lowercase || file.model.continuing_subword_prefix != "##" {
        return Err(unsupported());
    }
    let mut pieces = vec![None; size];
    for (piece, id) in &file.model.vocab {
        let is_line = !piece.is_empty() && !piece.contains(['\n', '\r']);
        let place = pieces.get_mut(*id).filter(|_| is_line).ok_or_else(unsupported)?;
        *place = Some(piece.as_str());
    }
    let pieces: Option<Vec<&str>> = pieces.into_iter().collect();
    pieces.map(|pieces| pieces.join("\n")).ok_or_else(unsupported)
}
