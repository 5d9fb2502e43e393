//! Tests of multi-turn conversations whose turns are served by different providers.

use serde_json::{Value, json};

use super::{ANTHROPIC, OPENAI, PATH, create, id};
use crate::app::{self, Client, TestApp, TestSettings, UPSTREAMS, input};

/// The last request that the upstream received on this path.
fn last_request(app: &TestApp, path: &str) -> Value {
    let requests = app.upstream.requests();
    let request = requests.iter().rev().find(|request| request.path.starts_with(path));
    let request = request.unwrap_or_else(|| panic!("nothing was sent to {path}: {requests:?}"));
    serde_json::from_slice(&request.body).unwrap()
}

#[tokio::test]
async fn a_conversation_continues_at_any_provider() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let mut previous = Value::Null;
        let mut said: Vec<String> = Vec::new();
        for (turn, upstream) in [2, 3, 0, 1, 4, 2].into_iter().map(|index| UPSTREAMS[index]).enumerate() {
            let text = format!("This is turn {turn}.");
            let mut body = input(&format!("{upstream}text"), text.as_str());
            body["previous_response_id"] = previous.clone();
            if turn == 0 {
                body["instructions"] = json!("Speak as a pirate.");
                body.as_object_mut().unwrap().remove("previous_response_id");
            }
            let response = app.post(PATH, body).send().await.expect_status(200).json();
            said.push(text);
            let sent = app.last_upstream_request();
            let mut rest = sent.as_str();
            for earlier in &said {
                let place = rest.find(earlier.as_str());
                let place =
                    place.unwrap_or_else(|| panic!("'{earlier}' is missing or late at {upstream}: {sent}"));
                rest = &rest[place + earlier.len()..];
            }
            assert_eq!(sent.contains("pirate"), turn == 0, "instructions are of one turn: {sent}");
            let items = app.get(format!("{PATH}/{}/input_items", id(&response))).send().await.json();
            assert_eq!(
                items["data"].as_array().map(Vec::len),
                Some(1),
                "the items of this turn alone: {items}"
            );
            said.push(
                response["output"].as_array().unwrap().last().unwrap()["content"][0]["text"]
                    .as_str()
                    .unwrap()
                    .to_owned(),
            );
            previous = response["id"].clone();
        }
    })
    .await;
}

#[tokio::test]
async fn the_translated_turn_has_its_roles() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let first = create(&app, &format!("{ANTHROPIC}text"), "My name is Ada.").await;
        let mut body = input(&format!("{ANTHROPIC}text"), "What is my name?");
        body["previous_response_id"] = first["id"].clone();
        let second = app.post(PATH, body).send().await.expect_status(200).json();
        assert_eq!(second["previous_response_id"], first["id"]);
        let sent = last_request(&app, "/v1/messages");
        let turns: Vec<(&str, String)> = sent["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|turn| {
                let content = &turn["content"];
                let text = content.as_str().or(content[0]["text"].as_str()).unwrap_or_default();
                (turn["role"].as_str().unwrap(), text.to_owned())
            })
            .collect();
        let expected = [
            ("user", "My name is Ada.".to_owned()),
            ("assistant", "Hello from the upstream. You said: My name is Ada.".to_owned()),
            ("user", "What is my name?".to_owned()),
        ];
        assert_eq!(turns, expected);
    })
    .await;
}

#[tokio::test]
async fn a_tool_loop_continues_from_stored_calls() {
    app::each_with(TestSettings::every_dialect, async |app| {
        let tool = json!({"type": "function", "name": "get_weather", "strict": false,
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}});
        for upstream in UPSTREAMS {
            let model = format!("{upstream}parallel-tools");
            let mut body = input(&model, "How is the weather?");
            body["tools"] = json!([tool]);
            let first = app.post(PATH, body.clone()).send().await.expect_status(200).json();
            let output = first["output"].as_array().unwrap().iter();
            let calls: Vec<&Value> = output.filter(|item| item["type"] == "function_call").collect();
            assert_eq!(calls.len(), 2, "{model}: {first:#}");
            let results = calls.iter().enumerate().map(|(index, call)| {
                json!({"type": "function_call_output", "call_id": call["call_id"], "output": format!("sun {index}")})
            });
            body["input"] = results.collect();
            body["previous_response_id"] = first["id"].clone();
            let second = app.post(PATH, body).send().await.expect_status(200);
            let text = Client::Responses.text(&second);
            let (one, two) = (text.find("sun 0"), text.find("sun 1"));
            assert!(text.starts_with("The tools said: ") && one.is_some() && one < two, "{model}: {text}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_provider_that_stores_the_turn_gets_only_its_id() {
    app::each(async |app| {
        let first = create(&app, &format!("{OPENAI}text"), "My name is Ada.").await;
        let mut body = input(&format!("{OPENAI}text"), "What is my name?");
        body["previous_response_id"] = first["id"].clone();
        app.post(PATH, body).send().await.expect_status(200);
        let sent = last_request(&app, PATH);
        assert_eq!(sent["previous_response_id"], first["id"]);
        assert_eq!(sent["input"], "What is my name?");
    })
    .await;
}
