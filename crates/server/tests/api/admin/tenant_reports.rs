//! Tests of reports, budgets, changes and caches by tenant: an admin chooses one, callers of a tenant have their own.

use http::Method;
use pipeline::policy::{CachePolicy, Policy};
use serde_json::{Value, json};

use crate::app::{self, TestApp, TestSettings};

const ADMIN: &str = "/admin/api/v1";
const PRICED: &str = "openai/gpt-4o";

fn settings() -> TestSettings {
    let mut settings = TestSettings::with_identity();
    settings.policy.audit.enabled = true;
    settings
}

fn caching() -> TestSettings {
    let cache = CachePolicy { enabled: true, ..CachePolicy::default() };
    TestSettings { policy: Policy { cache, ..Policy::default() }, ..TestSettings::with_identity() }
}

/// Creates the tenants acme and rival. Returns a key of each, with all rights, at the same user path.
async fn tenants(app: &TestApp) -> [String; 2] {
    let key = async |slug: &str| {
        app.post(format!("{ADMIN}/tenants"), json!({"slug": slug})).send().await.expect_status(201);
        app.key(json!({"name": slug, "scopes": ["inference", "admin:write"], "tenant_id": slug})).await.1
    };
    [key("acme").await, key("rival").await]
}

async fn read(app: &TestApp, key: &str, path: &str) -> Value {
    app.get(format!("{ADMIN}/{path}")).key(key).send().await.expect_status(200).json()
}

/// The number of calls that a report counts.
async fn counted(app: &TestApp, key: &str, path: &str, member: &str) -> i64 {
    let report = read(app, key, path).await;
    let count = report.pointer(member).and_then(Value::as_f64);
    count.unwrap_or_else(|| panic!("{path}: {report:#}")) as i64
}

