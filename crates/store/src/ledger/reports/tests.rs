//! Reports equal the sums of the rows, whatever the plan.

use domain::clock::Timestamp;
use domain::money::{Cost, Nanos};
use domain::receipt::Receipt;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::*;
use crate::Store;
use crate::ledger::CacheMode;
use crate::ledger::rollup::{self, Sums, TABLES};
use crate::ledger::{Consumed, Repriced};
use crate::testing::{for_each_backend, receipt};

/// Midnight in UTC.
const START: i64 = 1_799_971_200;
const SPAN: i64 = 5 * 86_400;

prop_compose! {
    fn any_receipt()(
        second in prop_oneof![4 => 0i64..SPAN, 1 => (0i64..SPAN / 900).prop_map(|quarter| quarter * 900)],
        status in prop_oneof![4 => Just(200u16), 1 => Just(301), 1 => Just(429), 1 => Just(502), 1 => Just(101)],
        cost in proptest::option::of((0i64..1_000_000, 0i64..1_000_000)),
        path in prop_oneof![Just("/"), Just("/team"), Just("/team/app"), Just("/teams")],
        cache in prop_oneof![3 => Just(""), 1 => Just("exact"), 1 => Just("semantic")],
        model in prop_oneof![Just("m-1"), Just("m-2")], provider in prop_oneof![Just("openai"), Just("anthropic")],
        name in prop_oneof![Just("main"), Just("openai")], key in proptest::option::of(prop_oneof![Just("k1"), Just("k2")]),
        tenant in proptest::option::of(Just("acme")), duration in 0u64..90_000_000, first in proptest::option::of(0u64..90_000_000),
    ) -> Receipt {
        let mut made = receipt("");
        made.at = Timestamp::from_seconds(START + second);
        made.status = status;
        made.usage.tokens.reasoning = second as u64 % 7;
        made.cost = cost.map(|(input, output)| Cost { input: Nanos(input), output: Nanos(output) });
        (made.user_path, made.cache_type, made.model) = (path.into(), cache.into(), model.into());
        (made.provider, made.provider_name) = (provider.into(), name.into());
        (made.auth_key_id, made.tenant_id) = (key.map(str::to_owned), tenant.map(str::to_owned));
        (made.duration_us, made.first_byte_us) = (duration, first);
        made.saved_cost = (!cache.is_empty() && second % 3 > 0).then_some(Nanos(second));
        made.cache_miss = cache.is_empty() && second % 2 == 0;
        made.prompt_cache_savings = made.cost.and((second % 4 > 0).then_some(Nanos(second - 3600)));
        made
    }
}

fn any_bound() -> impl Strategy<Value = i64> {
    // Days, days of other time zones, quarter hours, arbitrary times.
    prop_oneof![
        (0i64..6).prop_map(|day| day * 86_400),
        (0i64..6).prop_map(|day| day * 86_400 - 19_800),
        (0i64..SPAN / 900).prop_map(|quarter| quarter * 900),
        -1000i64..SPAN,
    ]
}

prop_compose! {
    fn any_report()(
        bounds in (any_bound(), any_bound()), path in proptest::option::of(prop_oneof![Just("/team"), Just("/")]),
        cache in prop_oneof![Just(CacheMode::All), Just(CacheMode::Cached), Just(CacheMode::Uncached)],
        model in proptest::option::weighted(0.2, Just("m-1")), provider in proptest::option::weighted(0.2, Just("openai")),
        key in proptest::option::weighted(0.2, Just("k1")),
        by in proptest::sample::subsequence(rollup::AXES.to_vec(), 0..4),
        step in proptest::option::of((
            prop_oneof![Just(900i64), Just(3600), Just(86_400)],
            prop_oneof![Just(0i64), Just(19_800), Just(-12_600), Just(20_700), Just(3600), Just(1234)],
        )),
        only in proptest::option::weighted(0.2, Just((Axis::Model, vec!["m-2".to_owned(), "none".to_owned()]))),
        histogram in proptest::option::of(prop_oneof![Just(Histogram::Latency), Just(Histogram::FirstByte)]),
    ) -> Report {
        let at = |second: i64| Timestamp::from_seconds(START + second);
        let (from, until) = (bounds.0.min(bounds.1), bounds.0.max(bounds.1));
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let filter = UsageFilter {
            user_path: owned(path), cache, model: owned(model), provider: owned(provider), auth_key_id: owned(key),
            ..UsageFilter::between(at(from), at(until))
        };
        Report { filter, by, step: step.map(|(seconds, offset)| Step { seconds, offset }), only, histogram }
    }
}

async fn from_rows(store: &Store, report: &Report) -> Vec<Line> {
    let parts = plan::rows(report.filter.from, report.filter.until);
    sorted(store.ledger().lines(report, &Conditions::new(&report.filter), &parts).await.unwrap())
}

fn sorted(mut lines: Vec<Line>) -> Vec<Line> {
    lines.sort_by(|one, other| (one.step, &one.names).cmp(&(other.step, &other.names)));
    lines
}

fn receipts(runner: &mut TestRunner, count: usize) -> Vec<Receipt> {
    let mut receipts = proptest::collection::vec(any_receipt(), count).new_tree(runner).unwrap().current();
    for (index, receipt) in receipts.iter_mut().enumerate() {
        receipt.id = format!("r{index}");
    }
    receipts
}

