//! Tests of `/v1/responses`: created on any provider, stored, retrieved, listed, continued, deleted.

mod ownership;
mod streams;
mod turns;
mod utilities;

use std::time::Duration;

use pipeline::policy::Policy;
use serde_json::{Value, json};

use crate::app::{self, TestApp, TestSettings, UPSTREAMS, input};

const PATH: &str = "/v1/responses";
const ANTHROPIC: &str = "anthropic/claude-sonnet-4-5~";
const OPENAI: &str = "openai/gpt-4.1~";

/// Creates a stored response with that model.
async fn create(app: &TestApp, model: &str, text: &str) -> Value {
    app.post(PATH, input(model, text)).send().await.expect_status(200).json()
}

fn id(response: &Value) -> &str {
    response["id"].as_str().unwrap_or_else(|| panic!("no id: {response}"))
}

async fn refused(app: &TestApp, body: Value) -> (u16, Option<String>) {
    let (status, _, param) = app.post(PATH, body).refusal().await;
    (status, param)
}

#[track_caller]
fn check_shape(response: &Value, model: &str) {
    assert!(!id(response).is_empty());
    assert_eq!((&response["object"], &response["status"]), (&json!("response"), &json!("completed")));
    assert_eq!(response["model"], model, "{response:#}");
    assert!(response["created_at"].is_u64(), "{response:#}");
    for field in ["parallel_tool_calls", "tool_choice", "tools"] {
        assert!(!response[field].is_null(), "'{field}' in {response:#}");
    }
    let message = response["output"].as_array().unwrap().last().unwrap();
    assert_eq!((&message["type"], &message["role"]), (&json!("message"), &json!("assistant")));
    let part = &message["content"][0];
    let said = "Hello from the upstream. You said: How are you?";
    assert_eq!((&part["type"], &part["text"]), (&json!("output_text"), &json!(said)));
    let count = |name: &str| response["usage"][name].as_u64().unwrap_or_else(|| panic!("{response:#}"));
    assert_eq!(count("total_tokens"), count("input_tokens") + count("output_tokens"));
    assert!(count("input_tokens") > 0 && count("output_tokens") > 0);
}

#[tokio::test]
async fn a_response_is_read_back_at_once_and_after_a_restart() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let mut made = Vec::new();
        for upstream in UPSTREAMS {
            let model = format!("{upstream}text");
            let answer = app.post(PATH, input(&model, "How are you?")).send().await.expect_status(200);
            assert_eq!(answer.header("x-gateway-model"), Some(&*model));
            assert_eq!(answer.header("x-gateway-provider"), model.split('/').next());
            let response = answer.json();
            check_shape(&response, &model);
            let read = app.get(format!("{PATH}/{}", id(&response))).send().await.expect_status(200);
            assert_eq!(read.header("content-type"), Some("application/json"));
            assert_eq!(read.json(), response, "{model}");
            made.push(response);
        }
        let neighbour = app.restart().await;
        for response in made {
            let path = format!("{PATH}/{}", id(&response));
            assert_eq!(neighbour.get(&path).send().await.expect_status(200).json(), response);
            let items = neighbour.get(format!("{path}/input_items")).send().await.expect_status(200).json();
            assert_eq!(items["data"][0]["content"][0]["text"], "How are you?");
            let mut next = input(&format!("{ANTHROPIC}text"), "And now?");
            next["previous_response_id"] = response["id"].clone();
            neighbour.post(PATH, next).send().await.expect_status(200);
            assert!(
                app.last_upstream_request().contains("You said: How are you?"),
                "{}",
                app.last_upstream_request()
            );
        }
    })
    .await;
}

