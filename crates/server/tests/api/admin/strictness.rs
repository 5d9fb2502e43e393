//! Tests that unknown input to admin routes is refused by name, with the nearest known name.

use http::Method;
use serde_json::{Value, json};

use crate::app::{self, TestSettings};

/// Every admin route of the OpenAPI document that needs a key, with sample path parameters.
fn routes() -> Vec<(Method, String)> {
    let document = server::generated_document();
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        if !path.starts_with("/admin/api/") {
            continue;
        }
        let mut concrete = String::new();
        for segment in path.split('/').skip(1) {
            concrete.push('/');
            concrete.push_str(if segment.starts_with('{') { "sample" } else { segment });
        }
        for (name, operation) in item.as_object().unwrap() {
            let needs_key = operation.get("security").is_some();
            if needs_key && ["get", "put", "post", "delete", "patch"].contains(&name.as_str()) {
                routes.push((name.to_ascii_uppercase().parse().unwrap(), concrete.clone()));
            }
        }
    }
    routes
}

#[tokio::test]
async fn unknown_query_parameters_are_refused_on_every_route() {
    let settings = || {
        let mut settings = TestSettings::enterprise();
        settings.policy.audit.enabled = true;
        settings
    };
    app::each_with(settings, async |app| {
        let routes = routes();
        assert!(routes.len() > 50, "{}", routes.len());
        for (method, path) in routes {
            let answer =
                app.call(method.clone(), format!("{path}?no_such_parameter=1")).json(json!({})).send().await;
            let (status, code, param) = answer.refusal();
            let expected = (400, "unknown_parameter", Some("no_such_parameter"));
            assert_eq!((status, &*code, param.as_deref()), expected, "{method} {path}: {}", answer.text());
            // Who may not come in learns that first.
            let anonymous = app.call(method, format!("{path}?no_such_parameter=1")).anonymous().send().await;
            assert_eq!(anonymous.status, 401, "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn unknown_and_repeated_query_parameters_are_rejected() {
    app::each(async |app| {
        for (query, code, param, said) in [
            ("usage/summary?dayz=7", "unknown_parameter", "dayz", "Did you mean 'days'?"),
            ("usage/summary?userpath=/a", "unknown_parameter", "userpath", "Did you mean 'user_path'?"),
            ("usage/log?limit=5&limit=6", "invalid_parameter", "limit", "more than once"),
            ("runtime/status?limit=5", "unknown_parameter", "limit", "This route takes none."),
        ] {
            let answer = app.get(format!("/admin/api/v1/{query}")).send().await;
            let found = answer.refusal();
            assert_eq!((found.0, &*found.1, found.2.as_deref()), (400, code, Some(param)), "{query}");
            let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.contains(said), "{message}");
        }
        app.get("/admin/api/v1/usage/summary?days=7&").send().await.expect_status(200);
        let by_query = format!("/admin/api/v1/usage/summary?key={}", app::MASTER);
        app.get(by_query).anonymous().send().await.expect_status(200);
        let undecodable = app.get("/admin/api/v1/usage/summary?days=%ff").send().await;
        assert_eq!(undecodable.refusal().0, 400);
        // Inference routes take any.
        let chat = app.post("/v1/chat/completions?beta=true&api-version=2", app::question("text"));
        chat.send().await.expect_status(200);
        app.get("/v1/models?limit=3&whatever=1").send().await.expect_status(200);
    })
    .await;
}

#[tokio::test]
async fn unknown_body_fields_name_the_nearest() {
    app::each_with(TestSettings::enterprise, async |app| {
        let bodies: [(Method, &str, Value, &str, &str); 17] = [
            (Method::POST, "auth-keys", json!({"name": "a", "scpes": []}), "scpes", "Did you mean 'scopes'?"),
            (
                Method::POST,
                "auth-keys",
                json!({"name": "a", "rate_limits": {"requests_per_minut": 5}}),
                "rate_limits.requests_per_minut",
                "Did you mean 'requests_per_minute'?",
            ),
            (Method::POST, "providers", json!({"nme": "a"}), "nme", "Did you mean 'name'?"),
            (
                Method::POST,
                "providers",
                json!({"name": "a", "type": "openai", "resilience": {"max_retrys": 1}}),
                "resilience.max_retrys",
                "Did you mean 'max_retries'?",
            ),
            (Method::PUT, "aliases/a", json!({"targt": "x"}), "targt", "Did you mean"),
            (Method::PUT, "model-overrides/openai%2Fm", json!({"enbled": true}), "enbled", "'enabled'"),
            (
                Method::PUT,
                "model-pricing/openai%2Fm",
                json!({"input_per_mtk": 1}),
                "input_per_mtk",
                "'input_per_mtok'",
            ),
            (Method::POST, "pools", json!({"name": "p", "membrs": []}), "membrs", "'members'"),
            (Method::POST, "combos", json!({"name": "c", "selectrs": []}), "selectrs", "'selectors'"),
            (Method::PUT, "guardrails/g", json!({"typ": "pii_redact"}), "typ", "'type'"),
            (
                Method::PUT,
                "guardrails/g",
                json!({"type": "regex_block", "config": {"patern": []}}),
                "config.patern",
                "'patterns'",
            ),
            (
                Method::POST,
                "usage/recalculate-pricing",
                json!({"confirmaton": "x"}),
                "confirmaton",
                "'confirmation'",
            ),
            (Method::PUT, "budgets/%2Fa/daily", json!({"amont": 5}), "amont", "'amount'"),
            (
                Method::PUT,
                "budgets/settings",
                json!({"daily_reset_our": 5}),
                "daily_reset_our",
                "'daily_reset_hour'",
            ),
            (Method::POST, "explain", json!({"pth": "/v1/chat/completions"}), "pth", "'path'"),
            (Method::POST, "explain/replay", json!({"changes": [], "limt": 5}), "limt", "'limit'"),
            (
                Method::POST,
                "auth-keys",
                json!({"name": "a", "zzzzzzzzzzzz": 1}),
                "zzzzzzzzzzzz",
                "Known fields: name, ",
            ),
        ];
        for (method, path, body, param, said) in bodies {
            let answer = app.call(method, format!("/admin/api/v1/{path}")).json(body).send().await;
            let found = answer.refusal();
            let shown = answer.text();
            assert_eq!(
                (found.0, &*found.1, found.2.as_deref()),
                (400, "unknown_parameter", Some(param)),
                "{shown}"
            );
            assert!(shown.contains(said), "{shown}");
        }
    })
    .await;
}

#[tokio::test]
async fn empty_bodies_and_bare_keys_get_a_hint() {
    app::each(async |app| {
        let message =
            |answer: &app::Answer| answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        for path in
            ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings", "/admin/api/v1/pools"]
        {
            for body in ["", " \n"] {
                let answer = app.post(path, json!({})).body(body).send().await;
                assert_eq!(answer.status, 400, "{path}");
                assert!(
                    message(&answer).starts_with("The request body is empty"),
                    "{path}: {}",
                    answer.text()
                );
            }
        }
        for path in ["/v1/models", "/admin/api/v1/pools"] {
            let answer = app.get(path).header("authorization", app::MASTER).send().await;
            assert_eq!((answer.status, answer.refusal().1.as_str()), (401, "missing_api_key"));
            assert!(message(&answer).starts_with("Missing \"Bearer \" before the key"), "{}", answer.text());
            assert!(!answer.text().contains(app::MASTER));
        }
        app.refresher.discover_one(None, "openai").await;
        for model in ["demo-chat", "demo/demo-chat"] {
            let answer = app.chat(model).send().await;
            assert_eq!((answer.status, answer.refusal().1.as_str()), (404, "model_not_found"));
            assert!(message(&answer).contains("DEMO_ENABLED"), "{}", answer.text());
        }
    })
    .await;
}

#[tokio::test]
async fn unknown_routes_suggest_an_alternative() {
    app::each(async |app| {
        for (path, said) in [
            ("/chat/completions", "Did you mean `/v1/chat/completions`?"),
            ("/v1/chat/completion", "Did you mean `/v1/chat/completions`?"),
            ("/admin/api/v1/usage/sumary", "Did you mean `/admin/api/v1/usage/summary`?"),
            ("/v1/images/generations", "`/p/{provider}/images/generations`"),
            ("/v1/assistants", "Use `/v1/responses`."),
        ] {
            let answer = app.post(path, json!({})).send().await;
            let found = answer.refusal();
            assert_eq!((found.0, &*found.1), (404, "not_found"), "{path}");
            assert!(answer.text().contains(said), "{path}: {}", answer.text());
        }
    })
    .await;
}