/// A step after which all reports still equal the rows.
#[derive(Clone, Debug)]
enum Change {
    Book,
    /// Compacts as at this second.
    Compact(i64),
    CompactAll,
    Recalculate(i64),
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => Just(Change::Book),
        2 => (0..SPAN).prop_map(Change::Compact),
        1 => Just(Change::CompactAll),
        1 => (0i64..1000).prop_map(Change::Recalculate),
    ]
}

async fn check(store: &Store, reports: &[Report]) -> usize {
    let mut lines = 0;
    for report in reports {
        let expected = from_rows(store, report).await;
        assert_eq!(sorted(store.ledger().report(report).await.unwrap()), expected, "{report:?}");
        lines += expected.len();
    }
    lines
}

#[tokio::test]
async fn every_plan_says_what_the_rows_say() {
    let mut runner = TestRunner::deterministic();
    let receipts = receipts(&mut runner, 500);
    let reports = proptest::collection::vec(any_report(), 150).new_tree(&mut runner).unwrap().current();
    for_each_backend(|store| {
        let (receipts, reports) = (receipts.clone(), reports.clone());
        async move {
            for chunk in receipts.chunks(137) {
                store.ledger().book(chunk).await.unwrap();
            }
            let lines = check(&store, &reports).await;
            assert!(lines > 2_000, "{lines} lines are too few to mean anything");
            store.ledger().compact_all().await.unwrap();
            check(&store, &reports).await;
        }
    })
    .await;
}

#[tokio::test]
async fn reports_equal_rows_with_any_mix_of_compacted_and_waiting_sums() {
    let mut runner = TestRunner::deterministic();
    let mut draw = || {
        let receipts = receipts(&mut runner, 200);
        let changes = proptest::collection::vec(any_change(), 16).new_tree(&mut runner).unwrap().current();
        let reports = proptest::collection::vec(any_report(), 100).new_tree(&mut runner).unwrap().current();
        (receipts, changes, reports)
    };
    for (receipts, changes, reports) in [draw(), draw(), draw()] {
        for_each_backend(|store| {
            let (receipts, changes, reports) = (receipts.clone(), changes.clone(), reports.clone());
            async move {
                let mut batches = receipts.chunks(13);
                for (number, change) in changes.iter().enumerate() {
                    match change {
                        Change::Book => {
                            store.ledger().book(batches.next().unwrap_or_default()).await.unwrap()
                        }
                        Change::Compact(second) => {
                            store.ledger().compact(Timestamp::from_seconds(START + second)).await.unwrap();
                        }
                        Change::CompactAll => store.ledger().compact_all().await.unwrap(),
                        Change::Recalculate(nanos) => {
                            let cost = Cost { input: Nanos(*nanos), output: Nanos(1) };
                            let mut price = |consumed: &Consumed| {
                                (consumed.model == "m-1").then_some(Repriced {
                                    cost,
                                    savings: None,
                                    version: None,
                                })
                            };
                            let all = UsageFilter::between(Timestamp(0), Timestamp(i64::MAX));
                            store.ledger().recalculate(&all, &mut price).await.unwrap();
                        }
                    }
                    check(&store, &reports[number * 6..number * 6 + 6]).await;
                }
            }
        })
        .await;
    }
}

#[tokio::test]
async fn all_tables_hold_the_same_sums_and_a_new_price_reaches_all() {
    let mut runner = TestRunner::deterministic();
    let receipts = receipts(&mut runner, 300);
    for_each_backend(|store| {
        let receipts = receipts.clone();
        async move {
            store.ledger().book(&receipts).await.unwrap();
            let (priced, changed) =
                (receipts.iter().find(|receipt| receipt.cost.is_some()).unwrap(), Some([7, 5]));
            let unpriced = receipts.iter().find(|receipt| receipt.cost.is_none()).unwrap();
            let mut open = store.database().begin().await.unwrap();
            for receipt in [priced, unpriced] {
                let old = receipt.cost.map(|cost| [cost.input.0, cost.output.0]);
                let update = "UPDATE usage SET input_cost = 7, output_cost = 5 WHERE id = $1";
                open.execute(update, &[(&receipt.id).into()]).await.unwrap();
                let key = rollup::key(receipt.at, texts(receipt));
                let needs_price = receipt.cache_type.is_empty();
                let sums = vec![(key, Sums::repriced(needs_price, old, changed))];
                store.ledger().writer.add_to_rollups(&mut open, sums).await.unwrap();
            }
            open.commit().await.unwrap();
            let all = Report::of(UsageFilter::between(Timestamp(0), Timestamp(i64::MAX)));
            let expected = from_rows(&store, &all).await;
            for compacted in [false, true] {
                if compacted {
                    store.ledger().compact_all().await.unwrap();
                }
                for table in &TABLES {
                    let part = [Part::Sums(table, 0, i64::MAX)];
                    let found =
                        store.ledger().lines(&all, &Conditions::new(&all.filter), &part).await.unwrap();
                    assert_eq!(found, expected, "{} {compacted}", table.name);
                }
            }
        }
    })
    .await;
}

fn texts(receipt: &Receipt) -> [&str; rollup::AXES.len()] {
    [
        &receipt.model,
        &receipt.provider,
        &receipt.provider_name,
        &receipt.user_path,
        receipt.auth_key_id.as_deref().unwrap_or_default(),
        receipt.tenant_id.as_deref().unwrap_or_default(),
        &receipt.cache_type,
    ]
}
