//! The report of the response cache on both backends.

use domain::clock::Timestamp;
use domain::money::Cost;
use domain::receipt::Receipt;

use super::*;
use crate::ledger::tests::{book, everything};
use crate::testing::{for_each_backend, receipt};

/// Midnight in UTC.
const START: i64 = 1_799_971_200;
const DAY: i64 = 86_400;

fn at(second: i64) -> Timestamp {
    Timestamp::from_seconds(START + second)
}

fn hit(id: &str, second: i64, cache_type: &str, saved_cost: Option<i64>) -> Receipt {
    let (cache_type, saved_cost) = (cache_type.to_owned(), saved_cost.map(Nanos));
    Receipt { at: at(second), cache_type, saved_cost, cost: Some(Cost::default()), ..receipt(id) }
}

fn miss(id: &str, second: i64) -> Receipt {
    Receipt { at: at(second), cache_miss: true, ..receipt(id) }
}

fn calls() -> Vec<Receipt> {
    vec![
        hit("a", 10, "exact", Some(300)),
        hit("b", 20, "exact", None),
        miss("c", 30),
        hit("d", DAY + 5, "semantic", Some(50)),
        miss("e", DAY + 6),
        Receipt { user_path: "/other".into(), ..miss("f", DAY + 7) },
        // The cache was not searched.
        Receipt { at: at(2 * DAY), ..receipt("g") },
    ]
}

/// Hits of 100 input and 20 output tokens each.
fn usage([exact_hits, semantic_hits, misses]: [i64; 3], saved_cost: Option<i64>) -> CacheUsage {
    let hits = exact_hits + semantic_hits;
    let (input_tokens, output_tokens) = (100 * hits, 20 * hits);
    let saved_cost = saved_cost.map(Nanos);
    CacheUsage { exact_hits, semantic_hits, misses, input_tokens, output_tokens, saved_cost }
}

#[tokio::test]
async fn hits_and_misses_are_reported_by_period() {
    for_each_backend(|store| async move {
        book(&store, calls()).await;
        let days = |offset: i64| Some(Step { seconds: DAY, offset });
        for compacted in [false, true] {
            if compacted {
                store.ledger().compact_all().await.unwrap();
            }
            let found = async |step: Option<Step>| {
                let found = store.ledger().cache_usage(&everything(), step).await.unwrap();
                found.into_iter().collect::<Vec<_>>()
            };
            let first = START / DAY;
            let [one, two] = [usage([2, 0, 1], Some(300)), usage([0, 1, 2], Some(50))];
            assert_eq!(found(days(0)).await, [(first, one), (first + 1, two)], "{compacted}");
            // In a zone behind UTC, both are the day before.
            assert_eq!(found(days(-19_800)).await, [(first - 1, one), (first, two)], "{compacted}");
            let mut sum = one;
            sum.add(&two);
            assert_eq!(sum, usage([2, 1, 3], Some(350)));
            assert_eq!(found(None).await, [(0, sum)], "{compacted}");
        }
    })
    .await;
}

#[tokio::test]
async fn filters_apply_except_the_cache_mode() {
    for_each_backend(|store| async move {
        book(&store, calls()).await;
        let total = async |change: fn(&mut UsageFilter)| {
            let mut filter = everything();
            change(&mut filter);
            let found = store.ledger().cache_usage(&filter, None).await.unwrap();
            assert!(found.len() <= 1, "{found:?}");
            found.get(&0).copied()
        };
        let all = Some(usage([2, 1, 3], Some(350)));
        assert_eq!(total(|_| {}).await, all);
        assert_eq!(total(|filter| filter.cache = CacheMode::Uncached).await, all);
        assert_eq!(total(|filter| filter.cache = CacheMode::Cached).await, all);
        let other = total(|filter| filter.user_path = Some("/other".into())).await;
        assert_eq!(other, Some(usage([0, 0, 1], None)));
        let team = total(|filter| filter.user_path = Some("/team".into())).await;
        assert_eq!(team, Some(usage([2, 1, 2], Some(350))));
        // Neither bound is that of a quarter hour.
        let part = total(|filter| (filter.from, filter.until) = (at(15), at(DAY + 6))).await;
        assert_eq!(part, Some(usage([1, 1, 1], Some(50))));
        assert_eq!(total(|filter| filter.from = at(2 * DAY)).await, None);
    })
    .await;
}

#[tokio::test]
async fn an_absurd_saved_cost_does_not_overflow_the_sum() {
    for_each_backend(|store| async move {
        let absurd = |id: &str| hit(id, 0, "exact", Some(i64::MAX));
        book(&store, vec![absurd("a"), absurd("b")]).await;
        let found = store.ledger().cache_usage(&everything(), None).await.unwrap();
        assert_eq!(found[&0].saved_cost, Some(Nanos(2_000_000_000_000_000)));
    })
    .await;
}

#[test]
fn the_hit_rate_is_the_share_of_searches() {
    assert_eq!(CacheUsage::default().hit_rate(), 0.0);
    assert_eq!(usage([2, 1, 1], None).hit_rate(), 0.75);
    assert_eq!(usage([0, 0, 4], None).hit_rate(), 0.0);
}
