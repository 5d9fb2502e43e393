//! `/v1beta/models/{model}:generateContent` and its like: Gemini's API on any provider.

use serde_json::{Value, json};
use testkit::Script;

use crate::house::{self, Client, MASTER, UPSTREAM_KEY, UPSTREAMS, Wishes};

const NATIVE: &str = "gemini/gemini-2.5-flash~";

#[tokio::test]
async fn gemini_gets_every_byte_and_so_does_its_client() {
    house::each_with(Wishes::every_dialect, async |house| {
        let body = "{ \"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"caf\\u00e9\"}]}],\t\"x_new\": {\"b\":1,\"a\":[0.10]} }";
        let said = r#"{"candidates":[{"content":{"parts":[{"text":"hi","x":1.50}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4,"totalTokenCount":7},"modelVersion":"m"}"#;
        house.upstream.push(Script::status(200, "application/json", said));
        let path = Client::Generate.path("gemini/gemini-next", false);
        let answer = house.post(path, json!({})).body(body).send().await.expect_status(200);
        assert_eq!(answer.text(), said);
        assert_eq!(answer.header("x-gateway-model"), Some("gemini/gemini-next"));
        let request = &house.upstream.requests()[0];
        assert_eq!(String::from_utf8(request.body.clone()).unwrap(), body);
        assert_eq!(request.path, "/v1beta/models/gemini-next:generateContent");
        let row = &house.receipts(1).await[0];
        assert_eq!((&row["input_tokens"], &row["output_tokens"]), (&json!(3), &json!(4)));
    })
    .await;
}

#[tokio::test]
async fn a_native_stream_passes_as_it_is() {
    house::each_with(Wishes::every_dialect, async |house| {
        let parts = [
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"caf\\u00e9\"}],\"role\":\"model\"}}],\"x\":[1.50]}\r\n\r\n",
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"!\"}],\"role\":\"model\"},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":3,\"candidatesTokenCount\":2,\"totalTokenCount\":5}}\r\n\r\n",
        ];
        house.upstream.push(Script::stream(parts));
        let answer = Client::Generate.ask(&house, &format!("{NATIVE}text"), true).send().await.expect_status(200);
        assert_eq!(answer.text(), parts.concat());
        let row = &house.receipts(1).await[0];
        assert_eq!((&row["output_tokens"], &row["estimated"]), (&json!(2), &json!(false)), "{row:#}");
    })
    .await;
}

