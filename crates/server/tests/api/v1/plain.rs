//! Tests of `/v1/embeddings`, `/v1/rerank` and `/v1/completions`: forwarded unchanged to a provider that supports them.

use serde_json::{Value, json};

use crate::app::{self, TestApp, TestSettings};

const EMBEDDINGS: &str = "/v1/embeddings";
const RERANK: &str = "/v1/rerank";
const COMPLETIONS: &str = "/v1/completions";

fn everyone() -> TestSettings {
    TestSettings {
        vendors: &["openai", "anthropic", "gemini", "jina", "azure", "ollama"],
        ..TestSettings::default()
    }
}

async fn check_receipts(app: &TestApp, path: &str) {
    let bill = app.upstream.bill();
    for (row, line) in app.receipts(bill.len()).await.iter().zip(bill) {
        assert_eq!(row["endpoint"], path, "{row:#}");
        assert_eq!(row["input_tokens"].as_u64(), Some(line.prompt_tokens), "{row:#}");
        assert_eq!(row["output_tokens"].as_u64(), Some(line.completion_tokens), "{row:#}");
        assert_eq!((&row["status_code"], &row["estimated"]), (&json!(200), &json!(false)), "{row:#}");
    }
}

#[tokio::test]
async fn embeddings_pass_as_they_are() {
    app::each_with(everyone, async |app| {
        let body = r#"{ "model":"openai/embed", "input":["caf\u00e9","b"],"dimensions": 4 }"#;
        let answer = app.post(EMBEDDINGS, json!({})).body(body).send().await.expect_status(200);
        let sent = String::from_utf8(app.upstream.requests()[0].body.clone()).unwrap();
        assert_eq!(sent, body.replace("openai/embed", "embed"));
        let list = answer.json();
        assert_eq!((&list["object"], list["data"].as_array().map(Vec::len)), (&json!("list"), Some(2)));
        assert_eq!(list["data"][1]["index"], 1);
        assert_eq!(list["data"][0]["embedding"].as_array().map(Vec::len), Some(4));
        assert_eq!(answer.header("x-gateway-model"), Some("openai/embed"));
        for vendor in ["gemini", "jina", "azure", "ollama"] {
            let packed =
                json!({"model": format!("{vendor}/embed"), "input": "one two", "encoding_format": "base64"});
            let answer = app.post(EMBEDDINGS, packed).send().await.expect_status(200).json();
            assert!(answer["data"][0]["embedding"].is_string(), "{vendor}: {answer}");
            assert_eq!(answer["usage"]["prompt_tokens"], 10, "{vendor}: {answer}");
        }
        check_receipts(&app, EMBEDDINGS).await;
    })
    .await;
}

#[tokio::test]
async fn embeddings_that_cannot_be() {
    app::each_with(everyone, async |app| {
        let refusal = async |body: Value| app.post(EMBEDDINGS, body).refusal().await;
        let refused = refusal(json!({"input": "hi"})).await;
        assert_eq!(refused, (400, "model_required".into(), Some("model".into())));
        for input in [json!(null), json!([]), json!({"a": 1}), json!("")] {
            let (status, _, param) = refusal(json!({"model": "openai/embed", "input": input})).await;
            assert_eq!((status, param.as_deref()), (400, Some("input")), "{input}");
        }
        let refused = refusal(json!({"model": "anthropic/embed", "input": "hi"})).await;
        assert_eq!(refused, (501, "unsupported_operation".into(), None));
        let refused = refusal(json!({"model": "openai/html", "input": "hi"})).await;
        assert_eq!((refused.0, &*refused.1), (502, "upstream_invalid_response"));
        let refused = refusal(json!({"model": "openai/unauthorized", "input": "hi"})).await;
        assert_eq!((refused.0, &*refused.1), (502, "upstream_auth_failed"));
    })
    .await;
}

#[tokio::test]
async fn the_demo_embeds_without_anybody() {
    let settings = || TestSettings { vendors: &[], demo: Some(true), ..TestSettings::default() };
    app::each_with(settings, async |app| {
        let embed = async |input: Value| {
            let body = json!({"model": "demo/demo-embedding", "input": input});
            app.post(EMBEDDINGS, body).send().await.expect_status(200).json()
        };
        let both = embed(json!(["a cat sat on the mat", "stock prices fell"])).await;
        let again = embed(json!("a cat sat on the mat")).await;
        let vector = |list: &Value, index: usize| -> Vec<f64> {
            let numbers = list["data"][index]["embedding"].as_array().unwrap_or_else(|| panic!("{list}"));
            numbers.iter().map(|number| number.as_f64().unwrap()).collect()
        };
        assert_eq!(vector(&both, 0), vector(&again, 0), "the same text, the same vector");
        assert_ne!(vector(&both, 0), vector(&both, 1));
        let alike = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
        let near = vector(&embed(json!("a cat sat on a mat")).await, 0);
        let cat = vector(&both, 0);
        assert!(alike(&cat, &near) > alike(&cat, &vector(&both, 1)), "likeness means something");
        assert!(both["usage"]["prompt_tokens"].as_u64() > Some(0), "{both}");
        let rows = app.receipts(3).await;
        assert!(
            rows.iter().all(|row| row["provider_name"] == "demo" && row["status_code"] == 200),
            "{rows:#?}"
        );
        assert!(app.upstream.requests().is_empty());
    })
    .await;
}

