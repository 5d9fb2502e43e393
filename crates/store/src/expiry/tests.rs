//! Tests of bounded deletions, on both databases.

use super::*;
use crate::testing::{for_each_backend, receipt};
use crate::{Store, idempotency, ledger, responses, semantic_checks, semantic_entries, sessions};

/// Every table that is cleaned in this way, with the index of its time column.
fn tables() -> Vec<(&'static ExpiringTable, &'static str)> {
    vec![
        (&ledger::EXPIRING, "usage"),
        (&responses::EXPIRING, "responses_by_expiry"),
        (&responses::owners::EXPIRING, "object_owners_by_expiry"),
        (&idempotency::EXPIRING, "idempotency_by_expiry"),
        (&semantic_entries::EXPIRING, "semantic_entries_by_expiry"),
        (&semantic_entries::EXPIRING_REMOVALS, "semantic_removals_by_time"),
        (&semantic_checks::EXPIRING, "semantic_checks"),
        (&sessions::EXPIRING, "sessions_by_expiry"),
        (&sessions::revocations::EXPIRING, "token_revocations_by_expiry"),
    ]
}

/// The plan of a deletion, as text.
async fn plan(store: &Store, table: &ExpiringTable) -> String {
    let text = table.statement().as_str().replace("$1", "5").replace("$2", "9").replace("$3", "1000");
    let mut open = store.database().begin().await.unwrap();
    let (explain, column) = if open.is_postgres() {
        // Tables of the tests are so small that scanning and sorting them would be cheaper.
        open.execute("SET LOCAL enable_seqscan = off", &[]).await.unwrap();
        open.execute("SET LOCAL enable_bitmapscan = off", &[]).await.unwrap();
        open.execute("SET LOCAL enable_sort = off", &[]).await.unwrap();
        ("EXPLAIN", 0)
    } else {
        ("EXPLAIN QUERY PLAN", 3)
    };
    let rows = open.fetch(sql(format!("{explain} {text}")), &[]).await.unwrap();
    rows.iter().map(|row| row.get::<String>(column).unwrap() + "\n").collect()
}

#[tokio::test]
async fn expired_rows_are_found_and_deleted_by_indexes() {
    for_each_backend(|store| async move {
        for (table, index) in tables() {
            let plan = plan(&store, table).await;
            let (scan, lookup, sort) = match store.backend_name() {
                "postgres" => ("Seq Scan", "Index", "Sort  "),
                _ => ("SCAN", "SEARCH", "USE TEMP B-TREE FOR ORDER BY"),
            };
            assert!(plan.contains(lookup) && plan.contains(index), "{}:\n{plan}", table.name);
            // Not even the rows of one step are sorted: they are read in order.
            let is_clean =
                |line: &str| !line.contains(scan) || line.contains("SUBQUERY") || line.contains("Subquery");
            assert!(plan.lines().all(is_clean), "{}:\n{plan}", table.name);
            assert!(!plan.contains(sort), "{}:\n{plan}", table.name);
        }
    })
    .await;
}

#[tokio::test]
async fn a_step_is_bounded_and_the_next_one_continues_behind_it() {
    for_each_backend(|store| async move {
        let receipts: Vec<_> = (0..25i64)
            .map(|number| {
                let mut receipt = receipt(format!("r{number:02}"));
                // Several rows have the same time, also across the end of a step.
                receipt.at = Timestamp(1_000 + number / 3);
                receipt
            })
            .collect();
        store.ledger().book(&receipts).await.unwrap();
        let (table, database) = (&ledger::EXPIRING, store.database());
        let before = Timestamp(1_007);
        let first = table.step(database, i64::MIN, before, 10).await.unwrap().unwrap();
        assert_eq!((first.deleted, first.last), (10, 1_003));
        assert_eq!(store.ledger().count().await.unwrap(), 15);
        let second = table.step(database, first.last, before, 10).await.unwrap().unwrap();
        assert_eq!((second.deleted, second.last), (10, 1_006));
        let third = table.step(database, second.last, before, 10).await.unwrap().unwrap();
        assert_eq!(third.deleted, 1);
        // Rows that are not expired stay.
        assert_eq!(store.ledger().count().await.unwrap(), 4);
        assert_eq!(table.delete_before(database, before, 10).await.unwrap(), 0);
        assert_eq!(table.delete_before(database, Timestamp(2_000), 3).await.unwrap(), 4);
    })
    .await;
}

#[tokio::test]
async fn one_process_at_a_time_deletes_rows_of_a_table() {
    for_each_backend(|store| async move {
        if store.backend_name() == "sqlite" {
            return;
        }
        store.ledger().book(&[receipt("a")]).await.unwrap();
        let mut other = store.database().begin().await.unwrap();
        assert!(ledger::EXPIRING.lock(&mut other).await.unwrap());
        let late = Timestamp(i64::MAX);
        assert_eq!(ledger::EXPIRING.delete_before(store.database(), late, 10).await.unwrap(), 0);
        assert!(sessions::EXPIRING.lock(&mut other).await.unwrap());
        drop(other);
        // The rollback is sent when the connection is used again.
        let mut deleted = 0;
        for _ in 0..100 {
            deleted = ledger::EXPIRING.delete_before(store.database(), late, 10).await.unwrap();
            if deleted > 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(deleted, 1);
    })
    .await;
}
