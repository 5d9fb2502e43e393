//! Tests that a key's lists also apply to passthrough requests.

use serde_json::{Value, json};

use crate::app::{self, TestApp, question};

async fn refusal(app: &TestApp, key: &str, body: impl Into<bytes::Bytes>, kind: &str) -> (u16, String) {
    let call = app.post("/p/openai/chat/completions", Value::Null).key(key).body(body);
    let answer = call.header("content-type", kind).send().await;
    let code = if answer.status < 400 { String::new() } else { answer.refusal().1 };
    (answer.status, code)
}

#[tokio::test]
async fn a_provider_that_is_not_listed_is_denied() {
    app::each(async |app| {
        let (_, key) = app.key(json!({"name": "k", "allowed_providers": ["groq"]})).await;
        let found = app.get("/p/openai/models").key(&key).refusal().await;
        assert_eq!(found, (403, "key_provider_access_denied".into(), Some("provider".into())));
        let (_, key) = app.key(json!({"name": "k", "allowed_providers": ["openai"]})).await;
        app.get("/p/openai/models").key(&key).send().await.expect_status(200);
        assert_eq!(app.upstream.requests().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn with_limits_on_models_there_must_be_a_readable_one() {
    app::each(async |app| {
        let (_, key) = app.key(json!({"name": "k", "allowed_models": ["text", "cached"]})).await;
        let denied = (403, "key_model_access_denied".to_owned());
        let json_type = "application/json";
        assert_eq!(refusal(&app, &key, question("text").to_string(), json_type).await.0, 200);
        assert_eq!(refusal(&app, &key, question("long").to_string(), json_type).await, denied);
        assert_eq!(refusal(&app, &key, "{\"messages\":[]}", json_type).await, denied);
        let not_json = (415, "unsupported_media_type".to_owned());
        let text = question("text").to_string();
        assert_eq!(refusal(&app, &key, text.clone(), "multipart/form-data").await, not_json);
        assert_eq!(refusal(&app, &key, text, "text/plain").await, denied);
        let late = format!(r#"{{"x":"{}","model":"text","messages":[]}}"#, "x".repeat(100_000));
        assert_eq!(refusal(&app, &key, late, json_type).await, denied);
        assert_eq!(app.get("/p/openai/files").key(&key).refusal().await.0, 403);
        assert_eq!(app.get("/p/openai/models/long").key(&key).refusal().await.0, 403);
        assert_eq!(app.get("/p/openai/models/text").key(&key).send().await.status, 404);
        assert_eq!(app.upstream.requests().len(), 2);
        let (_, key) = app.key(json!({"name": "k", "denied_models": ["long"]})).await;
        assert_eq!(refusal(&app, &key, question("long").to_string(), json_type).await, denied);
        assert_eq!(refusal(&app, &key, question("text").to_string(), json_type).await.0, 200);
    })
    .await;
}

#[tokio::test]
async fn a_second_model_in_the_body_does_not_slip_through() {
    app::each(async |app| {
        let (_, key) = app.key(json!({"name": "k", "allowed_models": ["text"]})).await;
        let filler = "x".repeat(200_000);
        for second in ["model", "Model", "mod\\u0065l"] {
            for between in ["", &filler] {
                let body = format!(r#"{{"model":"text","messages":["{between}"],"{second}":"long"}}"#);
                let found = refusal(&app, &key, body, "application/json").await;
                assert_eq!(found, (400, "invalid_json".to_owned()), "{second}");
            }
        }
        assert_eq!(app.upstream.requests().len(), 0);
    })
    .await;
}
