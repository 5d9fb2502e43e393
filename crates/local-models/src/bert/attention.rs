//! Multi-head self-attention.

use crate::layer_math::softmax;

/// Sums that are kept apart, so that the compiler can use SIMD instructions.
const LANES: usize = 8;

/// The context of each row: for every head, the mean of the values weighted by the similarity of query and key.
pub fn attend(query: &[f32], key: &[f32], value: &[f32], hidden: usize, heads: usize) -> Vec<f32> {
    let (rows, width) = (query.len() / hidden, hidden / heads);
    let scale = (width as f32).sqrt().recip();
    let mut context = vec![0.0; query.len()];
    let mut scores = vec![0.0; rows];
    for head in 0..heads {
        // The numbers of this head in a row.
        let part = |row: usize| row * hidden + head * width..row * hidden + (head + 1) * width;
        for row in 0..rows {
            let own = &query[part(row)];
            for (other, score) in scores.iter_mut().enumerate() {
                *score = dot(own, &key[part(other)]) * scale;
            }
            softmax(&mut scores);
            let output = &mut context[part(row)];
            for (other, score) in scores.iter().enumerate() {
                let values = &value[part(other)];
                output.iter_mut().zip(values).for_each(|(sum, value)| *sum += score * value);
            }
        }
    }
    context
}

fn dot(left: &[f32], right: &[f32]) -> f32 {
    let ((left, left_rest), (right, right_rest)) = (left.as_chunks::<LANES>(), right.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (left, right) in left.iter().zip(right) {
        for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
            *sum += left * right;
        }
    }
    let rest = left_rest.iter().zip(right_rest).map(|(left, right)| left * right);
    sums.iter().sum::<f32>() + rest.sum::<f32>()
}
