//! `/admin/api/v1/workflows`.

use http::Method;
use serde_json::{Value, json};

use super::{complaint, each_furnished, history, refuses};
use crate::app::{self, TestApp};

const PATH: &str = "/admin/api/v1/workflows";

async fn create(app: &TestApp, scope: Value, name: &str) -> Value {
    let body = json!({"scope": scope, "name": name, "workflow_payload": {"features": {"audit": false}}});
    app.post(PATH, body).send().await.expect_status(201).json()
}

async fn act(app: &TestApp, id: &Value, action: &str) -> Value {
    let path = format!("{PATH}/{}/{action}", id.as_str().unwrap());
    app.call(Method::POST, path).send().await.expect_status(200).json()
}

/// The names of the versions in force.
async fn in_force(app: &TestApp) -> Vec<String> {
    let list = app.get(PATH).send().await.expect_status(200).json();
    list.as_array().unwrap().iter().map(|version| version["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn versions_are_numbered_activated_and_rolled_back() {
    each_furnished(async |app| {
        assert_eq!(in_force(&app).await, ["Default"]);
        let first = create(&app, json!({"scope_user_path": "/team/"}), "first").await;
        app::check_snapshot("workflow", &app::pretty(first.clone()));
        let second = create(&app, json!({"scope_user_path": "/team"}), "second").await;
        assert_eq!((&first["version"], &second["version"]), (&json!(1), &json!(2)));
        assert_eq!(first["workflow_hash"], second["workflow_hash"], "the same policies");
        assert_eq!(in_force(&app).await, ["Default", "second"]);

        let again = act(&app, &first["id"], "activate").await;
        assert_eq!((&again["active"], &again["version"]), (&json!(true), &json!(1)));
        assert_eq!(in_force(&app).await, ["Default", "first"]);
        let read = app.get(format!("{PATH}/{}", second["id"].as_str().unwrap())).send().await.json();
        assert_eq!(read["active"], false);

        assert_eq!(act(&app, &first["id"], "deactivate").await["active"], false);
        assert_eq!(in_force(&app).await, ["Default"]);
        let path = format!("{PATH}/{}/deactivate", first["id"].as_str().unwrap());
        assert_eq!(app.call(Method::POST, path).refusal().await.0, 409, "it is not in force any more");
        let changes: Vec<_> = history(&app, "workflow").await.into_iter().map(|(action, _)| action).collect();
        assert_eq!(changes, ["create", "create"], "versions do not change");
    })
    .await;
}

#[tokio::test]
async fn the_global_scope_always_has_a_workflow() {
    each_furnished(async |app| {
        let own = create(&app, json!({}), "own").await;
        assert_eq!((&own["scope_type"], &own["scope"]), (&json!("global"), &json!({})));
        assert_eq!(in_force(&app).await, ["own"]);
        for id in ["default", own["id"].as_str().unwrap()] {
            let refusal = app.call(Method::POST, format!("{PATH}/{id}/deactivate")).refusal().await;
            assert_eq!((refusal.0, &*refusal.1), (400, "invalid_parameter"));
        }
        let default = act(&app, &json!("default"), "activate").await;
        assert_eq!((&default["managed_default"], &default["active"]), (&json!(true), &json!(true)));
        assert_eq!(in_force(&app).await, ["Default"]);
    })
    .await;
}

#[tokio::test]
async fn versions_are_listed_by_scope() {
    each_furnished(async |app| {
        for (scope, name) in [
            (json!({}), "everywhere"),
            (json!({"scope_provider_name": "openai"}), "openai"),
            (json!({"scope_provider_name": "openai", "scope_model": "text"}), "text"),
            (json!({"scope_provider_name": "openai", "scope_user_path": "/a"}), "openai at a"),
        ] {
            create(&app, scope, name).await;
        }
        for (query, expected) in [
            ("", "Default, everywhere, openai, text, openai at a"),
            ("scope_type=global", "Default, everywhere"),
            ("scope_provider_name=openai", "openai, text, openai at a"),
            ("scope_provider_name=openai&scope_model=text", "text"),
            ("scope_user_path=%2Fa%2F", "openai at a"),
            ("limit=2&offset=1", "everywhere, openai"),
        ] {
            let list = app.get(format!("{PATH}/versions?{query}")).send().await.expect_status(200).json();
            let names: Vec<_> =
                list.as_array().unwrap().iter().map(|version| version["name"].as_str().unwrap()).collect();
            assert_eq!(names.join(", "), expected, "{query}");
        }
        for (query, param) in
            [("scope_type=galaxy", "scope_type"), ("scope_user_path=a:b", "scope_user_path")]
        {
            let refusal = app.get(format!("{PATH}/versions?{query}")).refusal().await;
            assert_eq!((refusal.0, refusal.2.as_deref()), (400, Some(param)));
        }
    })
    .await;
}

#[tokio::test]
async fn a_version_that_is_not_expected_any_more_is_not_replaced() {
    each_furnished(async |app| {
        let body = json!({"name": "one"});
        let one = app.post(PATH, body.clone()).send().await.expect_status(201);
        let etag = one.header("etag").unwrap().to_owned();
        let path = format!("{PATH}/{}", one.json()["id"].as_str().unwrap());
        assert_eq!(app.get(&path).send().await.header("etag"), Some(&*etag));
        let two = app.post(PATH, body.clone()).header("if-match", &etag).send().await.expect_status(201);
        let refusal = app.post(PATH, body).header("if-match", &etag).refusal().await;
        assert_eq!((refusal.0, in_force(&app).await.len()), (412, 1));
        let late =
            app.call(Method::POST, format!("{path}/activate")).header("if-match", &etag).refusal().await;
        assert_eq!(late.0, 412);
        assert_eq!(app.get(PATH).send().await.json()[0]["id"], two.json()["id"]);
        let versions = app.get(format!("{PATH}/versions")).send().await.json();
        assert_eq!(versions.as_array().unwrap().len(), 3, "a refused version is not written");
    })
    .await;
}

#[tokio::test]
async fn concurrent_versions_have_different_numbers() {
    each_furnished(async |app| {
        let create = || create(&app, json!({"scope_user_path": "/team"}), "one of several");
        let (a, b, c) = tokio::join!(create(), create(), create());
        let mut numbers: Vec<_> =
            [a, b, c].iter().map(|version| version["version"].as_u64().unwrap()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [1, 2, 3]);
        let list = app.get(PATH).send().await.json();
        assert_eq!((list.as_array().unwrap().len(), &list[1]["version"]), (2, &json!(3)));
    })
    .await;
}

#[tokio::test]
async fn documents_that_cannot_be_read_are_listed_and_can_be_replaced() {
    each_furnished(async |app| {
        let scope = json!({"scope_user_path": "/team"});
        let broken = create(&app, scope.clone(), "broken").await;
        let id = broken["id"].as_str().unwrap();
        app.sql(&format!("UPDATE documents SET body = '{{\"oops' WHERE kind = 'workflow' AND name = '{id}'"))
            .await;
        for path in [PATH.to_owned(), format!("{PATH}/versions")] {
            let list = app.get(path).send().await.expect_status(200).json();
            let record = list.as_array().unwrap().last().unwrap().clone();
            assert_eq!(
                (&record["id"], &record["active"], &record["scope"]),
                (&json!(id), &json!(true), &scope)
            );
        }
        let record = app.get(format!("{PATH}/{id}")).send().await.expect_status(200).json();
        assert!(!record["error"].as_str().unwrap().is_empty(), "{record}");
        assert_eq!(app.call(Method::POST, format!("{PATH}/{id}/activate")).refusal().await.0, 409);
        let ended = act(&app, &broken["id"], "deactivate").await;
        assert_eq!(ended["active"], false);

        create(&app, scope.clone(), "before").await;
        app.sql("UPDATE documents SET body = '{\"oops' WHERE kind = 'workflow_activation'").await;
        assert_eq!(in_force(&app).await, ["Default"]);
        let after = create(&app, scope, "after").await;
        assert_eq!((&after["version"], &after["active"]), (&json!(3), &json!(true)));
        assert_eq!(in_force(&app).await, ["Default", "after"]);
    })
    .await;
}

#[tokio::test]
async fn a_provider_in_a_scope_is_not_deleted() {
    each_furnished(async |app| {
        let version = create(&app, json!({"scope_provider_name": "second"}), "second").await;
        let delete = || app.call(Method::DELETE, "/admin/api/v1/providers/second");
        assert_eq!(delete().refusal().await.0, 409);
        act(&app, &version["id"], "deactivate").await;
        delete().send().await.expect_status(204);
    })
    .await;
}

#[tokio::test]
async fn versions_are_compared() {
    each_furnished(async |app| {
        let one = create(&app, json!({}), "one").await;
        let body = json!({"name": "two", "workflow_payload": {"routing": {"retries": 0}}});
        let two = app.post(PATH, body).send().await.expect_status(201).json();
        let path = |id: &Value, query: &str| format!("{PATH}/{}/diff{query}", id.as_str().unwrap());
        let with_active = app.get(path(&one["id"], "")).send().await.expect_status(200).json();
        assert_eq!((&with_active["from"], &with_active["to"]), (&two["id"], &one["id"]));
        assert_eq!(
            with_active["changes"],
            json!([
                {"path": "name", "before": "two", "after": "one"},
                {"path": "workflow_payload.features.audit", "before": true, "after": false},
                {"path": "workflow_payload.routing", "before": {"retries": 0}, "after": null},
            ])
        );
        let with_default = app.get(path(&two["id"], "?with=default")).send().await.expect_status(200).json();
        assert_eq!(with_default["from"], "default");
        assert_eq!(app.get(path(&two["id"], "?with=nothing")).refusal().await.0, 404);
    })
    .await;
}

#[tokio::test]
async fn bodies_are_checked_by_field() {
    each_furnished(async |app| {
        let with = |change: Value| {
            let mut body = json!({"name": "x"});
            body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            body
        };
        let payload = |payload: Value| with(json!({"workflow_payload": payload}));
        let scope = |scope: Value| with(json!({"scope": scope}));
        let code = "invalid_parameter";
        let cases = [
            ("POST", PATH, json!({}), 400, code, "name"),
            ("POST", PATH, with(json!({"name": " "})), 400, code, "name"),
            ("POST", PATH, with(json!({"nmae": "y"})), 400, "unknown_parameter", "nmae"),
            ("POST", PATH, scope(json!({"scope_user_path": "team"})), 400, code, "scope.scope_user_path"),
            ("POST", PATH, scope(json!({"scope_model": "text"})), 400, code, "scope.scope_model"),
            (
                "POST",
                PATH,
                scope(json!({"scope_provider_name": "opnai"})),
                400,
                code,
                "scope.scope_provider_name",
            ),
            (
                "POST",
                PATH,
                payload(json!({"schema_version": 2})),
                400,
                code,
                "workflow_payload.schema_version",
            ),
            (
                "POST",
                PATH,
                payload(json!({"features": {"audit": 1}})),
                400,
                code,
                "workflow_payload.features.audit",
            ),
            (
                "POST",
                PATH,
                payload(json!({"routing": {"retries": 11}})),
                400,
                code,
                "workflow_payload.routing.retries",
            ),
        ];
        refuses(&app, &cases).await;
        let hint = complaint(&app, "POST", PATH, scope(json!({"scope_provider_name": "opnai"}))).await;
        assert!(hint.contains("'openai'"), "{hint}");
        assert_eq!(in_force(&app).await, ["Default"], "nothing was written");
        assert_eq!(app.get(format!("{PATH}/nothing")).refusal().await.0, 404);
    })
    .await;
}
