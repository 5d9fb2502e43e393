//! Chains: exactly-once appends, linking, verification, retention.

use domain::clock::Timestamp;
use domain::receipt::Receipt;

use super::{at, audited, exactly, fill, ids, page, write};
use crate::ShardId;
use crate::audit::tests::everything;
use crate::testing::{
    Hand, KEY, for_each_backend, for_each_database, journal, journal_config, open_with, open_with_wrong_key,
    opening, receipt,
};
use crate::{AuditVerification, Drainer, Store};

async fn verify(store: &Store) -> AuditVerification {
    store.audit().verify().await.unwrap()
}

async fn kinds(store: &Store) -> Vec<&'static str> {
    verify(store).await.breaks.into_iter().map(|broken| broken.kind).collect()
}

async fn run(store: &Store, sql: &'static str) {
    assert!(store.database().execute(sql, &[]).await.unwrap() > 0, "{sql}");
}

#[tokio::test]
async fn retention_and_drainers_do_not_throw_each_other_back() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let mut drainers = tokio::task::JoinSet::new();
        for process in 0..3 {
            let journal = journal(journal_config(directory.path()));
            let store = store.clone();
            drainers.spawn(async move {
                let mut drainer = Drainer::new(journal.clone(), store);
                for round in 0..30 {
                    write(&journal, &[at(&format!("{process}-{round}"), 1000)]);
                    drainer.drain_once().await.unwrap();
                }
                drainer
            });
        }
        let (mut deleted, mut kept) = (0, Vec::new());
        while !drainers.is_empty() {
            deleted += store.audit().delete_before(Timestamp::from_seconds(2000), 2).await.unwrap();
            while let Some(drainer) = drainers.try_join_next() {
                kept.push(drainer.unwrap());
            }
        }
        deleted += store.audit().delete_before(Timestamp::from_seconds(2000), 2).await.unwrap();
        assert_eq!((kept.len(), deleted), (3, 90));
        assert!(store.audit().verify().await.unwrap().breaks.is_empty());
    })
    .await;
}

#[tokio::test]
async fn each_receipt_is_one_entry_however_often_it_is_read() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let journal = journal(journal_config(directory.path()));
        let all: Vec<Receipt> = (0..700).map(|n| audited(&format!("r{n:03}"))).collect();
        write(&journal, &all);
        // A rejected caller is audited but not booked; a call without audit data is not audited.
        write(&journal, &[Receipt { auth_method: String::new(), ..audited("refused") }, receipt("before")]);
        write(&journal, &[Receipt { unbooked: true, ..audited("unbooked") }, audited("r000")]);
        Drainer::new(journal.clone(), store.clone()).drain_once().await.unwrap();
        let mut one = Drainer::new(journal.clone(), store.clone());
        let mut other = Drainer::new(journal.clone(), store.clone());
        while one.drain_once().await.unwrap() + other.drain_once().await.unwrap() > 0 {}
        assert_eq!(ids(&store).await.len(), 702);
        assert_eq!(page(&store, &everything()).await.total, exactly(702));
        assert_eq!(store.ledger().count().await.unwrap(), 701);
        let found = verify(&store).await;
        assert_eq!((found.chains, found.rows, found.breaks), (1, 702, vec![]));
    })
    .await;
}

#[tokio::test]
async fn interrupted_calls_are_entries_of_their_journal_once() {
    for_each_backend(|store| async move {
        let directory = tempfile::tempdir().unwrap();
        let dead = journal(journal_config(directory.path()));
        for (id, audited, unbooked) in [("a", true, false), ("b", false, false), ("c", true, true)] {
            let opening = domain::receipt::Opening { audited, unbooked, ..opening(id) };
            dead.open_call(opening.as_ref(), ShardId::SHARED).unwrap();
        }
        write(&dead, &[audited("d")]);
        drop(dead);
        let journal = journal(journal_config(directory.path()));
        Drainer::new(journal.clone(), store.clone()).drain_all().await;
        assert_eq!(ids(&store).await, ["a", "c", "d"]);
        assert_eq!(store.ledger().count().await.unwrap(), 3, "a, b and d");
        let entry = store.audit().find("a").await.unwrap().unwrap();
        assert!(entry.interrupted);
        assert_eq!((entry.status, entry.path()), (500, "/v1/chat/completions"));
        let found = verify(&store).await;
        assert_eq!((found.chains, found.rows, found.breaks), (1, 3, vec![]));
    })
    .await;
}

/// The order is part of the hashes: rows of earlier builds verify only with the same columns in the same order.
#[test]
fn the_columns_of_a_row_never_change() {
    let columns = "at, id, request_id, method, path, endpoint, requested_model, model, provider, provider_name, \
        user_path, auth_key_id, tenant_id, session_id, response_id, previous_response_id, thread, parent, cache_type, \
        status, stream, error_type, error_code, error_message, duration_us, first_byte_us, overhead_us, data, \
        request_body, response_body";
    assert_eq!(crate::audit::row::columns(), columns);
}

