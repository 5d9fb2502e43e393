//! Renders a reply as a response object.

use serde_json::{Value, json};

use super::super::answer::Step;
use super::super::dialect::{Dialect, ResponseRenderer};
use super::super::memory::{Memory, Stored};
use super::super::rejection::{encode, given, list};
use super::super::reply::{Reply, Stop, ToolCall, UsageStyle};
use super::stream::Writer;

pub(super) struct ResponsesRenderer<'a> {
    pub id: String,
    pub created: u64,
    pub request: Value,
    pub memory: &'a Memory,
    /// The items of this request only.
    pub own_input: Vec<Value>,
    /// The whole conversation so far.
    pub conversation: Vec<Value>,
}

impl ResponseRenderer for ResponsesRenderer<'_> {
    fn dialect(&self) -> Dialect {
        Dialect::Responses
    }

    fn document(&self, reply: &Reply) -> Value {
        let response = self.finished(reply);
        self.keep(&response);
        if self.request["background"] == true {
            return self.envelope(reply, "queued", Vec::new());
        }
        response
    }

    fn events(&self, reply: &Reply) -> Vec<Step> {
        let response = self.finished(reply);
        self.keep(&response);
        let mut writer = Writer::default();
        writer.response("response.created", self.envelope(reply, "in_progress", Vec::new()));
        writer.response("response.in_progress", self.envelope(reply, "in_progress", Vec::new()));
        let mut calls = reply.calls.iter();
        for (index, item) in list(&response["output"]).iter().enumerate() {
            match item["type"].as_str() {
                Some("reasoning") => writer.reasoning(index, item, &reply.reasoning),
                Some("message") => writer.message(index, item, &reply.content),
                _ => writer.call(index, item, calls.next().map_or(&[], |call| &call.arguments)),
            }
        }
        let end =
            if response["status"] == "completed" { "response.completed" } else { "response.incomplete" };
        writer.response(end, response);
        writer.steps
    }

    /// Sends the error as a separate event.
    fn failing_start(&self, reply: &Reply) -> Vec<Step> {
        let mut writer = Writer::default();
        writer.response("response.created", self.envelope(reply, "in_progress", Vec::new()));
        writer.response("response.in_progress", self.envelope(reply, "in_progress", Vec::new()));
        let error = json!({
            "type": "server_error", "code": "server_error", "message": "The server is overloaded.", "param": null,
        });
        writer.event(json!({"type": "error", "error": error}));
        writer.steps
    }

    /// Sends the error inside the response.
    fn failing_end(&self, reply: &Reply, sent: usize) -> Step {
        let mut writer = Writer { sequence: sent, ..Writer::default() };
        writer.response("response.failed", self.failing_document(reply));
        writer.steps.remove(0)
    }

    fn failing_document(&self, reply: &Reply) -> Value {
        let mut failed = self.envelope(reply, "failed", Vec::new());
        failed["error"] = json!({"code": "server_error", "message": "The server is overloaded."});
        failed
    }

    fn broken_event(&self) -> &'static str {
        "event: response.created\ndata: {\"type\": \"response.created\", \"response\": {\n\n"
    }
}

