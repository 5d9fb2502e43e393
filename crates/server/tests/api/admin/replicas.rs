//! Tests of several gateways on one database: the list of replicas, and changes that reach all of them.

use std::time::Duration;

use pipeline::gateway::replication;
use pipeline::services::change_signals::{ChangeTrigger, ListenerState};
use serde_json::{Value, json};
use store::Backend;
use tokio::task::JoinHandle;

use crate::app::{self, TestApp, TestSettings, eventually};

const REPLICAS: &str = "/admin/api/v1/runtime/replicas";
/// The interval of the executable.
const POLL: Duration = Duration::from_millis(500);
/// The promise: a change is in force everywhere within a second.
const IN_FORCE: Duration = Duration::from_secs(1);

fn is_shared(app: &TestApp) -> bool {
    matches!(app.backend, Backend::Postgres { .. })
}

async fn replicas(app: &TestApp) -> Value {
    app.get(REPLICAS).send().await.expect_status(200).json()
}

/// Sends a heartbeat, as the executable does every second.
async fn beat(app: &TestApp) {
    let row = replication::own_row(&app.gateway, app.http_service.app().is_draining());
    let live = app.refresher.store().replicas().beat(&row).await.unwrap();
    app.gateway.limiter.live_replicas().set(live);
}

#[tokio::test]
async fn replicas_are_listed_with_their_state() {
    app::each(async |app| {
        let other = app.neighbour().await;
        beat(&app).await;
        beat(&other).await;
        beat(&app).await;
        let listed = replicas(&app).await;
        let (own, rest) = listed["replicas"].as_array().unwrap().split_first().unwrap();
        assert_eq!((&own["id"], &own["this_process"]), (&json!(app.gateway.journal.name()), &json!(true)));
        assert_eq!((&own["host"], &own["pid"]), (&json!("host-of-the-tests"), &json!(7)));
        assert_eq!((&own["version"], &own["state"]), (&json!("0.0.0-test"), &json!("live")));
        assert_eq!(own["journal"], json!({"lag_bytes": 0, "lag_records": 0, "lag_seconds": 0}));
        assert_eq!(own["budget_leases"], json!({"windows": 0, "granted": 0.0, "largest": []}));
        if !is_shared(&app) {
            assert_eq!(
                (&listed["live"], rest.len(), &own["last_heartbeat_at"]),
                (&json!(1), 0, &Value::Null)
            );
            assert_eq!(app.gateway.limiter.live_replicas().get(), 1);
            return;
        }
        assert!(own["last_heartbeat_at"].is_string(), "{own}");
        assert_eq!(
            (listed["live"].as_u64(), rest.len(), app.gateway.limiter.live_replicas().get()),
            (Some(2), 1, 2)
        );
        assert_eq!((&rest[0]["id"], &rest[0]["pid"]), (&json!(other.gateway.journal.name()), &json!(8)));
        assert_eq!((&rest[0]["this_process"], &rest[0]["state"]), (&json!(false), &json!("live")));

        // A call that is in the journal of the other, which then stops.
        other.chat("text").send().await.expect_status(200);
        other.http_service.app().drain();
        beat(&other).await;
        let draining = replicas(&app).await["replicas"][1].clone();
        assert_eq!(
            (&draining["state"], &draining["journal"]["lag_records"]),
            (&json!("draining"), &json!(2))
        );

        app.sql("UPDATE replicas SET heartbeat_at = heartbeat_at - 5000000 WHERE pid = 8").await;
        let listed = replicas(&app).await;
        assert_eq!((&listed["live"], &listed["replicas"][1]["state"]), (&json!(1), &json!("vanished")));
        beat(&app).await;
        assert_eq!(app.gateway.limiter.live_replicas().get(), 1);
        other.receipts(1).await;
        other.refresher.store().replicas().remove(other.gateway.journal.name()).await.unwrap();
        assert_eq!(replicas(&app).await["replicas"].as_array().unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_heartbeat_registers_a_process_by_itself() {
    app::each(async |app| {
        let (gateway, store) = (app.gateway.clone(), app.refresher.store().clone());
        let beating = app.gateway.tasks.spawn(replication::keep_registered(gateway, store, || false));
        if !is_shared(&app) {
            beating.await.unwrap();
            return;
        }
        eventually(&app.clock, async || replicas(&app).await["replicas"][0]["last_heartbeat_at"].is_string())
            .await;
        beating.abort();
    })
    .await;
}

/// A gateway that follows the changes of others like the executable.
struct Following {
    app: TestApp,
    tasks: Vec<JoinHandle<()>>,
}

impl Following {
    async fn start(first: &TestApp, with_notices: bool) -> Self {
        let app = first.neighbour().await;
        let tasks = &app.gateway.tasks;
        let mut running = vec![tasks.spawn(app.refresher.clone().keep_following(POLL))];
        if with_notices {
            let (gateway, store) = (app.gateway.clone(), app.refresher.store().clone());
            running.push(tasks.spawn(replication::keep_listening(gateway, store)));
        }
        let following = Self { app, tasks: running };
        if with_notices && is_shared(first) {
            following.until(ListenerState::Up).await;
        }
        following
    }

    async fn until(&self, state: ListenerState) {
        eventually(&self.app.clock, async || self.app.gateway.change_signals.listener() == state).await;
    }

    async fn status(&self, key: &str) -> u16 {
        self.app.get("/v1/models").key(key).send().await.status
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// A revoked key, a suspended tenant and a session that ended are refused by another replica within a second.
async fn check_revocations(app: &TestApp, other: &Following, number: usize) {
    let tenant = format!("/admin/api/v1/tenants/t{number}");
    app.put(&*tenant, json!({})).send().await.expect_status(201);
    let (id, key) = app.key(json!({"name": "revoked"})).await;
    let (_, of_tenant) = app.key(json!({"name": "of a tenant", "tenant_id": format!("t{number}")})).await;
    let email = format!("user{number}@example.com");
    let (_, token) = app.user(&email, &["operator"]).await;
    for caller in [&key, &of_tenant, &token] {
        eventually(&app.clock, async || other.status(caller).await != 401).await;
    }
    assert_eq!((other.status(&key).await, other.status(&of_tenant).await), (200, 200));

    app.post(format!("/admin/api/v1/auth-keys/{id}/deactivate"), json!({})).send().await.expect_status(200);
    let took = eventually(&app.clock, async || other.status(&key).await == 401).await;
    assert!(took < IN_FORCE, "a revoked key: {took:?}");

    app.post(format!("{tenant}/suspend"), json!({})).send().await.expect_status(200);
    let took = eventually(&app.clock, async || other.status(&of_tenant).await == 403).await;
    assert!(took < IN_FORCE, "a suspended tenant: {took:?}");

    app.post("/admin/api/v1/auth/logout", json!({})).key(&token).send().await;
    let took = eventually(&app.clock, async || other.status(&token).await == 401).await;
    assert!(took < IN_FORCE, "a session that ended: {took:?}");
}

#[tokio::test]
async fn changes_reach_another_replica_within_a_second_with_and_without_notices() {
    app::each_with(TestSettings::with_identity, async |app| {
        app.admin_login().await;
        let polling = Following::start(&app, false).await;
        check_revocations(&app, &polling, 1).await;
        let found = |trigger| polling.app.gateway.change_signals.found(trigger);
        assert!(found(ChangeTrigger::Poll) > 0);
        assert_eq!(found(ChangeTrigger::Notice), 0);
        assert_eq!(polling.app.gateway.change_signals.listener(), ListenerState::Unused);

        let listening = Following::start(&app, true).await;
        check_revocations(&app, &listening, 2).await;
        let found = |trigger| listening.app.gateway.change_signals.found(trigger);
        if is_shared(&app) {
            assert!(found(ChangeTrigger::Notice) >= 3, "{}", found(ChangeTrigger::Notice));
        } else {
            assert_eq!(found(ChangeTrigger::Notice), 0);
        }
    })
    .await;
}

#[tokio::test]
async fn a_cut_listening_connection_delays_no_change_and_is_replaced() {
    app::each_with(TestSettings::with_identity, async |app| {
        if !is_shared(&app) {
            return;
        }
        app.admin_login().await;
        let other = Following::start(&app, true).await;
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND query LIKE 'LISTEN%'";
        app.sql(cut).await;
        other.until(ListenerState::Down).await;
        let page = other.app.get("/metrics").send().await.text();
        assert!(page.contains("gatehouse_change_listener_up 0"), "{page}");
        check_revocations(&app, &other, 1).await;
        other.until(ListenerState::Up).await;
        let page = other.app.get("/metrics").send().await.text();
        assert!(page.contains("gatehouse_change_listener_up 1"), "{page}");
        let before = other.app.gateway.change_signals.found(ChangeTrigger::Notice);
        check_revocations(&app, &other, 2).await;
        assert!(other.app.gateway.change_signals.found(ChangeTrigger::Notice) > before);
    })
    .await;
}

/// Stored responses are read, continued and deleted on another replica.
#[tokio::test]
async fn a_stored_response_is_the_same_on_every_replica() {
    app::each(async |app| {
        let other = app.neighbour().await;
        let body = json!({"model": "text", "input": "Hello"});
        let made = app.post("/v1/responses", body).send().await.expect_status(200).json();
        let path = format!("/v1/responses/{}", made["id"].as_str().unwrap());
        let took = eventually(&app.clock, async || other.get(&*path).send().await.status == 200).await;
        assert!(took < IN_FORCE, "{took:?}");
        assert_eq!(other.get(&*path).send().await.json()["output"], made["output"]);
        let next = json!({"model": "text", "input": "And now?", "previous_response_id": made["id"]});
        other.post("/v1/responses", next).send().await.expect_status(200);
        other.call(http::Method::DELETE, &*path).send().await.expect_status(200);
        eventually(&app.clock, async || app.get(&*path).send().await.status == 404).await;
    })
    .await;
}
