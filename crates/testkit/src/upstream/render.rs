//! A reply as OpenAI's chat format writes it: one document, or a stream of events.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::script::{Answer, Step};

/// How the reply tells what it cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum UsageStyle {
    #[default]
    Plain,
    Absent,
    Weird,
    EveryChunk,
}

#[derive(Clone, Debug)]
pub(super) struct ToolCall {
    pub id: String,
    pub name: String,
    /// The arguments' JSON text in the fragments a stream sends it in.
    pub arguments: Vec<&'static str>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Reply {
    pub id: String,
    pub created: u64,
    pub model: String,
    /// One token each, as are the pieces of content and of arguments.
    pub reasoning: Vec<String>,
    pub content: Vec<String>,
    pub calls: Vec<ToolCall>,
    pub prompt_tokens: u64,
    pub cached_tokens: u64,
    pub usage: UsageStyle,
    pub azure_first: bool,
}

impl Reply {
    fn completion_tokens(&self) -> u64 {
        let fragments: usize = self.calls.iter().map(|call| call.arguments.len()).sum();
        (self.reasoning.len() + self.content.len() + fragments) as u64
    }

    fn finish_reason(&self) -> &'static str {
        if self.calls.is_empty() { "stop" } else { "tool_calls" }
    }

    fn usage(&self, completion: u64, reasoning: u64) -> Value {
        if self.usage == UsageStyle::Weird {
            // Larger than any 64-bit integer, and less than nothing.
            return json!({"prompt_tokens": -5, "completion_tokens": 1e30, "total_tokens": "many"});
        }
        json!({
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": completion,
            "total_tokens": self.prompt_tokens + completion,
            "prompt_tokens_details": {"cached_tokens": self.cached_tokens, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": reasoning, "audio_tokens": 0},
        })
    }

    fn total_usage(&self) -> Value {
        self.usage(self.completion_tokens(), self.reasoning.len() as u64)
    }

    /// As one document.
    pub fn whole(&self) -> Answer {
        let mut message = Map::new();
        message.insert("role".into(), json!("assistant"));
        let text = self.content.concat();
        message.insert("content".into(), if self.calls.is_empty() { json!(text) } else { Value::Null });
        message.insert("refusal".into(), Value::Null);
        if !self.reasoning.is_empty() {
            message.insert("reasoning_content".into(), json!(self.reasoning.concat()));
        }
        if !self.calls.is_empty() {
            let calls = self.calls.iter().map(|call| {
                json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments.concat()}})
            });
            message.insert("tool_calls".into(), calls.collect());
        }
        let choice =
            json!({"index": 0, "message": message, "logprobs": null, "finish_reason": self.finish_reason()});
        let mut document = json!({
            "id": self.id, "object": "chat.completion", "created": self.created, "model": self.model,
            "choices": [choice], "system_fingerprint": "fp_scripted",
        });
        if self.usage != UsageStyle::Absent {
            document["usage"] = self.total_usage();
        }
        let mut answer = Answer::whole(document.to_string());
        for step in &mut answer.steps {
            if let Step::Send { completion, reasoning, .. } = step {
                *completion = self.completion_tokens();
                *reasoning = self.reasoning.len() as u64;
            }
        }
        answer.billed = Some((self.prompt_tokens, self.cached_tokens));
        answer
    }

    /// As events: the role, the deltas, the finish, the usage when asked for, `[DONE]`.
    pub fn stream(&self, include_usage: bool) -> Answer {
        let mut writer =
            StreamWriter { reply: self, include_usage, completion: 0, reasoning: 0, steps: Vec::new() };
        if self.azure_first {
            let filters = json!([{"prompt_index": 0, "content_filter_results": {}}]);
            let first = json!({"choices": [], "created": 0, "id": "", "model": "", "object": "", "prompt_filter_results": filters});
            writer.steps.push(Step::send(event(&first)));
        }
        writer.delta(json!({"role": "assistant", "content": if self.calls.is_empty() { json!("") } else { Value::Null }}), 0, 0);
        for piece in &self.reasoning {
            writer.delta(json!({"reasoning_content": piece}), 1, 1);
        }
        for piece in &self.content {
            writer.delta(json!({"content": piece}), 1, 0);
        }
        for (index, call) in self.calls.iter().enumerate() {
            let head = json!({"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}});
            writer.delta(json!({"tool_calls": [head]}), 0, 0);
            for fragment in &call.arguments {
                let part = json!({"index": index, "function": {"arguments": fragment}});
                writer.delta(json!({"tool_calls": [part]}), 1, 0);
            }
        }
        writer.chunk(
            json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": self.finish_reason()}]),
            None,
        );
        if include_usage && self.usage != UsageStyle::Absent {
            writer.chunk(json!([]), Some(self.total_usage()));
        }
        writer.steps.push(Step::send("data: [DONE]\n\n"));
        let billed = Some((self.prompt_tokens, self.cached_tokens));
        Answer { billed, ..Answer::stream(writer.steps) }
    }
}

struct StreamWriter<'a> {
    reply: &'a Reply,
    include_usage: bool,
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

    fn chunk(&mut self, choices: Value, usage: Option<Value>) {
        let reply = self.reply;
        let mut chunk = json!({
            "id": reply.id, "object": "chat.completion.chunk", "created": reply.created, "model": reply.model,
            "system_fingerprint": "fp_scripted", "choices": choices,
        });
        if let Some(usage) = usage {
            chunk["usage"] = usage;
        } else if reply.usage == UsageStyle::EveryChunk {
            chunk["usage"] = reply.usage(self.completion, self.reasoning);
        } else if self.include_usage && reply.usage != UsageStyle::Absent {
            chunk["usage"] = Value::Null;
        }
        self.steps.push(Step::send(event(&chunk)));
    }
}

pub(super) fn event(data: &Value) -> Bytes {
    format!("data: {data}\n\n").into()
}
