//! Tests of `/v1beta/models/{model}:generateContent` and related methods: Gemini's API on any provider.

use serde_json::{Value, json};
use testkit::FaultScript;

use crate::app::{self, Client, MASTER, TestSettings, UPSTREAM_KEY, UPSTREAMS};

const NATIVE: &str = "gemini/gemini-2.5-flash~";

#[tokio::test]
async fn gemini_gets_every_byte_and_so_does_its_client() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let body = "{ \"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"caf\\u00e9\"}]}],\t\"x_new\": {\"b\":1,\"a\":[0.10]} }";
        let said = r#"{"candidates":[{"content":{"parts":[{"text":"hi","x":1.50}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4,"totalTokenCount":7},"modelVersion":"m"}"#;
        app.upstream.push(FaultScript::status(200, "application/json", said));
        let path = Client::Gemini.path("gemini/gemini-next", false);
        let answer = app.post(path, json!({})).body(body).send().await.expect_status(200);
        assert_eq!(answer.text(), said);
        assert_eq!(answer.header("x-gateway-model"), Some("gemini/gemini-next"));
        let request = &app.upstream.requests()[0];
        assert_eq!(String::from_utf8(request.body.clone()).unwrap(), body);
        assert_eq!(request.path, "/v1beta/models/gemini-next:generateContent");
        let row = &app.receipts(1).await[0];
        assert_eq!((&row["input_tokens"], &row["output_tokens"]), (&json!(3), &json!(4)));
    })
    .await;
}

#[tokio::test]
async fn a_native_stream_passes_as_it_is() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let parts = [
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"caf\\u00e9\"}],\"role\":\"model\"}}],\"x\":[1.50]}\r\n\r\n",
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"!\"}],\"role\":\"model\"},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":3,\"candidatesTokenCount\":2,\"totalTokenCount\":5}}\r\n\r\n",
        ];
        app.upstream.push(FaultScript::stream(parts));
        let answer = Client::Gemini.ask(&app, &format!("{NATIVE}text"), true).send().await.expect_status(200);
        assert_eq!(answer.text(), parts.concat());
        let row = &app.receipts(1).await[0];
        assert_eq!((&row["output_tokens"], &row["estimated"]), (&json!(2), &json!(false)), "{row:#}");
    })
    .await;
}

#[tokio::test]
async fn every_provider_generates_content() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for upstream in UPSTREAMS {
            let model = format!("{upstream}text");
            let mut body = Client::Gemini.body(&model, "How are you today?");
            body["systemInstruction"] = json!({"parts": [{"text": "Be brief."}]});
            let whole = Client::Gemini.send(&app, &model, false, body).send().await.expect_status(200);
            let said = whole.json();
            assert_eq!(Client::Gemini.text(&whole), "Hello from the upstream. You said: How are you today?");
            assert_eq!(said["candidates"][0]["content"]["role"], "model", "{said:#}");
            assert_eq!(said["candidates"][0]["finishReason"], "STOP", "{said:#}");
            let count = |name: &str| said["usageMetadata"][name].as_u64().unwrap_or_default();
            let line = app.upstream.bill().pop().unwrap();
            assert_eq!(count("promptTokenCount"), line.prompt_tokens, "{said:#}");
            assert_eq!(count("candidatesTokenCount"), line.completion_tokens, "{said:#}");
            assert_eq!(count("totalTokenCount"), line.prompt_tokens + line.completion_tokens, "{said:#}");
            assert!(said["modelVersion"].is_string() && said["responseId"].is_string(), "{said:#}");
            let sent = app.upstream.requests().pop().unwrap();
            assert!(String::from_utf8_lossy(&sent.body).contains("Be brief."), "{model}");

            let stream = Client::Gemini.ask(&app, &model, true).send().await.expect_status(200);
            assert_eq!(stream.header("content-type"), Some("text/event-stream"));
            assert_eq!(Client::Gemini.text(&stream), "Hello from the upstream. You said: How are you today?");
            Client::Gemini.check_end(&stream);
            let events = stream.named_events();
            assert!(events.len() > 3, "{model} streams in pieces: {}", stream.text());
            let usage = &events.last().unwrap().1["usageMetadata"];
            let line = app.upstream.bill().pop().unwrap();
            assert_eq!(
                usage["promptTokenCount"].as_u64(),
                Some(line.prompt_tokens),
                "{model}: {}",
                stream.text()
            );
        }
    })
    .await;
}

