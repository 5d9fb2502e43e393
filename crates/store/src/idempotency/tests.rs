//! Idempotency on both backends: one call at a time, one response for all, nothing lost in an outage, leases expire.

use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinSet;

use super::lease::LEASE;
use super::{Claim, Claimed, Idempotency, KeptAnswer, Repeatable};
use crate::Store;
use crate::testing::{Hand, KEY, for_each_backend, for_each_database, open_with};

const NOW: i64 = 1_800_000_000;
const DAY: Duration = Duration::from_secs(24 * 3600);

fn call(id: &str, fingerprint: &str, token: &str) -> Repeatable {
    Repeatable { id: id.into(), fingerprint: fingerprint.into(), token: token.into() }
}

fn answer(body: impl Into<Bytes>) -> KeptAnswer {
    KeptAnswer { head: r#"{"headers":[]}"#.into(), body: body.into() }
}

/// Another process on the same database.
fn neighbour(store: &Store, clock: &std::sync::Arc<Hand>) -> Idempotency {
    Idempotency::new(store.database().clone(), clock.clone())
}

async fn yours(keys: &Idempotency, call: Repeatable) -> Claim {
    match keys.claim(call).await.unwrap() {
        Claimed::Yours(claim) => claim,
        other => panic!("{}", name(&other)),
    }
}

fn name(claimed: &Claimed) -> String {
    match claimed {
        Claimed::Yours(_) => "yours".into(),
        Claimed::Running => "running".into(),
        Claimed::Mismatch => "mismatch".into(),
        Claimed::Answered(answer) => format!("answered {}", String::from_utf8_lossy(&answer.body)),
        Claimed::NotKept => "not kept".into(),
    }
}

async fn claimed(keys: &Idempotency, call: Repeatable) -> String {
    name(&keys.claim(call).await.unwrap())
}

async fn save(keys: &Idempotency) {
    while keys.0.backlog.save(&*keys.0).await.unwrap() > 0 {}
}

#[tokio::test]
async fn a_key_is_claimed_by_one_call() {
    for_each_database(|backend| async {
        let clock = Hand::at(NOW);
        let store = open_with(backend, KEY, clock.clone()).await;
        let (here, there) = (store.idempotency(), neighbour(&store, &clock));
        let claim = yours(here, call("k", "f", "1")).await;
        for place in [here, &there] {
            assert_eq!(claimed(place, call("k", "f", "2")).await, "running");
            assert_eq!(claimed(place, call("k", "g", "3")).await, "mismatch");
        }
        claim.keep(Some(answer("said")), DAY);
        assert_eq!(claimed(here, call("k", "f", "4")).await, "answered said", "before it is written");
        assert_eq!(claimed(here, call("k", "g", "4")).await, "mismatch");
        assert_eq!(claimed(&there, call("k", "f", "5")).await, "running", "as far as is known there");
        save(here).await;
        assert!(here.0.backlog.pending.lock().is_empty());
        for place in [here, &there] {
            assert_eq!(claimed(place, call("k", "f", "6")).await, "answered said");
            assert_eq!(claimed(place, call("k", "g", "7")).await, "mismatch");
        }
        clock.advance(DAY);
        assert_eq!(here.expire(domain::clock::Clock::now(&*clock)).await.unwrap(), 1);
        assert_eq!(claimed(&there, call("k", "g", "8")).await, "yours");
    })
    .await;
}

#[tokio::test]
async fn a_dropped_claim_is_free_at_once_here_and_soon_there() {
    for_each_database(|backend| async {
        let clock = Hand::at(NOW);
        let store = open_with(backend, KEY, clock.clone()).await;
        let (here, there) = (store.idempotency(), neighbour(&store, &clock));
        drop(yours(here, call("k", "f", "1")).await);
        let second = yours(here, call("k", "g", "2")).await;
        assert_eq!(claimed(&there, call("k", "g", "3")).await, "running", "the second one holds it");
        save(here).await;
        assert_eq!(
            claimed(&there, call("k", "g", "3")).await,
            "running",
            "the first one's end does not end it"
        );
        drop(second);
        save(here).await;
        assert_eq!(claimed(&there, call("k", "h", "4")).await, "yours");
    })
    .await;
}

#[tokio::test]
async fn the_claim_of_a_dead_process_lapses_and_that_of_a_living_one_does_not() {
    for_each_database(|backend| async {
        let clock = Hand::at(NOW);
        let store = open_with(backend, KEY, clock.clone()).await;
        let (here, there) = (store.idempotency(), neighbour(&store, &clock));
        let _living = yours(here, call("living", "f", "1")).await;
        std::mem::forget(yours(&there, call("dead", "f", "2")).await);
        clock.advance(LEASE - Duration::from_secs(1));
        here.renew().await;
        let third = neighbour(&store, &clock);
        assert_eq!(claimed(&third, call("dead", "f", "3")).await, "running");
        clock.advance(Duration::from_secs(2));
        assert_eq!(claimed(&third, call("living", "f", "4")).await, "running");
        assert_eq!(claimed(&third, call("dead", "f", "5")).await, "yours");
    })
    .await;
}

#[tokio::test]
async fn stored_answers_round_trip_and_too_large_ones_are_marked() {
    for_each_backend(|store| async move {
        let keys = store.idempotency();
        let bodies: [&[u8]; 4] = [b"{\"a\":\"\xc3\xbc\"}", b"nul \0 inside", b"\xff\xfe no text", b""];
        for (number, body) in bodies.iter().enumerate() {
            let id = number.to_string();
            yours(keys, call(&id, "f", "1")).await.keep(Some(answer(body.to_vec())), DAY);
        }
        yours(keys, call("large", "f", "1")).await.keep(None, DAY);
        save(keys).await;
        for (number, body) in bodies.iter().enumerate() {
            match keys.claim(call(&number.to_string(), "f", "2")).await.unwrap() {
                Claimed::Answered(found) => assert_eq!(found, answer(body.to_vec())),
                other => panic!("{}", name(&other)),
            }
        }
        assert_eq!(claimed(keys, call("large", "f", "2")).await, "not kept");
        assert_eq!(claimed(keys, call("large", "g", "2")).await, "mismatch");
    })
    .await;
}

#[tokio::test]
async fn of_many_at_once_one_has_the_key() {
    for_each_database(|backend| async {
        let clock = Hand::at(NOW);
        let store = open_with(backend, KEY, clock.clone()).await;
        let places = [store.idempotency().clone(), neighbour(&store, &clock), neighbour(&store, &clock)];
        for round in 0..10 {
            let mut racing = JoinSet::new();
            for number in 0..12 {
                let (keys, id) = (places[number % 3].clone(), format!("k{round}"));
                racing.spawn(async move {
                    keys.claim(call(&id, "f", &format!("{round}-{number}"))).await.unwrap()
                });
            }
            let outcomes: Vec<Claimed> = racing.join_all().await;
            let winners = outcomes.iter().filter(|outcome| matches!(outcome, Claimed::Yours(_))).count();
            assert_eq!(winners, 1, "{:?}", outcomes.iter().map(name).collect::<Vec<_>>());
        }
    })
    .await;
}

#[tokio::test]
async fn a_claimed_key_is_not_claimed_twice_without_storage() {
    let clock = Hand::at(NOW);
    let directory = tempfile::tempdir().unwrap();
    let backend = crate::Backend::Sqlite { path: directory.path().join("store.db") };
    let store = open_with(backend, KEY, clock.clone()).await;
    let (here, there) = (store.idempotency(), neighbour(&store, &clock));
    yours(here, call("answered", "f", "1")).await.keep(Some(answer("said")), DAY);
    let _running = yours(here, call("running", "f", "2")).await;
    save(here).await;
    let readers = store.database().occupy_readers().await;
    for id in ["answered", "running"] {
        assert_eq!(claimed(&there, call(id, "f", "3")).await, "running", "{id}");
    }
    let _fresh = yours(&there, call("fresh", "f", "4")).await;
    drop(readers);
    assert_eq!(claimed(here, call("fresh", "f", "5")).await, "running", "it was announced");
    assert_eq!(claimed(&there, call("answered", "f", "6")).await, "answered said");
}

#[tokio::test]
async fn a_key_that_is_taken_anew_while_it_is_forgotten_stays_taken() {
    for_each_database(|backend| async {
        let clock = Hand::at(NOW);
        let store = open_with(backend, KEY, clock.clone()).await;
        let keys = store.idempotency().clone();
        yours(&keys, call("k", "f", "1")).await.keep(Some(answer("said")), DAY);
        save(&keys).await;
        clock.advance(DAY);
        let now = domain::clock::Clock::now(&*clock);
        let mut taking = store.database().begin().await.unwrap();
        taking.execute("UPDATE idempotency SET expires_at = expires_at + 1000000", &[]).await.unwrap();
        let releasing = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            taking.commit().await.unwrap();
        };
        let (forgotten, ()) = tokio::join!(keys.expire(now), releasing);
        assert_eq!(forgotten.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn without_storage_only_this_process_is_checked() {
    for_each_backend(|store| async move {
        store.close().await;
        let keys = store.idempotency();
        let claim = yours(keys, call("k", "f", "1")).await;
        assert_eq!(claimed(keys, call("k", "f", "2")).await, "running");
        claim.keep(Some(answer("said")), DAY);
        assert_eq!(claimed(keys, call("k", "f", "3")).await, "answered said");
        drop(yours(keys, call("other", "f", "4")).await);
        assert_eq!(claimed(keys, call("other", "g", "5")).await, "yours");
    })
    .await;
}
