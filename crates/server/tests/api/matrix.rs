//! Access tests: every documented route and method with every kind of caller.

mod tenants;

use std::collections::{BTreeMap, BTreeSet};

use domain::clock::Clock as _;
use domain::scope::{Area, Scope};
use http::Method;
use serde_json::{Value, json};

use crate::app::{self, Answer, TestApp, TestSettings};

/// An operation of the OpenAPI document with the scope it declares; `None` if it is public, or for every caller.
struct Operation {
    method: Method,
    path: String,
    /// `None` if it is public, or if every authenticated caller is admitted.
    scope: Option<Scope>,
    is_public: bool,
}

fn operations() -> Vec<Operation> {
    let document = server::generated_document();
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let Ok(method) = method.to_ascii_uppercase().parse::<Method>() else { continue };
            let security = operation.get("security");
            let scope = security.and_then(declared);
            operations.push(Operation { method, path: path.clone(), scope, is_public: security.is_none() });
        }
    }
    operations.sort_by(|a, b| (&a.path, a.method.as_str()).cmp(&(&b.path, b.method.as_str())));
    operations
}

/// The scope that a route declares. Routes for every caller are named here: a new one must be thought about.
fn declared(security: &Value) -> Option<Scope> {
    let scopes = security[0]["bearer"].as_array().unwrap_or_else(|| panic!("not a bearer: {security}"));
    assert_eq!(security.as_array().unwrap().len(), 1, "one scope a route: {security}");
    assert!(scopes.len() <= 1, "one scope a route: {security}");
    scopes.first().map(|scope| scope.as_str().unwrap().parse().unwrap())
}

/// Routes that concern the caller itself and need no scope.
const FOR_EVERY_CALLER: [&str; 3] =
    ["/admin/api/v1/auth-keys/me/rotate", "/admin/api/v1/auth/logout", "/admin/api/v1/auth/session"];

/// A path that exists, with a sample for each parameter; a new parameter needs a sample here.
fn sample(method: &Method, path: &str) -> String {
    let samples = [
        (
            "models/{id}",
            if *method == Method::POST { "models/openai/text:generateContent" } else { "models/openai/text" },
        ),
        (
            "models/{call}",
            if *method == Method::POST { "models/openai/text:generateContent" } else { "models/openai/text" },
        ),
        ("{tool}", "codex"),
        ("{id}", "key_0"),
        ("{name}", "openai"),
        ("{selector}", "openai/text"),
        ("{provider}", "openai"),
        ("{endpoint}", "models"),
        ("{user_path}", "%2Fteam"),
        ("{period}", "daily"),
    ];
    let path =
        samples.iter().fold(path.to_owned(), |path, (parameter, value)| path.replace(parameter, value));
    assert!(!path.contains('{'), "no sample for a parameter of {path}");
    path
}

impl Operation {
    async fn call(&self, app: &TestApp, key: Option<&str>) -> Answer {
        let call = app.call(self.method.clone(), sample(&self.method, &self.path)).json(json!({}));
        let answer = match key {
            Some(key) => call.key(key).glance().await,
            None => call.anonymous().glance().await,
        };
        if [401, 403].contains(&answer.status) {
            assert_eq!(answer.header("x-should-retry"), Some("false"), "{} {}", self.method, self.path);
        }
        answer
    }

    fn area_key<'a>(&self, usage: &'a str, providers: &'a str) -> &'a str {
        match self.scope {
            Some(Scope::Admin(Some(Area::Usage), _)) => providers,
            _ => usage,
        }
    }
}

