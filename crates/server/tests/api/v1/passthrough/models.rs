//! Tests of the model of a passthrough call: exactly one, readable, and charged as the response names it.

use serde_json::{Value, json};
use testkit::FaultScript;

use crate::app::{self, TestApp, TestSettings, question};

const PATH: &str = "/p/openai/v1/chat/completions";

async fn send(app: &TestApp, key: Option<&str>, body: impl Into<bytes::Bytes>) -> (u16, String) {
    let mut call = app.post(PATH, Value::Null).body(body).header("content-type", "application/json");
    if let Some(key) = key {
        call = call.key(key);
    }
    let answer = call.send().await;
    let code = if answer.status < 400 { String::new() } else { answer.refusal().1 };
    (answer.status, code)
}

async fn price(app: &TestApp, model: &str, per_mtok: f64) {
    let price = json!({"input_per_mtok": per_mtok, "output_per_mtok": per_mtok});
    let path = format!("/admin/api/v1/model-pricing/openai/{model}");
    app.put(path, price).send().await.expect_status(201);
}

#[tokio::test]
async fn a_second_model_is_refused_for_everybody() {
    app::each(async |app| {
        let filler = "x".repeat(200_000);
        for second in ["model", "Model", "mod\\u0065l"] {
            for between in ["", &filler] {
                let body = format!(r#"{{"model":"text","messages":["{between}"],"{second}":"long"}}"#);
                assert_eq!(send(&app, None, body).await, (400, "invalid_json".into()), "{second}");
            }
        }
        let padded = format!(r#"{{"model":"text","messages":[],"model":{}"long"}}"#, " ".repeat(20_000));
        assert_eq!(send(&app, None, padded).await.0, 400);
        assert!(app.upstream.bill().is_empty());
        assert_eq!(send(&app, None, question("text").to_string()).await.0, 200);
    })
    .await;
}

#[tokio::test]
async fn a_restricted_caller_sends_utf8_json() {
    app::each_with(TestSettings::enterprise, async |app| {
        let url = "/admin/api/v1/budgets/%2Fbudgeted/daily";
        app.put(url, json!({"amount": 100})).send().await.expect_status(200);
        let (_, listed) = app.key(json!({"name": "k", "allowed_models": ["text"]})).await;
        let (_, budgeted) = app.key(json!({"name": "b", "user_path": "/budgeted"})).await;
        let hidden = r#"{"model":"text","messages":[],"model":"long"}"#;
        let utf16: Vec<u8> = hidden.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let padded = format!(r#"{{"model":"text","model":{}"long"}}"#, " ".repeat(20_000));
        for key in [&listed, &budgeted] {
            for body in [
                utf16.clone(),
                [b"\xef\xbb\xbf".as_slice(), hidden.as_bytes()].concat(),
                br#"{"model":"text" /* , */ }"#.to_vec(),
                br#"{"model":"text","a":"\xff"}"#.map(|byte| if byte == b'x' { 0xff } else { byte }).to_vec(),
                br#"{"model":"text"} {"model":"long"}"#.to_vec(),
                padded.clone().into_bytes(),
                br#"{"model":"text","a":[}"#.to_vec(),
            ] {
                let shown = String::from_utf8_lossy(&body).into_owned();
                let status = send(&app, Some(key), body).await.0;
                assert!(status == 400 || status == 403, "{status} {shown}");
            }
            assert_eq!(send(&app, Some(key), question("text").to_string()).await.0, 200);
        }
        let plain = app.post(PATH, question("text")).key(&budgeted).header("content-type", "text/plain");
        assert_eq!(
            plain.refusal().await,
            (415, "unsupported_media_type".into(), Some("Content-Type".into()))
        );
        let packed = app.post(PATH, question("text")).key(&budgeted).header("content-encoding", "gzip");
        assert_eq!(packed.refusal().await.2.as_deref(), Some("Content-Encoding"));
        assert_eq!(app.upstream.bill().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn alternatives_are_judged_like_the_model() {
    app::each(async |app| {
        let (_, key) = app.key(json!({"name": "k", "allowed_models": ["text"]})).await;
        let mut body = question("text");
        body["models"] = json!(["text", "long"]);
        let denied = (403, "key_model_access_denied".to_owned());
        assert_eq!(send(&app, Some(&key), body.to_string()).await, denied);
        let late = format!(r#"{{"model":"text","a":"{}","models":["long"]}}"#, "x".repeat(100_000));
        assert_eq!(send(&app, Some(&key), late).await.0, 400);
        body["models"] = json!(["text"]);
        assert_eq!(send(&app, Some(&key), body.to_string()).await.0, 200);
    })
    .await;
}

#[tokio::test]
async fn the_model_that_the_answer_names_is_charged_when_it_costs_more() {
    app::each(async |app| {
        for (model, per_mtok) in [("cheap", 1.0), ("dear", 1000.0)] {
            price(&app, model, per_mtok).await;
        }
        let answer = |model: &str| {
            let body = json!({"id": "c", "model": model, "choices": [],
                "usage": {"prompt_tokens": 1000, "completion_tokens": 0}});
            FaultScript::status(200, "application/json", body.to_string())
        };
        for (asked, answered, booked, cost) in [
            ("cheap", "dear", "dear", 1.0),
            ("dear", "cheap", "dear", 1.0),
            ("cheap", "cheap-2026-01-01", "cheap", 0.001),
            ("cheap", "unknown", "cheap", 0.001),
            ("unknown", "cheap", "cheap", 0.001),
        ] {
            app.upstream.push(answer(answered));
            app.post(PATH, question(asked)).send().await.expect_status(200);
            let rows = app.receipts(app.upstream.requests().len()).await;
            let row = rows.last().unwrap();
            let found = (row["model"].as_str().unwrap(), row["total_cost"].as_f64().unwrap());
            assert_eq!(found, (booked, cost), "{asked} answered as {answered}: {row:#}");
            assert_eq!(row["requested_model"], asked);
        }
    })
    .await;
}
