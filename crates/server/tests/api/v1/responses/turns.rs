//! One turn after another: a conversation goes on wherever its turns were served.

use serde_json::{Value, json};

use super::{ANTHROPIC, OPENAI, PATH, create, id, told};
use crate::house::{self, Client, House, UPSTREAMS, Wishes, input};

/// What the upstream was last asked, of this dialect's path.
fn last_request(house: &House, path: &str) -> Value {
    let requests = house.upstream.requests();
    let request = requests.iter().rev().find(|request| request.path.starts_with(path));
    let request = request.unwrap_or_else(|| panic!("nothing was sent to {path}: {requests:?}"));
    serde_json::from_slice(&request.body).unwrap()
}

#[tokio::test]
async fn a_conversation_goes_on_at_any_provider() {
    house::each_with(Wishes::every_dialect, async |house| {
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
            let response = house.post(PATH, body).send().await.expect_status(200).json();
            said.push(text);
            let told = told(&house);
            let mut rest = told.as_str();
            for earlier in &said {
                let place = rest.find(earlier.as_str());
                let place =
                    place.unwrap_or_else(|| panic!("'{earlier}' is missing or late at {upstream}: {told}"));
                rest = &rest[place + earlier.len()..];
            }
            assert_eq!(told.contains("pirate"), turn == 0, "instructions are of one turn: {told}");
            let items = house.get(format!("{PATH}/{}/input_items", id(&response))).send().await.json();
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
    house::each_with(Wishes::every_dialect, async |house| {
        let first = create(&house, &format!("{ANTHROPIC}text"), "My name is Ada.").await;
        let mut body = input(&format!("{ANTHROPIC}text"), "What is my name?");
        body["previous_response_id"] = first["id"].clone();
        let second = house.post(PATH, body).send().await.expect_status(200).json();
        assert_eq!(second["previous_response_id"], first["id"]);
        let sent = last_request(&house, "/v1/messages");
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
async fn a_tool_loop_goes_on_from_the_stored_calls() {
    house::each_with(Wishes::every_dialect, async |house| {
        let tool = json!({"type": "function", "name": "get_weather", "strict": false,
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}});
        for upstream in UPSTREAMS {
            let model = format!("{upstream}parallel-tools");
            let mut body = input(&model, "How is the weather?");
            body["tools"] = json!([tool]);
            let first = house.post(PATH, body.clone()).send().await.expect_status(200).json();
            let output = first["output"].as_array().unwrap().iter();
            let calls: Vec<&Value> = output.filter(|item| item["type"] == "function_call").collect();
            assert_eq!(calls.len(), 2, "{model}: {first:#}");
            let results = calls.iter().enumerate().map(|(index, call)| {
                json!({"type": "function_call_output", "call_id": call["call_id"], "output": format!("sun {index}")})
            });
            body["input"] = results.collect();
            body["previous_response_id"] = first["id"].clone();
            let second = house.post(PATH, body).send().await.expect_status(200);
            let text = Client::Responses.text(&second);
            let (one, two) = (text.find("sun 0"), text.find("sun 1"));
            assert!(text.starts_with("The tools said: ") && one.is_some() && one < two, "{model}: {text}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_provider_that_keeps_the_turn_is_told_only_its_id() {
    house::each(async |house| {
        let first = create(&house, &format!("{OPENAI}text"), "My name is Ada.").await;
        let mut body = input(&format!("{OPENAI}text"), "What is my name?");
        body["previous_response_id"] = first["id"].clone();
        house.post(PATH, body).send().await.expect_status(200);
        let sent = last_request(&house, PATH);
        assert_eq!(sent["previous_response_id"], first["id"]);
        assert_eq!(sent["input"], "What is my name?");
    })
    .await;
}