#[tokio::test]
async fn every_route_admits_exactly_its_scopes() {
    app::each(async |app| {
        let expired = json!({"name": "expired", "scopes": all_scopes(), "expiry": "2020-01-01T00:00:00Z"});
        let (_, expired_key) = app.key(expired).await;
        let (id, deactivated_key) = app.key(json!({"name": "off", "scopes": all_scopes()})).await;
        app.post(format!("/admin/api/v1/auth-keys/{id}/deactivate"), json!({})).send().await.expect_status(200);
        let inference = app.key_with(&["inference"]).await;
        let reading = app.key_with(&["admin:read"]).await;
        let usage = app.key_with(&["admin:usage:write"]).await;
        let providers = app.key_with(&["admin:providers:write"]).await;
        let writing = app.key_with(&["admin:write"]).await;
        let team = json!({"name": "team", "scopes": ["inference", "admin:write"], "user_path": "/team"});
        let (_, team) = app.key(team).await;

        let mut table = format!("{:<52}none bad expired off inference read area write team master\n", "");
        for operation in operations() {
            let area = operation.area_key(&usage, &providers);
            let callers = [
                None,
                Some("no-such-key"),
                Some(&*expired_key),
                Some(&*deactivated_key),
                Some(&*inference),
                Some(&*reading),
                Some(area),
                Some(&*writing),
                Some(&*team),
                Some(app::MASTER),
            ];
            let mut statuses = Vec::new();
            for key in callers {
                statuses.push(operation.call(&app, key).await.status);
            }
            for refused in &statuses[..4] {
                assert!(operation.is_public || *refused == 401, "{} {}", operation.method, operation.path);
            }
            let [none, bad, expired, off, inference, read, area, write, team, master] = statuses[..] else { panic!() };
            table.push_str(&format!(
                "{:<7}{:<45}{none:<5}{bad:<4}{expired:<8}{off:<4}{inference:<10}{read:<5}{area:<5}{write:<6}{team:<5}{master}\n",
                operation.method.as_str(),
                operation.path,
            ));
        }
        app::check_snapshot("authorisation matrix", &table);
    })
    .await;
}

/// Callers that are no keys, in the edition that has users.
#[tokio::test]
async fn every_route_admits_sessions_and_tokens_by_their_scopes() {
    let issuer = app::TestIssuer::start();
    app::each_with(
        || issuer.settings(json!({})),
        async |app| {
            let mut callers = Vec::new();
            for role in ["admin", "operator", "viewer"] {
                callers.push(app.user(&format!("{role}@example.com"), &[role]).await.1);
            }
            callers.push(issuer.token("alice", app.clock.now().seconds()));
            let (id, ended) = app.user("ended@example.com", &["admin"]).await;
            app.call(Method::DELETE, format!("/admin/api/v1/identity/users/{id}"))
                .send()
                .await
                .expect_status(204);
            callers.push(ended);
            let expired = issuer.token("alice", app.clock.now().seconds() - 3600);
            callers.push(expired);
            let mut table = format!("{:<52}none admin operator viewer token ended expired\n", "");
            // A logout would end the session that the other rows need.
            for operation in operations().iter().filter(|operation| !operation.path.ends_with("/auth/logout"))
            {
                let none = operation.call(&app, None).await.status;
                let mut statuses = Vec::new();
                for caller in &callers {
                    statuses.push(operation.call(&app, Some(caller)).await.status);
                }
                let [admin, operator, viewer, token, ended, expired] = statuses[..] else { panic!() };
                for refused in [none, ended, expired] {
                    assert!(operation.is_public || refused == 401, "{} {}", operation.method, operation.path);
                }
                table.push_str(&format!(
                    "{:<7}{:<45}{none:<5}{admin:<6}{operator:<9}{viewer:<7}{token:<6}{ended:<6}{expired}\n",
                    operation.method.as_str(),
                    operation.path,
                ));
            }
            app::check_snapshot("authorisation matrix of sessions", &table);
        },
    )
    .await;
}

