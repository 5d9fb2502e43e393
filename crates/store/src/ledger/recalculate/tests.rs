//! Recalculation on both backends: rows and sums agree before, during and after it, whatever else is booked meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};

use domain::receipt::Receipt;
use domain::usage::Usage;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;

use super::*;
use crate::Store;
use crate::ledger::delta;
use crate::ledger::tests::{added_up, any_receipt, book, everything};
use crate::testing::{for_each_backend, receipt};

/// Two nano-dollars per input token, three per output token; `M%1` has no price.
fn prices(consumed: &Consumed) -> Option<Repriced> {
    let tokens = &consumed.tokens;
    let nanos = |count: u64, each: i64| Nanos((count.min(1 << 40) as i64) * each);
    let cost = Cost { input: nanos(tokens.total_input(), 2), output: nanos(tokens.total_output(), 3) };
    let savings = (tokens.cache_read > 0).then(|| nanos(tokens.cache_read.min(1000), 1));
    (consumed.model != "M%1").then(|| Repriced { cost, savings, version: Some("rev-7".into()) })
}

/// All sums as calculated from the rows and as stored, both ordered by key.
async fn both_sums(store: &Store) -> [Vec<String>; 2] {
    const FROM_ROWS: &str = "SELECT model, user_path, cache_type, COUNT(*), CAST(SUM(COALESCE(input_cost, 0)) AS BIGINT), \
         CAST(SUM(COALESCE(output_cost, 0)) AS BIGINT), COUNT(input_cost), \
         SUM(CASE WHEN input_cost IS NULL AND cache_type = '' AND input + cache_read + cache_write_5m + cache_write_1h \
         + audio_input + output + reasoning + audio_output > 0 THEN 1 ELSE 0 END), \
         CAST(SUM(input) AS BIGINT), CAST(SUM(COALESCE(prompt_cache_savings, 0)) AS BIGINT) FROM usage GROUP BY model, user_path, cache_type ORDER BY model, user_path, cache_type";
    const FROM_SUMS: &str = "SELECT model, user_path, cache_type, CAST(SUM(requests) AS BIGINT), \
         CAST(SUM(input_cost) AS BIGINT), CAST(SUM(output_cost) AS BIGINT), CAST(SUM(priced) AS BIGINT), \
         CAST(SUM(unpriced) AS BIGINT), CAST(SUM(input) AS BIGINT), \
         CAST(SUM(prompt_cache_savings) AS BIGINT) FROM rollups \
         GROUP BY model, user_path, cache_type ORDER BY model, user_path, cache_type";
    let mut both = [Vec::new(), Vec::new()];
    for (place, sql) in both.iter_mut().zip([FROM_ROWS, FROM_SUMS]) {
        for row in store.database().fetch(sql, &[]).await.unwrap() {
            let texts: Vec<String> = (0..3).map(|index| row.get(index).unwrap()).collect();
            let figures: Vec<i64> = (3..10).map(|index| row.get(index).unwrap()).collect();
            place.push(format!("{texts:?} {figures:?}"));
        }
    }
    both
}

async fn check_sums(store: &Store) {
    store.ledger().compact_all().await.unwrap();
    let [rows, sums] = both_sums(store).await;
    assert_eq!(rows, sums);
    const BELOW: &str =
        "SELECT COUNT(*) FROM rollups WHERE input_cost < 0 OR output_cost < 0 OR priced < 0 OR unpriced < 0";
    let below: i64 = store.database().fetch(BELOW, &[]).await.unwrap()[0].get(0).unwrap();
    assert_eq!(below, 0, "a sum is below zero");
}

fn receipts(count: usize) -> Vec<Receipt> {
    let mut runner = TestRunner::deterministic();
    let drawn = proptest::collection::vec(any_receipt(), count).new_tree(&mut runner).unwrap().current();
    let numbered = drawn.into_iter().enumerate();
    numbered.map(|(index, receipt)| Receipt { id: format!("r{index}"), ..receipt }).collect()
}

#[tokio::test]
async fn sums_follow_their_rows_through_several_batches() {
    for_each_backend(|store| async move {
        let receipts = receipts(2 * BATCH as usize + 300);
        for chunk in receipts.chunks(500) {
            book(&store, chunk.to_vec()).await;
        }
        check_sums(&store).await;
        let done = store.ledger().recalculate(&everything(), &mut prices).await.unwrap();
        assert_eq!(done.matched, receipts.len() as u64);
        let uncached = receipts.iter().filter(|receipt| receipt.cache_type.is_empty()).count() as u64;
        assert!(uncached > done.matched / 3, "{uncached}");
        assert_eq!(done.with_pricing + done.without_pricing, uncached);
        assert!(done.recalculated > 2 * uncached / 3, "{done:?}");
        check_sums(&store).await;
        assert_eq!(
            store.ledger().summary(&everything()).await.unwrap(),
            added_up(&store, &everything()).await
        );
        let (rows, _) = store.ledger().log(&everything(), 10_000, 0).await.unwrap();
        for row in rows.into_iter().filter(|row| row.cache_type.is_empty()) {
            let priced = row.model != "M%1";
            assert_eq!(
                (row.cost.is_some(), row.usage.caveat.as_deref()),
                (priced, (!priced).then_some(Caveat::Unpriced.as_str()))
            );
            assert_eq!(row.cost_source, if priced { CostSource::ModelPricing } else { CostSource::None });
        }
        let again = store.ledger().recalculate(&everything(), &mut prices).await.unwrap();
        assert_eq!((again.matched, again.recalculated), (done.matched, 0), "nothing is left to do");
    })
    .await;
}

