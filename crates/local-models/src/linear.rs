//! A linear layer with int8 weights.

use wide::{i16x8, i32x4};

use crate::quantise::{quantise_activations, quantise_weights};

/// Numbers in one SIMD register.
const LANES: usize = 8;
/// Rows of the input that share a load of a weight.
const INPUT_BLOCK: usize = 4;

/// A linear layer: a matrix with a row of int8 weights and a scale per output, and a bias.
pub struct Linear {
    inputs: usize,
    outputs: usize,
    weights: Vec<i8>,
    scales: Vec<f32>,
    bias: Vec<f32>,
}

impl Linear {
    /// Quantises a matrix of `outputs` rows of `inputs` weights.
    pub fn quantise(matrix: &[f32], bias: Vec<f32>, inputs: usize) -> Self {
        let mut weights = Vec::with_capacity(matrix.len());
        let scales = matrix.chunks_exact(inputs).map(|row| quantise_weights(row, &mut weights)).collect();
        Self { inputs, outputs: bias.len(), weights, scales, bias }
    }

    /// A layer from its quantised parts. The weights have `inputs` numbers for each of the scales.
    pub fn from_parts(weights: Vec<i8>, scales: Vec<f32>, bias: Vec<f32>, inputs: usize) -> Self {
        Self { inputs, outputs: bias.len(), weights, scales, bias }
    }

    pub fn weights(&self) -> &[i8] {
        &self.weights
    }

    pub fn scales(&self) -> &[f32] {
        &self.scales
    }

    pub fn bias(&self) -> &[f32] {
        &self.bias
    }

    /// The weights as they are after quantisation.
    #[cfg(test)]
    pub fn dequantised(&self) -> Vec<f32> {
        let rows = self.weights.chunks_exact(self.inputs).zip(&self.scales);
        rows.flat_map(|(row, scale)| row.iter().map(move |weight| f32::from(*weight) * scale)).collect()
    }

    /// Applies the layer to rows of `inputs` numbers. Returns rows of `outputs` numbers.
    pub fn apply(&self, rows: &[f32]) -> Vec<f32> {
        self.apply_quantised(&QuantisedRows::new(rows, self.inputs))
    }

    /// Applies the layer to rows that were quantised before, for several layers with the same input.
    pub fn apply_quantised(&self, input: &QuantisedRows) -> Vec<f32> {
        let mut output = vec![0.0; input.count * self.outputs];
        let mut weights = [vec![i16x8::ZERO; self.inputs / LANES], vec![i16x8::ZERO; self.inputs / LANES]];
        for (pair, bytes) in self.weights.chunks_exact(2 * self.inputs).enumerate() {
            let (first, second) = bytes.split_at(self.inputs);
            widen(first, &mut weights[0]);
            widen(second, &mut weights[1]);
            for block in 0..input.blocks() {
                let sums = input.multiply(block, &weights[0], &weights[1]);
                self.store(input, block, 2 * pair, sums, &mut output);
            }
        }
        output
    }

    /// Scales the sums of a block of rows for two outputs, adds the bias and stores them.
    fn store(
        &self,
        input: &QuantisedRows,
        block: usize,
        output: usize,
        sums: [[i32x4; 2]; INPUT_BLOCK],
        to: &mut [f32],
    ) {
        for (offset, pair) in sums.into_iter().enumerate() {
            let row = block * INPUT_BLOCK + offset;
            if row >= input.count {
                break;
            }
            for (offset, sum) in pair.into_iter().enumerate() {
                let index = output + offset;
                let scale = input.scales[row] * self.scales[index];
                to[row * self.outputs + index] = sum.reduce_add() as f32 * scale + self.bias[index];
            }
        }
    }
}

/// The input of a layer, quantised row by row and filled up to whole blocks.
pub struct QuantisedRows {
    count: usize,
    /// Registers per row.
    width: usize,
    numbers: Vec<i16x8>,
    scales: Vec<f32>,
}