#[tokio::test]
async fn every_kind_of_tampering_is_found() {
    const TAMPERING: &[(&str, &str)] = &[
        ("UPDATE audit SET status = 201 WHERE id = 'r3'", "changed"),
        ("UPDATE audit SET request_body = NULL WHERE id = 'r3'", "changed"),
        ("UPDATE audit SET at = at + 1 WHERE id = 'r9'", "changed"),
        ("UPDATE audit SET data = '{}' WHERE id = 'r0'", "changed"),
        ("UPDATE audit SET hash = 'x' WHERE id = 'r9'", "changed"),
        ("UPDATE audit SET duration_us = overhead_us + 1 WHERE id = 'r4'", "changed"),
        ("DELETE FROM audit WHERE id = 'r4'", "missing"),
        ("DELETE FROM audit WHERE id = 'r0'", "missing"),
        ("DELETE FROM audit WHERE id IN ('r8', 'r9')", "cut_off"),
        ("DELETE FROM audit", "cut_off"),
        ("UPDATE audit_chains SET length = length - 1", "changed_record"),
        ("UPDATE audit_chains SET first_sequence = 1", "changed_record"),
        ("UPDATE audit SET sequence = 10 WHERE id = 'r9'", "missing"),
        ("UPDATE audit SET chain = 'other' WHERE id = 'r9'", "cut_off"),
        ("DELETE FROM audit_chains", "foreign_chain"),
    ];
    for (sql, kind) in TAMPERING {
        for_each_backend(|store| async move {
            let receipts: Vec<Receipt> = (0..10).map(|n| audited(&format!("r{n}"))).collect();
            fill(&store, receipts).await;
            assert_eq!(kinds(&store).await, Vec::<&str>::new());
            run(&store, sql).await;
            assert_eq!(kinds(&store).await.first(), Some(kind), "{sql}");
        })
        .await;
    }
}

/// SQLite accepts values of any type in any column.
#[tokio::test]
async fn a_value_of_another_kind_is_tampering() {
    let directory = tempfile::tempdir().unwrap();
    let store = crate::testing::open(crate::Backend::Sqlite { path: directory.path().join("a.db") }).await;
    fill(&store, (0..4).map(|n| audited(&format!("r{n}"))).collect()).await;
    run(&store, "UPDATE audit SET thread = x'00' WHERE id = 'r2'").await;
    let found = verify(&store).await;
    assert_eq!(found.breaks.iter().map(|broken| broken.kind).collect::<Vec<_>>(), ["changed"]);
    assert_eq!(found.breaks[0].id.as_deref(), Some("r2"));
}

#[tokio::test]
async fn a_truncated_tail_is_detected() {
    for_each_backend(|store| async move {
        fill(&store, vec![audited("a"), audited("b")]).await;
        run(&store, "DELETE FROM audit WHERE id = 'b'").await;
        run(&store, "UPDATE audit_chains SET length = 1, head = (SELECT hash FROM audit WHERE id = 'a')")
            .await;
        assert_eq!(kinds(&store).await, ["changed_record"]);
    })
    .await;
}

#[tokio::test]
async fn missing_chains_and_added_rows_are_detected() {
    for_each_backend(|store| async move {
        for id in ["a", "b", "c"] {
            fill(&store, vec![audited(id)]).await;
        }
        run(&store, "DELETE FROM audit WHERE id = 'b'").await;
        run(&store, "DELETE FROM audit_chains WHERE number = 2").await;
        assert_eq!(kinds(&store).await, ["missing_chain"]);
        run(
            &store,
            "UPDATE audit SET chain = (SELECT chain FROM audit WHERE id = 'a'), sequence = 1 WHERE id = 'c'",
        )
        .await;
        let breaks = verify(&store).await.breaks;
        let added = breaks.iter().find(|broken| broken.kind == "added").unwrap();
        assert_eq!(added.id.as_deref(), Some("c"));
    })
    .await;
}

#[tokio::test]
async fn a_chain_does_not_verify_with_another_key() {
    for_each_database(|backend| async move {
        let store = open_with(backend.clone(), KEY, Hand::at(1_800_000_000)).await;
        fill(&store, vec![audited("a")]).await;
        let other = open_with_wrong_key(backend).await;
        assert_eq!(kinds(&other).await, ["changed_record"]);
        assert_eq!(kinds(&store).await, Vec::<&str>::new());
    })
    .await;
}

#[tokio::test]
async fn retention_deletes_in_order_and_the_rest_still_verifies() {
    for_each_backend(|store| async move {
        // The third entry is older than the two before it, so it is deleted together with them.
        let times = [1000, 2000, 500, 5000, 1500, 9000];
        let receipts: Vec<Receipt> =
            times.iter().enumerate().map(|(n, seconds)| at(&format!("r{n}"), *seconds)).collect();
        fill(&store, receipts).await;
        fill(&store, vec![at("other", 800)]).await;
        let forget =
            async |seconds| store.audit().delete_before(Timestamp::from_seconds(seconds), 2).await.unwrap();
        assert_eq!(forget(100).await, 0);
        assert_eq!(forget(3000).await, 4);
        assert_eq!(ids(&store).await, ["r4", "r3", "r5"]);
        assert_eq!(page(&store, &everything()).await.total, exactly(3));
        assert_eq!((kinds(&store).await, verify(&store).await.rows), (vec![], 3));
        assert_eq!(forget(10_000).await, 3);
        assert_eq!((kinds(&store).await, verify(&store).await.rows), (vec![], 0));
        assert_eq!(page(&store, &everything()).await.total, exactly(0));
        run(&store, "UPDATE audit_chains SET first_sequence = 5").await;
        assert_eq!(kinds(&store).await.first(), Some(&"changed_record"));
    })
    .await;
}
