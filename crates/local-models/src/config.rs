//! The dimensions of a BERT encoder.

use serde::{Deserialize, Serialize};

/// The dimensions of a BERT encoder. The names are those of `config.json` in the packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BertConfig {
    #[serde(rename = "num_hidden_layers")]
    pub layers: usize,
    #[serde(rename = "hidden_size")]
    pub hidden: usize,
    #[serde(rename = "num_attention_heads")]
    pub heads: usize,
    #[serde(rename = "intermediate_size")]
    pub intermediate: usize,
    #[serde(rename = "vocab_size")]
    pub vocabulary: usize,
    #[serde(rename = "max_position_embeddings")]
    pub positions: usize,
}

impl BertConfig {
    /// The reason why these dimensions are not supported, if they are not. The matrix product reads eight numbers at a
    /// time; the maxima keep its integer sums within 32 bits and a damaged file from reserving much memory.
    pub fn fault(&self) -> Option<&'static str> {
        let Self { layers, hidden, heads, intermediate, vocabulary, positions } = *self;
        if layers == 0 || layers > 48 {
            Some("it needs 1 to 48 layers")
        } else if hidden == 0 || hidden > 1024 || !hidden.is_multiple_of(8) {
            Some("its hidden size must be a multiple of 8 up to 1024")
        } else if intermediate == 0 || intermediate > 2048 || !intermediate.is_multiple_of(8) {
            Some("its intermediate size must be a multiple of 8 up to 2048")
        } else if heads == 0 || !hidden.is_multiple_of(heads) {
            Some("its hidden size must be a multiple of the number of heads")
        } else if vocabulary == 0 || vocabulary > 1 << 18 || !(3..=4096).contains(&positions) {
            Some("its vocabulary or its number of positions is not supported")
        } else {
            None
        }
    }
}
