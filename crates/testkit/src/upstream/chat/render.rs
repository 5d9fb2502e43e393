//! Renders a reply in OpenAI's chat format: one document, or a stream of events.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::super::answer::Step;
use super::super::dialect::{Dialect, ResponseRenderer};
use super::super::reply::{Reply, Stop, ToolCall, UsageStyle};

pub(in super::super) struct ChatRenderer {
    pub id: String,
    pub created: u64,
    pub include_usage: bool,
    pub azure: bool,
    /// Whether reasoning is counted but not shown.
    pub hides_reasoning: bool,
}

impl ResponseRenderer for ChatRenderer {
    fn dialect(&self) -> Dialect {
        Dialect::Chat
    }

    fn document(&self, reply: &Reply) -> Value {
        let mut message = Map::new();
        let (text, calls) = (reply.text(), &reply.calls);
        let refused = reply.stop == Stop::Refusal;
        let silent = refused || !calls.is_empty();
        message.insert("role".into(), json!("assistant"));
        message.insert("content".into(), if silent { Value::Null } else { json!(text) });
        message.insert("refusal".into(), if refused { json!(text) } else { Value::Null });
        if !reply.reasoning.is_empty() && !self.hides_reasoning {
            message.insert("reasoning_content".into(), json!(reply.reasoning.concat()));
        }
        if !calls.is_empty() {
            let calls = calls.iter().enumerate().map(|(index, call)| {
                let (kind, text) = members(call);
                json!({
                    "id": self.call_id(index), "type": kind,
                    kind: {"name": call.name, text: call.arguments.concat()},
                })
            });
            message.insert("tool_calls".into(), calls.collect());
        }
        let choice =
            json!({"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(reply)});
        let mut document = json!({
            "id": self.id, "object": "chat.completion", "created": self.created, "model": reply.model,
            "choices": [choice], "system_fingerprint": "fp_scripted",
        });
        if reply.usage != UsageStyle::Absent {
            document["usage"] = total_usage(reply);
        }
        document
    }

    /// The events: role, deltas, finish reason, usage if requested, `[DONE]`.
    fn events(&self, reply: &Reply) -> Vec<Step> {
        let mut writer =
            StreamWriter { renderer: self, reply, completion: 0, reasoning: 0, steps: Vec::new() };
        if reply.azure_first || self.azure {
            let filters = json!([{"prompt_index": 0, "content_filter_results": {}}]);
            let first = json!({"choices": [], "created": 0, "id": "", "model": "", "object": "", "prompt_filter_results": filters});
            writer.steps.push(Step::send(event(&first)));
        }
        let content = if reply.calls.is_empty() { json!("") } else { Value::Null };
        let hidden = if self.hides_reasoning { reply.reasoning_tokens() } else { 0 };
        writer.delta(json!({"role": "assistant", "content": content}), hidden, hidden);
        for piece in reply.reasoning.iter().filter(|_| !self.hides_reasoning) {
            writer.delta(json!({"reasoning_content": piece}), 1, 1);
        }
        let member = if reply.stop == Stop::Refusal { "refusal" } else { "content" };
        for piece in &reply.content {
            writer.delta(json!({member: piece}), 1, 0);
        }
        for (index, call) in reply.calls.iter().enumerate() {
            let (kind, text) = members(call);
            let head = json!({"index": index, "id": self.call_id(index), "type": kind, kind: {"name": call.name, text: ""}});
            writer.delta(json!({"tool_calls": [head]}), 0, 0);
            for fragment in &call.arguments {
                let part = json!({"index": index, kind: {text: fragment}});
                writer.delta(json!({"tool_calls": [part]}), 1, 0);
            }
        }
        let finish =
            json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": finish_reason(reply)}]);
        writer.chunk(finish, None);
        if self.include_usage && reply.usage != UsageStyle::Absent {
            writer.chunk(json!([]), Some(total_usage(reply)));
        }
        writer.steps.push(Step::send("data: [DONE]\n\n"));
        writer.steps
    }

    fn failing_end(&self, _reply: &Reply, _sent: usize) -> Step {
        Step::send(event(&Dialect::Chat.error(&Dialect::Chat.overloaded())))
    }
}

impl ChatRenderer {
    fn call_id(&self, index: usize) -> String {
        format!("call_{}_{index}", self.id)
    }
}

/// The names of a call's members.
fn members(call: &ToolCall) -> (&'static str, &'static str) {
    if call.custom { ("custom", "input") } else { ("function", "arguments") }
}

pub(in super::super) fn finish_reason(reply: &Reply) -> &'static str {
    match reply.stop {
        _ if !reply.calls.is_empty() => "tool_calls",
        Stop::End | Stop::Sequence(_) | Stop::Refusal => "stop",
        Stop::Length => "length",
        Stop::Filter => "content_filter",
    }
}

pub(in super::super) fn usage(reply: &Reply, completion: u64, reasoning: u64) -> Value {
    if reply.usage == UsageStyle::Weird {
        // A negative count and one larger than any 64-bit integer.
        return json!({"prompt_tokens": -5, "completion_tokens": 1e30, "total_tokens": "many"});
    }
    json!({
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": completion,
        "total_tokens": reply.prompt_tokens + completion,
        "prompt_tokens_details": {"cached_tokens": reply.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": reasoning, "audio_tokens": 0},
    })
}

fn total_usage(reply: &Reply) -> Value {
    usage(reply, reply.completion_tokens(), reply.reasoning_tokens())
}

struct StreamWriter<'a> {
    renderer: &'a ChatRenderer,
    reply: &'a Reply,
    completion: u64,
    reasoning: u64,
    steps: Vec<Step>,
}

impl StreamWriter<'_> {
    fn delta(&mut self, delta: Value, completion: u64, reasoning: u64) {
        self.completion += completion;
        self.reasoning += reasoning;
        self.chunk(json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]), None);
        if let Some(Step::Send { completion: sent, reasoning: thought, .. }) = self.steps.last_mut() {
            (*sent, *thought) = (completion, reasoning);
        }
    }

    fn chunk(&mut self, choices: Value, reported_usage: Option<Value>) {
        let (renderer, reply) = (self.renderer, self.reply);
        let mut chunk = json!({
            "id": renderer.id, "object": "chat.completion.chunk", "created": renderer.created, "model": reply.model,
            "system_fingerprint": "fp_scripted", "choices": choices,
        });
        if let Some(reported) = reported_usage {
            chunk["usage"] = reported;
        } else if reply.usage == UsageStyle::EveryChunk {
            chunk["usage"] = usage(reply, self.completion, self.reasoning);
        } else if renderer.include_usage && reply.usage != UsageStyle::Absent {
            chunk["usage"] = Value::Null;
        }
        self.steps.push(Step::send(event(&chunk)));
    }
}

pub(in super::super) fn event(data: &Value) -> Bytes {
    format!("data: {data}\n\n").into()
}
