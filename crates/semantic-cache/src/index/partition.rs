//! One partition of the index: vectors side by side, compared with a query in one pass.

use std::time::Duration;

use super::{EntryId, Match};
use crate::quantise::{Quantised, to_levels};

/// Facts about one vector beside its components.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub id: EntryId,
    pub expires_at: Duration,
    pub min_score: f32,
}

/// Vectors of one dimension; the components of all rows lie side by side.
#[derive(Debug)]
pub struct Partition {
    dimension: usize,
    components: Vec<i8>,
    scales: Vec<f32>,
    rows: Vec<Row>,
}

impl Partition {
    pub fn new(dimension: usize) -> Self {
        Self { dimension, components: Vec::new(), scales: Vec::new(), rows: Vec::new() }
    }

    pub fn dimension(&self) -> usize {
        self.dimension
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Appends a vector and returns its row.
    pub fn push(&mut self, vector: &Quantised, row: Row) -> usize {
        self.components.extend_from_slice(&vector.components);
        self.scales.push(vector.scale);
        self.rows.push(row);
        self.rows.len() - 1
    }

    /// Removes a row. The last row takes its place; returns the id of that row unless it was the last itself.
    pub fn swap_remove(&mut self, row: usize) -> Option<EntryId> {
        if row >= self.rows.len() {
            return None;
        }
        let last = self.rows.len() - 1;
        let from = last * self.dimension;
        if row != last {
            self.components.copy_within(from..from + self.dimension, row * self.dimension);
        }
        self.components.truncate(from);
        self.scales.swap_remove(row);
        self.rows.swap_remove(row);
        if self.components.capacity() > 4 * self.components.len() {
            self.components.shrink_to(2 * self.components.len());
        }
        self.rows.get(row).map(|moved| moved.id)
    }

    pub fn raise_min_score(&mut self, row: usize, min_score: f32) -> Option<f32> {
        let row = self.rows.get_mut(row)?;
        row.min_score = row.min_score.max(min_score);
        Some(row.min_score)
    }

    /// The best `limit` rows that have not expired, best first; of equal scores the older entry first.
    pub fn search(&self, query: &[f32], limit: usize, now: Duration) -> Vec<Match> {
        let Some(query) = Query::new(query).filter(|q| q.levels.len() == self.dimension) else {
            return Vec::new();
        };
        let mut best: Vec<Match> = Vec::with_capacity(limit.min(self.rows.len()) + 1);
        let vectors = self.components.chunks_exact(self.dimension);
        for ((components, scale), row) in vectors.zip(&self.scales).zip(&self.rows) {
            let score = query.cosine(components, *scale);
            let worst = best.last().map_or(f32::NEG_INFINITY, |m| m.score);
            if (best.len() >= limit && score <= worst) || row.expires_at <= now {
                continue;
            }
            let at = best.partition_point(|m| m.score >= score);
            best.insert(at, Match { id: row.id, score, min_score: row.min_score });
            best.truncate(limit);
        }
        best
    }
}

/// A query in 16 bits: twice the precision of the entries, and the multiplication of 16-bit integers with a 32-bit sum
/// is one vector instruction on all machines.
struct Query {
    levels: Vec<i16>,
    scale: f32,
}

impl Query {
    fn new(vector: &[f32]) -> Option<Self> {
        // The largest possible sum of products, `levels * 128 * dimension`, must fit in 31 bits.
        let fitting = f64::from(i32::MAX) / (128.0 * vector.len().max(1) as f64);
        let most = fitting.min(f64::from(i16::MAX)).floor() as f32;
        let levels: Vec<i16> = to_levels(vector, most)?.into_iter().map(|level| level as i16).collect();
        let squares: i64 = levels.iter().map(|level| i64::from(*level) * i64::from(*level)).sum();
        (squares > 0).then(|| Self { levels, scale: 1.0 / (squares as f32).sqrt() })
    }

    fn cosine(&self, components: &[i8], scale: f32) -> f32 {
        let products = self
            .levels
            .iter()
            .zip(components)
            .map(|(level, component)| i32::from(*level) * i32::from(*component));
        let sum = products.fold(0_i32, i32::wrapping_add);
        (sum as f32 * self.scale * scale).clamp(-1.0, 1.0)
    }
}