fn ranking() -> Value {
    json!({"model": "jina/rerank", "query": "red apple", "documents": ["a green pear", "a red apple", {"text": "a red car"}]})
}

#[tokio::test]
async fn documents_are_ranked() {
    app::each_with(everyone, async |app| {
        let mut body = ranking();
        let answer = app.post(RERANK, body.clone()).send().await.expect_status(200).json();
        let order: Vec<u64> = answer["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|result| result["index"].as_u64().unwrap())
            .collect();
        assert_eq!(order, [1, 2, 0]);
        let scores: Vec<f64> = answer["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|result| result["relevance_score"].as_f64().unwrap())
            .collect();
        assert!(scores.is_sorted_by(|one, other| one >= other), "{answer}");
        body["top_n"] = json!(1);
        body["return_documents"] = json!(true);
        let answer = app.post(RERANK, body).send().await.expect_status(200).json();
        assert_eq!(answer["results"].as_array().map(Vec::len), Some(1));
        assert_eq!(answer["results"][0]["document"]["text"], "a red apple");
        check_receipts(&app, RERANK).await;
    })
    .await;
}

#[tokio::test]
async fn rankings_that_cannot_be() {
    app::each_with(everyone, async |app| {
        let with = |field: &str, value: Value| {
            let mut body = ranking();
            body[field] = value;
            body
        };
        for (field, value) in [
            ("query", json!(null)),
            ("documents", json!(null)),
            ("documents", json!([])),
            ("documents", json!("one")),
            ("top_n", json!(0)),
            ("top_n", json!(4)),
            ("top_n", json!("two")),
        ] {
            let (status, _, param) = app.post(RERANK, with(field, value.clone())).refusal().await;
            assert_eq!((status, param.as_deref()), (400, Some(field)), "{field}: {value}");
        }
        let refused = app.post(RERANK, with("model", json!(null))).refusal().await;
        assert_eq!(refused, (400, "model_required".into(), Some("model".into())));
        assert!(
            app.upstream.requests().is_empty(),
            "nothing of that was sent on: {:?}",
            app.upstream.requests()
        );
        for model in ["openai/rerank", "anthropic/rerank"] {
            let answer = app.post(RERANK, with("model", json!(model))).send().await;
            assert_eq!(answer.refusal(), (501, "unsupported_rerank_operation".into(), None));
            assert_eq!(answer.json()["error"]["type"], "invalid_request_error");
        }
    })
    .await;
}

fn completion(model: &str, stream: bool) -> Value {
    json!({"model": model, "prompt": "How are you?", "max_tokens": 64, "stream": stream})
}

#[tokio::test]
async fn completions_whole_and_streamed() {
    app::each_with(everyone, async |app| {
        for vendor in ["openai", "azure", "ollama"] {
            let model = format!("{vendor}/text");
            let whole =
                app.post(COMPLETIONS, completion(&model, false)).send().await.expect_status(200).json();
            assert_eq!(whole["object"], "text_completion", "{vendor}");
            assert_eq!(whole["choices"][0]["text"], "Hello from the upstream. You said: How are you?");
            let stream = app.post(COMPLETIONS, completion(&model, true)).send().await.expect_status(200);
            assert!(stream.text().ends_with("data: [DONE]\n\n"), "{}", stream.text());
            let chunks = stream.named_events();
            let text: String =
                chunks.iter().filter_map(|(_, chunk)| chunk["choices"][0]["text"].as_str()).collect();
            assert_eq!(text, "Hello from the upstream. You said: How are you?", "{vendor}");
            assert!(
                !stream.text().contains("\"prompt_tokens\""),
                "usage was not asked for: {}",
                stream.text()
            );
            let mut asking = completion(&model, true);
            asking["stream_options"] = json!({"include_usage": true});
            let stream = app.post(COMPLETIONS, asking).send().await.expect_status(200);
            let usage = stream.named_events().last().unwrap().1["usage"].clone();
            let line = app.upstream.bill().pop().unwrap();
            assert_eq!(
                usage["completion_tokens"].as_u64(),
                Some(line.completion_tokens),
                "{vendor}: {}",
                stream.text()
            );
        }
        check_receipts(&app, COMPLETIONS).await;
        let refused =
            app.post(COMPLETIONS, completion("anthropic/claude-sonnet-4-5~text", false)).refusal().await;
        assert_eq!(refused, (501, "unsupported_operation".into(), None));
    })
    .await;
}

#[tokio::test]
async fn an_interrupted_completion_ends_with_an_error() {
    app::each_with(everyone, async |app| {
        for fault in ["cut-mid-stream", "eof-mid-stream", "error-after-content"] {
            let answer = app.post(COMPLETIONS, completion(&format!("openai/{fault}"), true)).send().await;
            let answer = answer.expect_status(200);
            assert!(!answer.text().contains("[DONE]"), "{fault}: {}", answer.text());
            app::check_envelope(&answer.named_events().last().unwrap().1);
        }
        for fault in ["html", "bad-json", "error-in-stream", "error-500"] {
            for stream in [false, true] {
                let call = app.post(COMPLETIONS, completion(&format!("openai/{fault}"), stream));
                let (status, ..) = call.refusal().await;
                assert!((500..600).contains(&status), "{fault} {stream}: {status}");
            }
        }
        let rows = app.receipts(11).await;
        assert!(rows[..3].iter().all(|row| row["estimated"] == true), "{rows:#?}");
    })
    .await;
}