#[tokio::test]
async fn the_declared_scope_is_the_enforced_one() {
    app::each_with(TestSettings::enterprise, async |app| {
        let mut keys: BTreeMap<Scope, (String, String)> = BTreeMap::new();
        for operation in operations() {
            let Some(scope) = operation.scope else { continue };
            if let std::collections::btree_map::Entry::Vacant(entry) = keys.entry(scope) {
                let exact = app.key_with(&[&scope.to_string()]).await;
                let others: Vec<String> =
                    all_scopes().into_iter().filter(|other| !grants(other, scope)).collect();
                let others = app.key_with(&others.iter().map(String::as_str).collect::<Vec<_>>()).await;
                entry.insert((exact, others));
            }
            let (exact, others) = &keys[&scope];
            let admitted = operation.call(&app, Some(exact)).await.status;
            assert!(![401, 403].contains(&admitted), "{} {}: {admitted}", operation.method, operation.path);
            let refused = operation.call(&app, Some(others)).await;
            let error = refused.json()["error"].clone();
            // Anthropic's shape has no room for a code.
            if operation.path.starts_with("/v1/messages") {
                let found = (refused.status, error["type"].as_str());
                assert_eq!(found, (403, Some("permission_error")), "{}", operation.path);
                continue;
            }
            let declared = scope.to_string();
            // Google's tells its reason in the details.
            if error["code"].is_number() {
                assert_eq!(refused.google_error().0, "insufficient_scope", "{}", operation.path);
                assert_eq!(
                    error["details"][0]["metadata"]["required_scope"], *declared,
                    "{}",
                    operation.path
                );
                continue;
            }
            let found = (refused.status, error["code"].as_str(), error["required_scope"].as_str());
            assert_eq!(found, (403, Some("insufficient_scope"), Some(&*declared)), "{}", operation.path);
        }
    })
    .await;
}

/// Objects of another subtree, to fill in path parameters; other parameters have their usual sample.
struct Outside {
    key_id: String,
    response_id: String,
    audit_id: String,
}

impl Outside {
    /// Creates the objects, all made by or named after `outsider`.
    async fn make(app: &TestApp) -> Self {
        let (key_id, key) = app.key(json!({"name": "outsider", "user_path": "/outsider"})).await;
        let body = json!({"model": "openai/text", "input": "outsider"});
        let made = app.post("/v1/responses", body).key(&key).send().await.expect_status(200).json();
        let budget = json!({"amount": 7});
        let path = "/admin/api/v1/budgets/%2Foutsider/daily";
        app.put(path, budget).send().await.expect_status(200);
        app.receipts(1).await;
        let log = app.get("/admin/api/v1/audit/log?user_path=/outsider").send().await.expect_status(200);
        let audit_id = log.json()["entries"][0]["id"].as_str().unwrap().to_owned();
        Self { key_id, response_id: made["id"].as_str().unwrap().to_owned(), audit_id }
    }

    fn path(&self, operation: &Operation) -> String {
        let id = match &operation.path {
            path if path.starts_with("/v1/responses/") => &self.response_id,
            path if path.contains("/audit/") => &self.audit_id,
            _ => &self.key_id,
        };
        let path = operation.path.replace("{user_path}", "%2Foutsider");
        let path = if path.starts_with("/v1/models/") { path } else { path.replace("{id}", id) };
        let path = match &*path {
            "/admin/api/v1/audit/conversation" => format!("{path}?log_id={}", self.audit_id),
            _ => path,
        };
        sample(&operation.method, &path)
    }

    fn body(&self, operation: &Operation) -> Value {
        match &*operation.path {
            "/admin/api/v1/budgets/{user_path}/{period}" => json!({"amount": 1}),
            "/admin/api/v1/budgets/reset" => json!({"confirmation": "reset"}),
            "/admin/api/v1/budgets/reset-one" => json!({"user_path": "/outsider", "period": "daily"}),
            "/admin/api/v1/usage/recalculate-pricing" => {
                json!({"confirmation": "recalculate", "user_path": "/outsider"})
            }
            "/admin/api/v1/auth-keys" => json!({"name": "outsider 2", "user_path": "/outsider"}),
            "/v1/responses" => {
                json!({"model": "openai/text", "input": "x", "previous_response_id": self.response_id})
            }
            "/admin/api/v1/explain" => {
                json!({"body": {"model": "openai/text", "messages": []}, "as_key_id": self.key_id})
            }
            "/admin/api/v1/explain/replay" => json!({"changes": []}),
            _ => json!({}),
        }
    }
}