#[tokio::test]
async fn reports_count_the_calls_of_the_chosen_tenant() {
    app::each_with(settings, async |app| {
        let [acme, other] = tenants(&app).await;
        for key in [&*acme, &*other, &*other, app::MASTER] {
            app.chat("openai/text").key(key).send().await.expect_status(200);
        }
        app.receipts(4).await;
        for (path, member) in [
            ("usage/summary", "/total_requests"),
            ("usage/models", "/0/requests"),
            ("usage/user-paths", "/0/requests"),
            ("usage/daily", "/0/requests"),
            ("usage/timeseries", "/series/0/total"),
            ("usage/log", "/total"),
            ("audit/log", "/total"),
            ("dashboard/overview", "/totals/requests"),
        ] {
            for (key, query, count) in [
                (app::MASTER, "", 4),
                (app::MASTER, "?tenant_id=", 4),
                (app::MASTER, "?tenant_id=acme", 1),
                (app::MASTER, "?tenant_id=rival", 2),
                (&*acme, "", 1),
                (&*acme, "?tenant_id=acme", 1),
                (&*other, "", 2),
            ] {
                let path = format!("{path}{query}");
                assert_eq!(counted(&app, key, &path, member).await, count, "{path}");
            }
            let denied = app.get(format!("{ADMIN}/{path}?tenant_id=rival")).key(&acme).refusal().await;
            assert_eq!((denied.0, denied.2.as_deref()), (403, Some("tenant_id")), "{path}");
            let unknown = app.get(format!("{ADMIN}/{path}?tenant_id=nobody")).refusal().await;
            assert_eq!((unknown.0, unknown.2.as_deref()), (400, Some("tenant_id")), "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_audit_log_is_exported_and_read_by_tenant() {
    app::each_with(settings, async |app| {
        let [acme, other] = tenants(&app).await;
        for key in [&*acme, &*other] {
            app.chat("openai/text").key(key).send().await.expect_status(200);
            assert_eq!(app.chat("openai/error-404").key(key).send().await.status, 404);
        }
        app.receipts(4).await;
        for (format, head) in [("csv", 1), ("jsonl", 1)] {
            let path = format!("{ADMIN}/audit/log/export?format={format}&tenant_id=acme");
            let file = app.get(path).send().await.expect_status(200).text();
            assert_eq!(file.trim_end().lines().count(), 2 + head, "{file}");
            assert!(file.contains("acme") && !file.contains("rival"), "{file}");
        }
        let log = read(&app, &other, "audit/log").await;
        let id = log["entries"][0]["id"].as_str().unwrap();
        for path in [format!("audit/log/{id}?"), format!("audit/conversation?log_id={id}&")] {
            app.get(format!("{ADMIN}/{path}tenant_id=rival")).send().await.expect_status(200);
            assert_eq!(app.get(format!("{ADMIN}/{path}tenant_id=acme")).send().await.status, 404, "{path}");
        }
        for (query, errors) in [("", 2), ("?tenant_id=acme", 1)] {
            let page = read(&app, app::MASTER, &format!("dashboard/overview{query}")).await;
            assert_eq!(page["recent_errors"].as_array().unwrap().len(), errors, "{page:#}");
        }
    })
    .await;
}

#[tokio::test]
async fn without_tenants_the_parameter_has_no_effect() {
    app::each(async |app| {
        let (_, acme) =
            app.key(json!({"name": "k", "scopes": ["inference", "admin:read"], "tenant_id": "acme"})).await;
        for key in [&*acme, app::MASTER] {
            app.chat("openai/text").key(key).send().await.expect_status(200);
        }
        app.receipts(2).await;
        let path = "usage/summary?tenant_id=anything";
        assert_eq!(counted(&app, app::MASTER, path, "/total_requests").await, 2);
        assert_eq!(counted(&app, &acme, path, "/total_requests").await, 1, "its own");
        assert_eq!(app.get(format!("{ADMIN}/changes")).key(&acme).refusal().await.1, "user_path_denied");
    })
    .await;
}

async fn budgets(app: &TestApp, key: &str, query: &str) -> Vec<(Option<String>, f64, bool)> {
    let list = read(app, key, &format!("budgets{query}")).await;
    let view = |budget: &Value| {
        let tenant = budget["tenant_id"].as_str().map(str::to_owned);
        (tenant, budget["amount"].as_f64().unwrap(), budget["spent"].as_f64().unwrap() > 0.0)
    };
    let mut found: Vec<_> = list["budgets"].as_array().unwrap().iter().map(view).collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

#[tokio::test]
async fn budgets_of_two_tenants_at_one_path_are_separate() {
    app::each_with(TestSettings::with_identity, async |app| {
        let [acme, other] = tenants(&app).await;
        let path = format!("{ADMIN}/budgets/%2F/daily");
        app.put(&*path, json!({"amount": 5})).key(&acme).send().await.expect_status(200);
        let tight = json!({"amount": 0.000_001, "on_tight": "refuse"});
        let set = app.put(format!("{path}?tenant_id=rival"), tight).send().await.expect_status(200).json();
        assert_eq!(set["budgets"].as_array().unwrap().len(), 1, "only those of the tenant: {set:#}");
        app.put(&*path, json!({"amount": 50})).send().await.expect_status(200);

        app.chat(PRICED).key(&acme).send().await.expect_status(200);
        let refused = app.chat(PRICED).key(&other).refusal().await;
        assert_eq!((refused.0, &*refused.1), (429, "budget_exceeded"));
        app.receipts(2).await;
        let name = |tenant: &str| Some(tenant.to_owned());
        let (of_acme, of_other) = ((name("acme"), 5.0, true), (name("rival"), 0.000_001, false));
        let all = [(None, 50.0, true), of_acme.clone(), of_other.clone()];
        assert_eq!(budgets(&app, app::MASTER, "").await, all, "the one of the installation counts all calls");
        assert_eq!(budgets(&app, app::MASTER, "?tenant_id=acme").await, std::slice::from_ref(&of_acme));
        assert_eq!(budgets(&app, &acme, "").await, [of_acme]);
        assert_eq!(budgets(&app, &other, "?tenant_id=rival").await, [of_other]);
        let forecast = read(&app, app::MASTER, "budgets/forecast/%2F?tenant_id=acme").await;
        assert_eq!(forecast["forecasts"].as_array().unwrap().len(), 1, "{forecast:#}");
        assert_eq!(read(&app, app::MASTER, "budgets/history?tenant_id=acme").await["total"], 1);

        // Resets and deletions are those of the tenant, too.
        let reset = json!({"confirmation": "reset"});
        let reset = app.post(format!("{ADMIN}/budgets/reset?tenant_id=acme"), reset).send().await;
        assert_eq!(reset.expect_status(200).json()["reset"], 1);
        assert_eq!(budgets(&app, &acme, "").await, [(name("acme"), 5.0, false)]);
        assert!(budgets(&app, app::MASTER, "").await[0].2, "the budget of the installation is as before");
        app.call(Method::DELETE, format!("{path}?tenant_id=rival")).send().await.expect_status(200);
        assert_eq!(budgets(&app, app::MASTER, "").await.len(), 2);
        app.chat(PRICED).key(&other).send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn callers_of_a_tenant_read_the_changes_of_its_documents() {
    app::each_with(TestSettings::with_identity, async |app| {
        let [acme, other] = tenants(&app).await;
        for (key, name) in [(&*acme, "ours"), (&*other, "theirs"), (app::MASTER, "all")] {
            let alias = json!({"target": "openai/text"});
            app.put(format!("{ADMIN}/aliases/{name}"), alias).key(key).send().await.expect_status(201);
        }
        let names = async |key: &str, query: &str| {
            let log = read(&app, key, &format!("changes?kind=alias{query}")).await;
            let mut names: Vec<String> = log["entries"]
                .as_array()
                .unwrap()
                .iter()
                .map(|entry| {
                    format!(
                        "{}/{}",
                        entry["tenant_id"].as_str().unwrap_or("-"),
                        entry["name"].as_str().unwrap()
                    )
                })
                .collect();
            names.sort();
            names.join(" ")
        };
        assert_eq!(names(&acme, "").await, "acme/ours");
        assert_eq!(names(&acme, "&tenant_id=acme").await, "acme/ours");
        assert_eq!(names(app::MASTER, "&tenant_id=rival").await, "rival/theirs");
        assert_eq!(names(app::MASTER, "").await, "-/all acme/ours rival/theirs");
        let all = read(&app, &acme, "changes").await;
        assert_eq!(
            all["entries"].as_array().unwrap().len(),
            1,
            "no keys, and no documents of others: {all:#}"
        );
        let denied = app.get(format!("{ADMIN}/changes?tenant_id=rival")).key(&acme).refusal().await;
        assert_eq!((denied.0, denied.2.as_deref()), (403, Some("tenant_id")));
        let team = json!({"name": "t", "scopes": ["admin:read"], "tenant_id": "acme", "user_path": "/team"});
        let (_, team) = app.key(team).await;
        assert_eq!(app.get(format!("{ADMIN}/changes")).key(&team).refusal().await.1, "user_path_denied");
    })
    .await;
}

#[tokio::test]
async fn cached_answers_are_counted_and_purged_by_tenant() {
    app::each_with(caching, async |app| {
        let [acme, other] = tenants(&app).await;
        let keys = [&*acme, &*other, app::MASTER];
        let is_hit = async |key: &str| {
            let answer = app.chat(PRICED).key(key).send().await.expect_status(200);
            answer.header("x-gateway-cache") == Some("hit-exact")
        };
        for key in keys {
            assert_eq!((is_hit(key).await, is_hit(key).await), (false, true));
        }
        app.receipts(3).await;
        for (key, query, hits) in
            [(app::MASTER, "", 3), (app::MASTER, "?tenant_id=acme", 1), (&*other, "", 1), (&*acme, "", 1)]
        {
            let path = format!("cache/overview{query}");
            assert_eq!(counted(&app, key, &path, "/summary/total_hits").await, hits, "{path}");
            assert_eq!(counted(&app, key, &path, "/summary/misses").await, hits, "{path}");
        }
        let purge = async |key: &str, query: &str| {
            let answer = app.post(format!("{ADMIN}/cache/purge{query}"), json!({})).key(key).send().await;
            answer.expect_status(200).json()["purged"].clone()
        };
        assert_eq!(purge(&acme, "").await, 1);
        assert_eq!(
            (is_hit(&acme).await, is_hit(&other).await, is_hit(app::MASTER).await),
            (false, true, true)
        );
        assert_eq!(purge(app::MASTER, "?tenant_id=rival").await, 1);
        assert_eq!(
            (is_hit(&acme).await, is_hit(&other).await, is_hit(app::MASTER).await),
            (true, false, true)
        );
        let denied =
            app.post(format!("{ADMIN}/cache/purge?tenant_id=rival"), json!({})).key(&acme).refusal().await;
        assert_eq!((denied.0, denied.2.as_deref()), (403, Some("tenant_id")));
        assert_eq!(purge(app::MASTER, "").await, 3);
    })
    .await;
}

#[tokio::test]
async fn a_pool_is_deleted_if_the_keys_that_name_it_mean_that_of_their_tenant() {
    app::each_with(TestSettings::with_identity, async |app| {
        let [acme, _] = tenants(&app).await;
        let (path, pool) = (format!("{ADMIN}/pools/p"), json!({"members": ["openai"]}));
        app.put(&*path, pool.clone()).send().await.expect_status(201);
        let (id, key) = app.key(json!({"name": "k", "tenant_id": "acme", "provider_pool_id": "p"})).await;
        let in_use = app.call(Method::DELETE, &*path).send().await;
        assert_eq!((in_use.status, in_use.text().contains(&id)), (409, true), "{}", in_use.text());
        app.put(&*path, pool).key(&acme).send().await.expect_status(201);
        app.call(Method::DELETE, &*path).send().await.expect_status(204);
        app.chat("openai/text").key(&key).send().await.expect_status(200);
        let in_use = app.call(Method::DELETE, &*path).key(&acme).send().await;
        assert_eq!((in_use.status, in_use.text().contains(&id)), (409, true), "{}", in_use.text());
    })
    .await;
}
