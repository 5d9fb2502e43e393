//! Tests of `GET /v1/responses` as a WebSocket: the same events, one message each.

use std::time::Duration;

use serde_json::{Value, json};

use crate::app::{self, Line, MASTER, Socket, TestSettings, UPSTREAMS, input};

const MODEL: &str = "anthropic/claude-sonnet-4-5~text";

fn unstored(model: &str, text: &str) -> Value {
    let mut request = input(model, text);
    request["store"] = json!(false);
    request
}

fn types(events: &[Value]) -> Vec<&str> {
    let mut types: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    types.dedup();
    types
}

#[track_caller]
fn response(events: &[Value]) -> &Value {
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.completed", "{events:#?}");
    &last["response"]
}

#[track_caller]
fn check_error(event: &Value, status: u16, code: Option<&str>, param: Option<&str>) {
    assert_eq!(
        (&event["type"], event["status"].as_u64()),
        (&json!("error"), Some(status.into())),
        "{event:#}"
    );
    app::check_envelope(event);
    let error = &event["error"];
    assert_eq!(error["param"].as_str(), param, "{event:#}");
    if let Some(code) = code {
        assert_eq!(error["code"], code, "{event:#}");
    }
}

#[tokio::test]
async fn the_handshake_wants_a_key_and_an_upgrade() {
    app::each(async |app| {
        let listening = app.listen().await;
        for headers in ["", "authorization: Bearer wrong\r\n"] {
            let (head, _) = Socket::handshake(listening.address, headers).await;
            assert!(head.starts_with("HTTP/1.1 401 "), "{head}");
        }
        let key = app.key_with(&["admin:read"]).await;
        let (head, _) = Socket::handshake(listening.address, &format!("authorization: Bearer {key}\r\n")).await;
        assert!(head.starts_with("HTTP/1.1 403 "), "{head}");
        let (head, _) = Socket::handshake(listening.address, &format!("x-api-key: {MASTER}\r\n")).await;
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        let mut line = Line::open(listening.address).await;
        line.send(format!("GET /v1/responses HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer {MASTER}\r\nconnection: close\r\n\r\n")).await;
        let received = line.receive_all().await;
        assert!(received.starts_with("HTTP/1.1 426 "), "{received}");
        assert!(received.to_lowercase().contains("\r\nupgrade: websocket\r\n"), "{received}");
        let (status, ..) = app.get("/v1/responses").refusal().await;
        assert_eq!(status, 426);
    })
    .await;
}

#[tokio::test]
async fn a_turn_on_every_provider() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let listening = app.listen().await;
        let mut socket = Socket::open(listening.address, MASTER).await;
        for upstream in UPSTREAMS {
            let model = format!("{upstream}text");
            let events = socket.ask(input(&model, "How are you?")).await;
            let expected = [
                "response.created",
                "response.in_progress",
                "response.output_item.added",
                "response.content_part.added",
                "response.output_text.delta",
                "response.output_text.done",
                "response.content_part.done",
                "response.output_item.done",
                "response.completed",
            ];
            assert_eq!(types(&events), expected, "{model}");
            assert!(model.ends_with(response(&events)["model"].as_str().unwrap()), "{model}");
            let numbers: Vec<u64> =
                events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
            assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
        }
        // As the realtime API nests it.
        let nested = json!({"type": "response.create", "response": input(MODEL, "How are you?")});
        socket.send(&nested).await;
        response(&socket.receive_all().await);
        let rows = app.receipts(UPSTREAMS.len() + 1).await;
        for (row, line) in rows.iter().zip(app.upstream.bill()) {
            assert_eq!((&row["endpoint"], &row["stream"]), (&json!("/v1/responses"), &json!(true)));
            assert_eq!(row["input_tokens"].as_u64(), Some(line.prompt_tokens), "{row:#}");
            assert_eq!(row["output_tokens"].as_u64(), Some(line.completion_tokens), "{row:#}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_connection_keeps_unstored_responses() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let listening = app.listen().await;
        for upstream in UPSTREAMS {
            let model = format!("{upstream}text");
            let mut socket = Socket::open(listening.address, MASTER).await;
            let first = socket.ask(unstored(&model, "My name is Ada.")).await;
            let mut next = unstored(&model, "What is my name?");
            next["previous_response_id"] = response(&first)["id"].clone();
            response(&socket.ask(next.clone()).await);
            let sent = app.last_upstream_request();
            for said in ["My name is Ada.", "You said: My name is Ada.", "What is my name?"] {
                assert!(sent.contains(said), "{model}: {sent}");
            }
            // Nobody else has it: not even another connection of the same caller.
            let mut other = Socket::open(listening.address, MASTER).await;
            check_error(other.ask(next).await.last().unwrap(), 404, None, Some("previous_response_id"));
        }
    })
    .await;
}