impl ResponsesRenderer<'_> {
    fn stem(&self) -> &str {
        self.id.trim_start_matches("resp_")
    }

    fn finished(&self, reply: &Reply) -> Value {
        let (status, reason) = match reply.stop {
            Stop::Length => ("incomplete", Some("max_output_tokens")),
            Stop::Filter => ("incomplete", Some("content_filter")),
            Stop::End | Stop::Sequence(_) | Stop::Refusal => ("completed", None),
        };
        let mut response = self.envelope(reply, status, self.output(reply, status));
        if let Some(reason) = reason {
            response["incomplete_details"] = json!({"reason": reason});
        } else {
            response["completed_at"] = json!(self.created + 1);
        }
        if reply.usage != UsageStyle::Absent {
            response["usage"] = usage(reply);
        }
        response
    }

    fn output(&self, reply: &Reply, status: &str) -> Vec<Value> {
        let mut output = Vec::new();
        if !reply.reasoning.is_empty() {
            output.push(self.reasoning(reply));
        }
        if !reply.content.is_empty() {
            let part = match reply.stop {
                Stop::Refusal => json!({"type": "refusal", "refusal": reply.text()}),
                _ => json!({"type": "output_text", "text": reply.text(), "annotations": [], "logprobs": []}),
            };
            output.push(json!({
                "id": format!("msg_{}", self.stem()), "type": "message", "status": status, "role": "assistant",
                "content": [part],
            }));
        }
        output.extend(reply.calls.iter().enumerate().map(|(index, call)| self.call(index, call)));
        output
    }

    fn call(&self, index: usize, call: &ToolCall) -> Value {
        let call_id = format!("call_{}_{index}", self.stem());
        let text = call.arguments.concat();
        if call.custom {
            return json!({
                "id": format!("ctc_{}_{index}", self.stem()), "type": "custom_tool_call", "status": "completed",
                "call_id": call_id, "name": call.name, "input": text,
            });
        }
        json!({
            "id": format!("fc_{}_{index}", self.stem()), "type": "function_call", "status": "completed",
            "arguments": text, "call_id": call_id, "name": call.name,
        })
    }

    /// The reasoning item, with a summary and sealed content if requested.
    fn reasoning(&self, reply: &Reply) -> Value {
        let summary = match given(&self.request["reasoning"], "summary") {
            Some(_) => vec![json!({"type": "summary_text", "text": reply.reasoning.concat()})],
            None => Vec::new(),
        };
        let mut item = json!({"id": format!("rs_{}", self.stem()), "type": "reasoning", "summary": summary});
        if list(&self.request["include"]).iter().any(|include| include == "reasoning.encrypted_content") {
            let seal = encode(&format!("reasoning:{}", self.id));
            self.memory.seal(&seal, "");
            item["encrypted_content"] = json!(seal);
        }
        item
    }

    fn envelope(&self, reply: &Reply, status: &str, output: Vec<Value>) -> Value {
        let sent = |field: &str, default: Value| given(&self.request, field).cloned().unwrap_or(default);
        let text = &self.request["text"];
        let format = given(text, "format").cloned().unwrap_or_else(|| json!({"type": "text"}));
        let verbosity = given(text, "verbosity").cloned().unwrap_or(json!("medium"));
        let reasoning = &self.request["reasoning"];
        json!({
            "id": self.id, "object": "response", "created_at": self.created, "status": status,
            "background": sent("background", json!(false)), "completed_at": null, "error": null,
            "incomplete_details": null, "instructions": self.request["instructions"],
            "max_output_tokens": self.request["max_output_tokens"], "max_tool_calls": self.request["max_tool_calls"],
            "model": reply.model, "output": output,
            "parallel_tool_calls": sent("parallel_tool_calls", json!(true)),
            "previous_response_id": self.request["previous_response_id"],
            "prompt_cache_key": self.request["prompt_cache_key"],
            "reasoning": {"effort": reasoning["effort"], "summary": reasoning["summary"]},
            "safety_identifier": self.request["safety_identifier"], "service_tier": "default",
            "store": sent("store", json!(true)), "temperature": sent("temperature", json!(1.0)),
            "text": {"format": format, "verbosity": verbosity},
            "tool_choice": sent("tool_choice", json!("auto")), "tools": sent("tools", json!([])),
            "top_logprobs": 0, "top_p": sent("top_p", json!(1.0)),
            "truncation": sent("truncation", json!("disabled")), "usage": null,
            "user": self.request["user"], "metadata": sent("metadata", json!({})),
        })
    }

    fn keep(&self, response: &Value) {
        if self.request["store"] == false {
            return;
        }
        let mut conversation = self.conversation.clone();
        conversation.extend_from_slice(list(&response["output"]));
        let input = self.own_input.iter().enumerate().map(|(index, item)| self.identified(index, item));
        let stored = Stored { document: response.clone(), input: input.collect(), conversation, reads: 0 };
        self.memory.store(&self.id, stored);
    }

    fn identified(&self, index: usize, item: &Value) -> Value {
        let mut item = item.clone();
        if given(&item, "id").is_none() {
            let prefix = match item["type"].as_str() {
                Some("message") => "msg",
                Some("function_call") => "fc",
                Some("reasoning") => "rs",
                _ => "item",
            };
            item["id"] = json!(format!("{prefix}_in_{}_{index}", self.stem()));
        }
        item
    }
}

fn usage(reply: &Reply) -> Value {
    if reply.usage == UsageStyle::Weird {
        return json!({"input_tokens": -5, "output_tokens": 1e30, "total_tokens": "many"});
    }
    let output = reply.completion_tokens();
    json!({
        "input_tokens": reply.prompt_tokens,
        "input_tokens_details": {"cached_tokens": reply.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": reply.reasoning_tokens()},
        "total_tokens": reply.prompt_tokens + output,
    })
}
