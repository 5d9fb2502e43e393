//! Tests of Azure OpenAI paths: aliases of OpenAI's, with the model in the path.

use serde_json::{Value, json};

use crate::app::{self, MASTER, TestSettings, question};

const VERSION: &str = "api-version=2024-10-21";

#[tokio::test]
async fn deployments_are_models() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let mut body = question("");
        body.as_object_mut().unwrap().remove("model");
        for model in ["openai/text", "openai%2Ftext", "anthropic/claude-sonnet-4-5~text"] {
            let path = format!("/openai/deployments/{model}/chat/completions?{VERSION}");
            let whole = app.post(&path, body.clone()).anonymous().header("api-key", MASTER).send().await;
            let whole = whole.expect_status(200);
            assert!(whole.content().starts_with("Hello"), "{}", whole.text());
            assert_eq!(whole.header("x-gateway-model"), Some(&*model.replace("%2F", "/")));
            let mut stream = body.clone();
            stream["stream"] = json!(true);
            // The path decides, as at Azure; its clients repeat the name in the body.
            stream["model"] = json!("another");
            let stream = app.post(&path, stream).send().await.expect_status(200);
            assert!(stream.text().ends_with("data: [DONE]\n\n"), "{}", stream.text());
            assert_eq!(stream.content(), whole.content());
        }
        let path = format!("/openai/deployments/openai/text/embeddings?{VERSION}");
        app.post(path, json!({"input": "a"})).send().await.expect_status(200);
        let path = format!("/openai/deployments/openai/text/completions?{VERSION}");
        app.post(path, json!({"prompt": "a"})).send().await.expect_status(200);
        let rows = app.receipts(8).await;
        let endpoints: Vec<&str> = rows.iter().map(|row| row["endpoint"].as_str().unwrap()).collect();
        assert_eq!(endpoints[0], "/v1/chat/completions", "{rows:#?}");
        assert_eq!(rows[0]["requested_model"], "openai/text");
        assert_eq!(endpoints[6..], ["/v1/embeddings", "/v1/completions"]);
    })
    .await;
}

#[tokio::test]
async fn the_v1_paths_are_aliases() {
    let settings = || {
        let mut settings = TestSettings::every_dialect();
        settings.config.base_path = "/gate".into();
        settings
    };
    app::each_with(settings, async |app| {
        app.refresher.discover_one(None, "openai").await;
        let listed = |answer: Value| answer["data"].as_array().map(Vec::len);
        let models = listed(app.get("/gate/v1/models").send().await.json());
        for path in
            ["/gate/openai/v1/models", "/gate/openai/v1/models?api-version=preview", "/gate/openai/models"]
        {
            assert_eq!(listed(app.get(path).send().await.expect_status(200).json()), models, "{path}");
        }
        app.post("/gate/openai/v1/chat/completions", question("openai/text")).send().await.expect_status(200);
        for path in ["/gate/openai/v1/responses", "/gate/openai/responses?api-version=2025-03-01-preview"] {
            let made = app.post(path, json!({"model": "openai/text", "input": "hi"})).send().await;
            let id = made.expect_status(200).json()["id"].as_str().unwrap().to_owned();
            app.get(format!("/gate/openai/responses/{id}")).send().await.expect_status(200);
        }
        app.get("/gate/openai/v1/models").anonymous().send().await.expect_status(401);
        let refused =
            app.post("/gate/openai/deployments/openai/text/chat/completions", question("x")).key("wrong");
        assert_eq!(refused.refusal().await.0, 401);
        for path in
            ["/gate/openai/nothing", "/gate/openai/deployments/m/images/generations", "/openai/v1/models"]
        {
            assert_eq!(app.get(path).refusal().await.0, 404, "{path}");
        }
    })
    .await;
}
