//! The built-in demo model: deterministic chat completions and embeddings without key or network.

mod compose;
mod embed;
mod schema;

use bytes::Bytes;
use domain::fault::Fault;
use serde_json::{Value, json};

use crate::fingerprint::fingerprint;
use crate::json;
use compose::{AnswerContent, Composed};

pub const MODELS: &[&str] = &["demo-chat", embed::MODEL];

/// Creation time of every answer, fixed so that equal requests get equal answers.
const CREATED: i64 = 1_700_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Json(Bytes),
    /// Framed events, each with its blank line, `[DONE]` included.
    Events(Vec<Bytes>),
    Error(u16, Bytes),
}

/// Answers an OpenAI chat or embeddings request.
pub fn answer(body: &[u8]) -> Reply {
    if let Err(error) = json::scan(body).and_then(|object| object.check_elements()) {
        return refuse(&Fault::from(error).message, None);
    }
    let Ok(request) = serde_json::from_slice::<Value>(body) else {
        return refuse("The body is not valid JSON.", None);
    };
    if request.get("input").is_some() && request.get("messages").is_none() {
        return embed::answer(&request);
    }
    if request["messages"].as_array().is_none_or(Vec::is_empty) {
        return refuse("'messages' must be an array with at least one message.", Some("messages"));
    }
    let composed = compose::compose(&request);
    let frame = Frame {
        id: format!("chatcmpl-demo-{:016x}", fingerprint(body)),
        model: request["model"].as_str().unwrap_or(MODELS[0]).to_owned(),
        choices: request["n"].as_u64().unwrap_or(1).clamp(1, 128),
        usage_asked: request["stream_options"]["include_usage"] == true,
    };
    match request["stream"] == true {
        true => Reply::Events(frame.events(&composed)),
        false => Reply::Json(frame.whole(&composed)),
    }
}

fn refuse(message: &str, param: Option<&str>) -> Reply {
    let error = json!({"error": {
        "type": "invalid_request_error", "message": message, "param": param, "code": "invalid_request",
    }});
    Reply::Error(400, error.to_string().into())
}

/// Fields shared by all objects of one answer.
struct Frame {
    id: String,
    model: String,
    choices: u64,
    usage_asked: bool,
}

impl Frame {
    fn whole(&self, composed: &Composed) -> Bytes {
        let message = match &composed.content {
            AnswerContent::Text(words) => {
                json!({"role": "assistant", "content": words.concat(), "refusal": null})
            }
            AnswerContent::Call { .. } => json!({
                "role": "assistant", "content": null, "refusal": null, "tool_calls": [self.call(composed, None)],
            }),
        };
        let choice = |index: u64| {
            json!({
                "index": index, "message": message, "logprobs": null, "finish_reason": composed.finish_reason,
            })
        };
        let answer = json!({
            "id": self.id, "object": "chat.completion", "created": CREATED, "model": self.model,
            "choices": (0..self.choices).map(choice).collect::<Vec<_>>(), "usage": self.usage(composed),
        });
        answer.to_string().into()
    }

    fn events(&self, composed: &Composed) -> Vec<Bytes> {
        let mut events = Vec::new();
        for index in 0..self.choices {
            events.push(self.chunk(index, json!({"role": "assistant", "content": ""}), None));
            match &composed.content {
                AnswerContent::Text(words) => {
                    events.extend(words.iter().map(|word| self.chunk(index, json!({"content": word}), None)));
                }
                AnswerContent::Call { arguments, .. } => {
                    let open = json!({"tool_calls": [self.call(composed, Some(""))]});
                    events.push(self.chunk(index, open, None));
                    for piece in compose::words(arguments) {
                        let delta = json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]});
                        events.push(self.chunk(index, delta, None));
                    }
                }
            }
            events.push(self.chunk(index, json!({}), Some(composed.finish_reason)));
        }
        if self.usage_asked {
            events.push(framed(&self.event(json!([]), self.usage(composed))));
        }
        events.push(Bytes::from_static(b"data: [DONE]\n\n"));
        events
    }

    fn chunk(&self, index: u64, delta: Value, finish_reason: Option<&str>) -> Bytes {
        let choice =
            json!({"index": index, "delta": delta, "logprobs": null, "finish_reason": finish_reason});
        framed(&self.event(json!([choice]), Value::Null))
    }

    fn event(&self, choices: Value, usage: Value) -> Value {
        let mut event = json!({
            "id": self.id, "object": "chat.completion.chunk", "created": CREATED, "model": self.model,
            "choices": choices,
        });
        if self.usage_asked {
            event["usage"] = usage;
        }
        event
    }

    /// The tool call. In a stream it has an index and the given first fragment of its arguments.
    fn call(&self, composed: &Composed, streamed: Option<&str>) -> Value {
        let AnswerContent::Call { name, arguments } = &composed.content else { return Value::Null };
        let mut call = json!({
            "id": self.id.replace("chatcmpl", "call"), "type": "function",
            "function": {"name": name, "arguments": streamed.unwrap_or(arguments)},
        });
        if streamed.is_some() {
            call["index"] = json!(0);
        }
        call
    }

    fn usage(&self, composed: &Composed) -> Value {
        let completion = composed.completion_tokens * self.choices;
        json!({
            "prompt_tokens": composed.prompt_tokens, "completion_tokens": completion,
            "total_tokens": composed.prompt_tokens + completion,
        })
    }
}

fn framed(event: &Value) -> Bytes {
    format!("data: {event}\n\n").into()
}

#[cfg(test)]
mod tests;