/// Two calls, their results, and the answer that follows; with ids and without, as the generations differ.
#[tokio::test]
async fn a_tool_loop_pairs_its_results() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let declared = json!([{"functionDeclarations": [{
            "name": "get_weather", "description": "Weather",
            "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}},
        }]}]);
        for upstream in UPSTREAMS {
            for stream in [false, true] {
                let model = format!("{upstream}parallel-tools");
                let mut body = Client::Gemini.body(&model, "How is the weather?");
                body["tools"] = declared.clone();
                let answer = Client::Gemini.send(&app, &model, stream, body.clone()).send().await.expect_status(200);
                let documents: Vec<Value> = match stream {
                    true => answer.named_events().into_iter().map(|(_, data)| data).collect(),
                    false => vec![answer.json()],
                };
                let parts = documents.iter().flat_map(|document| {
                    document["candidates"][0]["content"]["parts"].as_array().cloned().unwrap_or_default()
                });
                let parts: Vec<Value> = parts.filter(|part| part["functionCall"].is_object()).collect();
                let arguments: Vec<&Value> = parts.iter().map(|part| &part["functionCall"]["args"]).collect();
                assert_eq!(arguments, [&json!({"city": "Paris"}), &json!({"city": "Zürich"})], "{model} {stream}");
                let result = |(index, part): (usize, &Value)| {
                    let mut response = json!({"name": part["functionCall"]["name"], "response": {"result": format!("sun {index}")}});
                    if let Some(id) = part["functionCall"].get("id") {
                        response["id"] = id.clone();
                    }
                    json!({"functionResponse": response})
                };
                let results: Vec<Value> = parts.iter().enumerate().map(result).collect();
                let turns = body["contents"].as_array_mut().unwrap();
                turns.push(json!({"role": "model", "parts": parts}));
                turns.push(json!({"role": "user", "parts": results}));
                let answer = Client::Gemini.send(&app, &model, stream, body).send().await.expect_status(200);
                let text = Client::Gemini.text(&answer);
                assert!(text.starts_with("The tools said: "), "{model} {stream}: {text}");
                let (first, second) = (text.find("sun 0"), text.find("sun 1"));
                assert!(first.is_some() && first < second, "{model} {stream}: {text}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn geminis_ways_to_send_a_key() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let (_, key) = app.key(json!({"name": "client"})).await;
        let model = format!("{NATIVE}text");
        let body = Client::Gemini.body(&model, "hi");
        for stream in [false, true] {
            let path = Client::Gemini.path(&model, stream);
            let joined = if path.contains('?') { '&' } else { '?' };
            let call = app.post(format!("{path}{joined}key={key}"), body.clone()).anonymous();
            call.send().await.expect_status(200);
            app.post(&path, body.clone())
                .anonymous()
                .header("x-goog-api-key", &key)
                .send()
                .await
                .expect_status(200);
            assert_eq!(
                app.post(format!("{path}{joined}key=wrong"), body.clone()).anonymous().send().await.status,
                401
            );
            assert_eq!(app.post(&path, body.clone()).anonymous().send().await.status, 401);
        }
        for request in app.upstream.requests() {
            assert_eq!(request.header("x-goog-api-key"), Some(UPSTREAM_KEY));
            let shown = format!("{request:?}");
            assert!(!shown.contains(&key) && !shown.contains(MASTER), "{shown}");
        }
        assert_eq!(app.upstream.requests().len(), 4);
    })
    .await;
}

#[tokio::test]
async fn unknown_models_and_methods_answer_404() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let body = Client::Gemini.body("", "hi");
        for call in ["gemini/x:embedContents", "gemini/x:generateContents", "gemini/x", "gemini/x:", "%FF"] {
            for version in ["v1beta", "v1"] {
                let answer = app.post(format!("/{version}/models/{call}"), body.clone()).send().await;
                assert_eq!((answer.status, &*answer.google_error().0), (404, "not_found"), "{call}");
            }
        }
        app.refresher.discover_one(None, "gemini").await;
        for method in ["generateContent", "streamGenerateContent", "countTokens"] {
            let path = format!("/v1beta/models/gemini/nothing-like-it:{method}");
            let refused = app.post(path, body.clone()).send().await;
            assert_eq!((refused.status, &*refused.google_error().0), (404, "model_not_found"), "{method}");
        }
        app.upstream.requests().iter().for_each(|request| assert_eq!(request.method, "GET"));
    })
    .await;
}

