//! Tests that objects created through passthrough belong to the caller that created them, in paths and in bodies.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use testkit::FaultScript;

use crate::app::{self, TestApp, input};

async fn made(app: &TestApp, key: &str, path: &str, id: &str) {
    let body = json!({"id": id, "object": "thing", "status": "completed", "model": "text"});
    app.upstream.push(FaultScript::status(200, "application/json", body.to_string()));
    app.post(format!("/p/openai/v1/{path}"), json!({"model": "text"}))
        .key(key)
        .send()
        .await
        .expect_status(200);
}

/// Whether the call reaches the provider; a refused call gets 404.
async fn reaches(app: &TestApp, key: &str, method: Method, path: &str, body: Option<Value>) -> bool {
    let before = app.upstream.requests().len();
    let call = app.call(method, format!("/p/openai/v1/{path}")).key(key);
    let answer = match body {
        Some(body) => call.json(body).send().await,
        None => call.send().await,
    };
    let reached = app.upstream.requests().len() > before;
    assert!(reached || answer.status == 404, "{path}: {} {}", answer.status, answer.text());
    reached
}

const OBJECTS: [(&str, &str); 6] = [
    ("responses", "resp_p1"),
    ("files", "file-p1"),
    ("batches", "batch_p1"),
    ("chat/completions", "chatcmpl-p1"),
    ("conversations", "conv_p1"),
    ("vector_stores", "vs_p1"),
];

#[tokio::test]
async fn another_key_cannot_reach_an_object_by_its_path() {
    app::each(async |app| {
        let (_, mine) = app.key(json!({"name": "mine"})).await;
        let (_, theirs) = app.key(json!({"name": "theirs"})).await;
        let admin = app.key_with(&["inference", "admin:read", "admin:write"]).await;
        for (collection, id) in OBJECTS {
            made(&app, &mine, collection, id).await;
            for (method, path) in [
                (Method::GET, format!("{collection}/{id}")),
                (Method::GET, format!("{collection}/{id}/content")),
                (Method::DELETE, format!("{collection}/{id}")),
                (Method::POST, format!("{collection}/{id}/cancel")),
                (Method::GET, format!("{collection}%2F{id}/")),
            ] {
                assert!(!reaches(&app, &theirs, method.clone(), &path, None).await, "{path}");
                assert!(reaches(&app, &mine, method.clone(), &path, None).await, "{path}");
                assert!(reaches(&app, &admin, method, &path, None).await, "{path}");
            }
        }
        let unknown = reaches(&app, &theirs, Method::GET, "files/file-unknown", None).await;
        assert!(unknown, "what was never recorded is the provider's to judge");
        let reader = app.key_with(&["inference", "admin:read"]).await;
        assert!(reaches(&app, &reader, Method::GET, "files/file-p1", None).await);
        assert!(!reaches(&app, &reader, Method::DELETE, "files/file-p1", None).await);
    })
    .await;
}