#[tokio::test]
async fn what_is_known_better_is_kept() {
    for_each_backend(|store| async move {
        let caveat = |caveat: &str| Usage { caveat: Some(caveat.into()), ..receipt("").usage };
        let reported = Receipt { cost_source: CostSource::ProviderReported, ..receipt("reported") };
        let resumed = Receipt { usage: caveat("clamped; resumed"), ..receipt("resumed") };
        let mut plain = Receipt { usage: caveat("unpriced"), cost: None, ..receipt("plain") };
        plain.cost_source = CostSource::None;
        plain.session_id = Some("talk".into());
        let failed = Receipt { usage: Usage::default(), cost: None, ..receipt("failed") };
        let mut cached = Receipt { cost: Some(Cost::default()), ..receipt("cached") };
        (cached.cache_type, cached.saved_cost) = ("exact".into(), Some(Nanos(9)));
        book(&store, vec![reported, resumed, plain, failed, cached]).await;
        let done = store.ledger().recalculate(&everything(), &mut prices).await.unwrap();
        assert_eq!(done, Recalculated { matched: 5, recalculated: 1, with_pricing: 1, without_pricing: 0 });
        let (rows, _) = store.ledger().log(&everything(), 10, 0).await.unwrap();
        let row = |id: &str| rows.iter().find(|row| row.id == id).unwrap();
        for kept in ["reported", "resumed"] {
            assert_eq!(row(kept).total_cost(), Some(Nanos(450_000)), "{kept}");
        }
        let plain = row("plain");
        assert_eq!(plain.cost, Some(Cost { input: Nanos(200), output: Nanos(60) }));
        assert_eq!((plain.pricing_version.as_deref(), plain.usage.caveat.as_deref()), (Some("rev-7"), None));
        assert_eq!(plain.session_id.as_deref(), Some("talk"));
        assert!(plain.raw_usage.as_ref().unwrap().get().contains("\"prompt_tokens\": 100"), "as it came");
        assert_eq!(row("failed").cost, None);
        let cached = row("cached");
        assert_eq!((cached.total_cost(), cached.saved_cost), (Some(Nanos(0)), Some(Nanos(9))));
        check_sums(&store).await;
    })
    .await;
}

#[tokio::test]
async fn only_what_fits_the_filter_changes() {
    for_each_backend(|store| async move {
        let at = |id: &str, path: &str, model: &str| Receipt {
            user_path: path.into(),
            model: model.into(),
            ..receipt(id)
        };
        book(&store, vec![at("a", "/x", "one"), at("b", "/x/y", "two"), at("c", "/z", "one")]).await;
        let changed = async |change: fn(&mut UsageFilter)| {
            let mut filter = everything();
            change(&mut filter);
            let done = store.ledger().recalculate(&filter, &mut prices).await.unwrap();
            (done.matched, done.recalculated)
        };
        assert_eq!(changed(|filter| filter.until = filter.from).await, (0, 0));
        assert_eq!(changed(|filter| filter.user_path = Some("/x/y".into())).await, (1, 1));
        assert_eq!(changed(|filter| filter.model = Some("one".into())).await, (2, 2));
        assert_eq!(changed(|_| {}).await, (3, 0));
        check_sums(&store).await;
    })
    .await;
}

#[tokio::test]
async fn receipts_that_come_in_meanwhile_are_not_lost_and_not_doubled() {
    for_each_backend(|store| async move {
        let receipts = receipts(4_000);
        let (first, later) = receipts.split_at(2_500);
        book(&store, first.to_vec()).await;
        let over = AtomicBool::new(false);
        let draining = async {
            for chunk in later.chunks(50) {
                book(&store, chunk.to_vec()).await;
                check_both_at_once(&store).await;
            }
            over.store(true, Ordering::Relaxed);
        };
        let recalculating = async {
            let mut factor = 0;
            while !over.load(Ordering::Relaxed) {
                factor += 1;
                let mut dearer = |consumed: &Consumed| {
                    let Repriced { cost, version, savings } = prices(consumed)?;
                    Some(Repriced {
                        cost: Cost { input: Nanos(cost.input.0 * factor), ..cost },
                        version,
                        savings,
                    })
                };
                store.ledger().recalculate(&everything(), &mut dearer).await.unwrap();
            }
        };
        // Another replica recalculates at the same time, with other prices.
        let other = async {
            while !over.load(Ordering::Relaxed) {
                store.ledger().recalculate(&everything(), &mut |_: &Consumed| None).await.unwrap();
            }
        };
        let compacting = async {
            while !over.load(Ordering::Relaxed) {
                store.ledger().compact_all().await.unwrap();
                tokio::time::sleep(std::time::Duration::from_millis(3)).await;
            }
        };
        tokio::join!(Box::pin(draining), Box::pin(recalculating), Box::pin(other), Box::pin(compacting));
        check_sums(&store).await;
        store.ledger().recalculate(&everything(), &mut prices).await.unwrap();
        check_sums(&store).await;
        assert_eq!(store.ledger().count().await.unwrap(), 4_000);
    })
    .await;
}