#[tokio::test]
async fn tokens_are_counted_on_any_provider() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let body = Client::Gemini.body("", "one two three four five six");
        for upstream in UPSTREAMS {
            let path = format!("/v1beta/models/{upstream}text:countTokens");
            let counted = app.post(path, body.clone()).send().await.expect_status(200).json();
            let tokens = counted["totalTokens"].as_u64().unwrap_or_else(|| panic!("{counted}"));
            assert!((6..60).contains(&tokens), "{upstream}: {counted}");
        }
        assert!(app.upstream.bill().is_empty(), "counting generates nothing");
    })
    .await;
}

#[tokio::test]
async fn refusals_have_googles_shape() {
    let settings = || {
        let mut settings = TestSettings::every_dialect();
        settings.policy.body_limit = 64 * 1024;
        settings
    };
    app::each_with(settings, async |app| {
        let (_, nothing) = app.key(json!({"name": "a", "allowed_models": []})).await;
        let (_, limited) = app.key(json!({"name": "b", "rate_limits": {"requests_per_minute": 1}})).await;
        let model = format!("{NATIVE}text");
        let ask = || Client::Gemini.ask(&app, &model, false);
        let path = Client::Gemini.path(&model, false);
        ask().key(&limited).send().await.expect_status(200);
        for (call, status, code, name) in [
            (ask().key("wrong"), 401, "invalid_api_key", "UNAUTHENTICATED"),
            (ask().anonymous(), 401, "missing_api_key", "UNAUTHENTICATED"),
            (ask().key(&nothing), 403, "key_model_access_denied", "PERMISSION_DENIED"),
            (ask().key(&limited), 429, "rate_limit_exceeded", "RESOURCE_EXHAUSTED"),
            (app.post(&path, json!({})).body("{"), 400, "invalid_json", "INVALID_ARGUMENT"),
            (
                app.post(&path, json!({})).body(vec![b' '; 70_000]),
                413,
                "request_too_large",
                "INVALID_ARGUMENT",
            ),
            (app.call(http::Method::DELETE, &path), 405, "method_not_allowed", "INVALID_ARGUMENT"),
            (app.get("/v1beta/nothing"), 404, "not_found", "NOT_FOUND"),
            (app.get("/v1beta/models").key("wrong"), 401, "invalid_api_key", "UNAUTHENTICATED"),
            (app.get("/v1beta/models?pageSize=x"), 400, "invalid_parameter", "INVALID_ARGUMENT"),
            (app.get("/v1beta/models/gemini/%FF"), 404, "not_found", "NOT_FOUND"),
        ] {
            let answer = call.send().await;
            assert_eq!((answer.status, &*answer.google_error().0), (status, code), "{}", answer.text());
            assert_eq!(answer.json()["error"]["status"], name, "{}", answer.text());
        }
        let waits = ask().key(&limited).send().await.json()["error"]["details"][1].clone();
        assert_eq!(waits["@type"], "type.googleapis.com/google.rpc.RetryInfo", "{waits}");
        assert!(waits["retryDelay"].as_str().is_some_and(|delay| delay.ends_with('s')), "{waits}");
    })
    .await;
}