/// As Codex does it: nothing is stored, and only what is new is sent.
#[tokio::test]
async fn a_tool_loop_within_the_connection() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let listening = app.listen().await;
        let tool = json!({"type": "function", "name": "get_weather", "strict": false,
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}});
        for upstream in UPSTREAMS {
            let mut socket = Socket::open(listening.address, MASTER).await;
            let mut request = unstored(&format!("{upstream}parallel-tools"), "How is the weather?");
            request["tools"] = json!([tool]);
            request["include"] = json!(["reasoning.encrypted_content"]);
            let first = socket.ask(request.clone()).await;
            let output = response(&first)["output"].as_array().unwrap().iter();
            let results = output.filter(|item| item["type"] == "function_call").map(
                |call| json!({"type": "function_call_output", "call_id": call["call_id"], "output": "sun"}),
            );
            request["input"] = results.collect();
            request["previous_response_id"] = response(&first)["id"].clone();
            let second = socket.ask(request).await;
            let last = response(&second)["output"].as_array().unwrap().last().unwrap();
            let text = last["content"][0]["text"].as_str().unwrap_or_default();
            assert!(
                text.starts_with("The tools said: ") && text.matches("sun").count() == 2,
                "{upstream}: {last}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn stored_responses_continue_over_http_and_websocket() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let listening = app.listen().await;
        let (_, key) = app.key(json!({"name": "a"})).await;
        let mut socket = Socket::open(listening.address, &key).await;
        let first = socket.ask(input(MODEL, "My name is Ada.")).await;
        let mut next = input(MODEL, "What is my name?");
        next["previous_response_id"] = response(&first)["id"].clone();
        let second = app.post("/v1/responses", next.clone()).key(&key).send().await.expect_status(200).json();
        assert!(app.last_upstream_request().contains("My name is Ada."));
        next["previous_response_id"] = second["id"].clone();
        response(&socket.ask(next.clone()).await);
        assert!(app.last_upstream_request().contains("My name is Ada."));
        let (_, other) = app.key(json!({"name": "b"})).await;
        let mut stranger = Socket::open(listening.address, &other).await;
        check_error(&stranger.ask(next).await[0], 404, None, Some("previous_response_id"));
    })
    .await;
}

#[tokio::test]
async fn a_warm_up_sends_no_request() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let listening = app.listen().await;
        let mut socket = Socket::open(listening.address, MASTER).await;
        let mut warm = unstored(MODEL, "My name is Ada.");
        warm["generate"] = json!(false);
        let events = socket.ask(warm).await;
        assert_eq!(types(&events), ["response.created", "response.completed"]);
        assert_eq!(response(&events)["output"], json!([]));
        assert!(app.upstream.requests().is_empty());
        let mut next = unstored(MODEL, "What is my name?");
        next["previous_response_id"] = response(&events)["id"].clone();
        response(&socket.ask(next).await);
        let sent = app.last_upstream_request();
        assert!(sent.contains("My name is Ada.") && !sent.contains("generate"), "{sent}");
    })
    .await;
}

#[tokio::test]
async fn a_bad_message_gets_an_error_and_the_connection_stays_open() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let listening = app.listen().await;
        let mut socket = Socket::open(listening.address, MASTER).await;
        for (text, status, code, param) in [
            ("hello", 400, "invalid_json", None),
            ("[]", 400, "invalid_json", None),
            (r#"{"type":"session.update"}"#, 400, "invalid_parameter", Some("type")),
            (r#"{"model":"x","input":"hi"}"#, 400, "invalid_parameter", Some("type")),
            (r#"{"type":"response.create","input":"hi"}"#, 400, "model_required", Some("model")),
            (
                r#"{"type":"response.create","model":"nowhere/x","input":5}"#,
                400,
                "invalid_parameter",
                Some("input"),
            ),
        ] {
            socket.send_text(text).await;
            check_error(&socket.receive().await.unwrap(), status, Some(code), param);
        }
        let refused = socket.ask(input("anthropic/claude-sonnet-4-5~error-429", "hi")).await;
        check_error(&refused[0], 429, None, None);
        let mut odd = input(MODEL, json!([{"type": "message", "role": "wizard", "content": "hi"}]));
        odd["store"] = json!(false);
        check_error(&socket.ask(odd).await[0], 400, None, Some("input[0].role"));
        response(&socket.ask(input(MODEL, "How are you?")).await);
    })
    .await;
}

#[tokio::test]
async fn a_turn_that_breaks_off_ends_in_an_error() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let listening = app.listen().await;
        let mut socket = Socket::open(listening.address, MASTER).await;
        for upstream in UPSTREAMS {
            let events = socket.ask(input(&format!("{upstream}cut-mid-stream"), "How are you?")).await;
            let [.., failed, error] = events.as_slice() else { panic!("{events:#?}") };
            assert_eq!(
                (&failed["type"], &failed["response"]["status"]),
                (&json!("response.failed"), &json!("failed"))
            );
            app::check_envelope(error);
            assert_eq!(error["type"], "error");
        }
        response(&socket.ask(input(MODEL, "How are you?")).await);
    })
    .await;
}

#[tokio::test]
async fn a_client_that_leaves_stops_the_provider() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let listening = app.listen().await;
        let mut socket = Socket::open(listening.address, MASTER).await;
        let mut request = input("anthropic/claude-sonnet-4-5~hang-mid-stream", "How are you?");
        request["type"] = json!("response.create");
        socket.send(&request).await;
        while socket.receive().await.unwrap()["type"] != "response.output_text.delta" {}
        socket.close().await;
        let rows = app.receipts(1).await;
        assert_eq!(
            (&rows[0]["status_code"], &rows[0]["estimated"]),
            (&json!(499), &json!(true)),
            "{:#}",
            rows[0]
        );
        let begun = tokio::time::Instant::now();
        while !app.upstream.bill()[0].cancelled {
            assert!(begun.elapsed() < Duration::from_secs(2), "the provider goes on");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}
