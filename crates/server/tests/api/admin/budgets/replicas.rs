//! Tests of budgets that replicas share on PostgreSQL: what they spend together stays within the amount, free parts move
//! between them, and the lease of a crashed process is free once its journal is drained. On SQLite nothing is leased.

use std::time::Duration;

use futures_util::future::join_all;
use http::Method;
use pipeline::gateway::replication;
use pipeline::policy::Policy;
use serde_json::{Value, json};
use testkit::FaultScript;

use super::{BUDGETS, budget, set};
use crate::app::{self, Answer, TestApp, TestSettings, eventually};

const STATUS: &str = "/admin/api/v1/runtime/status";

/// Runs a test with two gateways, each with a journal of its own, on one PostgreSQL database.
async fn each_pair(test: impl AsyncFn(TestApp, TestApp)) {
    // Long, so that a busy machine does not look like a database that is away.
    let budget_lease_wait = Duration::from_secs(20);
    let policy = || Policy { budgets_closed: true, budget_lease_wait, ..Policy::default() };
    let settings = || TestSettings { policy: policy(), ..TestSettings::enterprise() };
    app::each_with(settings, async |app| {
        if app.gateway.budgets.is_leased() {
            let other = app.neighbour().await;
            test(app, other).await;
        }
    })
    .await;
}

async fn follow(app: &TestApp) {
    app.refresher.load().await.unwrap();
}

fn bounded(tokens: u64) -> Value {
    let mut body = app::question("openai/gpt-4o");
    body["max_tokens"] = json!(tokens);
    body
}

async fn call(app: &TestApp, tokens: u64) -> Answer {
    app.post("/v1/chat/completions", bounded(tokens)).send().await
}

async fn leases(app: &TestApp) -> Value {
    app.get(STATUS).send().await.expect_status(200).json()["budget_leases"].clone()
}

#[tokio::test]
async fn leases_are_shown_where_budgets_are_shared() {
    app::each_with(TestSettings::enterprise, async |app| {
        set(&app, "/", "daily", 1.0).await;
        call(&app, 16).await.expect_status(200);
        let (shown, ready) = (leases(&app).await, app.get("/ready").send().await.json());
        assert_eq!(ready["budget_leases"], "ok");
        if !app.gateway.budgets.is_leased() {
            assert_eq!(shown, Value::Null);
            return;
        }
        assert_eq!((&shown["state"], &shown["windows"]), (&json!("ok"), &json!(1)));
        assert_eq!(shown["owner"], app.gateway.journal.name());
        assert!(shown["granted"].as_f64().unwrap() > 0.0, "{shown}");
        let page = app.get("/metrics").send().await.text();
        assert!(page.contains("gatehouse_budget_lease_windows 1"), "{page}");
    })
    .await;
}

#[tokio::test]
async fn the_leases_of_every_replica_are_listed() {
    each_pair(async |app, other| {
        set(&app, "/team", "daily", 1.0).await;
        follow(&other).await;
        for gateway in [&app, &other] {
            let row = replication::own_row(&gateway.gateway, false);
            gateway.refresher.store().replicas().beat(&row).await.unwrap();
            let call = gateway.post("/v1/chat/completions", bounded(100));
            call.header("x-gateway-user-path", "/team/a").send().await.expect_status(200);
        }
        let listed = app.get("/admin/api/v1/runtime/replicas").send().await.expect_status(200).json();
        let ids = [app.gateway.journal.name(), other.gateway.journal.name()];
        let period_end = budget(&app, "/team").await["period_end"].clone();
        let replicas = listed["replicas"].as_array().unwrap();
        assert_eq!(replicas.len(), ids.len(), "{listed}");
        for (replica, id) in replicas.iter().zip(ids) {
            assert_eq!(replica["id"], id);
            let leases = &replica["budget_leases"];
            let lease = &leases["largest"][0];
            assert_eq!((&leases["windows"], &leases["granted"]), (&json!(1), &lease["granted"]), "{leases}");
            assert!(lease["granted"].as_f64().unwrap() > 0.0, "{leases}");
            assert_eq!((&lease["user_path"], &lease["period_end"]), (&json!("/team"), &period_end));
            assert_eq!((&lease["tenant_id"], &lease["run_id"]), (&Value::Null, &Value::Null));
        }
    })
    .await;
}

#[tokio::test]
async fn two_gateways_never_overspend_a_budget() {
    each_pair(async |app, other| {
        let amount = 0.01;
        set(&app, "/", "daily", amount).await;
        follow(&other).await;
        let calls = (0..96).map(|number| call(if number % 2 == 0 { &app } else { &other }, 64 + number % 7));
        let answers = join_all(calls).await;
        let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        let served = statuses.iter().filter(|status| **status == 200).count();
        assert!(served > 0 && statuses.iter().all(|status| [200, 429].contains(status)), "{statuses:?}");
        app.drain().await.unwrap();
        other.drain().await.unwrap();
        let rows = app.receipts(96).await;
        let spent: f64 = rows.iter().filter_map(|row| row["total_cost"].as_f64()).sum();
        assert!(spent <= amount, "{spent} of {amount}");
        let shown = budget(&app, "/").await;
        assert!((shown["spent"].as_f64().unwrap() - spent).abs() < 1e-9, "{shown} {spent}");
    })
    .await;
}

