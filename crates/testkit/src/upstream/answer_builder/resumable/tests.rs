//! Tests that a text is completed in two attempts, with every continuation style.

use serde_json::{Value, json};

use super::super::super::Upstream;
use super::super::super::tests::socket::{RawResponse, ask};

fn script(faults: Value, continuation: Value) -> String {
    let script = json!({
        "text": "Grüße 你好 the end", "piece_sizes": [2, 3], "faults": faults, "continuation": continuation,
    });
    format!("SCRIPT {script}")
}

async fn send(model: &str, script: &str, more: &[Value]) -> RawResponse {
    let upstream = Upstream::start().await;
    let mut messages = vec![json!({"role": "user", "content": script})];
    messages.extend_from_slice(more);
    let body = json!({"model": model, "messages": messages, "stream": true});
    ask(&upstream, "POST", "/v1/chat/completions", &body.to_string()).await
}

fn partial(text: &str) -> [Value; 2] {
    [json!({"role": "assistant", "content": text}), json!({"role": "user", "content": "Go on."})]
}

#[tokio::test]
async fn breaks_off_at_the_offset_of_its_fault() {
    let script = script(json!(["reset-at-7-torn-9"]), json!("repeat_quote"));
    let response = send("requested-1", &script, &[]).await;
    assert_eq!((response.text().as_str(), response.broken), ("Grüße 你", true));
    let whole = send("requested-2", &script, &[]).await;
    assert_eq!((whole.text().as_str(), whole.broken), ("Grüße 你好 the end", false));
}

#[tokio::test]
async fn continues_in_every_style() {
    for (style, text) in [
        (json!("repeat_quote"), "好 the end"),
        (json!({"repeat": 3}), "e 你好 the end"),
        (json!("continue"), "好 the end"),
        (json!("restart"), "Grüße 你好 the end"),
    ] {
        let response = send("requested-2", &script(json!([]), style), &partial("Grüße 你")).await;
        assert_eq!(response.text(), text);
    }
    let quoting =
        [partial("Grüße 你")[0].clone(), json!({"role": "user", "content": "Begin with «Grüße 你»."})];
    assert_eq!(
        send("requested-2-x", &script(json!([]), json!("repeat_quote")), &quoting).await.text(),
        "Grüße 你好 the end"
    );
    let unknown = send("requested-2", &script(json!([]), json!("repeat_quote")), &partial("Gruß")).await;
    assert_eq!(unknown.status, 400);
    let bad_fault = send("requested-1", &script(json!(["explode-at-3"]), json!("continue")), &[]).await;
    assert_eq!(bad_fault.status, 400);
}

#[tokio::test]
async fn breaks_off_in_the_arguments_of_a_call() {
    let arguments = r#"{"city": "Zürich"}"#;
    let script = json!({
        "text": "Look: ", "calls": [{"name": "look", "arguments": arguments}], "faults": ["eof-at-10"],
    });
    let response = send("requested-1", &format!("SCRIPT {script}"), &[]).await;
    let fragments = response.chunks().into_iter().filter_map(|chunk| {
        chunk["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"].as_str().map(str::to_owned)
    });
    assert_eq!(fragments.collect::<String>(), r#"{"ci"#);
    assert!(!response.body.contains("[DONE]"));
}
