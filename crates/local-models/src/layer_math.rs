//! The functions between the linear layers of a transformer: normalisation, softmax and GELU.

/// The numbers of a layer normalisation.
pub struct LayerNorm {
    pub weight: Vec<f32>,
    pub bias: Vec<f32>,
}

impl LayerNorm {
    /// Adds `residual` to the rows and normalises each.
    pub fn add_and_normalise(&self, rows: &mut [f32], residual: &[f32]) {
        for (value, other) in rows.iter_mut().zip(residual) {
            *value += other;
        }
        self.normalise(rows);
    }

    pub fn normalise(&self, rows: &mut [f32]) {
        const EPSILON: f32 = 1e-12;
        let width = self.weight.len();
        for row in rows.chunks_exact_mut(width) {
            let mean = row.iter().sum::<f32>() / width as f32;
            let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / width as f32;
            let inverse = (variance + EPSILON).sqrt().recip();
            for ((value, weight), bias) in row.iter_mut().zip(&self.weight).zip(&self.bias) {
                *value = (*value - mean) * inverse * weight + bias;
            }
        }
    }
}

/// Turns scores into weights that sum up to 1.
pub fn softmax(scores: &mut [f32]) {
    let largest = scores.iter().fold(f32::NEG_INFINITY, |largest, score| largest.max(*score));
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = (*score - largest).exp();
        sum += *score;
    }
    let inverse = sum.recip();
    scores.iter_mut().for_each(|score| *score *= inverse);
}

/// The Gaussian error linear unit, in place.
pub fn gelu(values: &mut [f32]) {
    for value in values {
        *value = 0.5 * *value * (1.0 + erf(*value * std::f32::consts::FRAC_1_SQRT_2));
    }
}

/// The error function, as a rational function with an error below 1e-6. It has no branches, so that the compiler can use
/// SIMD instructions.
fn erf(x: f32) -> f32 {
    let x = x.clamp(-4.0, 4.0);
    let square = x * x;
    let evaluate = |coefficients: &[f32]| coefficients.iter().fold(0.0, |sum, term| sum * square + term);
    let numerator = evaluate(&[
        -2.726_142_3e-10,
        2.770_681_4e-8,
        -2.101_024e-6,
        -5.692_506_4e-5,
        -7.349_906_3e-4,
        -2.954_6e-3,
        -1.609_603_4e-2,
    ]);
    let denominator =
        evaluate(&[-1.456_607_2e-5, -2.133_740_6e-4, -1.682_827e-3, -7.373_329_2e-3, -1.426_473_9e-2]);
    x * numerator / denominator
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erf_agrees_with_known_values() {
        let known = [
            (0.0, 0.0),
            (0.1, 0.112_462_916),
            (0.5, 0.520_500),
            (1.0, 0.842_701),
            (1.5, 0.966_105),
            (2.0, 0.995_322),
            (3.0, 0.999_978),
            (6.0, 1.0),
        ];
        for (x, value) in known {
            assert!((erf(x) - value).abs() < 1e-6, "erf({x}) = {}", erf(x));
            assert!((erf(-x) + value).abs() < 1e-6);
        }
    }

    #[test]
    fn softmax_sums_up_to_one_also_for_large_scores() {
        let mut scores = [1000.0, 1000.0, 998.0];
        softmax(&mut scores);
        assert!((scores.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!((scores[0] / scores[2] - 2.0_f32.exp()).abs() < 1e-3);
    }

    #[test]
    fn a_normalised_row_has_mean_zero_and_variance_one() {
        let norm = LayerNorm { weight: vec![1.0; 4], bias: vec![0.0; 4] };
        let mut row = [1.0, 2.0, 3.0, 6.0];
        norm.add_and_normalise(&mut row, &[0.0, 0.0, 0.0, 0.0]);
        assert!(row.iter().sum::<f32>().abs() < 1e-5);
        assert!((row.iter().map(|value| value * value).sum::<f32>() / 4.0 - 1.0).abs() < 1e-5);
    }
}
