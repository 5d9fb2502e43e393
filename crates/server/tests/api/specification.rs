//! Tests of statements of the API specification that belong to no single area: operations of the document, bounds and
//! defaults of lists. docs/spec-coverage.md lists every statement with its tests.

use domain::clock::{Clock as _, Timestamp};
use domain::receipt::Receipt;
use serde_json::{Value, json};
use store::ShardId;

use crate::app::{self, TestSettings};

/// Operation, its query parameters, whether it has a body, and its statuses.
type Row = (&'static str, &'static str, &'static [&'static str], bool, &'static [u16]);

const PERIOD: &[&str] = &["days", "start_date", "end_date", "user_path", "cache_mode"];
const SERIES: &[&str] = &["days", "start_date", "end_date", "interval", "user_path", "cache_mode"];
const AUDIT: &[&str] = &[
    "days",
    "start_date",
    "end_date",
    "requested_model",
    "provider",
    "method",
    "path",
    "user_path",
    "error_type",
    "status_code",
    "stream",
    "search",
    "limit",
    "offset",
];
const USAGE: &[&str] = &[
    "days",
    "start_date",
    "end_date",
    "model",
    "provider",
    "user_path",
    "cache_mode",
    "search",
    "limit",
    "offset",
];

const ADMIN: [Row; 25] = [
    ("get", "/audit/conversation", &["log_id", "limit"], false, &[200, 400, 401]),
    ("get", "/audit/log", AUDIT, false, &[200, 400, 401]),
    ("get", "/budgets", &[], false, &[200, 401, 503]),
    ("post", "/budgets/reset", &[], true, &[200, 400, 401, 503]),
    ("post", "/budgets/reset-one", &[], true, &[200, 400, 401, 503]),
    ("get", "/budgets/settings", &[], false, &[200, 401, 503]),
    ("put", "/budgets/settings", &[], true, &[200, 400, 401, 503]),
    ("put", "/budgets/{user_path}/{period}", &[], true, &[200, 400, 401, 503]),
    ("delete", "/budgets/{user_path}/{period}", &[], false, &[200, 400, 401, 503]),
    ("get", "/cache/overview", SERIES, false, &[200, 400, 401, 503]),
    ("post", "/cache/debug", &[], true, &[200, 503]),
    ("get", "/dashboard/config", &[], false, &[200, 401]),
    ("get", "/models", &["category"], false, &[200, 400, 401]),
    ("get", "/models/categories", &[], false, &[200, 401]),
    ("get", "/usage/daily", SERIES, false, &[200, 400, 401]),
    ("get", "/usage/log", USAGE, false, &[200, 400, 401]),
    ("get", "/usage/models", PERIOD, false, &[200, 400, 401]),
    ("post", "/usage/recalculate-pricing", &[], true, &[200, 400, 401, 500, 503]),
    ("get", "/usage/summary", PERIOD, false, &[200, 400, 401]),
    ("get", "/usage/user-paths", PERIOD, false, &[200, 400, 401]),
    ("post", "/providers", &[], true, &[201]),
    ("put", "/model-overrides/{selector}", &[], true, &[200, 201]),
    ("put", "/aliases/{name}", &[], true, &[200, 201]),
    ("post", "/auth-keys", &[], true, &[201]),
    ("get", "/auth/me", &[], false, &[200, 401, 503]),
];

const PUBLIC: [Row; 11] = [
    ("post", "/v1/chat/completions", &["stream"], true, &[200, 400, 401]),
    ("post", "/v1/responses", &[], true, &[200, 400, 401, 501]),
    ("get", "/v1/responses/{id}", &["provider"], false, &[200, 401, 404, 501]),
    ("get", "/v1/responses/{id}/input_items", &[], false, &[200, 401, 404, 501]),
    ("delete", "/v1/responses/{id}", &[], false, &[200, 401, 404, 501]),
    ("get", "/v1/models", &[], false, &[200, 401]),
    ("get", "/health", &[], false, &[200]),
    ("get", "/p/{provider}/{endpoint}", &[], false, PASSTHROUGH),
    ("put", "/p/{provider}/{endpoint}", &[], false, PASSTHROUGH),
    ("post", "/p/{provider}/{endpoint}", &[], false, PASSTHROUGH),
    ("delete", "/p/{provider}/{endpoint}", &[], false, PASSTHROUGH),
];
const PASSTHROUGH: &[u16] = &[200, 201, 202, 204, 400, 401, 502];

