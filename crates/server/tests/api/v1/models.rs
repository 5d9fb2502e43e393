//! Tests of `GET /v1/models`: the models that the caller may use.

use serde_json::{Value, json};

use crate::app::{self, TestApp};

async fn ids(app: &TestApp, key: &str) -> Vec<String> {
    let list = app.get("/v1/models").key(key).send().await.expect_status(200).json();
    assert_eq!(list["object"], "list");
    let data = list["data"].as_array().unwrap().iter();
    data.map(|model| model["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn the_model_list_matches_the_providers() {
    app::each(async |app| {
        let before = ids(&app, app::MASTER).await;
        assert!(before.contains(&"openai/gpt-4o".to_owned()), "the catalogue, until the provider is asked");
        app.refresher.discover_one(None, "openai").await;
        let after = ids(&app, app::MASTER).await;
        assert!(after.contains(&"openai/text".to_owned()) && !after.contains(&"openai/gpt-4o".to_owned()));
        let list = app.get("/v1/models").send().await.json();
        let text = list["data"]
            .as_array()
            .unwrap()
            .iter()
            .find(|model| model["id"] == "openai/text")
            .unwrap()
            .clone();
        let expected =
            json!({"id": "openai/text", "object": "model", "created": 1_700_000_000, "owned_by": "scripted"});
        assert_eq!(text, expected);
    })
    .await;
}

#[tokio::test]
async fn a_key_sees_only_its_models() {
    app::each(async |app| {
        app.refresher.discover_one(None, "openai").await;
        let lists =
            json!({"name": "a", "allowed_models": ["openai/error-*", "text"], "denied_models": ["error-5*"]});
        let (_, key) = app.key(lists).await;
        let seen = ids(&app, &key).await;
        assert_eq!(
            seen,
            [
                "openai/error-400",
                "openai/error-404",
                "openai/error-429",
                "openai/error-after-content",
                "openai/error-in-stream",
                "openai/text"
            ]
        );
        let (_, nothing) = app.key(json!({"name": "b", "allowed_providers": []})).await;
        assert!(ids(&app, &nothing).await.is_empty());
        // What a caller may not use does not exist for it.
        let refused = app.get("/v1/models/openai/long").key(&key).refusal().await;
        assert_eq!(refused, (404, "model_not_found".into(), Some("model".into())));
    })
    .await;
}

#[tokio::test]
async fn one_model_by_any_name_a_request_takes() {
    app::each(async |app| {
        app.refresher.discover_one(None, "openai").await;
        for name in ["openai/text", "text", "openai%2Ftext"] {
            let model = app.get(format!("/v1/models/{name}")).send().await.expect_status(200).json();
            assert_eq!(model["object"], "model");
            assert_eq!(model["id"], Value::from(name.replace("%2F", "/")));
        }
        let (status, code, _) = app.get("/v1/models/nothing-like-it").refusal().await;
        assert_eq!((status, &*code), (404, "model_not_found"));
    })
    .await;
}