impl QuantisedRows {
    /// Quantises rows of `inputs` numbers.
    pub fn new(rows: &[f32], inputs: usize) -> Self {
        let (count, width) = (rows.len() / inputs, inputs / LANES);
        let mut numbers = Vec::with_capacity(count.next_multiple_of(INPUT_BLOCK) * width);
        let mut row_numbers = vec![0; inputs];
        let mut scales = Vec::with_capacity(count);
        for row in rows.chunks_exact(inputs) {
            scales.push(quantise_activations(row, &mut row_numbers));
            numbers.extend(row_numbers.as_chunks::<LANES>().0.iter().map(|chunk| i16x8::new(*chunk)));
        }
        numbers.resize(count.next_multiple_of(INPUT_BLOCK) * width, i16x8::ZERO);
        Self { count, width, numbers, scales }
    }

    fn blocks(&self) -> usize {
        self.count.div_ceil(INPUT_BLOCK)
    }

    /// The products of a block of rows and two rows of weights, as partial sums. Four rows and two outputs keep eight
    /// sums in registers: six loads for eight multiplications.
    fn multiply(&self, block: usize, first: &[i16x8], second: &[i16x8]) -> [[i32x4; 2]; INPUT_BLOCK] {
        let width = self.width;
        let start = block * INPUT_BLOCK * width;
        let row = |index: usize| &self.numbers[start + index * width..start + (index + 1) * width];
        let (row_0, row_1, row_2, row_3) = (row(0), row(1), row(2), row(3));
        let (first, second) = (&first[..width], &second[..width]);
        // Eight variables, and not an array, so that each gets a register.
        let zero = i32x4::ZERO;
        let (mut sum_00, mut sum_01, mut sum_10, mut sum_11) = (zero, zero, zero, zero);
        let (mut sum_20, mut sum_21, mut sum_30, mut sum_31) = (zero, zero, zero, zero);
        for index in 0..width {
            let (first, second) = (first[index], second[index]);
            sum_00 += row_0[index].dot(first);
            sum_01 += row_0[index].dot(second);
            sum_10 += row_1[index].dot(first);
            sum_11 += row_1[index].dot(second);
            sum_20 += row_2[index].dot(first);
            sum_21 += row_2[index].dot(second);
            sum_30 += row_3[index].dot(first);
            sum_31 += row_3[index].dot(second);
        }
        [[sum_00, sum_01], [sum_10, sum_11], [sum_20, sum_21], [sum_30, sum_31]]
    }
}

/// Sign-extends a row of weights.
fn widen(weights: &[i8], output: &mut [i16x8]) {
    for (register, chunk) in output.iter_mut().zip(weights.as_chunks::<LANES>().0) {
        *register = i16x8::new(chunk.map(i16::from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_model::Numbers;

    #[test]
    fn agrees_with_a_product_of_floats() {
        for (rows, inputs, outputs) in [(1, 8, 2), (3, 16, 8), (4, 24, 6), (9, 384, 10)] {
            let mut numbers = Numbers::new(7);
            let (matrix, bias) = (numbers.take(inputs * outputs), numbers.take(outputs));
            let input = numbers.take(rows * inputs);
            let layer = Linear::quantise(&matrix, bias.clone(), inputs);
            let weights = layer.dequantised();
            let output = layer.apply(&input);
            assert_eq!(output.len(), rows * outputs);
            for (index, value) in output.iter().enumerate() {
                let (row, column) = (index / outputs, index % outputs);
                let row = &input[row * inputs..][..inputs];
                let exact = |matrix: &[f32]| {
                    let weights = &matrix[column * inputs..][..inputs];
                    row.iter().zip(weights).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum::<f64>()
                        + f64::from(bias[column])
                };
                // The rounding of activations alone, then with that of the weights.
                assert!((f64::from(*value) - exact(&weights)).abs() < 2e-3, "{value} {}", exact(&weights));
                assert!((f64::from(*value) - exact(&matrix)).abs() < 0.1, "{value} {}", exact(&matrix));
            }
        }
    }

    #[test]
    fn sums_of_the_largest_numbers_do_not_overflow() {
        let inputs = 2048;
        let layer = Linear::quantise(&vec![1.0; inputs * 2], vec![0.0; 2], inputs);
        assert_eq!(layer.apply(&vec![1.0; inputs]), [2048.0, 2048.0]);
        assert_eq!(layer.apply(&vec![-1.0; inputs]), [-2048.0, -2048.0]);
        assert_eq!(layer.apply(&vec![0.0; inputs]), [0.0, 0.0]);
    }
}