#[tokio::test]
async fn another_replica_has_it_within_a_second() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let neighbour = app.neighbour().await;
        let response = create(&app, &format!("{ANTHROPIC}text"), "How are you?").await;
        let made = tokio::time::Instant::now();
        loop {
            let answer = neighbour.get(format!("{PATH}/{}", id(&response))).send().await;
            if answer.status == 200 {
                assert_eq!(answer.json(), response);
                break;
            }
            assert!(made.elapsed() < Duration::from_secs(1), "{}", answer.text());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_native_request_keeps_every_byte_but_its_model() {
    app::each(async |app| {
        let body = r#"{ "model":"openai/text", "x_new":{"b":1,"a":[0.10]}, "input":[{"role":"user","content":"caf\u00e9"}],"store":true, "metadata":{"k":"v"},"truncation":"auto","include":[ ] }"#;
        let said = r#"{"id":"resp_exact","object":"response","created_at":1,"status":"completed","model":"text","output":[],"x_extra":[1.50],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}"#;
        app.upstream.push(testkit::FaultScript::status(200, "application/json", said));
        let answer = app.post(PATH, json!({})).body(body).send().await.expect_status(200);
        let sent = String::from_utf8(app.upstream.requests()[0].body.clone()).unwrap();
        assert_eq!(sent, body.replace("openai/text", "text"));
        assert!(answer.text().contains(r#""x_extra":[1.50]"#), "{}", answer.text());
        assert_eq!(answer.json()["model"], "openai/text");
    })
    .await;
}

#[tokio::test]
async fn input_items_come_as_they_were_sent() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for upstream in [OPENAI, ANTHROPIC] {
            let model = format!("{upstream}text");
            let response = create(&app, &model, "How are you?").await;
            let list = app.get(format!("{PATH}/{}/input_items", id(&response))).send().await;
            let list = list.expect_status(200).json();
            let normalised = json!([{
                "type": "message", "role": "user", "content": [{"type": "input_text", "text": "How are you?"}],
            }]);
            assert_eq!((&list["object"], &list["data"]), (&json!("list"), &normalised), "{model}");
            assert_eq!(list["has_more"], false);
            assert!(list["first_id"].is_string() && list["first_id"] == list["last_id"], "{list:#}");

            let items = json!([
                {"role": "user", "content": "first"},
                {"content": [{"text": "second", "type": "input_text"}], "role": "user", "type": "message"},
                {"type": "message", "id": "msg_mine", "role": "user", "content": "third"},
            ]);
            let response = app.post(PATH, input(&model, items.clone())).send().await.expect_status(200).json();
            let list = app.get(format!("{PATH}/{}/input_items", id(&response))).send().await.json();
            assert_eq!(list["data"], items, "{model}");
            assert_eq!(list["last_id"], "msg_mine");
        }
    })
    .await;
}

