//! Tests of the forward pass against a plain implementation in double precision.

use super::*;
use crate::random_model::{CONFIG, RandomTensors};

/// A plain BERT encoder over the tensors of a package.
struct PlainBert<'a>(&'a RandomTensors);

impl PlainBert<'_> {
    fn tensor(&self, name: &str) -> Vec<f64> {
        self.0.0[name].iter().map(|number| f64::from(*number)).collect()
    }

    fn linear(&self, name: &str, rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let (matrix, bias) = (self.tensor(&format!("{name}.weight")), self.tensor(&format!("{name}.bias")));
        let apply = |row: &Vec<f64>| {
            let outputs = matrix.chunks(row.len()).zip(&bias);
            outputs
                .map(|(weights, bias)| weights.iter().zip(row).map(|(w, x)| w * x).sum::<f64>() + bias)
                .collect()
        };
        rows.iter().map(apply).collect()
    }

    fn norm(&self, name: &str, rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let (weight, bias) = (self.tensor(&format!("{name}.weight")), self.tensor(&format!("{name}.bias")));
        let normalise = |row: &Vec<f64>| {
            let size = row.len() as f64;
            let mean = row.iter().sum::<f64>() / size;
            let deviation = (row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / size + 1e-12).sqrt();
            (0..row.len()).map(|i| (row[i] - mean) / deviation * weight[i] + bias[i]).collect()
        };
        rows.iter().map(normalise).collect()
    }

    fn attention(&self, layer: &str, rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let part = |name: &str| self.linear(&format!("{layer}.attention.self.{name}"), rows);
        let (query, key, value) = (part("query"), part("key"), part("value"));
        let width = CONFIG.hidden / CONFIG.heads;
        let mut context = vec![vec![0.0; CONFIG.hidden]; rows.len()];
        for head in 0..CONFIG.heads {
            let range = head * width..(head + 1) * width;
            for (row, context) in context.iter_mut().enumerate() {
                let score = |other: &Vec<f64>| {
                    let products = query[row][range.clone()].iter().zip(&other[range.clone()]);
                    (products.map(|(q, k)| q * k).sum::<f64>() / (width as f64).sqrt()).exp()
                };
                let scores: Vec<f64> = key.iter().map(score).collect();
                let sum: f64 = scores.iter().sum();
                for index in range.clone() {
                    let weighted = scores.iter().zip(&value).map(|(score, value)| score / sum * value[index]);
                    context[index] = weighted.sum();
                }
            }
        }
        context
    }

    fn pool(&self, pieces: &[u32]) -> Vec<f64> {
        let hidden = CONFIG.hidden;
        let table = |name: &str| self.tensor(&format!("embeddings.{name}_embeddings.weight"));
        let (words, positions, segments) = (table("word"), table("position"), table("token_type"));
        let row = |(position, piece): (usize, &u32)| {
            let sum =
                |i| words[*piece as usize * hidden + i] + positions[position * hidden + i] + segments[i];
            (0..hidden).map(sum).collect::<Vec<f64>>()
        };
        let rows: Vec<Vec<f64>> = pieces.iter().enumerate().map(row).collect();
        let mut rows = self.norm("embeddings.LayerNorm", &rows);
        for layer in 0..CONFIG.layers {
            let layer = format!("encoder.layer.{layer}");
            let context = self.attention(&layer, &rows);
            let output = self.linear(&format!("{layer}.attention.output.dense"), &context);
            rows = self.norm(&format!("{layer}.attention.output.LayerNorm"), &add(&output, &rows));
            let mut inner = self.linear(&format!("{layer}.intermediate.dense"), &rows);
            inner.iter_mut().flatten().for_each(|x| *x *= 0.5 * (1.0 + erf(*x / 2.0_f64.sqrt())));
            let output = self.linear(&format!("{layer}.output.dense"), &inner);
            rows = self.norm(&format!("{layer}.output.LayerNorm"), &add(&output, &rows));
        }
        (0..hidden).map(|i| rows.iter().map(|row| row[i]).sum::<f64>() / rows.len() as f64).collect()
    }
}

fn add(left: &[Vec<f64>], right: &[Vec<f64>]) -> Vec<Vec<f64>> {
    left.iter().zip(right).map(|(left, right)| left.iter().zip(right).map(|(l, r)| l + r).collect()).collect()
}

/// The error function by its Taylor series.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

#[test]
fn agrees_with_a_plain_implementation() {
    for seed in 0..4 {
        let tensors = RandomTensors::new(&CONFIG, seed);
        let weights = BertWeights::convert(&CONFIG, &tensors).expect("weights");
        let bert = Bert::new(CONFIG, weights);
        for pieces in [&[2, 3][..], &[2, 5, 6, 3], &[2, 7, 8, 9, 3], &[5; 40]] {
            let (fast, plain) = (bert.pool(pieces), PlainBert(&tensors).pool(pieces));
            for (fast, plain) in fast.iter().zip(&plain) {
                assert!((f64::from(*fast) - plain).abs() < 2e-3, "seed {seed}: {fast} instead of {plain}");
            }
        }
    }
}

#[test]
fn the_order_of_the_pieces_matters() {
    let tensors = RandomTensors::new(&CONFIG, 1);
    let bert = Bert::new(CONFIG, BertWeights::convert(&CONFIG, &tensors).expect("weights"));
    let distance =
        |left: &[f32], right: &[f32]| left.iter().zip(right).map(|(l, r)| (l - r).abs()).sum::<f32>();
    assert!(distance(&bert.pool(&[2, 5, 6, 3]), &bert.pool(&[2, 6, 5, 3])) > 0.01);
}
