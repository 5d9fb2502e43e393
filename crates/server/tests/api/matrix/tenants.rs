//! Access of callers with a tenant: every route, and the objects of another tenant on every route.

use std::time::Duration;

use domain::clock::Clock as _;
use domain::scope::{Action, Scope};
use http::Method;
use serde_json::{Value, json};

use super::{Operation, all_scopes, operations, sample};
use crate::app::{self, Answer, TestApp, TestIssuer, TestSettings};

/// The part of the names of all objects of the first tenant.
const MARK: &str = "isolated";

fn settings(issuer: &TestIssuer) -> TestSettings {
    let claims = json!({"claims": {"tenant_id": "{tenant}", "scopes": "{scopes}"}});
    let mut settings = issuer.settings(claims);
    settings.loopback_listener = true;
    settings.policy.audit.enabled = true;
    settings.policy.cache.enabled = true;
    settings
}

/// A token of a tenant with all scopes.
fn token(issuer: &TestIssuer, tenant: &str, now: i64) -> String {
    let mut claims = issuer.claims(tenant, now);
    (claims["tenant"], claims["scopes"]) = (json!(tenant), json!(all_scopes()));
    issuer.sign(&claims)
}

/// Creates a tenant. Returns its callers: a key, a session and a token, all with every right.
async fn tenant(app: &TestApp, issuer: &TestIssuer, slug: &str) -> [String; 3] {
    app.post("/admin/api/v1/tenants", json!({"slug": slug})).send().await.expect_status(201);
    let key = json!({"name": slug, "scopes": all_scopes(), "tenant_id": slug});
    let (_, key) = app.key(key).await;
    let session = session(app, slug).await;
    [key, session, token(issuer, slug, app.clock.now().seconds())]
}

async fn session(app: &TestApp, slug: &str) -> String {
    let (id, token) = app.user(&format!("admin@{slug}.example"), &["admin"]).await;
    let path = format!("/admin/api/v1/identity/users/{id}");
    app.put(path, json!({"tenant_id": slug})).send().await.expect_status(200);
    token
}

/// Whether a call would end the session of its caller, replace its key, or does not end by itself.
fn ends_caller(operation: &Operation) -> bool {
    ["/auth/logout", "/auth-keys/me/rotate"].iter().any(|end| operation.path.ends_with(end))
}

#[tokio::test]
async fn every_route_admits_callers_of_tenants_by_what_it_concerns() {
    let issuer = TestIssuer::start();
    app::each_with(
        || settings(&issuer),
        async |app| {
            let [_, late_session, _] = tenant(&app, &issuer, "late").await;
            let late_token = token(&issuer, "late", app.clock.now().seconds() - 3600);
            let late_key = json!({"name": "late", "scopes": all_scopes(), "tenant_id": "late", "expiry": "2020-01-01T00:00:00Z"});
            let (_, late_key) = app.key(late_key).await;
            app.clock.advance(Duration::from_secs(16 * 60));
            let active = tenant(&app, &issuer, "active").await;
            let suspended = tenant(&app, &issuer, "suspended").await;
            app.post("/admin/api/v1/tenants/suspended/suspend", json!({})).send().await.expect_status(200);
            let expired = [late_key, late_session, late_token];
            let mut table = format!(
                "{:<52}tenant: key session token  suspended: key session token  expired: key session token\n", ""
            );
            for operation in operations().iter().filter(|operation| !ends_caller(operation)) {
                let mut statuses = Vec::new();
                for caller in active.iter().chain(&suspended).chain(&expired) {
                    statuses.push(operation.call(&app, Some(caller)).await.status);
                }
                let place = format!("{} {}", operation.method, operation.path);
                assert!(operation.is_public || statuses[3..6] == [403; 3], "suspended: {place} {statuses:?}");
                assert!(operation.is_public || statuses[6..] == [401; 3], "expired: {place} {statuses:?}");
                let [key, session, token, s_key, s_session, s_token, e_key, e_session, e_token] = statuses[..] else { panic!() };
                table.push_str(&format!(
                    "{:<7}{:<53}{key:<4}{session:<8}{token:<18}{s_key:<4}{s_session:<8}{s_token:<16}{e_key:<4}{e_session:<8}{e_token}\n",
                    operation.method.as_str(),
                    operation.path,
                ));
            }
            app::check_snapshot("authorisation matrix of tenants", &table);
        },
    )
    .await;
}

