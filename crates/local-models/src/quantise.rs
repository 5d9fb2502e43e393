//! Symmetric quantisation: a row of numbers as integers and one scale.

/// The largest integer of a quantised weight.
const WEIGHT_LIMIT: f32 = 127.0;

/// The largest integer of a quantised activation. With 13 bits the rounding of activations is far below that of the
/// weights, and the sum of 2048 products of an activation and a weight fits 32 bits.
const ACTIVATION_LIMIT: f32 = 8191.0;

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
        *quantised = (value * inverse).round_ties_even() as i16;
    }
    scale
}

/// The scale that maps the largest number of a row to `limit`; 1 for a row without any.
fn scale_of(row: &[f32], limit: f32) -> f32 {
    let largest = row.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    let scale = largest / limit;
    if scale.is_normal() { scale } else { 1.0 }
}