/// Areas whose objects have a user path; the documents of all others concern the whole installation.
const OF_SUBTREES: [Area; 8] = [
    Area::Audit,
    Area::AuthKeys,
    Area::Budgets,
    Area::Cache,
    Area::Console,
    Area::Dashboard,
    Area::Explain,
    Area::Usage,
];

/// An admin key bound to a user path, on every route, with the objects of another subtree.
#[tokio::test]
async fn an_admin_of_a_subtree_reaches_nothing_outside_of_it() {
    let settings = || {
        let mut settings = TestSettings::enterprise();
        settings.policy.audit.enabled = true;
        settings
    };
    app::each_with(settings, async |app| {
        let outside = Outside::make(&app).await;
        let team = json!({"name": "team", "scopes": all_scopes(), "user_path": "/team"});
        let (_, team) = app.key(team).await;
        for operation in operations().iter().filter(|operation| operation.scope.is_some()) {
            let Operation { method, path, scope, .. } = operation;
            let call = app.call(method.clone(), outside.path(operation)).key(&team);
            let answer = call.json(outside.body(operation)).glance().await;
            let text = answer.text();
            let global = matches!(scope, Some(Scope::Admin(Some(area), _)) if !OF_SUBTREES.contains(area));
            let writes = matches!(scope, Some(Scope::Admin(_, domain::scope::Action::Write)));
            let whole =
                ["/changes", "/revisions", "/runtime/replicas", "/runtime/status", "/webhooks/deliveries"]
                    .iter()
                    .any(|end| path.ends_with(end))
                    || ["/identity/", "/tenants"].iter().any(|part| path.contains(part));
            if (global && writes) || whole {
                assert_eq!(answer.refusal().1, "user_path_denied", "{method} {path}");
            } else if path.contains('{') && matches!(scope, Some(Scope::Admin(..))) && !global {
                assert!([403, 404].contains(&answer.status), "{method} {path}: {} {text}", answer.status);
            } else if path.starts_with("/v1/responses/{") {
                assert_eq!(answer.status, 404, "{method} {path}: {text}");
            }
            if answer.status == 200 {
                assert!(!text.contains("outsider"), "{method} {path}: {text}");
                assert!(!text.contains(app::UPSTREAM_KEY), "{method} {path}: {text}");
            }
        }
        let metrics = app.get("/metrics").key(&team).refusal().await;
        assert_eq!((metrics.0, &*metrics.1), (403, "user_path_denied"));
        let kept = app.get(format!("/v1/responses/{}", outside.response_id)).send().await.expect_status(200);
        assert_eq!(kept.json()["id"], outside.response_id);
        let key = app.get(format!("/admin/api/v1/auth-keys/{}", outside.key_id)).send().await.json();
        assert_eq!((&key["active"], &key["name"]), (&json!(true), &json!("outsider")));
        let budgets = app.get("/admin/api/v1/budgets").send().await.expect_status(200).json();
        assert_eq!(budgets["budgets"][0]["amount"], 7.0, "{budgets}");
        assert_eq!(budgets["budgets"][0]["last_reset_at"], Value::Null, "{budgets}");
    })
    .await;
}