/// One object of each kind, of the first tenant.
struct Objects {
    key_id: String,
    response_id: String,
    audit_id: String,
    workflow_id: String,
    price_revision: i64,
}

/// The documents of a tenant, with bodies that create them.
fn documents(app: &TestApp) -> Vec<(&'static str, Value)> {
    let provider = json!({
        "type": "openai_compatible", "base_url": app.upstream.base_url(), "api_key": "sk-isolated-4711",
        "models": ["text"],
    });
    vec![
        ("providers/isolated", provider),
        ("pools/isolated-pool", json!({"members": ["isolated"]})),
        ("combos/isolated-combo", json!({"selectors": ["isolated/text", "openai/text"]})),
        ("aliases/isolated-alias", json!({"target": "isolated/text"})),
        ("model-overrides/isolated/text", json!({"metadata": {"display_name": "isolated"}})),
        ("model-pricing/isolated/text", json!({"input_per_mtok": 3, "output_per_mtok": 4})),
        (
            "guardrails/isolated-guardrail",
            json!({"type": "system_prompt", "config": {"content": "isolated", "mode": "inject"}}),
        ),
        ("budgets/%2Fisolated/daily", json!({"amount": 7})),
    ]
}

impl Objects {
    async fn make(app: &TestApp, owner: &str) -> Self {
        for (path, body) in documents(app) {
            let made = app.put(format!("/admin/api/v1/{path}"), body).key(owner).send().await;
            assert!([200, 201].contains(&made.status), "{path}: {}", made.text());
        }
        let workflow = json!({"name": "isolated", "scope": {"scope_user_path": "/isolated"},
            "workflow_payload": {"guardrails": ["isolated-guardrail"]}});
        let workflow =
            app.post("/admin/api/v1/workflows", workflow).key(owner).send().await.expect_status(201).json();
        let key = json!({"name": "isolated", "scopes": ["inference"]});
        let key = app.post("/admin/api/v1/auth-keys", key).key(owner).send().await.expect_status(201).json();
        let body = json!({"model": "isolated/text", "input": "isolated"});
        let response = app.post("/v1/responses", body).key(owner).send().await.expect_status(200).json();
        app.receipts(1).await;
        let log = app.get("/admin/api/v1/audit/log").key(owner).send().await.expect_status(200).json();
        let revisions =
            app.get("/admin/api/v1/model-pricing/revisions").key(owner).send().await.expect_status(200);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Self {
            key_id: text(&key["id"]),
            response_id: text(&response["id"]),
            audit_id: text(&log["entries"][0]["id"]),
            workflow_id: text(&workflow["id"]),
            price_revision: revisions.json()["entries"][0]["revision"].as_i64().unwrap(),
        }
    }

    /// The path of an operation on the objects.
    fn path(&self, operation: &Operation) -> String {
        let path = &operation.path;
        let revision = self.price_revision.to_string();
        let in_area = |area: &str| path.starts_with(&format!("/admin/api/v1/{area}/"));
        let id = match () {
            () if path.starts_with("/v1/responses/") => &*self.response_id,
            () if in_area("audit") => &self.audit_id,
            () if in_area("workflows") => &self.workflow_id,
            () if in_area("model-pricing") => &revision,
            () if in_area("combos") => "isolated-combo",
            () if in_area("tenants") => "a",
            () => &self.key_id,
        };
        let name = match () {
            () if in_area("pools") => "isolated-pool",
            () if in_area("aliases") => "isolated-alias",
            () if in_area("guardrails") => "isolated-guardrail",
            () => "isolated",
        };
        let is_model = path.starts_with("/v1/models/") || path.contains("models/{");
        let path = if is_model { path.clone() } else { path.replace("{id}", id) };
        let path = path
            .replace("{name}", name)
            .replace("{selector}", "isolated/text")
            .replace("{user_path}", "%2Fisolated")
            .replace("{provider}", "isolated");
        let path = sample(&operation.method, &path).replace("models/openai/text", "models/isolated/text");
        match &*path {
            "/admin/api/v1/audit/conversation" => format!("{path}?log_id={}", self.audit_id),
            _ => path,
        }
    }

