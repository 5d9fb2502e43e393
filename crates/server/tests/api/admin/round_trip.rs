//! Tests of GET, edit and PUT for every resource: absent members stay, null clears, read-only members are ignored.

use serde_json::{Value, json};

use super::each_furnished_with;
use crate::app::{TestApp, TestSettings};

/// A resource: its path, a body to create it, an edit of one member, and that member's value after null.
struct Resource {
    path: &'static str,
    body: Value,
    edit: (&'static str, Value),
    cleared: Value,
}

fn resources(app: &TestApp) -> Vec<Resource> {
    vec![
        Resource {
            path: "aliases/quick",
            body: json!({"target": "openai/text", "description": "fast"}),
            edit: ("description", json!("faster")),
            cleared: json!(""),
        },
        Resource {
            path: "model-overrides/openai/text",
            body: json!({"enabled": false, "user_paths": ["/a"], "metadata": {"context_window": 9}}),
            edit: ("user_paths", json!(["/b"])),
            cleared: json!([]),
        },
        Resource {
            path: "tenants/acme",
            body: json!({"name": "Acme", "metadata": {"plan": "gold"}}),
            edit: ("name", json!("Acme Ltd")),
            cleared: json!(""),
        },
        Resource {
            path: "identity/roles/auditor",
            body: json!({"description": "reads", "permissions": [{"action": "read", "resource": "audit", "effect": "allow"}]}),
            edit: ("description", json!("reads the log")),
            cleared: json!(""),
        },
        Resource {
            path: "pools/both",
            body: json!({"members": ["openai", "second"], "strategy": "weighted", "weights": {"second": 3.0}, "health_aware": false}),
            edit: ("strategy", json!("random")),
            cleared: json!("round_robin"),
        },
        Resource {
            path: "combos/pair",
            body: json!({"selectors": ["openai/text", "second/long"], "strategy": "random", "description": "two"}),
            edit: ("description", json!("2")),
            cleared: json!(""),
        },
        Resource {
            path: "guardrails/secrets",
            body: json!({"type": "pii_redact", "config": {"kinds": ["email"]}, "direction": "input", "mode": "monitor",
                "description": "emails", "user_path": "/a", "on_error": "allow", "on_unreadable": "block"}),
            edit: ("description", json!("all emails")),
            cleared: Value::Null,
        },
        Resource {
            path: "providers/third",
            body: json!({"type": "openai_compatible", "base_url": app.upstream.base_url(), "api_key": "sk-third-9876",
                "models": ["a", "b"], "headers": {"x-team": "a-secret-of-the-team"}, "enabled": true, "priority": 3,
                "resilience": {"max_retries": 1}}),
            edit: ("models", json!(["c"])),
            cleared: json!([]),
        },
    ]
}

/// The view without members that change by themselves.
fn settled(mut view: Value) -> Value {
    for name in ["updated_at", "health", "members_status", "last_used_at"] {
        view.as_object_mut().unwrap().remove(name);
    }
    view
}

#[tokio::test]
async fn a_view_can_be_edited_and_sent_back() {
    each_furnished_with(TestSettings::enterprise, async |app| {
        for Resource { path, body, edit: (member, value), cleared } in resources(&app) {
            let path = format!("/admin/api/v1/{path}");
            app.put(&*path, body).send().await.expect_status(201);
            let view = app.get(&*path).send().await.expect_status(200).json();
            let put = async |body: Value| {
                let answer = app.put(&*path, body.clone()).send().await;
                assert_eq!(answer.status, 200, "{path} {body}: {}", answer.text());
                answer.json()
            };
            assert_eq!(settled(put(view.clone()).await), settled(view.clone()), "{path}: unchanged");
            assert_eq!(settled(put(json!({})).await), settled(view.clone()), "{path}: all of it absent");
            let mut edited = view.clone();
            edited[member] = value;
            assert_eq!(settled(put(edited.clone()).await), settled(edited.clone()), "{path}: edited");
            edited[member] = cleared;
            assert_eq!(settled(put(json!({member: null})).await), settled(edited), "{path}: cleared");
            let mut unknown = view;
            unknown["no_such_member"] = json!(1);
            let refused = app.put(&*path, unknown).refusal().await;
            assert_eq!(refused, (400, "unknown_parameter".into(), Some("no_such_member".into())), "{path}");
        }
        let third = app.gateway.snapshot().routes.instances["third"].clone();
        assert_eq!(third.provider.api_key.as_ref().unwrap().reveal(), "sk-third-9876");
        assert_eq!(third.provider.headers["x-team"], "a-secret-of-the-team");
    })
    .await;
}

#[tokio::test]
async fn prices_budgets_keys_and_settings_can_be_sent_back() {
    each_furnished_with(TestSettings::enterprise, async |app| {
        let price = "/admin/api/v1/model-pricing/openai/text";
        let own = json!({"input_per_mtok": 1.5, "output_per_mtok": 2.5});
        app.put(price, own).send().await.expect_status(201);
        let mut view = app.get(price).send().await.expect_status(200).json();
        assert_eq!(app.put(price, view.clone()).send().await.expect_status(200).json(), view);
        view["override"]["input_per_mtok"] = json!(4.0);
        let edited = app.put(price, view).send().await.expect_status(200).json();
        assert_eq!(edited["override"]["input_per_mtok"], 4.0);
        let kept = app.put(price, json!({"output_per_mtok": 3.0})).send().await.expect_status(200).json();
        assert_eq!(
            (&kept["override"]["input_per_mtok"], &kept["override"]["output_per_mtok"]),
            (&json!(4.0), &json!(3.0))
        );

        let budget = "/admin/api/v1/budgets/%2Fteam/daily";
        let list = app.put(budget, json!({"amount": 5})).send().await.expect_status(200).json();
        let mut view = list["budgets"][0].clone();
        view["amount"] = json!(6.0);
        let list = app.put(budget, view).send().await.expect_status(200).json();
        assert_eq!(list["budgets"][0]["amount"], 6.0);
        let list = app.put(budget, json!({})).send().await.expect_status(200).json();
        assert_eq!(list["budgets"][0]["amount"], 6.0, "absent stays");
        let absent = app.put("/admin/api/v1/budgets/%2Fother/daily", json!({})).refusal().await;
        assert_eq!((absent.0, absent.2.as_deref()), (400, Some("amount")));

        let settings = "/admin/api/v1/budgets/settings";
        app.put(settings, json!({"daily_reset_hour": 4})).send().await.expect_status(200);
        let view = app.get(settings).send().await.expect_status(200).json();
        let again = app.put(settings, view.clone()).send().await.expect_status(200).json();
        assert_eq!(settled(again), settled(view));

        let (id, _) =
            app.key(json!({"name": "a", "allowed_models": ["openai/*"], "user_path": "/team"})).await;
        let key = format!("/admin/api/v1/auth-keys/{id}");
        let mut view = app.get(&*key).send().await.expect_status(200).json();
        view["description"] = json!("edited");
        let edited = app.put(&*key, view.clone()).send().await.expect_status(200).json();
        assert_eq!(settled(edited), settled(view));
    })
    .await;
}

#[tokio::test]
async fn an_override_of_a_configured_provider_is_shown_and_can_be_taken_back() {
    each_furnished_with(TestSettings::default, async |app| {
        let path = "/admin/api/v1/providers/openai";
        app.put("/admin/api/v1/pools/both", json!({"members": ["openai", "second"]}))
            .send()
            .await
            .expect_status(201);
        let before = app.get(path).send().await.expect_status(200).json();
        assert_eq!((&before["source"], before.get("overrides")), (&json!("env"), None));
        let changed =
            app.put(path, json!({"priority": 7, "resilience": null})).send().await.expect_status(200).json();
        assert_eq!((&changed["source"], &changed["overrides"]), (&json!("admin"), &json!("env")));
        assert_eq!((&changed["priority"], &changed["api_key_last4"]), (&json!(7), &before["api_key_last4"]));
        app.chat("openai/text").send().await.expect_status(200);

        let replica = app.neighbour().await;
        let shown = replica.get(path).send().await.expect_status(200).json();
        assert_eq!(
            (&shown["overrides"], &shown["priority"]),
            (&json!("env"), &json!(7)),
            "after a start, too"
        );

        // The pool refers to a name that goes on to exist.
        app.call(http::Method::DELETE, path).send().await.expect_status(204);
        let restored = app.get(path).send().await.expect_status(200).json();
        assert_eq!((&restored["source"], &restored["priority"]), (&json!("env"), &before["priority"]));
        assert_eq!(app.call(http::Method::DELETE, path).refusal().await.0, 409);
        let used = app.call(http::Method::DELETE, "/admin/api/v1/providers/second").refusal().await;
        assert_eq!(used.0, 409, "one that is only stored is still in use");
    })
    .await;
}
