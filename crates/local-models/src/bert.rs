//! The forward pass of a BERT encoder with mean pooling.

mod attention;
#[cfg(test)]
mod tests;

use crate::config::BertConfig;
use crate::layer_math::gelu;
use crate::linear::QuantisedRows;
use crate::weights::{BertWeights, LayerWeights};
use attention::attend;

/// A BERT encoder.
pub struct Bert {
    config: BertConfig,
    weights: BertWeights,
}

impl Bert {
    pub fn new(config: BertConfig, weights: BertWeights) -> Self {
        Self { config, weights }
    }

    /// The mean of the vectors of the last layer. `pieces` are at most as many as the model has positions.
    pub fn pool(&self, pieces: &[u32]) -> Vec<f32> {
        let hidden = self.config.hidden;
        let rows = self.forward(pieces);
        let mut mean = vec![0.0; hidden];
        for row in rows.chunks_exact(hidden) {
            mean.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        let count = pieces.len().max(1) as f32;
        mean.iter_mut().for_each(|value| *value /= count);
        mean
    }

    /// The vectors of the last layer, one for each piece.
    fn forward(&self, pieces: &[u32]) -> Vec<f32> {
        let hidden = self.config.hidden;
        let mut rows = self.weights.positions[..pieces.len() * hidden].to_vec();
        for (row, piece) in rows.chunks_exact_mut(hidden).zip(pieces) {
            self.weights.words.add_to(*piece, row);
        }
        self.weights.norm.normalise(&mut rows);
        for layer in &self.weights.layers {
            rows = self.apply_layer(layer, rows);
        }
        rows
    }

    fn apply_layer(&self, layer: &LayerWeights, rows: Vec<f32>) -> Vec<f32> {
        let input = QuantisedRows::new(&rows, self.config.hidden);
        let [query, key, value] =
            [&layer.query, &layer.key, &layer.value].map(|linear| linear.apply_quantised(&input));
        let context = attend(&query, &key, &value, self.config.hidden, self.config.heads);
        let mut attended = layer.attention_output.apply(&context);
        layer.attention_norm.add_and_normalise(&mut attended, &rows);
        let mut inner = layer.intermediate.apply(&attended);
        gelu(&mut inner);
        let mut output = layer.output.apply(&inner);
        layer.output_norm.add_and_normalise(&mut output, &attended);
        output
    }
}
