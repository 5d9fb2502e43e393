//! `/admin/api/v1/model-overrides`.

use http::Method;
use serde_json::json;

use super::{complaint, each_furnished, history, refuses};
use crate::app;

const PATH: &str = "/admin/api/v1/model-overrides";

#[tokio::test]
async fn an_override_lives() {
    each_furnished(async |app| {
        let body = json!({
            "enabled": true, "user_paths": ["/team//search/", "/ops"],
            "metadata": {"display_name": "Text", "context_window": 8192, "max_output_tokens": 1024, "capabilities": {"tools": false}},
        });
        let path = format!("{PATH}/openai%2Ftext");
        let created = app.put(&*path, body).send().await.expect_status(201);
        app::check_snapshot("model override", &app::pretty(created.json()));
        let read = app.get(&*path).send().await.expect_status(200);
        assert_eq!((read.header("etag"), read.json()), (created.header("etag"), created.json()));
        assert_eq!(app.get(PATH).send().await.json(), json!([created.json()]));
        let changed = app.put(&*path, json!({"enabled": false})).send().await.expect_status(200).json();
        let shown = created.json();
        assert_eq!((&changed["enabled"], &changed["user_paths"], &changed["metadata"]), (&json!(false), &shown["user_paths"], &shown["metadata"]));
        let cleared = app.put(&*path, json!({"user_paths": null, "metadata": null})).send().await.expect_status(200).json();
        assert_eq!((&cleared["enabled"], &cleared["user_paths"], &cleared["metadata"]), (&json!(false), &json!([]), &json!({})));
        app.call(Method::DELETE, &*path).send().await.expect_status(204);
        for method in [Method::GET, Method::DELETE] {
            let gone = app.call(method, &*path).refusal().await;
            assert_eq!((gone.0, &*gone.1), (404, "not_found"));
        }
        let told = history(&app, "model_override").await;
        let told: Vec<_> = told.iter().map(|(action, name)| (action.as_str(), name.as_str())).collect();
        assert_eq!(told, [("delete", "openai/text"), ("update", "openai/text"), ("update", "openai/text"), ("create", "openai/text")]);
    })
    .await;
}

#[tokio::test]
async fn slashes_are_encoded_or_not() {
    each_furnished(async |app| {
        let (plain, encoded) = ("second/meta-llama/llama-3", "second%2Fmeta-llama%2Fllama-3");
        app.put(format!("{PATH}/{plain}"), json!({})).send().await.expect_status(201);
        app.put(format!("{PATH}/{encoded}"), json!({"selector": plain})).send().await.expect_status(200);
        for name in [plain, encoded] {
            let shown = app.get(format!("{PATH}/{name}")).send().await.expect_status(200).json();
            assert_eq!((&shown["selector"], &shown["enabled"]), (&json!(plain), &json!(true)));
        }
        app.call(Method::DELETE, format!("{PATH}/{encoded}")).send().await.expect_status(204);
    })
    .await;
}

#[tokio::test]
async fn the_provider_is_known_and_the_model_may_come_later() {
    each_furnished(async |app| {
        for selector in ["openai/gpt-99", "openai_compatible/text", "groq/llama"] {
            app.put(format!("{PATH}/{selector}"), json!({"enabled": false})).send().await.expect_status(201);
        }
        for selector in [
            "opneai/text",
            "text",
            "openai",
            "openai/gp*",
            "*/*",
            "*/g*",
            "open*/text",
            "openai//text",
            "openai/a%20b",
        ] {
            let found = app.put(format!("{PATH}/{selector}"), json!({})).refusal().await;
            assert_eq!(found, (400, "invalid_parameter".into(), Some("selector".into())), "{selector}");
        }
        let said = complaint(&app, "PUT", "/admin/api/v1/model-overrides/secnod/text", json!({})).await;
        assert!(said.contains("'second'"), "{said}");
    })
    .await;
}

#[tokio::test]
async fn wildcards_and_types_bind_every_instance_they_name() {
    each_furnished(async |app| {
        let set = async |selector: &str, enabled: bool| {
            let put = app.put(format!("{PATH}/{selector}"), json!({"enabled": enabled})).send().await;
            assert!(put.status < 300, "{selector}: {}", put.text());
        };
        let open = async |model: &str| app.chat(model).send().await.status == 200;
        set("*/text", false).await;
        assert_eq!(
            [open("openai/text").await, open("second/text").await, open("second/long").await],
            [false, false, true]
        );
        set("second/*", true).await;
        assert_eq!([open("openai/text").await, open("second/text").await], [false, true]);
        set("openai_compatible/text", false).await;
        assert_eq!([open("second/text").await, open("second/long").await], [false, true]);
        set("second/text", true).await;
        assert!(open("second/text").await);
        let shown = app.get(format!("{PATH}/%2A/text")).send().await.expect_status(200).json();
        assert_eq!(shown["selector"], "*/text");
        app.call(Method::DELETE, format!("{PATH}/*/text")).send().await.expect_status(204);
        assert!(open("openai/text").await);
    })
    .await;
}

#[tokio::test]
async fn bodies_are_checked_by_field() {
    each_furnished(async |app| {
        let path = "/admin/api/v1/model-overrides/openai%2Ftext";
        let (code, unknown) = ("invalid_parameter", "unknown_parameter");
        let cases = [
            ("PUT", path, json!({"selector": "openai/long"}), 400, code, "selector"),
            ("PUT", path, json!({"enabled": "yes"}), 400, code, "enabled"),
            ("PUT", path, json!({"user_paths": ["/a", "team"]}), 400, code, "user_paths[1]"),
            ("PUT", path, json!({"user_paths": ["/a/../b"]}), 400, code, "user_paths[0]"),
            ("PUT", path, json!({"metadata": {"context_window": -1}}), 400, code, "metadata.context_window"),
            (
                "PUT",
                path,
                json!({"metadata": {"max_output_tokens": 0}}),
                400,
                code,
                "metadata.max_output_tokens",
            ),
            (
                "PUT",
                path,
                json!({"metadata": {"capabilities": {"tools": 1}}}),
                400,
                code,
                "metadata.capabilities.tools",
            ),
            ("PUT", path, json!({"metadata": {"contextwindow": 5}}), 400, unknown, "metadata.contextwindow"),
            ("PUT", path, json!({"enabeld": true}), 400, unknown, "enabeld"),
        ];
        refuses(&app, &cases).await;
        let said = complaint(&app, "PUT", path, json!({"metadata": {"contextwindow": 5}})).await;
        assert!(said.contains("'context_window'"), "{said}");
        assert_eq!(app.get(PATH).send().await.json(), json!([]), "nothing was written");
    })
    .await;
}

#[tokio::test]
async fn a_lost_update_is_refused() {
    each_furnished(async |app| {
        let path = format!("{PATH}/openai/text");
        let put = || app.put(&*path, json!({"enabled": false}));
        let etag = put().send().await.expect_status(201).header("etag").unwrap().to_owned();
        let newer = put().header("if-match", &etag).send().await.expect_status(200);
        assert_eq!(
            put().header("if-match", &etag).refusal().await,
            (412, "precondition_failed".into(), Some("If-Match".into()))
        );
        let delete = |etag: &str| app.call(Method::DELETE, &*path).header("if-match", etag);
        assert_eq!(delete(&etag).refusal().await.0, 412);
        delete(newer.header("etag").unwrap()).send().await.expect_status(204);
    })
    .await;
}
