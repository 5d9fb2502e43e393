//! The weights of a BERT encoder in memory, and their conversion from the tensors of a package.

use crate::config::BertConfig;
use crate::error::ModelError;
use crate::layer_math::LayerNorm;
use crate::linear::Linear;
use crate::quantise::quantise_weights;

/// The weights of a BERT encoder.
pub struct BertWeights {
    pub words: WordTable,
    /// The vectors of the positions, with that of the only segment added.
    pub positions: Vec<f32>,
    pub norm: LayerNorm,
    pub layers: Vec<LayerWeights>,
}

/// The vectors of the word pieces: int8 numbers, and a scale for each piece.
pub struct WordTable {
    pub numbers: Vec<i8>,
    pub scales: Vec<f32>,
}

/// The weights of one transformer layer.
pub struct LayerWeights {
    pub query: Linear,
    pub key: Linear,
    pub value: Linear,
    pub attention_output: Linear,
    pub attention_norm: LayerNorm,
    pub intermediate: Linear,
    pub output: Linear,
    pub output_norm: LayerNorm,
}

/// A linear layer with one output.
pub struct Head {
    pub weights: Vec<f32>,
    pub bias: f32,
}

/// The tensors of a package, by their names in the PyTorch model.
pub trait TensorSource {
    /// The numbers of a tensor: rows of inputs for the matrix of a linear layer.
    fn tensor(&self, name: &str) -> Result<Vec<f32>, ModelError>;
}

/// Reads a tensor and checks its size.
pub fn sized(source: &dyn TensorSource, name: &str, size: usize) -> Result<Vec<f32>, ModelError> {
    let tensor = source.tensor(name)?;
    if tensor.len() != size {
        let found = tensor.len();
        return Err(ModelError::new(format!("The tensor {name} has {found} numbers instead of {size}.")));
    }
    match tensor.iter().all(|number| number.is_finite()) {
        true => Ok(tensor),
        false => Err(ModelError::new(format!("The tensor {name} has numbers that are not finite."))),
    }
}

impl BertWeights {
    /// Converts the tensors of a package.
    pub fn convert(config: &BertConfig, source: &dyn TensorSource) -> Result<Self, ModelError> {
        let hidden = config.hidden;
        let words = sized(source, "embeddings.word_embeddings.weight", config.vocabulary * hidden)?;
        let mut positions =
            sized(source, "embeddings.position_embeddings.weight", config.positions * hidden)?;
        let segments = sized(source, "embeddings.token_type_embeddings.weight", 2 * hidden)?;
        for row in positions.chunks_exact_mut(hidden) {
            row.iter_mut().zip(&segments).for_each(|(position, segment)| *position += segment);
        }
        let layers = (0..config.layers).map(|layer| LayerWeights::convert(config, layer, source));
        Ok(Self {
            words: WordTable::quantise(&words, hidden),
            positions,
            norm: norm(source, "embeddings.LayerNorm", hidden)?,
            layers: layers.collect::<Result<_, _>>()?,
        })
    }
}

impl WordTable {
    fn quantise(rows: &[f32], width: usize) -> Self {
        let mut numbers = Vec::with_capacity(rows.len());
        let scales = rows.chunks_exact(width).map(|row| quantise_weights(row, &mut numbers)).collect();
        Self { numbers, scales }
    }

    /// Adds the vector of a word piece to a row.
    pub fn add_to(&self, piece: u32, row: &mut [f32]) {
        let (piece, width) = (piece as usize, row.len());
        let scale = self.scales[piece];
        for (value, number) in row.iter_mut().zip(&self.numbers[piece * width..][..width]) {
            *value += f32::from(*number) * scale;
        }
    }
}

impl LayerWeights {
    fn convert(config: &BertConfig, layer: usize, source: &dyn TensorSource) -> Result<Self, ModelError> {
        let (hidden, intermediate) = (config.hidden, config.intermediate);
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        let linear = |part: &str, inputs: usize, outputs: usize| {
            let matrix = sized(source, &format!("{}.weight", name(part)), inputs * outputs)?;
            let bias = sized(source, &format!("{}.bias", name(part)), outputs)?;
            Ok::<_, ModelError>(Linear::quantise(&matrix, bias, inputs))
        };
        Ok(Self {
            query: linear("attention.self.query", hidden, hidden)?,
            key: linear("attention.self.key", hidden, hidden)?,
            value: linear("attention.self.value", hidden, hidden)?,
            attention_output: linear("attention.output.dense", hidden, hidden)?,
            attention_norm: norm(source, &name("attention.output.LayerNorm"), hidden)?,
            intermediate: linear("intermediate.dense", hidden, intermediate)?,
            output: linear("output.dense", intermediate, hidden)?,
            output_norm: norm(source, &name("output.LayerNorm"), hidden)?,
        })
    }
}

impl Head {
    /// Converts a head of a classifier.
    pub fn convert(source: &dyn TensorSource, name: &str, inputs: usize) -> Result<Self, ModelError> {
        let weights = sized(source, &format!("{name}.weight"), inputs)?;
        let bias = sized(source, &format!("{name}.bias"), 1)?[0];
        Ok(Self { weights, bias })
    }

    pub fn apply(&self, vector: &[f32]) -> f32 {
        self.weights.iter().zip(vector).map(|(weight, value)| weight * value).sum::<f32>() + self.bias
    }
}

fn norm(source: &dyn TensorSource, name: &str, width: usize) -> Result<LayerNorm, ModelError> {
    let weight = sized(source, &format!("{name}.weight"), width)?;
    Ok(LayerNorm { weight, bias: sized(source, &format!("{name}.bias"), width)? })
}