    /// A body that the operation would accept from the owner.
    fn body(&self, app: &TestApp, operation: &Operation) -> Value {
        let path = self.path(operation);
        let documents = documents(app);
        let known = documents.iter().find(|(document, _)| path.ends_with(document));
        match &*operation.path {
            _ if operation.method == Method::PUT && known.is_some() => known.unwrap().1.clone(),
            "/admin/api/v1/budgets/reset" => json!({"confirmation": "reset"}),
            "/admin/api/v1/budgets/reset-one" => json!({"user_path": "/isolated", "period": "daily"}),
            "/admin/api/v1/usage/recalculate-pricing" => json!({"confirmation": "recalculate"}),
            "/admin/api/v1/model-pricing/import" => json!({"mode": "replace", "prices": []}),
            "/v1/responses" => {
                json!({"model": "openai/text", "input": "x", "previous_response_id": self.response_id})
            }
            path if path.starts_with("/v1/") && !path.contains('{') => {
                json!({"model": "isolated/text", "input": "x", "messages": [{"role": "user", "content": "x"}], "max_tokens": 9})
            }
            "/admin/api/v1/explain" => {
                json!({"body": {"model": "openai/text", "messages": []}, "as_key_id": self.key_id})
            }
            "/admin/api/v1/explain/replay" => json!({"changes": [
                {"kind": "alias", "name": "isolated-alias", "document": null, "tenant_id": "a"}]}),
            "/admin/api/v1/guardrails/{name}/test" => json!({"text": "x"}),
            _ => json!({}),
        }
    }

    /// The objects as their owner sees them.
    async fn seen(&self, app: &TestApp, owner: &str) -> Vec<Value> {
        let mut seen = Vec::new();
        let own = documents(app).into_iter().map(|(path, _)| format!("/admin/api/v1/{path}"));
        let own = own.filter(|path| !path.contains("/budgets/"));
        let others = [
            format!("/admin/api/v1/workflows/{}", self.workflow_id),
            format!("/admin/api/v1/auth-keys/{}", self.key_id),
            format!("/v1/responses/{}", self.response_id),
            format!("/admin/api/v1/audit/log/{}", self.audit_id),
            "/admin/api/v1/budgets".to_owned(),
        ];
        for path in own.chain(others) {
            let mut view = app.get(&*path).key(owner).send().await.expect_status(200).json();
            for member in ["health", "members_status", "last_used_at", "server_time"] {
                view.as_object_mut().unwrap().remove(member);
            }
            for budget in view["budgets"].as_array_mut().into_iter().flatten() {
                budget.as_object_mut().unwrap().remove("period_ratio");
            }
            seen.push(view);
        }
        seen
    }
}

/// Routes whose answer repeats the name that was sent, or that create an object with it, and the changes of the strangers,
/// who have made such objects themselves.
fn repeats(operation: &Operation, answer: &Answer) -> bool {
    let is_own = |change: &Value| change["tenant_id"] == "b";
    // A model name that the stranger's tenant does not know is sent to a provider that all tenants have.
    let is_served_by_another =
        || operation.path.starts_with("/v1") && answer.header("x-gateway-provider") != Some("isolated");
    operation.method == Method::PUT
        || answer.status >= 400
        || (operation.path.contains("/models/") && !answer.text().contains("\"owned_by\":\"isolated\""))
        || (operation.method == Method::POST && is_served_by_another())
        || (operation.path.ends_with("/forecast/{user_path}") && answer.json()["forecasts"] == json!([]))
        || (operation.path.ends_with("/changes")
            && answer.json()["entries"].as_array().is_some_and(|entries| entries.iter().all(is_own)))
}

