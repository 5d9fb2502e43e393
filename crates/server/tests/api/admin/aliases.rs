//! `/admin/api/v1/aliases`.

use http::Method;
use serde_json::json;

use super::{complaint, each_furnished, history, refuses};
use crate::app;

const PATH: &str = "/admin/api/v1/aliases";

#[tokio::test]
async fn an_alias_lives() {
    each_furnished(async |app| {
        let body = json!({"name": "fast", "target": "second/text", "description": "for the impatient"});
        let created = app.put(format!("{PATH}/fast"), body).send().await.expect_status(201);
        app::check_snapshot("alias", &app::pretty(created.json()));
        let read = app.get(format!("{PATH}/fast")).send().await.expect_status(200);
        assert_eq!((read.header("etag"), read.json()), (created.header("etag"), created.json()));
        assert_eq!(app.get(PATH).send().await.json(), json!([created.json()]));
        let replaced =
            app.put(format!("{PATH}/fast"), json!({"target": "text"})).send().await.expect_status(200);
        assert_eq!(
            (&replaced.json()["target"], &replaced.json()["description"]),
            (&json!("text"), &json!("for the impatient"))
        );
        app.call(Method::DELETE, format!("{PATH}/fast")).send().await.expect_status(204);
        for method in [Method::GET, Method::DELETE] {
            let gone = app.call(method, format!("{PATH}/fast")).refusal().await;
            assert_eq!((gone.0, &*gone.1), (404, "not_found"));
        }
        let told: Vec<_> = history(&app, "alias").await.into_iter().map(|(action, _)| action).collect();
        assert_eq!(told, ["delete", "update", "create"]);
    })
    .await;
}

#[tokio::test]
async fn slashes_are_encoded_or_not() {
    each_furnished(async |app| {
        let body = json!({"name": "anthropic/claude/latest", "target": "openai/text"});
        let (plain, encoded) = ("anthropic/claude/latest", "anthropic%2Fclaude%2flatest");
        let made = app.put(format!("{PATH}/{encoded}"), body.clone()).send().await.expect_status(201);
        assert_eq!(made.json()["name"], plain);
        app.put(format!("{PATH}/{plain}"), body).send().await.expect_status(200);
        for name in [plain, encoded] {
            assert_eq!(
                app.get(format!("{PATH}/{name}")).send().await.expect_status(200).json()["name"],
                plain
            );
        }
        app.call(Method::DELETE, format!("{PATH}/{plain}")).send().await.expect_status(204);
        assert_eq!(app.get(format!("{PATH}/{encoded}")).refusal().await.0, 404);
    })
    .await;
}

#[tokio::test]
async fn a_target_leads_somewhere() {
    each_furnished(async |app| {
        app.put("/admin/api/v1/pools/team", json!({"members": ["second"]})).send().await.expect_status(201);
        app.put("/admin/api/v1/pools/bare", json!({"members": ["openai"]})).send().await.expect_status(201);
        let combo = json!({"selectors": ["openai/text", "second/text"]});
        app.put("/admin/api/v1/combos/best", combo).send().await.expect_status(201);
        let targets = ["openai/text", "text", "openai_compatible/long", "team", "team/text", "best"];
        for (number, target) in targets.into_iter().enumerate() {
            app.put(format!("{PATH}/a{number}"), json!({"target": target})).send().await.expect_status(201);
        }
        for target in
            ["openai/txet", "tetx", "team/nothing", "bare", "a0", "x", "nobody/text", "", "a b", "/text"]
        {
            let found = app.put(format!("{PATH}/x"), json!({"target": target})).refusal().await;
            assert_eq!(found, (400, "invalid_parameter".into(), Some("target".into())), "{target}");
        }
        let complain = async |target: &str| {
            complaint(&app, "PUT", "/admin/api/v1/aliases/x", json!({"target": target})).await
        };
        for (target, nearest) in [("openai/txet", "'openai/text'"), ("taem", "'team'"), ("bst", "'best'")] {
            let said = complain(target).await;
            assert!(said.contains(nearest), "{target}: {said}");
        }
        assert!(complain("a0").await.contains("is an alias"));
        assert!(complain("bare").await.contains("'bare/model'"));
        let off = json!({"type": "openai_compatible", "base_url": app.upstream.base_url(), "enabled": false});
        app.put("/admin/api/v1/providers/second", off).send().await.expect_status(200);
        assert_eq!(complain("second/text").await, "The provider 'second' is disabled.");
    })
    .await;
}

