//! Tests of the ownership of responses: visible to their key, their user path and admins only.

use http::Method;
use serde_json::{Value, json};

use super::{ANTHROPIC, OPENAI, PATH, id};
use crate::app::{self, Call, Line, TestApp, TestSettings, UPSTREAM_KEY, input};

/// The statuses of all requests about a response, sent by the caller that `as_caller` sets.
async fn statuses(app: &TestApp, id: &Value, as_caller: impl Fn(Call<'_>) -> Call<'_>) -> Vec<u16> {
    let path = format!("{PATH}/{}", id.as_str().unwrap());
    let mut next = input(&format!("{ANTHROPIC}text"), "And now?");
    next["previous_response_id"] = id.clone();
    let mut found = Vec::new();
    for call in [
        app.get(&path),
        app.get(format!("{path}/input_items")),
        app.post(format!("{path}/cancel"), json!({})),
        app.post(PATH, next),
        app.call(Method::DELETE, &path),
    ] {
        found.push(as_caller(call).send().await.status);
    }
    found
}

#[tokio::test]
async fn responses_are_hidden_from_other_keys() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let (_, mine) = app.key(json!({"name": "mine"})).await;
        let (_, theirs) = app.key(json!({"name": "theirs"})).await;
        for (upstream, stream) in [(OPENAI, false), (ANTHROPIC, false), (OPENAI, true), (ANTHROPIC, true)] {
            let mut body = input(&format!("{upstream}text"), "How are you?");
            body["stream"] = json!(stream);
            let answer = app.post(PATH, body).key(&mine).send().await.expect_status(200);
            let id = match stream {
                true => answer.named_events().last().unwrap().1["response"]["id"].clone(),
                false => answer.json()["id"].clone(),
            };
            let other_key = statuses(&app, &id, |call| call.key(&theirs)).await;
            assert_eq!(other_key, [404; 5], "{upstream} {stream}");
            let other_path =
                statuses(&app, &id, |call| call.key(&mine).header("x-gateway-user-path", "/else")).await;
            assert_eq!(other_path, [404; 5], "{upstream} {stream}");
            let named = format!("{PATH}/{}?provider=openai", id.as_str().unwrap());
            assert_eq!(app.get(named).key(&theirs).refusal().await.0, 404);
            let own = statuses(&app, &id, |call| call.key(&mine)).await;
            assert_eq!((own[3], own[4]), (200, 200), "{upstream} {stream}: {own:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_refusal_does_not_reveal_existence() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let (_, mine) = app.key(json!({"name": "mine"})).await;
        let (_, theirs) = app.key(json!({"name": "theirs"})).await;
        let made = app.post(PATH, input(&format!("{ANTHROPIC}text"), "hi")).key(&mine).send().await.json();
        let mut absent = id(&made).to_owned();
        let last = absent.pop().unwrap();
        absent.push(if last == '0' { '1' } else { '0' });
        let shown = async |id: &str, method: Method, rest: &str| {
            let answer = app.call(method, format!("{PATH}/{id}{rest}")).key(&theirs).send().await;
            (answer.status, answer.text().replace(id, "ID"))
        };
        for (method, rest) in [
            (Method::GET, ""),
            (Method::GET, "/input_items"),
            (Method::POST, "/cancel"),
            (Method::DELETE, ""),
        ] {
            let foreign = shown(id(&made), method.clone(), rest).await;
            assert_eq!(foreign, shown(&absent, method, rest).await);
            assert_eq!(foreign.0, 404);
        }
    })
    .await;
}

#[tokio::test]
async fn admins_see_everybodys() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let (_, mine) = app.key(json!({"name": "mine", "user_path": "/team"})).await;
        let admin = app.key_with(&["inference", "admin:read"]).await;
        let made = app.post(PATH, input(&format!("{ANTHROPIC}text"), "hi")).key(&mine).send().await.json();
        for key in [&*admin, app::MASTER] {
            let path = format!("{PATH}/{}", id(&made));
            assert_eq!(app.get(&path).key(key).send().await.expect_status(200).json(), made);
            app.get(format!("{path}/input_items")).key(key).send().await.expect_status(200);
        }
        // A key without a path of its own is another caller again.
        let (_, other) = app.key(json!({"name": "other", "user_path": "/team"})).await;
        assert_eq!(app.get(format!("{PATH}/{}", id(&made))).key(&other).refusal().await.0, 404);
    })
    .await;
}