/// The same key on objects of its own subtree, made by another key.
#[tokio::test]
async fn an_admin_of_a_subtree_manages_its_objects() {
    let settings = || {
        let mut settings = TestSettings::enterprise();
        settings.policy.cache.enabled = true;
        settings
    };
    app::each_with(settings, async |app| {
        let team = json!({"name": "team", "scopes": all_scopes(), "user_path": "/team"});
        let (_, team) = app.key(team).await;
        let (id, member) = app.key(json!({"name": "member", "user_path": "/team/a"})).await;
        let body = json!({"model": "openai/text", "input": "hello"});
        let made = app.post("/v1/responses", body).key(&member).send().await.expect_status(200).json();
        let path = format!("/v1/responses/{}", made["id"].as_str().unwrap());
        app.get(&*path).key(&team).send().await.expect_status(200);
        app.get(format!("{path}/input_items")).key(&team).send().await.expect_status(200);
        app.call(Method::DELETE, &*path).key(&team).send().await.expect_status(200);
        for path in [
            "providers",
            "aliases",
            "cache/overview",
            "pools",
            "combos",
            "guardrails",
            "model-overrides",
            "model-pricing",
            "models",
            "workflows",
        ] {
            app.get(format!("/admin/api/v1/{path}")).key(&team).send().await.expect_status(200);
        }
        let end = app.post(format!("/admin/api/v1/auth-keys/{id}/deactivate"), json!({}));
        end.key(&team).send().await.expect_status(200);
    })
    .await;
}

fn all_scopes() -> Vec<String> {
    let areas = Area::ALL
        .iter()
        .flat_map(|area| ["read", "write"].map(|verb| format!("admin:{}:{verb}", area.as_str())));
    ["inference", "admin:read", "admin:write"].map(str::to_owned).into_iter().chain(areas).collect()
}

fn grants(held: &str, needed: Scope) -> bool {
    held.parse::<Scope>().unwrap().grants(needed)
}

#[tokio::test]
async fn only_a_handful_of_routes_is_open_to_everybody() {
    let open: BTreeSet<String> = operations()
        .iter()
        .filter(|operation| operation.is_public)
        .map(|operation| operation.path.clone())
        .collect();
    let expected = [
        "/health",
        "/ready",
        "/admin/api/v1/auth/login",
        "/admin/api/v1/auth/me",
        "/admin/api/v1/auth/oidc/callback",
        "/admin/api/v1/auth/oidc/{provider}",
        "/admin/api/v1/auth/refresh",
        "/admin/api/v1/dashboard/config",
    ];
    assert_eq!(open, expected.map(str::to_owned).into());
    let unscoped =
        operations().into_iter().filter(|operation| !operation.is_public && operation.scope.is_none());
    assert_eq!(unscoped.map(|operation| operation.path).collect::<Vec<_>>(), FOR_EVERY_CALLER);
    app::each(async |app| {
        let anonymous =
            async |method: Method, path: &str| app.call(method, path).anonymous().send().await.status;
        assert_eq!(anonymous(Method::GET, "/").await, 302);
        assert_eq!(anonymous(Method::HEAD, "/").await, 200);
        assert_eq!(anonymous(Method::GET, "/admin/dashboard").await, 200);
        assert_eq!(anonymous(Method::GET, "/metrics").await, 401);
        let area = app.key_with(&["admin:metrics:read"]).await;
        assert_eq!(app.get("/metrics").key(&area).send().await.status, 200);
        let inference = app.key_with(&["inference"]).await;
        assert_eq!(app.get("/metrics").key(&inference).send().await.status, 403);
    })
    .await;
}

/// Routes that are not in the document are named one by one; a new one must be thought about here.
#[test]
fn routes_outside_the_document_are_listed() {
    let router = include_str!("../../src/router.rs");
    let outside: Vec<&str> = router
        .split(".route(")
        .skip(1)
        .map(|rest| rest.split(',').next().unwrap_or_default().trim())
        .collect();
    let expected = [
        // In the macro that builds a router from the documented handlers.
        "&path",
        "\"/\"",
        "endpoint",
        "\"/admin/dashboard\"",
        "\"/admin/dashboard/\"",
        "\"/admin/dashboard/{*file}\"",
        "\"/swagger/{*file}\"",
    ];
    assert_eq!(outside, expected);
    assert!(!router.contains("route_service") && !router.contains("nest_service"), "services hide routes");
}
