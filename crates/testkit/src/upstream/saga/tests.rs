//! Tests that a text is completed in two attempts, with every format's way of continuing.

use serde_json::{Value, json};

use super::super::Upstream;
use super::super::tests::socket::ask;

fn order(deaths: Value, manner: Value) -> String {
    let saga = json!({"text": "Grüße 你好 the end", "sizes": [2, 3], "deaths": deaths, "manner": manner});
    format!("SAGA {saga}")
}

async fn tell(model: &str, order: &str, more: &[Value]) -> super::super::tests::socket::Heard {
    let upstream = Upstream::start().await;
    let mut messages = vec![json!({"role": "user", "content": order})];
    messages.extend_from_slice(more);
    let body = json!({"model": model, "messages": messages, "stream": true});
    ask(&upstream, "POST", "/v1/chat/completions", &body.to_string()).await
}

fn partial(text: &str) -> [Value; 2] {
    [json!({"role": "assistant", "content": text}), json!({"role": "user", "content": "Go on."})]
}

#[tokio::test]
async fn it_dies_where_it_was_told_to() {
    let order = order(json!([{"after": 7, "how": "reset", "torn": 9}]), json!("obey"));
    let heard = tell("saga-1", &order, &[]).await;
    assert_eq!((heard.text().as_str(), heard.broken), ("Grüße 你", true));
    let whole = tell("saga-2", &order, &[]).await;
    assert_eq!((whole.text().as_str(), whole.broken), ("Grüße 你好 the end", false));
}

#[tokio::test]
async fn another_goes_on_in_its_manner() {
    for (manner, heard) in [
        (json!("obey"), "好 the end"),
        (json!({"repeat": 3}), "e 你好 the end"),
        (json!("plain"), "好 the end"),
        (json!("restart"), "Grüße 你好 the end"),
    ] {
        let told = tell("saga-2", &order(json!([]), manner), &partial("Grüße 你")).await;
        assert_eq!(told.text(), heard);
    }
    let quoting =
        [partial("Grüße 你")[0].clone(), json!({"role": "user", "content": "Begin with «Grüße 你»."})];
    assert_eq!(
        tell("saga-2-x", &order(json!([]), json!("obey")), &quoting).await.text(),
        "Grüße 你好 the end"
    );
    let stranger = tell("saga-2", &order(json!([]), json!("obey")), &partial("Gruß")).await;
    assert_eq!(stranger.status, 400);
}

#[tokio::test]
async fn a_death_in_the_arguments_of_a_call() {
    let arguments = r#"{"city": "Zürich"}"#;
    let saga = json!({
        "text": "Look: ", "calls": [{"name": "look", "arguments": arguments}],
        "deaths": [{"after": 10, "how": "eof"}],
    });
    let heard = tell("saga-1", &format!("SAGA {saga}"), &[]).await;
    let fragments = heard.chunks().into_iter().filter_map(|chunk| {
        chunk["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"].as_str().map(str::to_owned)
    });
    assert_eq!(fragments.collect::<String>(), r#"{"ci"#);
    assert!(!heard.body.contains("[DONE]"));
}