#[tokio::test]
async fn an_unknown_id_is_not_found() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let (_, key) = app.key(json!({"name": "a"})).await;
        for key in [&*key, app::MASTER] {
            for path in
                ["/v1/responses/resp_nothing", "/v1/responses/resp_nothing/input_items", "/v1/responses/%00"]
            {
                assert_eq!(app.get(path).key(key).refusal().await.0, 404, "{path}");
            }
            let call = app.post("/v1/responses/resp_nothing/cancel", json!({}));
            assert_eq!(call.key(key).refusal().await.0, 404);
            let call = app.call(Method::DELETE, "/v1/responses/resp_nothing");
            assert_eq!(call.key(key).refusal().await.0, 404);
        }
        let mut next = input(&format!("{ANTHROPIC}text"), "And now?");
        next["previous_response_id"] = json!("resp_nothing");
        for key in [&*key, app::MASTER] {
            let (status, _, param) = app.post(PATH, next.clone()).key(key).refusal().await;
            assert_eq!((status, param.as_deref()), (404, Some("previous_response_id")));
        }
        assert!(app.upstream.requests().is_empty(), "{:?}", app.upstream.requests());
    })
    .await;
}

/// Creates a response at the provider directly, unknown to the gateway.
async fn made_elsewhere(app: &TestApp) -> String {
    let mut line = Line::open(app.upstream.address()).await;
    let body = input("gpt-4.1~text", "How are you?").to_string();
    let length = body.len();
    line.send(format!(
        "POST /v1/responses HTTP/1.1\r\nhost: upstream\r\nauthorization: Bearer {UPSTREAM_KEY}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))
    .await;
    let received = line.receive_all().await;
    let (_, after) = received.split_once("\"id\":\"resp_").unwrap_or_else(|| panic!("{received}"));
    format!("resp_{}", after.split('"').next().unwrap())
}

#[tokio::test]
async fn only_admins_reach_unstored_responses_at_the_provider() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let id = made_elsewhere(&app).await;
        let path = format!("{PATH}/{id}");
        let (_, key) = app.key(json!({"name": "a"})).await;
        let admin = app.key_with(&["inference", "admin:read"]).await;
        assert_eq!(app.get(&path).refusal().await.0, 404, "no provider is named");
        assert_eq!(app.get(format!("{path}?provider=openai")).key(&key).refusal().await.0, 404);
        for key in [app::MASTER, &admin] {
            let call = app.get(format!("{path}?provider=openai")).key(key);
            let found = call.send().await.expect_status(200).json();
            assert_eq!((&found["id"], &found["model"]), (&json!(id), &json!("openai/gpt-4.1~text")));
            let call = app.get(format!("{path}/input_items?provider=openai&order=asc")).key(key);
            let items = call.send().await.expect_status(200).json();
            assert_eq!(items["data"][0]["content"][0]["text"], "How are you?");
        }
        let (status, code, param) = app.get(format!("{path}?provider=nowhere")).refusal().await;
        assert_eq!((status, &*code, param.as_deref()), (404, "provider_not_found", Some("provider")));
        for method in [Method::GET, Method::DELETE] {
            let refused = app.call(method, format!("{path}?provider=anthropic")).refusal().await;
            assert_eq!(refused, (501, "unsupported_response_operation".into(), None));
        }
        let call = app.call(Method::DELETE, format!("{path}?provider=openai"));
        let deleted = call.send().await.expect_status(200).json();
        assert_eq!(deleted, json!({"id": id, "object": "response", "deleted": true}));
        assert_eq!(app.get(format!("{path}?provider=openai")).refusal().await.0, 404);
    })
    .await;
}

#[tokio::test]
async fn the_passthrough_is_no_way_around() {
    app::each(async |app| {
        let (_, mine) = app.key(json!({"name": "mine"})).await;
        let (_, theirs) = app.key(json!({"name": "theirs"})).await;
        let made = app.post(PATH, input(&format!("{OPENAI}text"), "hi")).key(&mine).send().await.json();
        let path = format!("/p/openai/v1/responses/{}", id(&made));
        for (path, method) in [
            (path.clone(), Method::GET),
            (format!("{path}/input_items"), Method::GET),
            (format!("{path}/cancel"), Method::POST),
            (path.clone(), Method::DELETE),
        ] {
            assert_eq!(app.call(method, path).key(&theirs).refusal().await.0, 404);
        }
        let own = app.get(path).key(&mine).send().await.expect_status(200);
        assert_eq!(own.json()["id"], made["id"]);
        // What is read back was paid for when it was made.
        let rows = app.receipts(6).await;
        let booked: u64 = rows.iter().filter_map(|row| row["output_tokens"].as_u64()).sum();
        assert_eq!(booked, app.upstream.bill()[0].completion_tokens);
    })
    .await;
}

#[tokio::test]
async fn a_reader_of_everything_deletes_nothing() {
    app::each(async |app| {
        let (_, mine) = app.key(json!({"name": "mine"})).await;
        let (_, auditor) = app.key(json!({"name": "auditor", "scopes": ["inference", "admin:read"]})).await;
        let made = app.post(PATH, input(&format!("{OPENAI}text"), "hi")).key(&mine).send().await.json();
        let path = format!("{PATH}/{}", id(&made));
        app.get(&path).key(&auditor).send().await.expect_status(200);
        assert_eq!(app.call(Method::DELETE, &path).key(&auditor).refusal().await.0, 404);
        app.get(&path).key(&mine).send().await.expect_status(200);
    })
    .await;
}
