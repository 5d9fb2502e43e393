//! The writer of the parts of a model file.

use crate::layer_math::LayerNorm;
use crate::linear::Linear;

/// A model file while it is written.
#[derive(Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub fn number(&mut self, number: u32) {
        self.bytes(&number.to_le_bytes());
    }

    /// Bytes behind their length.
    pub fn sized(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u32);
        self.bytes(bytes);
    }

    pub fn integers(&mut self, numbers: &[i8]) {
        self.0.extend(numbers.iter().map(|number| number.cast_unsigned()));
    }

    pub fn floats(&mut self, numbers: &[f32]) {
        self.0.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    }

    pub fn norm(&mut self, norm: &LayerNorm) {
        self.floats(&norm.weight);
        self.floats(&norm.bias);
    }

    pub fn linear(&mut self, linear: &Linear) {
        self.integers(linear.weights());
        self.floats(linear.scales());
        self.floats(linear.bias());
    }

    /// The file with its checksum.
    pub fn finish(mut self) -> Vec<u8> {
        let sum = crc32fast::hash(&self.0);
        self.number(sum);
        self.0
    }
}