#[tokio::test]
async fn input_items_are_paged() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let items: Vec<Value> =
            (0..5).map(|index| json!({"role": "user", "content": format!("item {index}")})).collect();
        let body = input(&format!("{ANTHROPIC}text"), items.clone());
        let response = app.post(PATH, body).send().await.expect_status(200).json();
        let path = format!("{PATH}/{}/input_items", id(&response));
        let page = async |query: &str| {
            let list = app.get(format!("{path}?{query}")).send().await.expect_status(200).json();
            (list["data"].as_array().unwrap().clone(), list["last_id"].clone(), list["has_more"].clone())
        };
        let (all, _, more) = page("order=asc").await;
        assert_eq!((all.as_slice(), more), (items.as_slice(), json!(false)));
        let (first, last, more) = page("limit=2").await;
        assert_eq!((first.as_slice(), more), (&items[..2], json!(true)));
        let (second, last, _) = page(&format!("limit=2&after={}", last.as_str().unwrap())).await;
        assert_eq!(second, items[2..4]);
        let (third, _, more) = page(&format!("limit=2&after={}", last.as_str().unwrap())).await;
        assert_eq!((third.as_slice(), more), (&items[4..], json!(false)));
        let (backwards, last, more) = page("order=desc&limit=3").await;
        let reversed: Vec<Value> = items.iter().rev().cloned().collect();
        assert_eq!((backwards.as_slice(), more), (&reversed[..3], json!(true)));
        let (rest, ..) = page(&format!("order=desc&after={}", last.as_str().unwrap())).await;
        assert_eq!(rest, reversed[3..]);
        for (query, param) in [
            ("limit=0", "limit"),
            ("limit=101", "limit"),
            ("limit=x", "limit"),
            ("order=up", "order"),
            ("after=nothing", "after"),
        ] {
            let (status, _, found) = app.get(format!("{path}?{query}")).refusal().await;
            assert_eq!((status, found.as_deref()), (400, Some(param)), "{query}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_deleted_response_is_gone() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for upstream in [OPENAI, ANTHROPIC] {
            let model = format!("{upstream}text");
            let response = create(&app, &model, "How are you?").await;
            let path = format!("{PATH}/{}", id(&response));
            let deleted = app.call(http::Method::DELETE, &path).send().await.expect_status(200).json();
            assert_eq!(deleted, json!({"id": id(&response), "object": "response", "deleted": true}));
            for call in [
                app.get(&path),
                app.call(http::Method::DELETE, &path),
                app.get(format!("{path}/input_items")),
                app.post(format!("{path}/cancel"), json!({})),
            ] {
                assert_eq!(call.refusal().await.0, 404, "{model}");
            }
        }
        let deletions = async || {
            let requests = app.upstream.requests();
            requests.into_iter().filter(|request| request.method == "DELETE").collect::<Vec<_>>()
        };
        let begun = tokio::time::Instant::now();
        while deletions().await.is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(5), "the provider that can was not told");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let deletions = deletions().await;
        assert!(
            deletions.len() == 1 && deletions[0].path.starts_with("/v1/responses/resp_"),
            "{deletions:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn unstored_responses_are_not_kept() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for upstream in [OPENAI, ANTHROPIC] {
            let model = format!("{upstream}text");
            let mut body = input(&model, "How are you?");
            body["store"] = json!(false);
            let response = app.post(PATH, body).send().await.expect_status(200).json();
            let path = format!("{PATH}/{}", id(&response));
            assert_eq!(app.get(&path).refusal().await.0, 404, "{model}");
            assert_eq!(app.get(format!("{path}/input_items")).refusal().await.0, 404, "{model}");
            let mut next = input(&model, "And now?");
            next["previous_response_id"] = response["id"].clone();
            let expected = (404, Some("previous_response_id".to_owned()));
            assert_eq!(refused(&app, next).await, expected, "{model}");
        }
        let sent = app.upstream.requests();
        assert_eq!(sent.len(), 2, "a turn that follows nothing is not sent on");
        assert_eq!(serde_json::from_slice::<Value>(&sent[0].body).unwrap()["store"], false);
    })
    .await;
}

#[tokio::test]
async fn a_response_that_was_cut_short_is_incomplete() {
    app::each_with(TestSettings::every_dialect, async |app| {
        for upstream in UPSTREAMS {
            let mut body = input(&format!("{upstream}max-tokens"), "How are you?");
            body["max_output_tokens"] = json!(16);
            let response = app.post(PATH, body).send().await.expect_status(200).json();
            assert_eq!(response["status"], "incomplete", "{upstream}");
            assert_eq!(response["incomplete_details"]["reason"], "max_output_tokens", "{upstream}");
            let read = app.get(format!("{PATH}/{}", id(&response))).send().await.expect_status(200).json();
            assert_eq!(read, response);
        }
    })
    .await;
}

#[tokio::test]
async fn a_response_expires() {
    let settings = || TestSettings {
        policy: Policy { response_ttl: Duration::from_secs(3600), ..Policy::default() },
        ..TestSettings::every_dialect()
    };
    app::each_with(settings, async |app| {
        let model = format!("{ANTHROPIC}text");
        let response = create(&app, &model, "How are you?").await;
        let path = format!("{PATH}/{}", id(&response));
        app.clock.advance(Duration::from_secs(3500));
        app.get(&path).send().await.expect_status(200);
        app.clock.advance(Duration::from_secs(101));
        assert_eq!(app.get(&path).refusal().await.0, 404);
        let mut next = input(&model, "And now?");
        next["previous_response_id"] = response["id"].clone();
        let (_, key) = app.key(json!({"name": "a"})).await;
        let (status, _, param) = app.post(PATH, next).key(&key).refusal().await;
        assert_eq!((status, param.as_deref()), (404, Some("previous_response_id")));
        let neighbour = app.restart().await;
        assert_eq!(neighbour.get(&path).refusal().await.0, 404);
    })
    .await;
}
