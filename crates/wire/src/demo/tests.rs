//! Tests that the demo model behaves like a real model's API, deterministically.

use super::*;
use crate::codec::Class;
use crate::formats::chat::{classify, read_answer, read_usage};
use crate::sse::Splitter;

fn whole(request: &Value) -> Value {
    match answer(request.to_string().as_bytes()) {
        Reply::Json(body) => {
            assert!(read_usage(&body[read_answer(&body).unwrap().usage.unwrap()]).is_some());
            serde_json::from_slice(&body).unwrap()
        }
        other => panic!("{other:?}"),
    }
}

fn chunks(request: &Value) -> Vec<(Class, Value)> {
    let Reply::Events(events) = answer(request.to_string().as_bytes()) else { panic!("not a stream") };
    let mut splitter = Splitter::new(1 << 20);
    events.into_iter().for_each(|event| splitter.push(event));
    let mut chunks = Vec::new();
    while let Some(event) = splitter.next().unwrap() {
        let data = event.data();
        chunks.push((classify(&data).class, serde_json::from_slice(&data).unwrap_or_default()));
    }
    chunks
}

fn user(text: &str) -> Value {
    json!([{"role": "user", "content": text}])
}

fn weather() -> Value {
    json!([{"type": "function", "function": {"name": "get_weather", "parameters": {
        "type": "object", "required": ["city", "days"],
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 2}, "unit": {"type": "string"}},
    }}}])
}

#[test]
fn it_echoes_and_counts() {
    let reply = whole(&json!({"model": "demo-chat", "messages": user("Hello there")}));
    let text = reply["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(text.starts_with("You said: Hello there\n\n"), "{text}");
    assert_eq!(reply["choices"][0]["finish_reason"], "stop");
    assert_eq!(reply["usage"]["prompt_tokens"], 3);
    assert_eq!(reply["usage"]["completion_tokens"], text.split_whitespace().count());
    assert!(reply["id"].as_str().unwrap().starts_with("chatcmpl-demo-"));
    assert_eq!(reply, whole(&json!({"model": "demo-chat", "messages": user("Hello there")})));
}

#[test]
fn streamed_and_whole_answers_are_equal() {
    let whole = whole(&json!({"messages": user("a  b\nc")}));
    let chunks = chunks(
        &json!({"messages": user("a  b\nc"), "stream": true, "stream_options": {"include_usage": true}}),
    );
    let text: String =
        chunks.iter().filter_map(|(_, chunk)| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, whole["choices"][0]["message"]["content"].as_str().unwrap());
    let classes: Vec<Class> = chunks.iter().map(|(class, _)| *class).collect();
    assert_eq!(classes[0], Class::Lifecycle);
    assert_eq!(classes[classes.len() - 2..], [Class::Usage, Class::Terminal]);
    assert!(classes[1..classes.len() - 2].iter().all(|class| *class == Class::Content));
    assert_eq!(chunks[chunks.len() - 2].1["usage"], whole["usage"]);
    assert_eq!(chunks[chunks.len() - 3].1["choices"][0]["finish_reason"], "stop");
}

#[test]
fn limits_cut_it_short() {
    let reply = whole(&json!({"messages": user("Hello"), "max_tokens": 2, "n": 2}));
    assert_eq!(reply["choices"][1]["message"]["content"], "You said: ");
    assert_eq!(reply["choices"][1]["finish_reason"], "length");
    assert_eq!(reply["usage"]["completion_tokens"], 4);
}

#[test]
fn tools_are_called_when_asked_for() {
    for (text, choice) in [
        ("Use get_weather now", json!("auto")),
        ("please get weather", Value::Null),
        ("hi", json!("required")),
        ("hi", json!({"type": "function", "function": {"name": "get_weather"}})),
    ] {
        let request = json!({"messages": user(text), "tools": weather(), "tool_choice": choice});
        let reply = whole(&request);
        let call = &reply["choices"][0]["message"]["tool_calls"][0];
        assert_eq!(call["function"]["name"], "get_weather");
        let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
        assert_eq!(arguments, json!({"city": "demo", "days": 2}));
        assert_eq!(reply["choices"][0]["finish_reason"], "tool_calls");
        let mut streamed = request.clone();
        streamed["stream"] = json!(true);
        let pieces: String = chunks(&streamed)
            .iter()
            .filter_map(|(_, chunk)| {
                chunk["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"].as_str()
            })
            .collect();
        assert_eq!(serde_json::from_str::<Value>(&pieces).unwrap(), arguments);
    }
    let none = whole(&json!({"messages": user("get_weather"), "tools": weather(), "tool_choice": "none"}));
    assert!(none["choices"][0]["message"]["content"].is_string());
}

#[test]
fn a_tools_result_is_quoted() {
    let messages = json!([
        {"role": "user", "content": "get_weather"},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "Sunny, 21 °C"}]},
    ]);
    let reply = whole(&json!({"messages": messages, "tools": weather()}));
    assert!(
        reply["choices"][0]["message"]["content"]
            .as_str()
            .unwrap()
            .starts_with("The tool answered: Sunny, 21 °C")
    );
}

#[test]
fn json_of_the_asked_for_shape() {
    let schema = json!({
        "type": "object", "required": ["kind", "tree", "tags"], "$defs": {"node": {"type": "object", "required": ["id"],
            "properties": {"id": {"type": "string", "format": "uuid"}, "next": {"$ref": "#/$defs/node"}}}},
        "properties": {"kind": {"enum": ["a", "b"]}, "tree": {"$ref": "#/$defs/node"},
            "tags": {"type": "array", "items": {"type": ["string", "null"], "minLength": 6}, "minItems": 2}},
    });
    let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}});
    let reply = whole(&json!({"messages": user("hi"), "response_format": format}));
    let object: Value =
        serde_json::from_str(reply["choices"][0]["message"]["content"].as_str().unwrap()).unwrap();
    let id = "00000000-0000-4000-8000-000000000000";
    assert_eq!(object, json!({"kind": "a", "tree": {"id": id}, "tags": ["demoxx", "demoxx"]}));
    let reply = whole(&json!({"messages": user("hi"), "response_format": {"type": "json_object"}}));
    let object: Value =
        serde_json::from_str(reply["choices"][0]["message"]["content"].as_str().unwrap()).unwrap();
    assert_eq!(object, json!({"answer": "You said: hi"}));
}

#[test]
fn nonsense_is_refused() {
    for body in ["", "[]", "{}", r#"{"messages":[]}"#] {
        assert!(matches!(answer(body.as_bytes()), Reply::Error(400, _)), "{body}");
    }
}

#[test]
fn large_requests_get_bounded_answers() {
    let long = "word ".repeat(100_000);
    for choices in [1u64, 128] {
        let reply = whole(&json!({"messages": user(&long), "n": choices}));
        let words = reply["usage"]["completion_tokens"].as_u64().unwrap();
        assert!(words <= 16_384, "{words}");
        assert_eq!(reply["choices"][0]["finish_reason"], "length");
    }
    let numbers = format!("{{\"messages\":[{{}}],\"x\":[{}1]}}", "1,".repeat(json::ELEMENT_LIMIT));
    assert!(matches!(answer(numbers.as_bytes()), Reply::Error(400, _)));
    let many = json!({"input": vec!["a"; 2049]}).to_string();
    assert!(matches!(answer(many.as_bytes()), Reply::Error(400, _)));
    let wide = json!({"input": vec!["a"; 200], "dimensions": 4096}).to_string();
    assert!(matches!(answer(wide.as_bytes()), Reply::Error(400, _)));
}