/// Reads rows, sums and waiting deltas in one snapshot.
async fn check_both_at_once(store: &Store) {
    const BOTH: &str = "SELECT CAST((SELECT COALESCE(SUM(input_cost + output_cost), 0) FROM usage) AS BIGINT), \
         CAST((SELECT COALESCE(SUM(input_cost + output_cost), 0) FROM rollups) AS BIGINT), \
         (SELECT COUNT(input_cost) FROM usage), CAST((SELECT COALESCE(SUM(priced), 0) FROM rollups) AS BIGINT)";
    let mut snapshot = store.database().snapshot().await.unwrap();
    let rows = snapshot.fetch(BOTH, &[]).await.unwrap();
    let deltas = delta::waiting(&mut snapshot, 0, i64::MAX).await.unwrap();
    let mut waiting = rollup::Sums::default();
    delta::add_up(&deltas).unwrap().sums().iter().for_each(|(_, sums)| waiting.add(sums));
    let total = |names: &[&str]| {
        names.iter().map(|name| waiting.total(&[rollup::sum_column(name).unwrap()])).sum::<i64>()
    };
    let [cost, summed, priced, counted] = [0, 1, 2, 3].map(|index| rows[0].get::<i64>(index).unwrap());
    assert_eq!(
        (cost, priced),
        (summed + total(&["input_cost", "output_cost"]), counted + total(&["priced"]))
    );
}

#[tokio::test]
async fn what_has_no_price_is_listed_by_model() {
    for_each_backend(|store| async move {
        let call = |id: &str, model: &str, second: i64, cost: Option<Cost>| Receipt {
            model: model.into(),
            at: Timestamp::from_seconds(1_800_000_000 + second),
            cost,
            ..receipt(id)
        };
        let paid = Some(Cost::default());
        let nothing = Receipt { usage: Usage::default(), ..call("0", "own", 5_000, None) };
        let cached = |id: &str| Receipt { cache_type: "exact".into(), ..call(id, "own", 2_005, None) };
        book(
            &store,
            vec![
                call("1", "own", 0, None),
                call("2", "own", 2_000, None),
                // Both in one quarter hour, so that only the rows can distinguish them.
                call("3", "mixed", 10, None),
                call("4", "mixed", 20, paid),
                call("5", "mixed", 3_000, None),
                call("6", "priced", 0, paid),
                nothing,
                cached("9"),
            ],
        )
        .await;
        let shown = async |filter: &UsageFilter| {
            let found = store.ledger().unpriced(filter).await.unwrap();
            let mut found: Vec<_> = found
                .into_iter()
                .map(|usage| {
                    (usage.model, usage.requests, usage.input_tokens, usage.output_tokens, usage.last_seen)
                })
                .collect();
            found.sort();
            found
        };
        let at = |second: i64| Timestamp::from_seconds(1_800_000_000 + second);
        let expected =
            vec![("mixed".to_owned(), 2, 200, 40, at(3_000)), ("own".to_owned(), 2, 200, 40, at(2_000))];
        assert_eq!(shown(&everything()).await, expected, "while the sums wait");
        store.ledger().compact_all().await.unwrap();
        assert_eq!(shown(&everything()).await, expected);
        // Sums that are split between the tables and a delta.
        book(&store, vec![call("7", "own", 2_001, None), call("8", "own", 2_002, paid), cached("10")]).await;
        assert_eq!(shown(&everything()).await[1], ("own".to_owned(), 3, 300, 60, at(2_001)));
        store.ledger().compact_all().await.unwrap();
        assert_eq!(shown(&everything()).await[1], ("own".to_owned(), 3, 300, 60, at(2_001)));
        let elsewhere = UsageFilter { user_path: Some("/none".into()), ..everything() };
        assert_eq!(shown(&elsewhere).await, []);
        let later = UsageFilter { from: at(1_800), ..everything() };
        assert_eq!(
            shown(&later).await,
            vec![("mixed".to_owned(), 1, 100, 20, at(3_000)), ("own".to_owned(), 2, 200, 40, at(2_001))]
        );
        store
            .ledger()
            .recalculate(&everything(), &mut |_: &Consumed| {
                Some(Repriced { cost: Cost::default(), version: None, savings: None })
            })
            .await
            .unwrap();
        assert_eq!(shown(&everything()).await, []);
    })
    .await;
}
