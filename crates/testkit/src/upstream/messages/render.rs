//! Renders a reply in Anthropic's Messages format: one message, or the events that build it.

use bytes::Bytes;
use serde_json::{Value, json};

use super::super::answer::Step;
use super::super::dialect::{Dialect, ResponseRenderer};
use super::super::memory::Memory;
use super::super::rejection::encode;
use super::super::reply::{Reply, Stop, UsageStyle};

pub(super) struct MessagesRenderer<'a> {
    pub id: String,
    pub memory: &'a Memory,
    /// Whether thinking text is shown; newer generations only send the signature.
    pub shows_thinking: bool,
}

impl ResponseRenderer for MessagesRenderer<'_> {
    fn dialect(&self) -> Dialect {
        Dialect::Messages
    }

    fn document(&self, reply: &Reply) -> Value {
        let mut content = Vec::new();
        if !reply.reasoning.is_empty() {
            content.push(self.thinking(reply));
        }
        if !reply.content.is_empty() {
            content.push(json!({"type": "text", "text": reply.text(), "citations": null}));
        }
        for (index, call) in reply.calls.iter().enumerate() {
            let id = self.call_id(index);
            content.push(json!({"type": "tool_use", "id": id, "name": call.name, "input": call.arguments()}));
        }
        let (reason, sequence) = stop(reply);
        let mut message = self.envelope(reply, json!(content), reason, sequence);
        self.tell(&mut message, reply, reply.completion_tokens());
        message
    }

    fn events(&self, reply: &Reply) -> Vec<Step> {
        let mut writer = Writer { steps: self.start(reply), blocks: 0 };
        if !reply.reasoning.is_empty() {
            self.think(&mut writer, reply);
        }
        if !reply.content.is_empty() {
            writer.open(json!({"type": "text", "text": ""}));
            for piece in &reply.content {
                writer.delta(json!({"type": "text_delta", "text": piece}), 1, 0);
            }
            writer.close();
        }
        for (index, call) in reply.calls.iter().enumerate() {
            writer
                .open(json!({"type": "tool_use", "id": self.call_id(index), "name": call.name, "input": {}}));
            writer.delta(json!({"type": "input_json_delta", "partial_json": ""}), 0, 0);
            for fragment in &call.arguments {
                writer.delta(json!({"type": "input_json_delta", "partial_json": fragment}), 1, 0);
            }
            writer.close();
        }
        let (reason, sequence) = stop(reply);
        let delta = json!({"stop_reason": reason, "stop_sequence": sequence});
        let mut last = json!({"type": "message_delta", "delta": delta});
        self.tell(&mut last, reply, reply.completion_tokens());
        writer.steps.push(Step::send(event(&last)));
        writer.steps.push(Step::send(event(&json!({"type": "message_stop"}))));
        writer.steps
    }

    fn failing_start(&self, reply: &Reply) -> Vec<Step> {
        let mut steps = self.start(reply);
        steps.push(self.failing_end(reply, 0));
        steps
    }

    fn failing_end(&self, _reply: &Reply, _sent: usize) -> Step {
        let error = json!({"type": "overloaded_error", "message": "Overloaded"});
        Step::send(event(&json!({"type": "error", "error": error})))
    }

    fn broken_event(&self) -> &'static str {
        "event: message_start\ndata: {\"type\": \"message_start\", \"message\": {\n\n"
    }
}