#[tokio::test]
async fn no_caller_of_a_tenant_sees_or_changes_an_object_of_another() {
    let issuer = TestIssuer::start();
    app::each_with(
        || settings(&issuer),
        async |app| {
            let [owner, ..] = tenant(&app, &issuer, "a").await;
            let strangers = tenant(&app, &issuer, "b").await;
            let objects = Objects::make(&app, &owner).await;
            let before = objects.seen(&app, &owner).await;
            for operation in
                operations().iter().filter(|operation| !operation.is_public && !ends_caller(operation))
            {
                let Operation { method, path, scope, .. } = operation;
                for stranger in &strangers {
                    let call = app.call(method.clone(), objects.path(operation)).key(stranger);
                    let answer = call.json(objects.body(&app, operation)).glance().await;
                    let text = answer.text();
                    let names_object = objects.path(operation) != sample(method, path);
                    let changes =
                        matches!(scope, Some(Scope::Admin(_, Action::Write))) && *method != Method::PUT;
                    // A budget is named by its path, which any tenant may have: one that has none is no error.
                    let is_budget = path.contains("/budgets/");
                    // Providers that all tenants have may have a model of any name.
                    let is_model = path.starts_with("/v1/models") || path.starts_with("/v1beta/models");
                    if names_object && (changes || *method == Method::GET) && !is_budget && !is_model {
                        assert!(
                            [400, 403, 404].contains(&answer.status),
                            "{method} {path}: {} {text}",
                            answer.status
                        );
                    }
                    assert!(repeats(operation, &answer) || !text.contains(MARK), "{method} {path}: {text}");
                    assert!(repeats(operation, &answer) || !text.contains("4711"), "{method} {path}: {text}");
                }
                assert_eq!(objects.seen(&app, &owner).await, before, "{method} {path}");
                // What the strangers have made is not in the way of the next row.
                for (document, _) in documents(&app).iter().rev() {
                    app.call(Method::DELETE, format!("/admin/api/v1/{document}"))
                        .key(&strangers[0])
                        .glance()
                        .await;
                }
            }
        },
    )
    .await;
}

/// Every route that takes `tenant_id`, with another tenant and with one that does not exist.
#[tokio::test]
async fn a_tenant_can_be_named_by_those_without_one() {
    let issuer = TestIssuer::start();
    app::each_with(
        || settings(&issuer),
        async |app| {
            tenant(&app, &issuer, "a").await;
            let strangers = tenant(&app, &issuer, "b").await;
            let document = server::generated_document();
            let mut count = 0;
            for operation in operations() {
                let Operation { method, path, .. } = &operation;
                let parameters = &document["paths"][path][method.as_str().to_lowercase()]["parameters"];
                let takes =
                    |parameter: &Value| parameter["name"] == "tenant_id" && parameter["in"] == "query";
                if !parameters.as_array().is_some_and(|list| list.iter().any(takes)) {
                    continue;
                }
                count += 1;
                let call = |tenant: &str| {
                    app.call(method.clone(), format!("{}?tenant_id={tenant}", sample(method, path)))
                        .json(json!({}))
                };
                for stranger in &strangers {
                    assert_eq!(call("a").key(stranger).refusal().await.0, 403, "{method} {path}");
                }
                let unknown = call("nobody").refusal().await;
                assert_eq!((unknown.0, unknown.2.as_deref()), (400, Some("tenant_id")), "{method} {path}");
                assert_ne!(call("a").glance().await.status, 403, "{method} {path}");
            }
            assert!(count > 40, "{count} routes take a tenant");
        },
    )
    .await;
}