#[track_caller]
fn check_operation(document: &Value, prefix: &str, (method, path, queries, has_body, statuses): Row) {
    let operation = &document["paths"][&format!("{prefix}{path}")][method];
    assert!(operation.is_object(), "{method} {path} is not in the document");
    let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
    for query in queries {
        let found = parameters.iter().any(|one| one["in"] == "query" && one["name"] == *query);
        assert!(found, "{method} {path} has no parameter {query}");
    }
    if has_body {
        assert_eq!(operation["requestBody"]["required"], true, "{method} {path}");
    }
    for status in statuses {
        assert!(operation["responses"][&status.to_string()].is_object(), "{method} {path}: no {status}");
    }
}

#[test]
fn the_document_has_every_specified_operation() {
    let document = server::published_document();
    assert_eq!(document["info"]["version"], "1.0");
    for row in ADMIN {
        check_operation(&document, "/admin/api/v1", row);
    }
    for row in PUBLIC {
        check_operation(&document, "", row);
    }
}

/// Each further area has routes: dashboard, prices, combos, guardrails, workflows, CLI tools, tenants, users, roles, and
/// authentication.
#[test]
fn the_document_has_every_specified_area() {
    let document = server::published_document();
    let paths = document["paths"].as_object().unwrap();
    for area in [
        "/dashboard/overview",
        "/model-pricing",
        "/combos",
        "/guardrails",
        "/workflows",
        "/cli-tools/{tool}/preview",
        "/cli-tools/{tool}/apply",
        "/tenants",
        "/identity/users",
        "/identity/roles",
        "/auth/login",
        "/auth/session",
    ] {
        assert!(paths.contains_key(&format!("/admin/api/v1{area}")), "{area}");
    }
}

/// The schema of a query parameter.
fn schema<'a>(document: &'a Value, path: &str, name: &str) -> &'a Value {
    let parameters = document["paths"][path]["get"]["parameters"].as_array().unwrap();
    &parameters.iter().find(|parameter| parameter["name"] == name).unwrap()["schema"]
}

#[test]
fn the_document_has_the_bounds_of_parameters() {
    let document = server::published_document();
    for (path, name, default, maximum) in [
        ("/admin/api/v1/audit/conversation", "limit", 40, 200),
        ("/admin/api/v1/audit/log", "limit", 25, 100),
        ("/admin/api/v1/usage/log", "limit", 50, 200),
        ("/admin/api/v1/audit/log", "days", 30, 365),
        ("/admin/api/v1/usage/log", "days", 30, 365),
    ] {
        let found = schema(&document, path, name);
        assert_eq!(
            (&found["default"], &found["maximum"]),
            (&json!(default), &json!(maximum)),
            "{path} {name}"
        );
    }
    let interval = schema(&document, "/admin/api/v1/usage/daily", "interval");
    assert_eq!(
        interval,
        &json!({"type": "string", "default": "daily", "enum": ["daily", "weekly", "monthly", "yearly"]})
    );
    let mode = schema(&document, "/admin/api/v1/usage/summary", "cache_mode");
    assert_eq!(
        mode,
        &json!({"type": "string", "default": "uncached", "enum": ["uncached", "cached", "all"]})
    );
    let body =
        &document["paths"]["/v1/chat/completions"]["post"]["requestBody"]["content"]["application/json"];
    let temperature = &body["schema"]["properties"]["temperature"];
    assert_eq!(temperature, &json!({"type": "number", "minimum": 0, "maximum": 2, "default": 1}));
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            for parameter in operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default() {
                let is_open =
                    parameter["schema"]["type"] == "integer" && parameter["schema"]["minimum"].is_null();
                assert!(!is_open, "a number without a lowest value: {parameter}");
            }
        }
    }
}

/// More calls of one session than any default page has.
const CALLS: usize = 51;

