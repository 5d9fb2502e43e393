//! Tests of the other routes of a response: cancelling, compacting, counting, background work.

use serde_json::{Value, json};

use super::{ANTHROPIC, OPENAI, PATH, create, id};
use crate::app::{self, TestSettings, UPSTREAMS, input};

#[track_caller]
fn check_unsupported(answer: &app::Answer, operation: &str) {
    assert_eq!(answer.refusal(), (501, "unsupported_response_operation".into(), None));
    let error = &answer.json()["error"];
    assert_eq!((&error["type"], &error["param"]), (&json!("invalid_request_error"), &Value::Null));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(operation) && message.contains("anthropic"), "{message}");
}

#[tokio::test]
async fn unsupported_operations_answer_501() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let made = create(&app, &format!("{ANTHROPIC}text"), "How are you?").await;
        let cancelled = app.post(format!("{PATH}/{}/cancel", id(&made)), json!({})).send().await;
        check_unsupported(&cancelled, "cancel");
        let compacted =
            app.post("/v1/responses/compact", input(&format!("{ANTHROPIC}text"), "hi")).send().await;
        check_unsupported(&compacted, "compact");
        app.get(format!("{PATH}/{}", id(&made))).send().await.expect_status(200);
        assert_eq!(app.upstream.requests().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn work_in_the_background_can_be_watched_and_cancelled() {
    app::each(async |app| {
        let mut body = input(&format!("{OPENAI}text"), "Take your time.");
        body["background"] = json!(true);
        let status = async |path: &str| {
            let answer = app.get(path).send().await.expect_status(200).json();
            assert_eq!(answer["model"], format!("{OPENAI}text"));
            answer["status"].as_str().unwrap().to_owned()
        };
        let queued = app.post(PATH, body.clone()).send().await.expect_status(200).json();
        assert_eq!(queued["status"], "queued");
        let path = format!("{PATH}/{}", id(&queued));
        assert_eq!(status(&path).await, "in_progress");
        assert_eq!(status(&path).await, "completed");
        let asked = app.upstream.requests().len();
        assert_eq!(status(&path).await, "completed");
        assert_eq!(app.upstream.requests().len(), asked, "what is finished is not asked for again");

        let queued = app.post(PATH, body).send().await.expect_status(200).json();
        let path = format!("{PATH}/{}", id(&queued));
        let cancelled = app.post(format!("{path}/cancel"), json!({})).send().await.expect_status(200).json();
        assert_eq!((&cancelled["id"], &cancelled["status"]), (&queued["id"], &json!("cancelled")));
        assert_eq!(cancelled["model"], format!("{OPENAI}text"));
        assert_eq!(status(&path).await, "cancelled");

        let done = create(&app, &format!("{OPENAI}text"), "At once.").await;
        let (code, ..) = app.post(format!("{PATH}/{}/cancel", id(&done)), json!({})).refusal().await;
        assert_eq!(code, 400, "the provider's own word");
        assert_eq!(status(&format!("{PATH}/{}", id(&done))).await, "completed");
    })
    .await;
}

#[tokio::test]
async fn no_other_provider_works_in_the_background() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let mut body = input(&format!("{ANTHROPIC}text"), "Take your time.");
        body["background"] = json!(true);
        let answer = app.post(PATH, body).send().await.expect_status(200);
        assert_eq!(answer.header("x-gateway-dropped-params"), Some("background"));
        assert_eq!(answer.json()["status"], "completed");
    })
    .await;
}

#[tokio::test]
async fn a_conversation_is_compacted_by_the_provider_that_can() {
    app::each(async |app| {
        let call = app.post("/v1/responses/compact", input(&format!("{OPENAI}text"), "A long story."));
        let compacted = call.send().await.expect_status(200).json();
        assert_eq!(compacted["object"], "response.compaction");
        let sealed = compacted["output"].as_array().unwrap().last().unwrap();
        assert!(sealed["type"] == "compaction" && sealed["encrypted_content"].is_string(), "{compacted:#}");
        let row = &app.receipts(1).await[0];
        let line = &app.upstream.bill()[0];
        assert_eq!(row["input_tokens"].as_u64(), Some(line.prompt_tokens));
        assert_eq!(row["output_tokens"].as_u64(), Some(line.completion_tokens));
        assert_eq!(row["endpoint"], "/v1/responses/compact");
    })
    .await;
}

#[tokio::test]
async fn input_tokens_are_counted_there_or_estimated_here() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let count = async |model: &str| {
            let body = input(model, "one two three four five six");
            app.post("/v1/responses/input_tokens", body).send().await.expect_status(200).json()
        };
        let native = count(&format!("{OPENAI}text")).await;
        assert_eq!(native, json!({"object": "response.input_tokens", "input_tokens": 14}));
        app.upstream.reset();
        for upstream in &UPSTREAMS[1..4] {
            let counted = count(&format!("{upstream}text")).await;
            assert_eq!(
                (&counted["object"], &counted["estimated"]),
                (&json!("response.input_tokens"), &json!(true))
            );
            let tokens = counted["input_tokens"].as_u64().unwrap();
            assert!((6..60).contains(&tokens), "{counted}");
        }
        assert!(app.upstream.requests().is_empty());
        let refused = app.post("/v1/responses/input_tokens", json!({"input": "hi"})).refusal().await;
        assert_eq!(refused, (400, "model_required".into(), Some("model".into())));
    })
    .await;
}

#[tokio::test]
async fn work_in_the_background_is_booked_once_with_the_providers_figures() {
    app::each(async |app| {
        let mut body = input(&format!("{OPENAI}text"), "Take your time.");
        body["background"] = json!(true);
        let made = app.post(PATH, body).send().await.expect_status(200).json();
        assert_eq!(made["status"], "queued");
        let rows = app.receipts(1).await;
        let bill = app.upstream.bill();
        let line = bill.first().unwrap();
        assert_eq!(rows[0]["provider_id"], made["id"]);
        let counted = (rows[0]["input_tokens"].as_u64(), rows[0]["output_tokens"].as_u64());
        assert_eq!(counted, (Some(line.prompt_tokens), Some(line.completion_tokens)), "{:#}", rows[0]);
        assert_eq!(rows[0]["estimated"], false, "{:#}", rows[0]);
        let kept = app.get(format!("{PATH}/{}", id(&made))).send().await.expect_status(200).json();
        assert_eq!(kept["status"], "completed");
    })
    .await;
}