#[tokio::test]
async fn another_key_cannot_name_an_object_in_a_body() {
    app::each(async |app| {
        let (_, mine) = app.key(json!({"name": "mine"})).await;
        let (_, theirs) = app.key(json!({"name": "theirs"})).await;
        for (collection, id) in OBJECTS {
            made(&app, &mine, collection, id).await;
        }
        let filler = "x".repeat(300_000);
        for (path, body) in [
            ("responses", json!({"model": "text", "previous_response_id": "resp_p1"})),
            ("responses", json!({"model": "text", "conversation": "conv_p1"})),
            ("responses", json!({"model": "text", "conversation": {"id": "conv_p1"}})),
            ("responses", json!({"model": "text", "input": [{"content": [{"file_id": "file-p1"}]}]})),
            ("responses", json!({"model": "text", "tools": [{"vector_store_ids": ["vs_p1"]}]})),
            ("batches", json!({"input_file_id": "file-p1"})),
            ("fine_tuning/jobs", json!({"model": "text", "training_file": "file-p1"})),
            ("chat/completions", json!({"model": "text", "a": filler, "z": {"file_id": "file-p1"}})),
        ] {
            assert!(!reaches(&app, &theirs, Method::POST, path, Some(body.clone())).await, "{path}");
            assert!(reaches(&app, &mine, Method::POST, path, Some(body)).await, "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_v1_routes_check_the_same_ids() {
    app::each(async |app| {
        let (_, mine) = app.key(json!({"name": "mine"})).await;
        let (_, theirs) = app.key(json!({"name": "theirs"})).await;
        for (collection, id) in OBJECTS {
            made(&app, &mine, collection, id).await;
        }
        let before = app.upstream.requests().len();
        let mut body = input("openai/gpt-4.1~text", "hi");
        body["conversation"] = json!("conv_p1");
        assert_eq!(app.post("/v1/responses", body.clone()).key(&theirs).refusal().await.0, 404);
        let chat = json!({"model": "text", "messages": [{"role": "user", "content": [
            {"type": "file", "file": {"file_id": "file-p1"}}]}]});
        assert_eq!(app.post("/v1/chat/completions", chat).key(&theirs).refusal().await.0, 404);
        assert_eq!(app.upstream.requests().len(), before);
        let own = app.post("/v1/responses", body).key(&mine).send().await;
        assert_eq!(own.refusal().1, "upstream_error", "the provider is asked: {}", own.text());
        // A response of the v1 routes is its owner's in passthrough bodies, too.
        let made = app
            .post("/v1/responses", input("openai/gpt-4.1~text", "hi"))
            .key(&mine)
            .send()
            .await
            .expect_status(200);
        let next = json!({"model": "text", "previous_response_id": made.json()["id"]});
        assert!(!reaches(&app, &theirs, Method::POST, "responses", Some(next.clone())).await);
        assert!(reaches(&app, &mine, Method::POST, "responses", Some(next)).await);
    })
    .await;
}

#[tokio::test]
async fn the_output_of_a_batch_is_its_owners() {
    app::each(async |app| {
        let (_, mine) = app.key(json!({"name": "mine"})).await;
        let (_, theirs) = app.key(json!({"name": "theirs"})).await;
        made(&app, &mine, "batches", "batch_p1").await;
        let done = json!({"id": "batch_p1", "output_file_id": "file-out", "error_file_id": null});
        app.upstream.push(FaultScript::status(200, "application/json", done.to_string()));
        // Even if an admin is the first to look.
        app.get("/p/openai/v1/batches/batch_p1").send().await.expect_status(200);
        let path = "files/file-out/content";
        assert!(!reaches(&app, &theirs, Method::GET, path, None).await);
        assert!(reaches(&app, &mine, Method::GET, path, None).await);
    })
    .await;
}

#[tokio::test]
async fn owners_are_known_on_other_replicas_within_a_second() {
    app::each(async |app| {
        let (_, mine) = app.key(json!({"name": "mine"})).await;
        let (_, theirs) = app.key(json!({"name": "theirs"})).await;
        let neighbour = app.neighbour().await;
        made(&app, &mine, "files", "file-p1").await;
        tokio::time::sleep(Duration::from_millis(900)).await;
        assert!(!reaches(&neighbour, &theirs, Method::GET, "files/file-p1", None).await);
        assert!(reaches(&neighbour, &mine, Method::GET, "files/file-p1", None).await);
    })
    .await;
}

#[tokio::test]
async fn a_compressed_body_of_a_key_is_refused() {
    app::each(async |app| {
        let (_, key) = app.key(json!({"name": "k"})).await;
        let call = app.post("/p/openai/v1/responses", json!({})).key(&key).header("content-encoding", "gzip");
        let expected = (415, "unsupported_media_type".into(), Some("Content-Encoding".into()));
        assert_eq!(call.refusal().await, expected);
    })
    .await;
}

#[tokio::test]
async fn a_media_type_does_not_hide_a_reference() {
    app::each(async |app| {
        let (_, mine) = app.key(json!({"name": "mine"})).await;
        let (_, theirs) = app.key(json!({"name": "theirs"})).await;
        made(&app, &mine, "files", "file-p1").await;
        for kind in ["image/png", "multipart/form-data; boundary=x", "text/plain", "application/x-thing"] {
            let before = app.upstream.requests().len();
            let call = app.post("/p/openai/v1/batches", json!({"input_file_id": "file-p1"}));
            let found = call.key(&theirs).header("content-type", kind).refusal().await;
            assert_eq!((found.0, app.upstream.requests().len()), (404, before), "{kind}");
            let call = app.post("/p/openai/v1/responses", json!({"model": "text"})).key(&theirs);
            let status = call.header("content-type", kind).send().await.status;
            assert_eq!(status == 415, kind.starts_with("image") || kind.starts_with("multipart"), "{kind}");
        }
    })
    .await;
}

#[tokio::test]
async fn lists_of_the_whole_account_are_for_admins() {
    app::each(async |app| {
        let (_, mine) = app.key(json!({"name": "mine"})).await;
        let (_, theirs) = app.key(json!({"name": "theirs"})).await;
        for list in
            ["files", "batches", "chat/completions", "vector_stores", "assistants", "videos", "files/"]
        {
            let refused = app.get(format!("/p/openai/v1/{list}")).key(&mine).refusal().await;
            assert_eq!(refused.0, 403, "{list}");
            assert!(app.upstream.requests().is_empty(), "{list}");
        }
        for list in ["files?limit=1", "chat/completions"] {
            assert!(reaches(&app, app::MASTER, Method::GET, list, None).await, "{list}");
        }
        made(&app, &mine, "vector_stores", "vs_p1").await;
        let below = "vector_stores/vs_p1/files";
        assert!(reaches(&app, &mine, Method::GET, below, None).await, "a list below an own object");
        assert!(!reaches(&app, &theirs, Method::GET, below, None).await);
        assert!(reaches(&app, &theirs, Method::GET, "models", None).await);
    })
    .await;
}
