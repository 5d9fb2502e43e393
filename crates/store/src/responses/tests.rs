//! Stored Responses on both backends: visible at once, not lost in an outage, never shown to another owner.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use domain::clock::Timestamp;
use domain::user_path::UserPath;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{Found, LONGEST_ID, Owner, OwnerFilter, Responses, StoredResponse};
use crate::database::Writing;
use crate::testing::{Hand, KEY, Noise, for_each_backend, for_each_database, open, open_with};
use crate::{Backend, Store, StoreConfig, StoreError};

pub(super) const NOW: i64 = 1_800_000_000;

pub(crate) fn owner(key: &str) -> Owner {
    Owner { key: key.into(), user_path: "/team/app".into(), tenant: None }
}

pub(crate) fn response(id: &str) -> StoredResponse {
    StoredResponse {
        id: id.into(),
        owner: owner("key_1"),
        provider: "main".into(),
        upstream_id: format!("up_{id}"),
        retrievable: true,
        usable: true,
        body: format!(r#"{{"id":"{id}","object":"response"}}"#).into(),
        input: format!(r#"[{{"role":"user","content":"ask {id} — ü"}}]"#).into(),
        output: format!(r#"[{{"type":"message","id":"{id}"}}]"#).into(),
        previous: None,
        created_at: Timestamp::from_seconds(NOW),
        expires_at: Timestamp::from_seconds(NOW + 3600),
    }
}

pub(super) fn following(id: &str, previous: &str) -> StoredResponse {
    StoredResponse { previous: Some(previous.into()), ..response(id) }
}

pub(super) async fn save_all(responses: &Responses) {
    while responses.0.backlog.save(&*responses.0).await.unwrap() > 0 {}
}

/// Reads from storage only, as another process would.
async fn stored(store: &Store, id: &str) -> Option<StoredResponse> {
    let other = Responses::new(store.database().clone(), Hand::at(NOW));
    other.find(id).await.unwrap()
}

async fn wait_until_stored(store: &Store, id: &str) -> StoredResponse {
    for _ in 0..500 {
        if let Some(response) = stored(store, id).await {
            return response;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{id} does not arrive");
}

struct Running {
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

fn run(store: &Store) -> Running {
    let (stop, stopped) = watch::channel(false);
    let mut tasks = JoinSet::new();
    tasks.spawn(store.responses().clone().run(stopped));
    Running { stop, tasks }
}

impl Running {
    async fn end(self) {
        self.stop.send(true).unwrap();
        self.tasks.join_all().await;
    }
}

#[tokio::test]
async fn a_stored_response_is_visible_at_once_here_and_soon_elsewhere() {
    for_each_database(|backend| async move {
        let (here, there) = (open(backend.clone()).await, open(backend).await);
        let running = run(&here);
        let tenant = Some("acme".to_owned());
        let full =
            StoredResponse { owner: Owner { tenant, ..owner("master") }, ..following("resp_1", "resp_0") };
        here.responses().put(full.clone());
        assert_eq!(here.responses().find("resp_1").await.unwrap().unwrap(), full);
        assert_eq!(wait_until_stored(&there, "resp_1").await, full);
        assert_eq!(there.responses().find("resp_1").await.unwrap().unwrap(), full);
        assert_eq!(there.responses().find("resp_2").await.unwrap(), None);
        here.responses().put(response("resp_2"));
        running.end().await;
        assert_eq!(stored(&there, "resp_2").await.unwrap(), response("resp_2"), "saved at the stop");
    })
    .await;
}

#[tokio::test]
async fn the_writer_continues_after_idling() {
    for_each_backend(|store| async move {
        let running = run(&store);
        for id in ["a", "b", "c"] {
            store.responses().put(response(id));
            wait_until_stored(&store, id).await;
        }
        let later = StoredResponse { body: Bytes::from_static(b"{}"), ..response("a") };
        store.responses().put(later.clone());
        running.end().await;
        assert_eq!(
            stored(&store, "a").await.unwrap(),
            later,
            "the second of an id takes the place of the first"
        );
    })
    .await;
}

/// A store with a short operation timeout.
async fn open_impatient(backend: Backend) -> Store {
    let operation_timeout = Duration::from_millis(300);
    let config = StoreConfig { backend, sealing_key: KEY, operation_timeout, entropy: Noise::fresh() };
    Store::open(config, Hand::at(NOW)).await.unwrap()
}

/// Takes the lock that every writer needs, and on PostgreSQL every reader too.
async fn freeze(store: &Store) -> Writing {
    let mut open = store.database().begin().await.unwrap();
    if store.database().is_postgres() {
        open.execute("LOCK TABLE responses IN ACCESS EXCLUSIVE MODE", &[]).await.unwrap();
    }
    open
}

#[tokio::test]
async fn pending_writes_are_visible_and_written_after_an_outage() {
    for_each_database(|backend| async move {
        let (blocker, store) = (open(backend.clone()).await, open_impatient(backend).await);
        let lock = freeze(&blocker).await;
        let running = run(&store);
        store.responses().put(response("a"));
        tokio::time::sleep(Duration::from_millis(700)).await;
        store.responses().put(following("b", "a"));
        assert_eq!(store.responses().find("a").await.unwrap().unwrap(), response("a"));
        assert_eq!(store.responses().history("b").await.unwrap().len(), 2);
        let deleted = store.responses().delete("a").await;
        assert!(matches!(deleted, Err(StoreError::Unavailable(_))), "{deleted:?}");
        assert!(store.responses().find("a").await.unwrap().is_some(), "what was not deleted is still there");
        if store.database().is_postgres() {
            let unknown = store.responses().find("c").await;
            assert!(matches!(unknown, Err(StoreError::Unavailable(_))), "{unknown:?}");
        }
        drop(lock);
        wait_until_stored(&blocker, "a").await;
        wait_until_stored(&blocker, "b").await;
        running.end().await;
        assert!(store.responses().0.backlog.pending.lock().is_empty());
    })
    .await;
}

#[tokio::test]
async fn storage_that_stays_away_holds_up_the_stop_for_a_few_seconds_only() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(Backend::Sqlite { path: directory.path().join("gatehouse.db") }).await;
    store.close().await;
    let running = run(&store);
    store.responses().put(response("a"));
    assert!(tokio::time::timeout(Duration::from_secs(8), running.end()).await.is_ok());
    assert!(store.responses().find("a").await.unwrap().is_some());
}

#[tokio::test]
async fn unreachable_storage_is_reported() {
    for_each_backend(|store| async move {
        let responses = store.responses();
        responses.put(following("b", "a"));
        store.close().await;
        assert!(responses.find("b").await.unwrap().is_some());
        assert!(matches!(responses.find("a").await, Err(StoreError::Unavailable(_))));
        assert!(matches!(responses.find_owned("a", None).await, Err(StoreError::Unavailable(_))));
        assert!(matches!(responses.history("b").await, Err(StoreError::Unavailable(_))), "not half of it");
        assert!(matches!(responses.delete("b").await, Err(StoreError::Unavailable(_))));
        assert!(matches!(responses.expire(Timestamp(0)).await, Err(StoreError::Unavailable(_))));
        assert!(responses.find("b").await.unwrap().is_some());
    })
    .await;
}

#[tokio::test]
async fn a_database_that_refuses_all_loses_nothing_and_one_that_refuses_one_loses_that() {
    for_each_backend(|store| async move {
        let responses = store.responses();
        (0..20).for_each(|n| responses.put(response(&n.to_string())));
        store.database().execute("ALTER TABLE responses RENAME TO elsewhere", &[]).await.unwrap();
        assert!(matches!(responses.0.backlog.save(&*responses.0).await, Err(StoreError::Failed(_))));
        assert_eq!(responses.0.backlog.pending.lock().len(), 20);
        store.database().execute("ALTER TABLE elsewhere RENAME TO responses", &[]).await.unwrap();
        let unwritable = StoredResponse { body: Bytes::from_static(b"\xff"), ..response("bad") };
        responses.0.backlog.pending.lock().put(unwritable);
        save_all(responses).await;
        assert!(responses.0.backlog.pending.lock().is_empty());
        for n in 0..20 {
            assert!(stored(&store, &n.to_string()).await.is_some(), "{n}");
        }
        assert_eq!(stored(&store, "bad").await, None);
    })
    .await;
}

#[tokio::test]
async fn only_its_owner_and_an_admin_find_it() {
    for_each_backend(|store| async move {
        let responses = store.responses();
        let yours = Owner { tenant: Some("acme".into()), ..owner("key_1") };
        responses.put(StoredResponse { owner: yours.clone(), ..response("a") });
        let others = [
            Owner { key: "key_2".into(), ..yours.clone() },
            Owner { key: "master".into(), ..yours.clone() },
            Owner { user_path: "/team".into(), ..yours.clone() },
            Owner { tenant: None, ..yours.clone() },
            Owner { tenant: Some("other".into()), ..yours.clone() },
        ];
        for round in ["waiting", "stored"] {
            let team = |path: &str| OwnerFilter::Subtree(UserPath::parse(path).unwrap());
            let exact = OwnerFilter::Exact(yours.clone());
            for filter in [Some(&exact), Some(&team(&yours.user_path)), None] {
                let found = responses.find_owned("a", filter).await.unwrap();
                assert!(matches!(found, Found::Yours(response) if response.owner == yours), "{round}");
            }
            for other in &others {
                let found =
                    responses.find_owned("a", Some(&OwnerFilter::Exact(other.clone()))).await.unwrap();
                assert_eq!(found, Found::NotYours, "{round} {other:?}");
            }
            let elsewhere = responses.find_owned("a", Some(&team("/elsewhere"))).await.unwrap();
            assert_eq!(elsewhere, Found::NotYours, "{round}");
            assert_eq!(responses.find_owned("b", Some(&exact)).await.unwrap(), Found::Unknown);
            save_all(responses).await;
        }
    })
    .await;
}

#[tokio::test]
async fn responses_that_must_not_be_stored_are_not_stored() {
    for_each_backend(|store| async move {
        let responses = store.responses();
        responses.put(StoredResponse { usable: false, ..response("private") });
        responses.put(StoredResponse { retrievable: false, ..response("streamed") });
        responses.put(StoredResponse {
            body: Bytes::from_static(b"\"a\0b\xff\""),
            previous: Some("x".repeat(LONGEST_ID + 1)),
            upstream_id: "a\0b".into(),
            provider: "ma\0in".into(),
            ..response("odd")
        });
        let long = "x".repeat(LONGEST_ID + 1);
        for id in ["", "a\0b", &long] {
            responses.put(response(id));
            assert_eq!(responses.find(id).await.unwrap(), None);
            assert!(!responses.delete(id).await.unwrap());
            assert!(responses.history(id).await.unwrap().is_empty());
        }
        responses.put(response(&long[1..]));
        let seen = async || {
            let (private, streamed, odd) =
                tokio::join!(responses.find("private"), responses.find("streamed"), responses.find("odd"));
            [private, streamed, odd].map(|found| found.unwrap().unwrap())
        };
        let waiting = seen().await;
        save_all(responses).await;
        assert_eq!(seen().await, waiting, "storage changes nothing");
        assert!(responses.0.backlog.pending.lock().is_empty());
        let [private, streamed, odd] = waiting;
        assert!(!private.usable && !private.retrievable);
        assert!(private.body.is_empty() && private.input.is_empty() && private.output.is_empty());
        assert!(streamed.body.is_empty() && streamed.usable);
        assert_eq!(
            (streamed.input, streamed.output),
            (response("streamed").input, response("streamed").output)
        );
        assert_eq!(odd.body, "\"a\u{fffd}b\u{fffd}\"");
        assert_eq!(
            (odd.previous, odd.upstream_id.as_str(), odd.provider.as_str()),
            (None, "", "ma\u{fffd}in")
        );
    })
    .await;
}

#[tokio::test]
async fn deleted_responses_do_not_return() {
    for_each_backend(|store| async move {
        let responses = store.responses();
        responses.put(response("waiting"));
        responses.put(response("stored"));
        save_all(responses).await;
        responses.put(response("waiting"));
        responses.put(response("new"));
        for id in ["waiting", "stored", "new"] {
            assert!(responses.delete(id).await.unwrap(), "{id}");
            assert!(!responses.delete(id).await.unwrap(), "{id}");
            assert_eq!(responses.find(id).await.unwrap(), None, "{id}");
        }
        save_all(responses).await;
        assert_eq!(stored(&store, "waiting").await, None);

        let running = run(&store);
        for n in 0..60 {
            let id = n.to_string();
            responses.put(response(&id));
            // At a different point of the writer's cycle each time.
            tokio::time::sleep(Duration::from_millis(n)).await;
            // On a busy machine the writer can hold the lock beyond the time limit of a deletion.
            let deleted = loop {
                match responses.delete(&id).await {
                    Err(StoreError::Unavailable(_)) => {}
                    outcome => break outcome.unwrap(),
                }
            };
            assert!(deleted, "{id}");
        }
        running.end().await;
        for n in 0..60 {
            assert_eq!(stored(&store, &n.to_string()).await, None, "{n}");
        }
    })
    .await;
}

#[tokio::test]
async fn expired_responses_are_hidden_and_then_deleted() {
    for_each_database(|backend| async move {
        let clock = Hand::at(NOW);
        let store = open_with(backend, KEY, clock.clone()).await;
        let responses = store.responses();
        for n in 0..450 {
            let expires_at = Timestamp::from_seconds(NOW + 10 + n % 2 * 100);
            responses.put(StoredResponse { expires_at, ..response(&n.to_string()) });
        }
        clock.advance(Duration::from_secs(9));
        assert!(responses.find("0").await.unwrap().is_some());
        clock.advance(Duration::from_secs(1));
        for round in ["waiting", "stored"] {
            assert_eq!(responses.find("0").await.unwrap(), None, "{round}");
            assert!(responses.find("1").await.unwrap().is_some(), "{round}");
            save_all(responses).await;
        }
        assert!(!responses.delete("0").await.unwrap());
        assert_eq!(responses.expire(Timestamp::from_seconds(NOW + 9)).await.unwrap(), 0);
        assert_eq!(responses.expire(Timestamp::from_seconds(NOW + 10)).await.unwrap(), 225);
        let rows = store.database().fetch("SELECT COUNT(*) FROM responses", &[]).await.unwrap();
        assert_eq!(rows[0].get::<i64>(0).unwrap(), 225);
        assert_eq!(responses.expire(Timestamp(i64::MAX)).await.unwrap(), 225);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_in_two_processes_and_all_are_there() {
    for_each_database(|backend| async move {
        let stores = [open(backend.clone()).await, open(backend).await];
        let running = stores.each_ref().map(run);
        let mut tasks = JoinSet::new();
        for task in 0..8 {
            let responses = stores[task % 2].responses().clone();
            tasks.spawn(async move {
                for n in 0..100 {
                    let id = format!("{task}-{n}");
                    responses.put(response(&id));
                    assert!(responses.find(&id).await.unwrap().is_some(), "{id}");
                    // A response that both processes write repeatedly.
                    responses.put(response("shared"));
                }
            });
        }
        tasks.join_all().await;
        for running in running {
            running.end().await;
        }
        for task in 0..8 {
            for n in 0..100 {
                assert!(stored(&stores[0], &format!("{task}-{n}")).await.is_some(), "{task}-{n}");
            }
        }
        assert!(stored(&stores[0], "shared").await.is_some());
    })
    .await;
}

#[derive(Clone, Debug)]
enum Operation {
    Put(u8, u16),
    Delete(u8),
    Save,
}

#[tokio::test]
async fn the_last_of_any_writes_wins() {
    let act = prop_oneof![
        4 => (0u8..5, any::<u16>()).prop_map(|(id, text)| Operation::Put(id, text)),
        2 => (0u8..5).prop_map(Operation::Delete),
        1 => Just(Operation::Save),
    ];
    let mut runner = TestRunner::deterministic();
    let acts = proptest::collection::vec(act, 300).new_tree(&mut runner).unwrap().current();
    for_each_backend(|store| {
        let acts = acts.clone();
        async move {
            let responses = store.responses();
            let mut expected: HashMap<String, StoredResponse> = HashMap::new();
            for act in acts {
                match act {
                    Operation::Put(id, text) => {
                        let made =
                            StoredResponse { body: text.to_string().into(), ..response(&id.to_string()) };
                        expected.insert(made.id.clone(), made.clone());
                        responses.put(made);
                    }
                    Operation::Delete(id) => {
                        let there = expected.remove(&id.to_string()).is_some();
                        assert_eq!(responses.delete(&id.to_string()).await.unwrap(), there);
                    }
                    Operation::Save => save_all(responses).await,
                }
                for id in (0..5).map(|id: u8| id.to_string()) {
                    assert_eq!(responses.find(&id).await.unwrap().as_ref(), expected.get(&id));
                }
            }
            save_all(responses).await;
            for id in (0..5).map(|id: u8| id.to_string()) {
                assert_eq!(stored(&store, &id).await.as_ref(), expected.get(&id));
            }
        }
    })
    .await;
}
