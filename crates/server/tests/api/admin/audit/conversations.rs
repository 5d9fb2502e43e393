//! Tests of conversations in every format, found from each of their turns.

use serde_json::{Value, json};

use super::{CONVERSATION, entries, logging};
use crate::app::{self, TestApp};

async fn found_from_each(app: &TestApp, turns: &[Value], other: &Value) {
    let ids: Vec<&str> = turns.iter().map(|turn| turn["id"].as_str().unwrap()).collect();
    for id in &ids {
        let answer = app.get(format!("{CONVERSATION}?log_id={id}")).send().await.expect_status(200).json();
        assert_eq!(answer["anchor_id"], *id);
        let found: Vec<&str> =
            answer["entries"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect();
        assert_eq!(found, ids);
    }
    let alone =
        app.get(format!("{CONVERSATION}?log_id={}", other["id"].as_str().unwrap())).send().await.json();
    assert_eq!(alone["entries"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn chat_and_messages_are_linked_by_their_content() {
    for (path, answer) in
        [("/v1/chat/completions", "/choices/0/message/content"), ("/v1/messages", "/content/0/text")]
    {
        app::each_with(logging, async |app| {
            let mut messages = Vec::new();
            for turn in 0..3 {
                messages.push(json!({"role": "user", "content": format!("turn {turn}")}));
                let body = json!({"model": "openai/text", "max_tokens": 50, "messages": messages});
                let said = app.post(path, body).send().await.expect_status(200).json();
                messages.push(json!({"role": "assistant", "content": said.pointer(answer).unwrap()}));
            }
            let body = json!({"model": "openai/text", "max_tokens": 50, "messages": [{"role": "user", "content": "else"}]});
            app.post(path, body).send().await.expect_status(200);
            let all = entries(&app, 4).await;
            found_from_each(&app, &all[..3], &all[3]).await;
        })
        .await;
    }
}

#[tokio::test]
async fn responses_are_linked_by_ids_or_content() {
    app::each_with(logging, async |app| {
        let mut previous = Value::Null;
        for turn in 0..3 {
            let mut body =
                json!({"model": "openai/text", "input": format!("turn {turn}"), "stream": turn == 1});
            if turn > 0 {
                body["previous_response_id"] = previous.clone();
            }
            let answer = app.post("/v1/responses", body).send().await.expect_status(200);
            previous = match turn {
                1 => answer.named_events().last().unwrap().1["response"]["id"].clone(),
                _ => answer.json()["id"].clone(),
            };
        }
        app.post("/v1/responses", json!({"model": "openai/text", "input": "else"}))
            .send()
            .await
            .expect_status(200);
        let all = entries(&app, 4).await;
        assert_eq!(all[2]["response_id"], previous);
        assert_eq!(all[2]["previous_response_id"], all[1]["response_id"]);
        found_from_each(&app, &all[..3], &all[3]).await;
    })
    .await;
}

#[tokio::test]
async fn a_session_is_a_conversation_of_its_key() {
    app::each_with(logging, async |app| {
        let (_, other) = app.key(json!({"name": "a"})).await;
        for model in ["openai/text", "openai/long"] {
            app.chat(model).header("x-gateway-session-id", "s").send().await.expect_status(200);
        }
        app.chat("openai/tools")
            .key(&other)
            .header("x-gateway-session-id", "s")
            .send()
            .await
            .expect_status(200);
        let all = entries(&app, 3).await;
        found_from_each(&app, &all[..2], &all[2]).await;
        let found = app.get(CONVERSATION).refusal().await;
        assert_eq!((found.0, found.2.as_deref()), (400, Some("log_id")));
        assert_eq!(
            app.get(format!("{CONVERSATION}?log_id=x&limit=201")).refusal().await.2.as_deref(),
            Some("limit")
        );
        assert_eq!(app.get(format!("{CONVERSATION}?log_id=x")).refusal().await.0, 404);
    })
    .await;
}
