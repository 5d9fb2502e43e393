//! Symmetric quantisation: a row of numbers as integers and one scale.

/// The largest integer of a quantised weight.
const WEIGHT_LIMIT: f32 = 127.0;

/// The largest integer of a quantised activation. With 13 bits the rounding of activations is far below that of the
/// weights, and the sum of 2048 products of an activation and a weight fits 32 bits.
const ACTIVATION_LIMIT: f32 = 8191.0;

/// 1.5 · 2²³: floats of this size have no fraction.
const ROUNDING: f32 = 12_582_912.0;

/// Quantises a row of weights. Returns its scale.
pub fn quantise_weights(row: &[f32], output: &mut Vec<i8>) -> f32 {
    let scale = scale_of(row, WEIGHT_LIMIT);
    output.extend(row.iter().map(|value| (value / scale).round() as i8));
    scale
}

/// Quantises a row of activations. Returns its scale.
pub fn quantise_activations(row: &[f32], output: &mut [i16]) -> f32 {
    let scale = scale_of(row, ACTIVATION_LIMIT);
    let inverse = scale.recip();
    for (quantised, value) in output.iter_mut().zip(row) {
        // The sum is rounded to an integer, which is in the low bits of its representation. Unlike `round`, this is one
        // SIMD instruction on every processor.
        *quantised = (value * inverse + ROUNDING).to_bits() as i16;
    }
    scale
}

/// The scale that maps the largest number of a row to `limit`; 1 for a row without any.
fn scale_of(row: &[f32], limit: f32) -> f32 {
    let largest = row.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    let scale = largest / limit;
    if scale.is_normal() { scale } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activations_are_rounded_to_the_nearest_integer() {
        let row = [8191.0, -8191.0, 0.4, -0.4, 0.6, -0.6, 1234.5, -1235.4];
        let mut quantised = [0; 8];
        assert_eq!(quantise_activations(&row, &mut quantised), 1.0);
        assert_eq!(quantised, [8191, -8191, 0, 0, 1, -1, 1234, -1235]);
        assert_eq!(quantise_activations(&[0.0; 8], &mut quantised), 1.0);
        assert_eq!(quantised, [0; 8]);
    }

    #[test]
    fn weights_keep_their_sign_and_their_largest_number() {
        let mut quantised = Vec::new();
        let scale = quantise_weights(&[0.5, -0.25, 0.0, -0.5], &mut quantised);
        assert_eq!(quantised, [127, -64, 0, -127]);
        assert!((scale * 127.0 - 0.5).abs() < 1e-6);
    }
}