#[tokio::test]
async fn pages_have_the_specified_default_length() {
    let settings = || {
        let mut settings = TestSettings::default();
        settings.policy.audit.enabled = true;
        settings
    };
    app::each_with(settings, async |app| {
        for _ in 0..CALLS {
            app.chat("openai/text").header("x-gateway-session-id", "s").send().await.expect_status(200);
        }
        app.receipts(CALLS).await;
        let length = async |path: &str| {
            let page = app.get(format!("/admin/api/v1/{path}")).send().await.expect_status(200).json();
            page["entries"].as_array().unwrap().len()
        };
        assert_eq!((length("audit/log").await, length("audit/log?limit=100").await), (25, CALLS));
        assert_eq!((length("usage/log").await, length("usage/log?limit=200").await), (50, CALLS));
        let newest = app.get("/admin/api/v1/audit/log?limit=1").send().await.json();
        let anchor = format!("audit/conversation?log_id={}", newest["entries"][0]["id"].as_str().unwrap());
        let all = length(&format!("{anchor}&limit=200")).await;
        assert_eq!((length(&anchor).await, all), (40, CALLS));
    })
    .await;
}

#[tokio::test]
async fn reports_are_of_thirty_days_unless_asked() {
    app::each(async |app| {
        const DAY: i64 = 24 * 3600 * 1_000_000;
        for (id, days) in [("new", 28), ("old", 31)] {
            let at = Timestamp(app.clock.now().micros() - days * DAY);
            let call = Receipt {
                id: id.to_owned(),
                at,
                user_path: "/".to_owned(),
                auth_method: "master_key".to_owned(),
                status: 200,
                ..Receipt::default()
            };
            app.gateway.journal.close_call(&call, ShardId::SHARED).unwrap();
        }
        while app.drain().await.unwrap() > 0 {}
        let count = async |query: &str| {
            let path = format!("/admin/api/v1/usage/summary{query}");
            app.get(path).send().await.expect_status(200).json()["total_requests"].clone()
        };
        assert_eq!(
            (count("").await, count("?days=30").await, count("?days=60").await),
            (json!(1), json!(1), json!(2))
        );
    })
    .await;
}

#[tokio::test]
async fn the_model_inventory_has_at_most_10000_entries() {
    let settings = || TestSettings { loopback_listener: true, ..TestSettings::default() };
    app::each_with(settings, async |app| {
        let models: Vec<String> = (0..10_001).map(|number| format!("m{number}")).collect();
        let body = json!({
            "name": "lab", "type": "openai_compatible", "base_url": app.upstream.base_url(), "models": models,
        });
        app.post("/admin/api/v1/providers", body).send().await.expect_status(201);
        let answer = app.get("/admin/api/v1/models").send().await.expect_status(200);
        assert_eq!(answer.json().as_array().unwrap().len(), 10_000);
        let total: usize = answer.header("x-total-count").unwrap().parse().unwrap();
        assert!(total > 10_000, "{total}");
    })
    .await;
}

#[tokio::test]
async fn a_provider_may_have_empty_texts() {
    app::each(async |app| {
        let body = json!({
            "name": "second", "type": "openai", "api_key": "sk-second-7890", "base_url": "", "api_version": "",
            "models": "",
        });
        let made = app.post("/admin/api/v1/providers", body).send().await.expect_status(201);
        assert!(!made.text().contains("sk-second-7890"), "{}", made.text());
        assert_eq!((&made.json()["name"], &made.json()["type"]), (&json!("second"), &json!("openai")));
    })
    .await;
}

/// The default of 1 is that of providers: nothing is added to the request.
#[tokio::test]
async fn a_request_without_temperature_is_sent_without() {
    app::each(async |app| {
        app.chat("openai/text").send().await.expect_status(200);
        assert!(!app.last_upstream_request().contains("temperature"), "{}", app.last_upstream_request());
    })
    .await;
}

#[tokio::test]
async fn a_cache_debug_request_is_a_chat_completion_unless_it_says_otherwise() {
    let settings = || {
        let mut settings = TestSettings::default();
        settings.policy.cache.enabled = true;
        settings
    };
    app::each_with(settings, async |app| {
        let debug = async |body: Value| {
            app.post("/admin/api/v1/cache/debug", body).send().await.expect_status(200).json()
        };
        let question = app::question("openai/text");
        let short = debug(json!({"body": question})).await;
        assert_eq!((&short["path"], &short["streaming"]), (&json!("/v1/chat/completions"), &json!(false)));
        let full = debug(json!({
            "method": "POST", "path": "/v1/chat/completions", "headers": {"x-other": "1"}, "body": question,
        }));
        assert_eq!(full.await["exact_cache_key"], short["exact_cache_key"]);
        let message = json!({"model": "openai/text", "max_tokens": 9, "messages": question["messages"]});
        let other = debug(json!({"path": "/v1/messages", "body": message})).await;
        assert_eq!(other["path"], "/v1/messages");
    })
    .await;
}
