//! Compaction on both backends: reports do not change, whatever is compacted, interrupted or concurrent.

use std::sync::atomic::AtomicBool;

use domain::receipt::Receipt;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::*;
use crate::Store;
use crate::database::Database;
use crate::ledger::UsageSummary;
use crate::ledger::booking::Booking;
use crate::ledger::rollup::TABLES;
use crate::ledger::tests::{any_receipt, book, everything};
use crate::testing::{for_each_backend, for_each_database, open, receipt};

const START: i64 = 1_800_000_000;

async fn count(database: &Database, table: &str) -> i64 {
    let text = crate::database::sql(format!("SELECT COUNT(*) FROM {table}"));
    database.fetch(text, &[]).await.unwrap()[0].get(0).unwrap()
}

fn receipts(count: usize) -> Vec<Receipt> {
    let drawn = proptest::collection::vec(any_receipt(), count);
    let drawn = drawn.new_tree(&mut TestRunner::deterministic()).unwrap().current();
    let numbered = drawn.into_iter().enumerate();
    numbered.map(|(index, receipt)| Receipt { id: format!("r{index}"), ..receipt }).collect()
}

async fn summary(store: &Store) -> UsageSummary {
    store.ledger().summary(&everything()).await.unwrap()
}

#[tokio::test]
async fn an_open_quarter_hour_is_merged_and_a_past_one_is_added_to_the_tables() {
    for_each_backend(|store| async move {
        let (ledger, database) = (store.ledger(), store.database());
        let at = |number: u64| Timestamp::from_seconds(START + number as i64 % 2 * 900);
        let call = |number: u64| Receipt { at: at(number), ..receipt(format!("r{number}")) };
        for number in 0..MANY - 1 {
            book(&store, vec![call(number)]).await;
        }
        let before = summary(&store).await;
        // Two quarter hours, the first of which has just ended.
        let now = Timestamp::from_seconds(START + 900);
        ledger.compact(now).await.unwrap();
        assert_eq!(count(database, "rollup_deltas").await, MANY as i64 - 1, "too few to be merged");
        ledger.compact(Timestamp::from_seconds(START + 900 + GRACE)).await.unwrap();
        assert_eq!((count(database, "rollup_deltas").await, count(database, "rollups").await), (1, 1));
        assert_eq!(summary(&store).await, before);

        for number in MANY..2 * MANY - 1 {
            book(&store, vec![call(2 * number + 1)]).await;
        }
        let before = summary(&store).await;
        ledger.compact(Timestamp::from_seconds(START + 1_000)).await.unwrap();
        assert_eq!((count(database, "rollup_deltas").await, count(database, "rollups").await), (1, 1));
        ledger.compact_all().await.unwrap();
        assert_eq!((count(database, "rollup_deltas").await, count(database, "rollups").await), (0, 2));
        for table in &TABLES {
            assert!(count(database, table.name).await > 0, "{}", table.name);
        }
        assert_eq!(summary(&store).await, before);
    })
    .await;
}

#[tokio::test]
async fn reports_do_not_change_while_deltas_are_compacted() {
    let receipts = receipts(600);
    for_each_backend(|store| {
        let receipts = receipts.clone();
        async move {
            for round in receipts.chunks(200) {
                for chunk in round.chunks(10) {
                    book(&store, chunk.to_vec()).await;
                }
                let before = summary(&store).await;
                let over = AtomicBool::new(false);
                let compacting = async {
                    for _ in 0..3 {
                        store.ledger().merge().await.unwrap();
                    }
                    store.ledger().compact_all().await.unwrap();
                    over.store(true, Ordering::Relaxed);
                };
                // On PostgreSQL, another process.
                let other = store.ledger().compact_all();
                let reading = async {
                    let mut reports = 0;
                    while !over.load(Ordering::Relaxed) || reports < 5 {
                        assert_eq!(summary(&store).await, before);
                        reports += 1;
                    }
                };
                let race = async { tokio::join!(compacting, other, reading) };
                let ((), other, ()) =
                    tokio::time::timeout(Duration::from_secs(60), Box::pin(race)).await.unwrap();
                other.unwrap();
            }
            store.ledger().compact_all().await.unwrap();
            assert_eq!(count(store.database(), "rollup_deltas").await, 0);
            assert_eq!(summary(&store).await.total_requests, 600);
        }
    })
    .await;
}

#[tokio::test]
async fn an_interrupted_compaction_and_a_killed_process_lose_nothing() {
    let receipts = receipts(300);
    for_each_database(|backend| {
        let receipts = receipts.clone();
        async move {
            let store = open(backend.clone()).await;
            for chunk in receipts.chunks(10) {
                book(&store, chunk.to_vec()).await;
            }
            let before = summary(&store).await;
            for micros in [0, 100, 500, 1_000, 2_000, 5_000, 10_000] {
                let cut = Duration::from_micros(micros);
                _ = tokio::time::timeout(cut, store.ledger().compact_all()).await;
                assert_eq!(summary(&store).await, before, "cut after {cut:?}");
            }
            // The process ends without another compaction.
            book(&store, vec![receipt("last")]).await;
            store.close().await;
            let store = open(backend).await;
            assert_eq!(summary(&store).await.total_requests, before.total_requests + 1);
            store.ledger().compact_all().await.unwrap();
            assert_eq!(count(store.database(), "rollup_deltas").await, 0);
            assert_eq!(summary(&store).await.total_requests, before.total_requests + 1);
            store.close().await;
        }
    })
    .await;
}

/// A process of the version before inserts rows and adds to the tables itself.
#[tokio::test]
async fn sums_of_the_version_before_count_as_well() {
    for_each_backend(|store| async move {
        for number in 0..6 {
            let booking = Booking::of(&receipt(format!("r{number}"))).unwrap().unwrap();
            let mut open = store.database().begin().await.unwrap();
            store.ledger().writer.book(&mut open, std::slice::from_ref(&booking), false).await.unwrap();
            if number % 2 == 0 {
                let newest =
                    "DELETE FROM rollup_deltas WHERE id = (SELECT MAX(id) FROM rollup_deltas) RETURNING sums";
                let taken: Vec<Vec<u8>> =
                    open.fetch(newest, &[]).await.unwrap().iter().map(|row| row.get(0).unwrap()).collect();
                store
                    .ledger()
                    .writer
                    .add_to_rollups(&mut open, delta::add_up(&taken).unwrap().sums())
                    .await
                    .unwrap();
            }
            open.commit().await.unwrap();
            assert_eq!(summary(&store).await.total_requests, number + 1);
        }
        store.ledger().compact_all().await.unwrap();
        assert_eq!(summary(&store).await.total_requests, 6);
    })
    .await;
}

#[tokio::test]
async fn many_deltas_wake_the_compaction() {
    let backlog = WaitingDeltas::default();
    let wait = || tokio::time::timeout(Duration::from_millis(10), backlog.until_many());
    (1..MANY).for_each(|_| backlog.add_one());
    assert!(wait().await.is_err());
    backlog.add_one();
    assert!(wait().await.is_ok());
}