#[tokio::test]
async fn bodies_are_checked_by_field() {
    each_furnished(async |app| {
        let path = "/admin/api/v1/aliases/fast";
        let cases = [
            ("PUT", path, json!({}), 400, "invalid_parameter", "target"),
            ("PUT", path, json!({"target": 5}), 400, "invalid_parameter", "target"),
            ("PUT", path, json!({"name": "slow", "target": "text"}), 400, "invalid_parameter", "name"),
            (
                "PUT",
                path,
                json!({"target": "text", "descripton": "x"}),
                400,
                "unknown_parameter",
                "descripton",
            ),
            (
                "PUT",
                "/admin/api/v1/aliases/a%20b",
                json!({"target": "text"}),
                400,
                "invalid_parameter",
                "name",
            ),
            (
                "PUT",
                "/admin/api/v1/aliases/a//b",
                json!({"target": "text"}),
                400,
                "invalid_parameter",
                "name",
            ),
            (
                "PUT",
                "/admin/api/v1/aliases/a%2F..%2Fb",
                json!({"target": "text"}),
                400,
                "invalid_parameter",
                "name",
            ),
        ];
        refuses(&app, &cases).await;
        let said = complaint(&app, "PUT", path, json!({"target": "text", "descripton": "x"})).await;
        assert!(said.contains("'description'"), "{said}");
        assert_eq!(app.get(PATH).send().await.json(), json!([]), "nothing was written");
    })
    .await;
}

#[tokio::test]
async fn a_name_has_one_holder_and_one_version() {
    each_furnished(async |app| {
        app.put("/admin/api/v1/pools/team", json!({"members": ["second"]})).send().await.expect_status(201);
        let combo = json!({"selectors": ["openai/text", "second/text"]});
        app.put("/admin/api/v1/combos/best", combo).send().await.expect_status(201);
        for (name, holder) in [("openai", "a provider"), ("team", "a pool"), ("best", "a combo")] {
            let path = format!("{PATH}/{name}");
            refuses(&app, &[("PUT", &path, json!({"target": "text"}), 409, "conflict", "name")]).await;
            let said = complaint(&app, "PUT", &path, json!({"target": "text"})).await;
            assert!(said.contains(holder), "{said}");
        }
        let path = format!("{PATH}/fast");
        let put = || app.put(&*path, json!({"target": "text"}));
        let etag = put().send().await.expect_status(201).header("etag").unwrap().to_owned();
        put().header("if-match", &etag).send().await.expect_status(200);
        assert_eq!(put().header("if-match", &etag).refusal().await.0, 412);
        assert_eq!(app.call(Method::DELETE, &*path).header("if-match", &etag).refusal().await.0, 412);
    })
    .await;
}

/// Not even when the second alias comes later and takes the name of a model.
#[tokio::test]
async fn an_alias_does_not_lead_to_an_alias() {
    each_furnished(async |app| {
        app.put(format!("{PATH}/fast"), json!({"target": "text"})).send().await.expect_status(201);
        let later = "/admin/api/v1/aliases/text";
        refuses(&app, &[("PUT", later, json!({"target": "second/text"}), 409, "conflict", "name")]).await;
        let said = complaint(&app, "PUT", later, json!({"target": "second/text"})).await;
        assert!(said.contains("'fast'"), "{said}");
    })
    .await;
}

#[tokio::test]
async fn records_in_use_cannot_be_deleted() {
    each_furnished(async |app| {
        app.put(format!("{PATH}/our/fast"), json!({"target": "openai/text"})).send().await.expect_status(201);
        let combo = json!({"selectors": ["our/fast", "second/text"]});
        app.put("/admin/api/v1/combos/best", combo).send().await.expect_status(201);
        let refused = app.call(Method::DELETE, format!("{PATH}/our/fast")).send().await;
        assert!(refused.status == 409 && refused.text().contains("combo/best"), "{}", refused.text());
        app.call(Method::DELETE, "/admin/api/v1/combos/best").send().await.expect_status(204);
        app.call(Method::DELETE, format!("{PATH}/our/fast")).send().await.expect_status(204);
    })
    .await;
}