#[tokio::test]
async fn models_are_listed_in_googles_shape() {
    app::each_with(TestSettings::every_dialect, async |app| {
        app.refresher.discover_one(None, "gemini").await;
        app.refresher.discover_one(None, "openai").await;
        let alias = json!({"name": "fast", "target": "gemini/gemini-2.5-flash~echo"});
        app.put("/admin/api/v1/aliases/fast", alias).send().await.expect_status(201);
        let known = json!({"enabled": true, "metadata": {"context_window": 1000}});
        let target = "/admin/api/v1/model-overrides/gemini%2Fgemini-2.5-flash~echo";
        app.put(target, known).send().await.expect_status(201);
        let listed = app.get("/v1beta/models").send().await.expect_status(200).json();
        let models = listed["models"].as_array().unwrap().clone();
        let openai = app.get("/v1/models").send().await.json();
        let expected: Vec<String> = openai["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|model| format!("models/{}", model["id"].as_str().unwrap()))
            .collect();
        let names: Vec<&str> = models.iter().map(|model| model["name"].as_str().unwrap()).collect();
        assert_eq!(names, expected);
        assert_eq!(listed.get("nextPageToken"), None);
        let fast = app.get("/v1beta/models/fast").send().await.expect_status(200).json();
        assert_eq!(fast["name"], "models/fast");
        assert!(
            fast["supportedGenerationMethods"].as_array().unwrap().contains(&json!("generateContent")),
            "{fast}"
        );
        assert_eq!(fast["inputTokenLimit"], 1000, "{fast}");
        // Page by page it is the same list.
        let (mut paged, mut token) = (Vec::new(), String::new());
        loop {
            let page = app
                .get(format!("/v1beta/models?pageSize=3&pageToken={token}"))
                .send()
                .await
                .expect_status(200)
                .json();
            let found = page["models"].as_array().unwrap();
            assert!(!found.is_empty() && found.len() <= 3, "{page}");
            paged.extend(found.iter().cloned());
            match page["nextPageToken"].as_str() {
                Some(next) => token = next.to_owned(),
                None => break,
            }
        }
        assert_eq!(paged, models);
        // What a key may not use does not exist for it.
        let (_, key) = app.key(json!({"name": "one", "allowed_models": ["gemini/gemini-2.5-flash"]})).await;
        let own = app.get("/v1beta/models").key(&key).send().await.expect_status(200).json();
        assert!(own["models"].as_array().unwrap().len() < models.len(), "{own}");
        let other = app.get("/v1beta/models/openai/gpt-4o").key(&key).send().await;
        assert_eq!((other.status, &*other.google_error().0), (404, "model_not_found"));
    })
    .await;
}

#[tokio::test]
async fn texts_are_embedded_on_any_provider_that_can() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let content = |text: &str| json!({"parts": [{"text": text}]});
        let single = json!({"content": content("one two"), "taskType": "RETRIEVAL_QUERY", "outputDimensionality": 4});
        let batch = json!({"requests": [{"model": "models/x", "content": content("one two")}, {"content": content("three")}]});
        for (number, model) in ["openai/text", "gemini/text", "azure/text", "ollama/text"].into_iter().enumerate() {
            let answer = app.post(format!("/v1beta/models/{model}:embedContent"), single.clone()).send().await.expect_status(200);
            let values = answer.json()["embedding"]["values"].clone();
            assert!(values.as_array().is_some_and(|values| values.iter().all(Value::is_number) && !values.is_empty()), "{model}: {values}");
            assert_eq!(answer.header("x-gateway-dropped-params"), Some("taskType"), "{model}");
            let sent: Value = serde_json::from_slice(&app.upstream.requests().pop().unwrap().body).unwrap();
            assert_eq!((&sent["input"], &sent["dimensions"]), (&json!(["one two"]), &json!(4)), "{model}");
            let answer = app.post(format!("/v1beta/models/{model}:batchEmbedContents"), batch.clone()).send().await.expect_status(200);
            assert_eq!(answer.json()["embeddings"].as_array().map(Vec::len), Some(2), "{model}: {}", answer.text());
            assert_eq!(answer.header("x-gateway-dropped-params"), None);
            let rows = app.receipts(2 * number + 2).await;
            let line = app.upstream.bill().pop().unwrap();
            let row = rows.last().unwrap();
            assert_eq!((&row["input_tokens"], &row["estimated"]), (&json!(line.prompt_tokens), &json!(false)), "{row:#}");
        }
        for (path, body, status, code, param) in [
            ("openai/text:embedContent", json!({}), 400, "invalid_parameter", Some("content")),
            ("openai/text:batchEmbedContents", json!({"requests": [{}]}), 400, "invalid_parameter", Some("requests")),
            ("anthropic/claude-sonnet-4-5~text:embedContent", single, 501, "unsupported_operation", None),
        ] {
            let answer = app.post(format!("/v1beta/models/{path}"), body).send().await;
            let (found, place) = answer.google_error();
            assert_eq!((answer.status, &*found, place.as_deref()), (status, code, param), "{}", answer.text());
        }
    })
    .await;
}
