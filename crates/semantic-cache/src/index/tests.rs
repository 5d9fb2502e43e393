//! Properties of the vector index: results of the exhaustive search, bounds, eviction order, expiry.

use std::time::Duration;

use proptest::prelude::*;

use super::{EntryId, IndexLimits, Match, NewEntry, VectorIndex};
use crate::quantise::quantise;

const ROOMY: IndexLimits = IndexLimits { max_entries: 10_000, max_bytes: 100_000_000 };
const NOW: Duration = Duration::from_secs(1_000);
const LATER: Duration = Duration::from_secs(2_000);

fn id(n: usize) -> EntryId {
    let mut id = [0; 32];
    id[..8].copy_from_slice(&(n as u64).to_be_bytes());
    id
}

fn entry(n: usize, partition: u8, vector: &[f32]) -> NewEntry {
    let vector = quantise(vector).expect("a vector with a direction");
    NewEntry { id: id(n), partition: [partition; 32], vector, expires_at: LATER, min_score: 0.0 }
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(p, q)| p * q).sum::<f32>();
    dot(a, b) / (dot(a, a).sqrt() * dot(b, b).sqrt())
}

fn vectors(dimension: usize) -> impl Strategy<Value = Vec<Vec<f32>>> {
    let vector = prop::collection::vec(-1.0_f32..1.0, dimension)
        .prop_filter("has a direction", |v| v.iter().any(|x| x.abs() > 0.1));
    prop::collection::vec(vector, 1..60)
}

proptest! {
    #[test]
    fn search_equals_brute_force_over_floats(all in vectors(48), limit in 1_usize..20) {
        let (query, stored) = all.split_last().expect("not empty");
        let mut index = VectorIndex::new(ROOMY);
        for (n, vector) in stored.iter().enumerate() {
            index.insert(entry(n, 1, vector));
        }
        let found = index.search(&[1; 32], query, limit, NOW);
        let mut exact: Vec<f32> = stored.iter().map(|v| cosine(query, v)).collect();
        for found in &found {
            let n = u64::from_be_bytes(found.id[..8].try_into().expect("8 bytes")) as usize;
            prop_assert!((found.score - exact[n]).abs() < 0.01, "{} against {}", found.score, exact[n]);
        }
        exact.sort_by(|a, b| b.total_cmp(a));
        prop_assert_eq!(found.len(), stored.len().min(limit));
        for (found, best) in found.iter().zip(exact) {
            prop_assert!((found.score - best).abs() < 0.01);
        }
        prop_assert!(found.windows(2).all(|pair| pair[0].score >= pair[1].score));
    }

    /// Any sequence of operations leaves the index within its bounds, and agrees with a list of the living entries.
    #[test]
    fn bounds_hold_after_any_operations(
        operations in prop::collection::vec((0_u8..5, 0_usize..30, 0_u8..3), 1..120),
        max_entries in 1_usize..12,
        max_bytes in 300_usize..6_000,
    ) {
        let mut index = VectorIndex::new(IndexLimits { max_entries, max_bytes });
        let mut living: Vec<(usize, u8)> = Vec::new();
        for (operation, n, partition) in operations {
            match operation {
                0..3 => {
                    living.retain(|(other, _)| *other != n);
                    living.push((n, partition));
                    let evicted = index.insert(entry(n, partition, &[n as f32 + 1.0, 1.0, -1.0]));
                    living.retain(|(other, _)| !evicted.contains(&id(*other)));
                }
                3 => {
                    let known = living.iter().any(|(other, _)| *other == n);
                    living.retain(|(other, _)| *other != n);
                    prop_assert_eq!(index.remove(&id(n)), known);
                }
                _ => index.touch(&id(n)),
            }
            prop_assert!(index.len() <= max_entries && index.bytes() <= max_bytes);
            prop_assert_eq!(index.len(), living.len());
            for (n, partition) in &living {
                let found = index.search(&[*partition; 32], &[*n as f32 + 1.0, 1.0, -1.0], 40, NOW);
                prop_assert!(found.iter().any(|m| m.id == id(*n) && m.score > 0.99));
            }
        }
        for (n, _) in living {
            index.remove(&id(n));
        }
        prop_assert_eq!((index.len(), index.bytes()), (0, 0));
    }
}

#[test]
fn partitions_are_apart() {
    let mut index = VectorIndex::new(ROOMY);
    index.insert(entry(1, 1, &[1.0, 0.0]));
    assert_eq!(index.search(&[2; 32], &[1.0, 0.0], 5, NOW), []);
    assert_eq!(index.search(&[1; 32], &[1.0, 0.0], 5, NOW).len(), 1);
}

#[test]
fn the_least_recently_used_entry_is_evicted() {
    let mut index = VectorIndex::new(IndexLimits { max_entries: 2, ..ROOMY });
    assert_eq!(index.insert(entry(1, 1, &[1.0, 0.0])), Vec::<EntryId>::new());
    index.insert(entry(2, 1, &[0.0, 1.0]));
    index.touch(&id(1));
    assert_eq!(index.insert(entry(3, 2, &[1.0, 1.0])), [id(2)]);
    assert!(index.contains(&id(1)) && index.contains(&id(3)));
}

#[test]
fn an_entry_larger_than_the_index_is_not_kept() {
    let mut index = VectorIndex::new(IndexLimits { max_bytes: 100, ..ROOMY });
    assert_eq!(index.insert(entry(1, 1, &[1.0, 0.0])), [id(1)]);
    assert!(index.is_empty());
}

#[test]
fn a_vector_of_another_dimension_is_not_kept_and_finds_nothing() {
    let mut index = VectorIndex::new(ROOMY);
    index.insert(entry(1, 1, &[1.0, 0.0]));
    assert_eq!(index.insert(entry(2, 1, &[1.0, 0.0, 0.0])), [id(2)]);
    assert_eq!(index.search(&[1; 32], &[1.0, 0.0, 0.0], 5, NOW), []);
    for query in [&[0.0, 0.0], &[f32::NAN, 0.0]] {
        assert_eq!(index.search(&[1; 32], query, 5, NOW), []);
    }
}

#[test]
fn expired_entries_are_not_found_and_can_be_removed() {
    let mut index = VectorIndex::new(ROOMY);
    index.insert(entry(1, 1, &[1.0, 0.0]));
    index.insert(NewEntry { expires_at: NOW, ..entry(2, 1, &[1.0, 0.0]) });
    let found: Vec<EntryId> = index.search(&[1; 32], &[1.0, 0.0], 5, NOW).into_iter().map(|m| m.id).collect();
    assert_eq!(found, [id(1)]);
    assert_eq!(index.remove_expired(NOW), [id(2)]);
    assert_eq!(index.remove_expired(LATER), [id(1)]);
    assert_eq!((index.len(), index.bytes()), (0, 0));
}

#[test]
fn the_lowest_score_of_an_entry_only_rises() {
    let mut index = VectorIndex::new(ROOMY);
    index.insert(entry(1, 1, &[1.0, 0.0]));
    assert_eq!(index.raise_min_score(&id(1), 0.98), Some(0.98));
    assert_eq!(index.raise_min_score(&id(1), 0.97), Some(0.98));
    assert_eq!(index.raise_min_score(&id(2), 0.97), None);
    let found = index.search(&[1; 32], &[1.0, 0.25], 1, NOW)[0];
    assert!((found.score - 0.970).abs() < 0.001 && !found.reaches(0.95), "{found:?}");
    assert!(Match { min_score: 0.0, ..found }.reaches(0.95));
}
