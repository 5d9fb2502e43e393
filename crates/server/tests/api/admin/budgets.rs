//! Tests of `/admin/api/v1/budgets`: records, access, configured budgets, resets, settings.

mod calls;
mod history;
mod replicas;
mod storage;
mod tight;
pub mod webhooks;

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::{history, refuses};
use crate::app::{self, TestApp, TestSettings};

const HOUR: std::time::Duration = std::time::Duration::from_secs(3600);
const BUDGETS: &str = "/admin/api/v1/budgets";

/// Runs a test with the budget capability enabled.
async fn each(test: impl AsyncFn(TestApp)) {
    app::each_with(TestSettings::enterprise, test).await;
}

/// Sets a budget and returns the list.
async fn set(app: &TestApp, path: &str, period: &str, amount: f64) -> Value {
    let url = format!("{BUDGETS}/{}/{period}", path.replace('/', "%2F"));
    app.put(url, json!({"amount": amount})).send().await.expect_status(200).json()
}

async fn budgets(app: &TestApp) -> Vec<Value> {
    let list = app.get(BUDGETS).send().await.expect_status(200).json();
    list["budgets"].as_array().unwrap().clone()
}

/// The budget of a path; there must be exactly one.
async fn budget(app: &TestApp, path: &str) -> Value {
    let mut found = budgets(app).await;
    found.retain(|budget| budget["user_path"] == path);
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

fn names(list: &Value) -> Vec<String> {
    let name = |budget: &Value| {
        let text = |field: &str| budget[field].as_str().unwrap().to_owned();
        format!("{} {} {} {}", text("user_path"), text("period_label"), budget["amount"], text("source"))
    };
    list["budgets"].as_array().unwrap().iter().map(name).collect()
}

async fn delete(app: &TestApp, path: &str, period: &str) -> crate::app::Answer {
    app.call(Method::DELETE, format!("{BUDGETS}/{}/{period}", path.replace('/', "%2F"))).send().await
}

#[tokio::test]
async fn a_budget_is_set_changed_shown_and_removed() {
    each(async |app| {
        let list = set(&app, "/team/a", "daily", 12.5).await;
        assert!(list["server_time"].as_str().unwrap().ends_with('Z'));
        let budget = &list["budgets"][0];
        let fields: Vec<&str> = budget.as_object().unwrap().keys().map(String::as_str).collect();
        let expected = [
            "user_path",
            "period_seconds",
            "period_label",
            "amount",
            "source",
            "created_at",
            "updated_at",
            "period_start",
            "period_end",
            "spent",
            "reserved",
            "has_usage",
            "remaining",
            "usage_ratio",
            "period_ratio",
            "on_tight",
            "on_exhausted",
            "per_run",
            "etag",
        ];
        assert_eq!(fields, expected);
        assert_eq!((&budget["period_seconds"], &budget["remaining"]), (&json!(86_400), &json!(12.5)));
        assert_eq!((&budget["spent"], &budget["has_usage"]), (&json!(0.0), &json!(false)));
        let ratio = budget["period_ratio"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&ratio));
        assert!(budget["period_start"].as_str().unwrap().ends_with("T00:00:00.000Z"), "{budget}");

        set(&app, "team/a", "86400", 20.0).await;
        set(&app, "/", "7200", 1.0).await;
        let list = set(&app, "/team/a", "monthly", 30.0).await;
        assert_eq!(
            names(&list),
            ["/ 7200s 1.0 manual", "/team/a daily 20.0 manual", "/team/a monthly 30.0 manual"]
        );
        let list = delete(&app, "/team/a", "daily").await.expect_status(200).json();
        assert_eq!(names(&list), ["/ 7200s 1.0 manual", "/team/a monthly 30.0 manual"]);
        delete(&app, "/team/a", "daily").await.expect_status(200);
        let changes = history(&app, "budget").await;
        assert_eq!((changes.len(), changes[0].clone()), (5, ("delete".into(), "/team/a|86400".into())));
    })
    .await;
}