#[tokio::test]
async fn every_provider_generates_content() {
    house::each_with(Wishes::every_dialect, async |house| {
        for upstream in UPSTREAMS {
            let model = format!("{upstream}text");
            let mut body = Client::Generate.body(&model, "How are you today?");
            body["systemInstruction"] = json!({"parts": [{"text": "Be brief."}]});
            let whole = Client::Generate.send(&house, &model, false, body).send().await.expect_status(200);
            let said = whole.json();
            assert_eq!(
                Client::Generate.text(&whole),
                "Hello from the upstream. You said: How are you today?"
            );
            assert_eq!(said["candidates"][0]["content"]["role"], "model", "{said:#}");
            assert_eq!(said["candidates"][0]["finishReason"], "STOP", "{said:#}");
            let count = |name: &str| said["usageMetadata"][name].as_u64().unwrap_or_default();
            let line = house.upstream.bill().pop().unwrap();
            assert_eq!(count("promptTokenCount"), line.prompt_tokens, "{said:#}");
            assert_eq!(count("candidatesTokenCount"), line.completion_tokens, "{said:#}");
            assert_eq!(count("totalTokenCount"), line.prompt_tokens + line.completion_tokens, "{said:#}");
            assert!(said["modelVersion"].is_string() && said["responseId"].is_string(), "{said:#}");
            let sent = house.upstream.requests().pop().unwrap();
            assert!(String::from_utf8_lossy(&sent.body).contains("Be brief."), "{model}");

            let stream = Client::Generate.ask(&house, &model, true).send().await.expect_status(200);
            assert_eq!(stream.header("content-type"), Some("text/event-stream"));
            assert_eq!(
                Client::Generate.text(&stream),
                "Hello from the upstream. You said: How are you today?"
            );
            Client::Generate.check_end(&stream);
            let events = stream.named_events();
            assert!(events.len() > 3, "{model} streams in pieces: {}", stream.text());
            let usage = &events.last().unwrap().1["usageMetadata"];
            let line = house.upstream.bill().pop().unwrap();
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
    house::each_with(Wishes::every_dialect, async |house| {
        let declared = json!([{"functionDeclarations": [{
            "name": "get_weather", "description": "Weather",
            "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}},
        }]}]);
        for upstream in UPSTREAMS {
            for stream in [false, true] {
                let model = format!("{upstream}parallel-tools");
                let mut body = Client::Generate.body(&model, "How is the weather?");
                body["tools"] = declared.clone();
                let answer = Client::Generate.send(&house, &model, stream, body.clone()).send().await.expect_status(200);
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
                let answer = Client::Generate.send(&house, &model, stream, body).send().await.expect_status(200);
                let text = Client::Generate.text(&answer);
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
    house::each_with(Wishes::every_dialect, async |house| {
        let (_, key) = house.key(json!({"name": "client"})).await;
        let model = format!("{NATIVE}text");
        let body = Client::Generate.body(&model, "hi");
        for stream in [false, true] {
            let path = Client::Generate.path(&model, stream);
            let joined = if path.contains('?') { '&' } else { '?' };
            let call = house.post(format!("{path}{joined}key={key}"), body.clone()).anonymous();
            call.send().await.expect_status(200);
            house
                .post(&path, body.clone())
                .anonymous()
                .header("x-goog-api-key", &key)
                .send()
                .await
                .expect_status(200);
            assert_eq!(
                house.post(format!("{path}{joined}key=wrong"), body.clone()).anonymous().send().await.status,
                401
            );
            assert_eq!(house.post(&path, body.clone()).anonymous().send().await.status, 401);
        }
        for request in house.upstream.requests() {
            assert_eq!(request.header("x-goog-api-key"), Some(UPSTREAM_KEY));
            let shown = format!("{request:?}");
            assert!(!shown.contains(&key) && !shown.contains(MASTER), "{shown}");
        }
        assert_eq!(house.upstream.requests().len(), 4);
    })
    .await;
}

#[tokio::test]
async fn what_does_not_exist_is_not_found() {
    house::each_with(Wishes::every_dialect, async |house| {
        let body = Client::Generate.body("", "hi");
        for call in ["gemini/x:embedContent", "gemini/x:generateContents", "gemini/x", "gemini/x:"] {
            let (status, ..) = house.post(format!("/v1beta/models/{call}"), body.clone()).refusal().await;
            assert_eq!(status, 404, "{call}");
        }
        house.refresher.discover_one("gemini").await;
        let refused =
            house.post("/v1beta/models/gemini/nothing-like-it:generateContent", body).refusal().await;
        assert_eq!((refused.0, &*refused.1), (404, "model_not_found"));
        house.upstream.requests().iter().for_each(|request| assert_eq!(request.method, "GET"));
    })
    .await;
}

#[tokio::test]
async fn tokens_are_counted_on_any_provider() {
    house::each_with(Wishes::every_dialect, async |house| {
        let body = Client::Generate.body("", "one two three four five six");
        for upstream in UPSTREAMS {
            let path = format!("/v1beta/models/{upstream}text:countTokens");
            let counted = house.post(path, body.clone()).send().await.expect_status(200).json();
            let tokens = counted["totalTokens"].as_u64().unwrap_or_else(|| panic!("{counted}"));
            assert!((6..60).contains(&tokens), "{upstream}: {counted}");
        }
        assert!(house.upstream.bill().is_empty(), "counting generates nothing");
    })
    .await;
}
