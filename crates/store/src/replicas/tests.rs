//! Tests of the table of replicas.

use domain::clock::Timestamp;

use super::*;
use crate::testing::for_each_backend;

fn replica(journal: &str) -> Replica {
    Replica {
        journal: journal.into(),
        host: "node-1".into(),
        pid: 77,
        version: "1.2.3".into(),
        started_at: Timestamp::from_seconds(1_800_000_000),
        draining: false,
        lag: Lag::default(),
    }
}

/// Makes a replica look as if its last heartbeat was earlier.
async fn age(store: &Store, journal: &str, by: Duration) {
    let older = "UPDATE replicas SET heartbeat_at = heartbeat_at - $1 WHERE journal = $2";
    let values = [(by.as_micros() as i64).into(), journal.into()];
    assert_eq!(store.database().execute(older, &values).await.unwrap(), 1);
}

#[tokio::test]
async fn replicas_count_each_other_while_they_are_live() {
    for_each_backend(|store| async move {
        let replicas = store.replicas();
        assert_eq!(replicas.beat(&replica("a")).await.unwrap(), 1);
        if !replicas.is_shared() {
            // A SQLite database has one process, and heartbeats write nothing.
            assert_eq!(replicas.beat(&replica("b")).await.unwrap(), 1);
            assert_eq!(replicas.list().await.unwrap(), []);
            let rows = store.database().fetch("SELECT journal FROM replicas", &[]).await.unwrap();
            assert!(rows.is_empty());
            return;
        }
        assert_eq!(replicas.beat(&replica("b")).await.unwrap(), 2);
        assert_eq!(replicas.beat(&replica("a")).await.unwrap(), 2);
        age(&store, "b", LIVE_FOR).await;
        assert_eq!(replicas.beat(&replica("a")).await.unwrap(), 1);
        // It was only slow.
        assert_eq!(replicas.beat(&replica("b")).await.unwrap(), 2);
        replicas.remove("a").await.unwrap();
        assert_eq!(replicas.beat(&replica("b")).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_heartbeat_tells_the_state_of_a_replica() {
    for_each_backend(|store| async move {
        let replicas = store.replicas();
        if !replicas.is_shared() {
            return;
        }
        let first = replica("a");
        replicas.beat(&first).await.unwrap();
        let lag = Lag { bytes: 4096, records: 12, oldest: Some(Timestamp::from_seconds(1_800_000_100)) };
        let later = Replica { draining: true, lag, ..first };
        replicas.beat(&later).await.unwrap();
        let listed = replicas.list().await.unwrap();
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].replica, later);
        assert!(listed[0].is_live(), "{:?}", listed[0].silent_for);
        age(&store, "a", LIVE_FOR).await;
        assert!(!replicas.list().await.unwrap()[0].is_live());
    })
    .await;
}

#[tokio::test]
async fn vanished_replicas_are_forgotten_after_a_while() {
    for_each_backend(|store| async move {
        let replicas = store.replicas();
        if !replicas.is_shared() {
            return;
        }
        for journal in ["a", "b", "c"] {
            replicas.beat(&replica(journal)).await.unwrap();
        }
        age(&store, "b", LIVE_FOR * 100).await;
        age(&store, "c", KEPT_FOR).await;
        assert_eq!(replicas.forget_vanished().await.unwrap(), 1);
        let listed = replicas.list().await.unwrap();
        let names: Vec<&str> = listed.iter().map(|listed| &*listed.replica.journal).collect();
        assert_eq!(names, ["a", "b"]);
    })
    .await;
}