impl MessagesRenderer<'_> {
    fn call_id(&self, index: usize) -> String {
        format!("toolu_{}_{index}", self.id)
    }

    fn envelope(&self, reply: &Reply, content: Value, reason: Option<&str>, sequence: Option<&str>) -> Value {
        json!({
            "id": self.id, "type": "message", "role": "assistant", "model": reply.model, "content": content,
            "stop_reason": reason, "stop_sequence": sequence,
        })
    }

    fn start(&self, reply: &Reply) -> Vec<Step> {
        let mut message = self.envelope(reply, json!([]), None, None);
        self.tell(&mut message, reply, 1);
        let start = event(&json!({"type": "message_start", "message": message}));
        vec![Step::send(start), Step::send(event(&json!({"type": "ping"})))]
    }

    /// Adds the usage, whose input buckets are disjoint.
    fn tell(&self, target: &mut Value, reply: &Reply, output: u64) {
        let (five_minutes, hour) = reply.cache_writes;
        let uncached = reply.prompt_tokens - reply.cached_tokens - five_minutes - hour;
        let usage = match reply.usage {
            UsageStyle::Absent => return,
            UsageStyle::Weird => json!({"input_tokens": -5, "output_tokens": 1e30}),
            UsageStyle::Plain | UsageStyle::EveryChunk => json!({
                "input_tokens": uncached,
                "cache_creation_input_tokens": five_minutes + hour,
                "cache_read_input_tokens": reply.cached_tokens,
                "cache_creation": {"ephemeral_5m_input_tokens": five_minutes, "ephemeral_1h_input_tokens": hour},
                "output_tokens": output,
                "output_tokens_details": {"thinking_tokens": reply.reasoning_tokens().min(output)},
                "service_tier": "standard",
            }),
        };
        target["usage"] = usage;
    }

    /// The thinking block. Its signature is only accepted back with the same text.
    fn thinking(&self, reply: &Reply) -> Value {
        let seal = encode(&format!("thinking:{}:{}", self.id, reply.redacted));
        if reply.redacted {
            self.memory.seal(&seal, "");
            return json!({"type": "redacted_thinking", "data": seal});
        }
        let text = if self.shows_thinking { reply.reasoning.concat() } else { String::new() };
        self.memory.seal(&seal, &text);
        json!({"type": "thinking", "thinking": text, "signature": seal})
    }

    fn think(&self, writer: &mut Writer, reply: &Reply) {
        let block = self.thinking(reply);
        let tokens = reply.reasoning_tokens();
        if reply.redacted {
            writer.open(block);
            writer.charge(tokens);
            writer.close();
            return;
        }
        writer.open(json!({"type": "thinking", "thinking": "", "signature": ""}));
        for piece in reply.reasoning.iter().filter(|_| self.shows_thinking) {
            writer.delta(json!({"type": "thinking_delta", "thinking": piece}), 1, 1);
        }
        writer.delta(json!({"type": "signature_delta", "signature": block["signature"]}), 0, 0);
        if !self.shows_thinking {
            writer.charge(tokens);
        }
        writer.close();
    }
}

fn stop(reply: &Reply) -> (Option<&str>, Option<&str>) {
    match &reply.stop {
        _ if !reply.calls.is_empty() => (Some("tool_use"), None),
        Stop::End => (Some("end_turn"), None),
        Stop::Length => (Some("max_tokens"), None),
        Stop::Sequence(sequence) => (Some("stop_sequence"), Some(sequence)),
        Stop::Filter | Stop::Refusal => (Some("refusal"), None),
    }
}

struct Writer {
    steps: Vec<Step>,
    blocks: usize,
}

impl Writer {
    fn open(&mut self, block: Value) {
        let start = json!({"type": "content_block_start", "index": self.blocks, "content_block": block});
        self.steps.push(Step::send(event(&start)));
    }

    fn delta(&mut self, delta: Value, completion: u64, reasoning: u64) {
        let delta = event(&json!({"type": "content_block_delta", "index": self.blocks, "delta": delta}));
        self.steps.push(Step::send_billed(delta, completion, reasoning));
    }

    /// Bills reasoning that is not shown to the last event.
    fn charge(&mut self, tokens: u64) {
        if let Some(Step::Send { completion, reasoning, .. }) = self.steps.last_mut() {
            (*completion, *reasoning) = (tokens, tokens);
        }
    }

    fn close(&mut self) {
        self.steps.push(Step::send(event(&json!({"type": "content_block_stop", "index": self.blocks}))));
        self.blocks += 1;
    }
}

/// An event named by its type.
fn event(data: &Value) -> Bytes {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default()).into()
}