#[tokio::test]
async fn a_budget_that_changed_meanwhile_is_not_overwritten() {
    each(async |app| {
        let url = format!("{BUDGETS}/%2Fteam/daily");
        let put = |amount: f64, etag: &str| app.put(&url, json!({"amount": amount})).header("if-match", etag);
        assert_eq!(put(1.0, "*").send().await.refusal().0, 412, "there is none yet");
        let made = app.put(&url, json!({"amount": 1})).send().await.expect_status(200);
        let first = made.header("etag").unwrap().to_owned();
        assert_eq!(budget(&app, "/team").await["etag"], first);
        let second = put(2.0, &first).send().await.expect_status(200).header("etag").unwrap().to_owned();
        assert_ne!(first, second);
        assert_eq!(
            put(3.0, &first).send().await.refusal(),
            (412, "precondition_failed".into(), Some("If-Match".into()))
        );
        let reset = json!({"user_path": "/team", "period": "daily"});
        app.post(format!("{BUDGETS}/reset-one"), reset).send().await.expect_status(200);
        let remove = |etag: &str| app.call(Method::DELETE, &url).header("if-match", etag);
        assert_eq!(remove(&second).send().await.refusal().0, 412, "it began anew meanwhile");
        let now = budget(&app, "/team").await;
        assert_eq!(now["amount"], 2.0);
        remove(now["etag"].as_str().unwrap()).send().await.expect_status(200);
        assert!(budgets(&app).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn invalid_budgets_are_rejected_with_their_field() {
    each(async |app| {
        let place = |rest: &str| format!("{BUDGETS}/{rest}");
        let daily = place("%2Fa/daily");
        let settings = place("settings");
        let (one, all) = (place("reset-one"), place("reset"));
        refuses(
            &app,
            &[
                ("PUT", &daily, json!({}), 400, "invalid_parameter", "amount"),
                ("PUT", &daily, json!({"amount": 0}), 400, "invalid_parameter", "amount"),
                ("PUT", &daily, json!({"amount": -1}), 400, "invalid_parameter", "amount"),
                ("PUT", &daily, json!({"amount": 1e300}), 400, "invalid_parameter", "amount"),
                ("PUT", &daily, json!({"amount": "1"}), 400, "invalid_parameter", "amount"),
                ("PUT", &daily, json!({"amount": 1, "amuont": 2}), 400, "unknown_parameter", "amuont"),
                ("PUT", &place("%2Fa/yearly"), json!({"amount": 1}), 400, "invalid_parameter", "period"),
                ("PUT", &place("%2Fa/59"), json!({"amount": 1}), 400, "invalid_parameter", "period"),
                (
                    "PUT",
                    &place("%2Fa%2F..%2Fb/daily"),
                    json!({"amount": 1}),
                    400,
                    "invalid_parameter",
                    "user_path",
                ),
                ("POST", &all, json!({"confirmation": "yes"}), 400, "invalid_parameter", "confirmation"),
                ("POST", &all, json!({}), 400, "invalid_parameter", "confirmation"),
                (
                    "POST",
                    &one,
                    json!({"user_path": "/a", "period": "daily"}),
                    400,
                    "budget_not_found",
                    "user_path",
                ),
                ("POST", &one, json!({"user_path": "/a"}), 400, "invalid_parameter", "period"),
                (
                    "POST",
                    &one,
                    json!({"user_path": "/a", "period_seconds": 5}),
                    400,
                    "invalid_parameter",
                    "period_seconds",
                ),
                (
                    "PUT",
                    &settings,
                    json!({"daily_reset_hour": 24}),
                    400,
                    "invalid_parameter",
                    "daily_reset_hour",
                ),
                (
                    "PUT",
                    &settings,
                    json!({"monthly_reset_day": 300}),
                    400,
                    "invalid_parameter",
                    "monthly_reset_day",
                ),
                (
                    "PUT",
                    &settings,
                    json!({"thresholds": [0.5, 0]}),
                    400,
                    "invalid_parameter",
                    "thresholds[1]",
                ),
                ("PUT", &settings, json!({"treshold": []}), 400, "unknown_parameter", "treshold"),
                (
                    "PUT",
                    &settings,
                    json!({"webhook_url": "ftp://example.com"}),
                    400,
                    "invalid_parameter",
                    "webhook_url",
                ),
                (
                    "PUT",
                    &settings,
                    json!({"webhook_url": "http://169.254.169.254/latest"}),
                    400,
                    "invalid_parameter",
                    "webhook_url",
                ),
                (
                    "PUT",
                    &settings,
                    json!({"webhook_url": "https://u:p@example.com/"}),
                    400,
                    "invalid_parameter",
                    "webhook_url",
                ),
                (
                    "PUT",
                    &settings,
                    json!({"webhook_secret": "short"}),
                    400,
                    "invalid_parameter",
                    "webhook_secret",
                ),
            ],
        )
        .await;
        assert!(budgets(&app).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn without_the_capability_there_are_none() {
    let settings = || TestSettings { budgets: "/=daily:0.000001", ..TestSettings::default() };
    app::each_with(settings, async |app| {
        for path in [BUDGETS, "/admin/api/v1/budgets/settings", "/admin/api/v1/budgets/forecast/%2F"] {
            let answer = app.get(path).send().await;
            let (status, code, _) = answer.refusal();
            assert_eq!((status, &*code), (403, "edition_restricted"), "{path}");
            for setting in ["GATEWAY_CAPABILITIES=advancedBudgets", "GATEWAY_EDITION=enterprise"] {
                assert!(answer.text().contains(setting), "{}", answer.text());
            }
            let stranger = app.get(path).key("nobody").refusal().await;
            assert_eq!(stranger.0, 401, "who may not come in learns nothing");
        }
        app.chat("openai/gpt-4o").send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn a_bound_admin_has_its_subtree() {
    each(async |app| {
        set(&app, "/", "daily", 100.0).await;
        set(&app, "/team/a", "daily", 10.0).await;
        set(&app, "/team/b", "daily", 10.0).await;
        let scopes = ["admin:budgets:read", "admin:budgets:write"];
        let bound = json!({"name": "bound", "scopes": scopes, "user_path": "/team/a"});
        let (_, key) = app.key(bound).await;
        let list = app.get(BUDGETS).key(&key).send().await.expect_status(200).json();
        assert_eq!(names(&list), ["/team/a daily 10.0 manual"]);
        let inside = app.put(format!("{BUDGETS}/%2Fteam%2Fa%2Fx/hourly"), json!({"amount": 1}));
        assert_eq!(names(&inside.key(&key).send().await.expect_status(200).json()).len(), 2);
        let denied = |answer: (u16, String, Option<String>)| {
            assert_eq!((answer.0, &*answer.1), (403, "user_path_denied"))
        };
        denied(app.put(format!("{BUDGETS}/%2F/daily"), json!({"amount": 1})).key(&key).refusal().await);
        denied(app.call(Method::DELETE, format!("{BUDGETS}/%2Fteam%2Fb/daily")).key(&key).refusal().await);
        let one = json!({"user_path": "/team/b", "period": "daily"});
        denied(app.post(format!("{BUDGETS}/reset-one"), one).key(&key).refusal().await);
        let url = json!({"webhook_url": "https://hooks.example.com/T0/secret"});
        app.put(format!("{BUDGETS}/settings"), url).send().await.expect_status(200);
        let settings =
            app.get(format!("{BUDGETS}/settings")).key(&key).send().await.expect_status(200).json();
        assert_eq!(
            (&settings["webhook_url"], &settings["webhook_secret_last4"]),
            (&Value::Null, &Value::Null)
        );
        denied(app.put(format!("{BUDGETS}/settings"), json!({})).key(&key).refusal().await);
        denied(app.get(format!("{BUDGETS}/forecast/%2Fteam%2Fb")).key(&key).refusal().await);
        let reset = app.post(format!("{BUDGETS}/reset"), json!({"confirmation": "reset"})).key(&key);
        assert_eq!(reset.send().await.expect_status(200).json(), json!({"status": "ok", "reset": 2}));
        assert_eq!(budget(&app, "/team/b").await.get("last_reset_at"), None);
    })
    .await;
}

#[tokio::test]
async fn configured_budgets_can_be_overridden_and_restored() {
    let settings =
        || TestSettings { budgets: "/=monthly:500;/team/a=daily:10,3600:2.5", ..TestSettings::enterprise() };
    app::each_with(settings, async |app| {
        let list = app.get(BUDGETS).send().await.expect_status(200).json();
        assert_eq!(
            names(&list),
            ["/ monthly 500.0 config", "/team/a hourly 2.5 config", "/team/a daily 10.0 config"]
        );
        assert_eq!(list["budgets"][0]["created_at"], Value::Null);
        assert_eq!(delete(&app, "/", "monthly").await.refusal().0, 409);
        set(&app, "/", "monthly", 600.0).await;
        let one = json!({"user_path": "/", "period_seconds": 2_592_000});
        app.post(format!("{BUDGETS}/reset-one"), one).send().await.expect_status(200);
        let reset = budget(&app, "/").await;
        assert_eq!((&reset["amount"], &reset["source"]), (&json!(600.0), &json!("manual")));
        delete(&app, "/", "monthly").await.expect_status(200);
        let back = budget(&app, "/").await;
        assert_eq!((&back["amount"], &back["source"]), (&json!(500.0), &json!("config")));
        assert_eq!(back["last_reset_at"], reset["last_reset_at"], "what was forgotten stays forgotten");
        let again = app.restart().await;
        assert_eq!(budget(&again, "/").await["last_reset_at"], reset["last_reset_at"]);
    })
    .await;
}

#[tokio::test]
async fn settings_are_changed_in_parts() {
    each(async |app| {
        let path = format!("{BUDGETS}/settings");
        let fresh = app.get(&path).send().await.expect_status(200);
        assert_eq!(
            (fresh.json()["thresholds"].clone(), fresh.json()["weekly_reset_weekday"].clone()),
            (json!([0.8, 1.0]), json!(1))
        );
        let tag = fresh.header("etag").unwrap().to_owned();
        let changed = json!({"daily_reset_hour": 6, "daily_reset_minute": 30});
        let answer = app.put(&path, changed.clone()).header("if-match", &tag).send().await.expect_status(200);
        assert_eq!(answer.json()["daily_reset_hour"], 6);
        assert_ne!(answer.header("etag"), Some(&*tag));
        assert_eq!(app.put(&path, changed).header("if-match", &tag).refusal().await.0, 412);
        set(&app, "/", "daily", 1.0).await;
        assert!(budget(&app, "/").await["period_start"].as_str().unwrap().contains("T06:30:00"));

        let url = "https://example.com/hook?token=1";
        let made = app.put(&path, json!({"webhook_url": url})).send().await.expect_status(200).json();
        let secret = made["webhook_secret"].as_str().unwrap().to_owned();
        assert!(secret.starts_with("whsec_") && secret.len() > 40);
        let again = app.get(&path).send().await.expect_status(200);
        assert!(!again.text().contains(&secret) && again.json()["webhook_secret_set"] == true);
        assert_eq!(
            (again.json()["daily_reset_hour"].clone(), again.json()["webhook_url"].clone()),
            (json!(6), json!(url))
        );
        let back = app.put(&path, again.json()).send().await.expect_status(200).json();
        assert_eq!(
            (&back["webhook_url"], &back["webhook_secret_last4"]),
            (&json!(url), &again.json()["webhook_secret_last4"]),
            "what was read can be sent back"
        );
        let own = json!({"webhook_secret": "a-secret-of-my-own-1234", "webhook_url": null});
        let last = app.put(&path, own).send().await.expect_status(200).json();
        assert_eq!((&last["webhook_url"], &last["webhook_secret_last4"]), (&Value::Null, &json!("1234")));
        assert!(!app.get("/admin/api/v1/changes").send().await.text().contains("a-secret-of-my-own"));
    })
    .await;
}

#[tokio::test]
async fn a_window_that_is_over_begins_anew() {
    each(async |app| {
        set(&app, "/", "hourly", 1.0).await;
        app.chat("openai/gpt-4o").send().await.expect_status(200);
        let before = budget(&app, "/").await;
        assert!(before["spent"].as_f64().unwrap() > 0.0);
        app.clock.advance(Duration::from_secs(3600));
        let after = budget(&app, "/").await;
        assert_eq!((&after["spent"], &after["period_start"]), (&json!(0.0), &before["period_end"]));
        app.receipts(1).await;
        assert_eq!(budget(&app, "/").await["spent"], 0.0, "it is booked where it arrived");
    })
    .await;
}

#[tokio::test]
async fn spending_survives_clock_jumps() {
    each(async |app| {
        set(&app, "/", "hourly", 10.0).await;
        app.chat("openai/gpt-4o").send().await.expect_status(200);
        app.receipts(1).await;
        let spent = budget(&app, "/").await["spent"].as_f64().unwrap();
        assert!(spent > 0.0);
        for hours in [1, 5] {
            for _ in 0..hours {
                app.clock.advance(HOUR);
                assert_eq!(budget(&app, "/").await["spent"], 0.0);
            }
            app.clock.set_back(HOUR * hours);
            assert_eq!(budget(&app, "/").await["spent"], spent, "{hours} hours ahead and back");
        }
    })
    .await;
}

#[tokio::test]
async fn a_forecast_follows_the_pace() {
    each(async |app| {
        set(&app, "/team/a", "monthly", 1000.0).await;
        set(&app, "/team", "daily", 1000.0).await;
        app.chat("openai/gpt-4o").header("x-gateway-user-path", "/team/a").send().await.expect_status(200);
        app.receipts(1).await;
        let forecast =
            app.get(format!("{BUDGETS}/forecast/%2Fteam%2Fa")).send().await.expect_status(200).json();
        assert_eq!(
            (&forecast["user_path"], forecast["forecasts"].as_array().unwrap().len()),
            (&json!("/team/a"), 1)
        );
        let outlook = &forecast["forecasts"][0];
        assert_eq!((&outlook["period_label"], &outlook["amount"]), (&json!("monthly"), &json!(1000.0)));
        let number = |name: &str| outlook[name].as_f64().unwrap();
        assert!(
            number("spent") > 0.0 && number("rate_per_hour") > 0.0 && number("projected") > number("spent"),
            "{outlook}"
        );
        let none = app.get(format!("{BUDGETS}/forecast/nobody")).send().await.expect_status(200).json();
        assert_eq!(none, json!({"user_path": "/nobody", "forecasts": []}));
    })
    .await;
}
