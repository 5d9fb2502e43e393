//! Clients of the four API formats: their requests, and how they read responses.

use serde_json::{Value, json};

use super::{Answer, Call, TestApp};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    Chat,
    Responses,
    Messages,
    Gemini,
}

pub const CLIENTS: [Client; 4] = [Client::Chat, Client::Responses, Client::Messages, Client::Gemini];

/// A model behind every API format; the scripted behaviour is appended. The fifth is served through the Responses API
/// only.
pub const UPSTREAMS: [&str; 7] = [
    "openai/gpt-4.1~",
    "groq/llama-3.3-70b~",
    "anthropic/claude-sonnet-4-5~",
    "gemini/gemini-2.5-flash~",
    "openai/gpt-5-codex~",
    "azure/gpt-4.1~",
    "ollama/llama3~",
];

/// A request to the Responses API.
pub fn input(model: &str, input: impl Into<Value>) -> Value {
    json!({"model": model, "input": input.into()})
}

/// A request to the Messages API.
pub fn message(model: &str, text: &str) -> Value {
    json!({"model": model, "max_tokens": 1024, "messages": [{"role": "user", "content": text}]})
}

impl Client {
    pub fn path(self, model: &str, stream: bool) -> String {
        match self {
            Self::Chat => "/v1/chat/completions".into(),
            Self::Responses => "/v1/responses".into(),
            Self::Messages => "/v1/messages".into(),
            Self::Gemini if stream => format!("/v1beta/models/{model}:streamGenerateContent?alt=sse"),
            Self::Gemini => format!("/v1beta/models/{model}:generateContent"),
        }
    }

    pub fn body(self, model: &str, text: &str) -> Value {
        match self {
            Self::Chat => json!({"model": model, "messages": [{"role": "user", "content": text}]}),
            Self::Responses => input(model, text),
            Self::Messages => message(model, text),
            Self::Gemini => json!({"contents": [{"role": "user", "parts": [{"text": text}]}]}),
        }
    }

    pub fn ask<'a>(self, app: &'a TestApp, model: &str, stream: bool) -> Call<'a> {
        self.send(app, model, stream, self.body(model, "How are you today?"))
    }

    pub fn send<'a>(self, app: &'a TestApp, model: &str, stream: bool, mut body: Value) -> Call<'a> {
        if stream && self != Self::Gemini {
            body["stream"] = json!(true);
        }
        app.post(self.path(model, stream), body)
    }

    /// The text of a response, streamed or not.
    pub fn text(self, answer: &Answer) -> String {
        if answer.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
            return answer.named_events().iter().filter_map(|(_, data)| self.delta(data)).collect();
        }
        let body = answer.json();
        let texts = |list: &Value| {
            let items = list.as_array().cloned().unwrap_or_default();
            items.iter().filter_map(|item| item["text"].as_str().map(str::to_owned)).collect::<String>()
        };
        match self {
            Self::Chat => body["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned(),
            Self::Messages => texts(&body["content"]),
            Self::Gemini => texts(&body["candidates"][0]["content"]["parts"]),
            Self::Responses => {
                let items = body["output"].as_array().cloned().unwrap_or_default();
                items.iter().map(|item| texts(&item["content"])).collect()
            }
        }
    }

    fn delta(self, data: &Value) -> Option<String> {
        let text = match self {
            Self::Chat => &data["choices"][0]["delta"]["content"],
            Self::Responses if data["type"] == "response.output_text.delta" => &data["delta"],
            Self::Responses => return None,
            Self::Messages => &data["delta"]["text"],
            Self::Gemini => {
                let parts = data["candidates"][0]["content"]["parts"].as_array()?;
                let said = parts.iter().filter(|part| part["thought"] != true);
                return Some(said.filter_map(|part| part["text"].as_str()).collect());
            }
        };
        text.as_str().map(str::to_owned)
    }

    /// Asserts that the stream ended regularly.
    #[track_caller]
    pub fn check_end(self, answer: &Answer) {
        let (text, events) = (answer.without_comments(), answer.named_events());
        let (name, last) = events.last().unwrap_or_else(|| panic!("no events: {text}"));
        match self {
            Self::Chat => assert!(text.ends_with("data: [DONE]\n\n"), "{text}"),
            Self::Responses => {
                assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
                assert!(["response.completed", "response.incomplete"].contains(&&**name), "{text}");
            }
            Self::Messages => {
                assert_eq!((&**name, text.contains("[DONE]")), ("message_stop", false), "{text}")
            }
            Self::Gemini => {
                assert!(last["candidates"][0]["finishReason"].is_string(), "{text}");
                assert!(!text.contains("[DONE]"), "{text}");
            }
        }
    }

    /// Asserts that the stream ended with an error in its own format, and that nothing follows.
    #[track_caller]
    pub fn check_broken(self, answer: &Answer) {
        let (text, events) = (answer.text(), answer.named_events());
        let (name, last) = events.last().unwrap_or_else(|| panic!("no events: {text}"));
        assert!(!text.contains("[DONE]"), "{text}");
        let error = &last["error"];
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{text}");
        match self {
            Self::Chat => {
                assert!(error["code"].is_string() && error.get("param").is_some(), "{text}");
                let finish = |data: &Value| data["choices"][0]["finish_reason"].is_string();
                assert!(!events.iter().any(|(_, data)| finish(data)), "{text}");
            }
            Self::Responses => {
                assert_eq!((&**name, &last["type"]), ("error", &json!("error")), "{text}");
                let (before, failed) = &events[events.len() - 2];
                assert_eq!(
                    (&**before, &failed["type"]),
                    ("response.failed", &json!("response.failed")),
                    "{text}"
                );
                assert_eq!(failed["response"]["status"], "failed", "{text}");
                assert!(failed["response"]["error"]["message"].is_string(), "{text}");
                assert_eq!(events[0].0, "response.created", "{text}");
                assert_eq!(events[0].1["response"]["id"], failed["response"]["id"], "{text}");
            }
            Self::Messages => {
                assert_eq!((&**name, &last["type"]), ("error", &json!("error")), "{text}");
                assert!(error["type"].is_string(), "{text}");
                let stops = ["message_stop", "message_delta"];
                assert!(!events.iter().any(|(name, _)| stops.contains(&&**name)), "{text}");
            }
            Self::Gemini => {
                let finish = |data: &Value| data["candidates"][0]["finishReason"].is_string();
                assert!(!events.iter().any(|(_, data)| finish(data)), "{text}");
            }
        }
    }

    /// Status and code of an error; the type if the format has no code.
    #[track_caller]
    pub fn refusal(self, answer: &Answer) -> (u16, String) {
        match self {
            Self::Messages => (answer.status, answer.anthropic_error()),
            Self::Gemini => (answer.status, answer.google_error().0),
            Self::Chat | Self::Responses => {
                let (status, code, _) = answer.refusal();
                (status, code)
            }
        }
    }
}
