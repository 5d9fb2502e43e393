//! Tests of every vendor in each API format and operation, skipped only where the vendor does not declare it.

use serde_json::{Value, json};
use wire::vendors::{self, Discovery, Vendor};

use crate::app::{self, TestApp, TestSettings};

const MODELS: [&str; 4] = ["text", "tools", "parallel-tools", "cached"];

/// The URL where the scripted upstream serves this vendor's API.
fn base_url(vendor: &Vendor, app: &TestApp) -> String {
    let root = app.upstream.base_url().trim_end_matches("/v1").to_owned();
    match vendor {
        Vendor { discovery: Discovery::OllamaTags, .. } => format!("{root}/ollama/v1"),
        _ if vendor.paths.gemini.is_some() => format!("{root}/v1beta"),
        _ if vendor.paths.chat.is_some_and(|path| path.contains("/deployments/")) => root,
        _ => format!("{root}/v1"),
    }
}

async fn configure(app: &TestApp, vendor: &Vendor) {
    let body = json!({
        "name": vendor.name, "type": vendor.name, "base_url": base_url(vendor, app), "models": MODELS,
        "api_key": vendor.credentials.takes_api_key().then_some("sk-vendor"),
    });
    app.post("/admin/api/v1/providers", body).send().await.expect_status(201);
}

fn called() -> impl Iterator<Item = &'static Vendor> {
    vendors::list().iter().copied().filter(|vendor| vendor.answer.is_none() && vendor.name != "openai")
}

#[tokio::test]
async fn every_vendor_converses_in_every_dialect() {
    let settings = || TestSettings { loopback_listener: true, ..TestSettings::default() };
    app::each_with(settings, async |app| {
        let mut conversing = 0;
        for vendor in called() {
            configure(&app, vendor).await;
            app.upstream.reset();
            if vendor.format_for(vendor.format, "text").is_none() {
                let (status, code, _) = app.chat(&format!("{}/text", vendor.name)).refusal().await;
                assert_eq!((status, &*code), (501, "unsupported_operation"), "{}", vendor.name);
                continue;
            }
            conversing += 1;
            for stream in [false, true] {
                text(&app, vendor.name, stream).await;
                tools(&app, vendor.name, stream).await;
            }
            let bill = app.upstream.bill();
            assert_eq!(bill.len(), 16, "{}: {bill:#?}", vendor.name);
            assert!(bill.iter().all(|line| line.finished), "{}: {bill:#?}", vendor.name);
        }
        assert!(conversing >= 20, "only {conversing} vendors were tried");
    })
    .await;
}

/// Checks a text response in all four formats.
async fn text(app: &TestApp, vendor: &str, stream: bool) {
    let model = format!("{vendor}/text");
    for (path, body) in requests(&model, "How are you today?", None, stream) {
        let answer = app.post(&path, body).send().await;
        let said = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.status, 200, "{vendor} {path}: {said}");
        assert_eq!(answer.headers["x-gateway-model"], model.as_str(), "{vendor} {path}");
        assert!(said.contains("upstream"), "{vendor} {path}: {said}");
    }
}

/// Checks two parallel tool calls in all four formats.
async fn tools(app: &TestApp, vendor: &str, stream: bool) {
    let model = format!("{vendor}/parallel-tools");
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    for (path, body) in requests(&model, "What is the weather?", Some(schema), stream) {
        let answer = app.post(&path, body).send().await;
        let said = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.status, 200, "{vendor} {path}: {said}");
        assert!(said.matches("get_weather").count() >= 2, "{vendor} {path}: {said}");
        assert!(said.contains("Zürich") || said.contains("rich"), "{vendor} {path}: {said}");
    }
}

/// The same question in each client format.
fn requests(model: &str, question: &str, tool: Option<Value>, stream: bool) -> Vec<(String, Value)> {
    let method = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
    let mut chat =
        json!({"model": model, "messages": [{"role": "user", "content": question}], "stream": stream});
    let mut responses = json!({"model": model, "input": question, "stream": stream});
    let mut messages = json!({
        "model": model, "max_tokens": 500, "messages": [{"role": "user", "content": question}], "stream": stream,
    });
    let mut gemini = json!({"contents": [{"role": "user", "parts": [{"text": question}]}]});
    if let Some(schema) = tool {
        let (name, description) = ("get_weather", "Tells the weather.");
        chat["tools"] = json!([{
            "type": "function", "function": {"name": name, "description": description, "parameters": schema},
        }]);
        responses["tools"] = json!([{"type": "function", "name": name, "description": description, "parameters": schema, "strict": false}]);
        messages["tools"] = json!([{"name": name, "description": description, "input_schema": schema}]);
        gemini["tools"] = json!([{
            "functionDeclarations": [{"name": name, "description": description, "parametersJsonSchema": schema}],
        }]);
    }
    vec![
        ("/v1/chat/completions".into(), chat),
        ("/v1/responses".into(), responses),
        ("/v1/messages".into(), messages),
        (format!("/v1beta/models/{model}:{method}"), gemini),
    ]
}

#[tokio::test]
async fn every_vendor_serves_its_declared_surfaces_and_rejects_others() {
    let settings = || TestSettings { loopback_listener: true, ..TestSettings::default() };
    app::each_with(settings, async |app| {
        for vendor in called() {
            configure(&app, vendor).await;
            let model = format!("{}/text", vendor.name);
            let operations = [
                (
                    "/v1/embeddings",
                    vendor.paths.embeddings,
                    json!({"model": model, "input": ["a", "b"]}),
                    "unsupported_operation",
                ),
                (
                    "/v1/rerank",
                    vendor.paths.rerank,
                    json!({"model": model, "query": "a", "documents": ["a", "b"], "top_n": 1}),
                    "unsupported_rerank_operation",
                ),
                (
                    "/v1/completions",
                    vendor.paths.completions,
                    json!({"model": model, "prompt": "a b"}),
                    "unsupported_operation",
                ),
            ];
            for (path, declared, body, code) in operations {
                let answer = app.post(path, body).send().await;
                match declared {
                    Some(_) => assert_eq!(answer.status, 200, "{} {path}: {:?}", vendor.name, answer.body),
                    None => {
                        let (status, found, _) = answer.refusal();
                        assert_eq!((status, &*found), (501, code), "{} {path}", vendor.name);
                    }
                }
            }
        }
    })
    .await;
}