/// Budgets that calls derive for child paths and for agent runs are shared like those that were set.
#[tokio::test]
async fn two_gateways_never_overspend_a_derived_budget() {
    const AMOUNT: f64 = 0.01;
    const CALLS: usize = 160;
    const DERIVED: [(&str, Option<&str>); 4] =
        [("/team/ann", None), ("/team/bob", None), ("/agents", Some("one")), ("/agents", Some("two"))];
    each_pair(async |app, other| {
        for (path, rule) in [
            ("%2Fteam", json!({"amount": 1, "child_default": AMOUNT})),
            ("%2Fagents", json!({"amount": AMOUNT, "per_run": true})),
        ] {
            app.put(format!("{BUDGETS}/{path}/daily"), rule).send().await.expect_status(200);
        }
        follow(&other).await;
        let calls = (0..CALLS).map(|number| {
            let (path, run) = DERIVED[number / 2 % DERIVED.len()];
            let gateway = if number % 2 == 0 { &app } else { &other };
            let call = gateway.post("/v1/chat/completions", bounded(64 + number as u64 % 7));
            let call = call.header("x-gateway-user-path", path);
            run.into_iter().fold(call, |call, run| call.header("x-run-id", run)).send()
        });
        let answers = join_all(calls).await;
        let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        assert!(statuses.iter().all(|status| [200, 429].contains(status)), "{statuses:?}");
        other.drain().await.unwrap();
        let rows = app.receipts(CALLS).await;
        for (path, run) in DERIVED {
            let own = rows.iter().filter(|row| row["user_path"] == path && row["run_id"].as_str() == run);
            let spent: f64 = own.filter_map(|row| row["total_cost"].as_f64()).sum();
            assert!(spent > 0.0 && spent <= AMOUNT, "{spent} of {AMOUNT} for {path} {run:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_waiting_call_gets_what_another_replica_gives_back() {
    each_pair(async |app, other| {
        // Room for one call of this size at a time.
        set(&app, "/", "daily", 0.011).await;
        follow(&other).await;
        app.upstream.push(FaultScript::named("hang-mid-stream"));
        let mut body = bounded(1000);
        body["stream"] = json!(true);
        let held = app.post("/v1/chat/completions", body).open().await;
        let refused = call(&other, 1000).await;
        assert_eq!(refused.status, 429, "all of it is held by the other replica");
        drop(held);
        tokio::time::sleep(Duration::from_millis(200)).await;
        call(&other, 1000).await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn a_lowered_amount_holds_on_all_replicas() {
    each_pair(async |app, other| {
        set(&app, "/", "daily", 5.0).await;
        follow(&other).await;
        for gateway in [&app, &other] {
            call(gateway, 500).await.expect_status(200);
        }
        set(&app, "/", "daily", 0.000_01).await;
        follow(&other).await;
        for gateway in [&app, &other] {
            assert_eq!(call(gateway, 500).await.status, 429);
        }
    })
    .await;
}

#[tokio::test]
async fn without_the_database_a_lease_serves_until_it_is_used_up() {
    each_pair(async |app, other| {
        drop(other);
        set(&app, "/team", "daily", 1.0).await;
        let team = |tokens: u64| {
            let call = app.post("/v1/chat/completions", bounded(tokens));
            call.header("x-gateway-user-path", "/team").send()
        };
        team(16).await.expect_status(200);
        // The lease is filled in the background, for four calls like this one, which reserves about $0.0005.
        eventually(&app.clock, async || leases(&app).await["free"].as_f64().unwrap() > 0.001).await;
        let budget_lease_wait = Duration::from_millis(200);
        app.gateway.policy.replace(Policy { budget_lease_wait, ..app.gateway.policy.clone() }).unwrap();
        app.refresher.store().close().await;
        team(16).await.expect_status(200);
        let mut answers = Vec::new();
        for _ in 0..20 {
            answers.push(team(2000).await);
        }
        let last = answers.last().unwrap();
        assert_eq!(last.status, 503);
        assert_eq!(last.json()["error"]["code"], "budget_check_failed");
        call(&app, 16).await.expect_status(200);
        assert_eq!(app.get("/ready").send().await.json()["budget_leases"], "degraded");
    })
    .await;
}

#[tokio::test]
async fn the_lease_of_a_crashed_process_is_free_once_its_journal_is_drained() {
    each_pair(async |app, other| {
        set(&app, "/", "daily", 0.01).await;
        follow(&other).await;
        // As if another process had leased everything and crashed.
        let journal = "0".repeat(32);
        let lease = format!(
            "INSERT INTO budget_leases SELECT budget, opened, '{journal}', 9000000, 0, 0 FROM budget_windows; \
             UPDATE budget_windows SET leased = leased + 9000000"
        );
        call(&app, 16).await.expect_status(200);
        app.sql(&lease).await;
        assert_eq!(call(&other, 500).await.status, 429, "stranded");
        let directory = app.data_directory().join("journal").join(&journal);
        std::fs::create_dir(&directory).unwrap();
        app.clock.advance(Duration::from_secs(11));
        app.drain().await.unwrap();
        assert!(!directory.exists());
        call(&other, 500).await.expect_status(200);
        let listed = app.call(Method::GET, STATUS).send().await.expect_status(200);
        assert_eq!(listed.json()["budget_leases"]["state"], "ok");
    })
    .await;
}
