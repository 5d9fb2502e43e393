//! Writes the events of a response with their sequence numbers.

use serde_json::{Value, json};

use super::super::answer::Step;

#[derive(Default)]
pub(super) struct Writer {
    pub steps: Vec<Step>,
    pub sequence: usize,
}

/// The item or part an event belongs to.
#[derive(Clone, Copy)]
struct EventPosition<'a> {
    output_index: usize,
    item_id: &'a Value,
    /// Name of the part's index member, which depends on its type.
    part: Option<&'static str>,
}

impl Writer {
    pub fn event(&mut self, data: Value) {
        self.send_billed(data, 0, 0);
    }

    fn send_billed(&mut self, mut data: Value, completion: u64, reasoning: u64) {
        data["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        let kind = data["type"].as_str().unwrap_or_default();
        self.steps.push(Step::send_billed(format!("event: {kind}\ndata: {data}\n\n"), completion, reasoning));
    }

    pub fn response(&mut self, kind: &str, response: Value) {
        self.event(json!({"type": kind, "response": response}));
    }

    fn item(&mut self, kind: &str, index: usize, item: &Value) {
        self.event(json!({"type": kind, "output_index": index, "item": item}));
    }

    fn at(&mut self, kind: &str, place: EventPosition<'_>, more: Value, completion: u64, reasoning: u64) {
        let mut data = json!({"type": kind, "item_id": place.item_id, "output_index": place.output_index});
        if let Some(part) = place.part {
            data[part] = json!(0);
        }
        for (name, value) in more.as_object().into_iter().flatten() {
            data[name] = value.clone();
        }
        self.send_billed(data, completion, reasoning);
    }

    pub fn reasoning(&mut self, index: usize, item: &Value, pieces: &[String]) {
        let place = EventPosition { output_index: index, item_id: &item["id"], part: Some("summary_index") };
        let mut opened = item.clone();
        opened["summary"] = json!([]);
        self.item("response.output_item.added", index, &opened);
        let tokens = pieces.len() as u64;
        if let Some(part) = item["summary"].get(0) {
            let empty = json!({"part": {"type": "summary_text", "text": ""}});
            self.at("response.reasoning_summary_part.added", place, empty, 0, 0);
            for piece in pieces {
                self.at("response.reasoning_summary_text.delta", place, json!({"delta": piece}), 1, 1);
            }
            let text = json!({"text": part["text"]});
            self.at("response.reasoning_summary_text.done", place, text, 0, 0);
            self.at("response.reasoning_summary_part.done", place, json!({"part": part}), 0, 0);
        } else if let Some(Step::Send { completion, reasoning, .. }) = self.steps.last_mut() {
            (*completion, *reasoning) = (tokens, tokens);
        }
        self.item("response.output_item.done", index, item);
    }

    pub fn message(&mut self, index: usize, item: &Value, pieces: &[String]) {
        let place = EventPosition { output_index: index, item_id: &item["id"], part: Some("content_index") };
        let mut opened = item.clone();
        (opened["status"], opened["content"]) = (json!("in_progress"), json!([]));
        self.item("response.output_item.added", index, &opened);
        let part = &item["content"][0];
        let refused = part["type"] == "refusal";
        let member = if refused { "refusal" } else { "text" };
        let mut empty = part.clone();
        empty[member] = json!("");
        self.at("response.content_part.added", place, json!({"part": empty}), 0, 0);
        for piece in pieces {
            let (kind, more) = match refused {
                true => ("response.refusal.delta", json!({"delta": piece})),
                false => ("response.output_text.delta", json!({"delta": piece, "logprobs": []})),
            };
            self.at(kind, place, more, 1, 0);
        }
        let (kind, more) = match refused {
            true => ("response.refusal.done", json!({"refusal": part["refusal"]})),
            false => ("response.output_text.done", json!({"text": part["text"], "logprobs": []})),
        };
        self.at(kind, place, more, 0, 0);
        self.at("response.content_part.done", place, json!({"part": part}), 0, 0);
        self.item("response.output_item.done", index, item);
    }

    pub fn call(&mut self, index: usize, item: &Value, fragments: &[String]) {
        let place = EventPosition { output_index: index, item_id: &item["id"], part: None };
        let (stem, member) = match item["type"].as_str() {
            Some("custom_tool_call") => ("response.custom_tool_call_input", "input"),
            _ => ("response.function_call_arguments", "arguments"),
        };
        let mut opened = item.clone();
        (opened["status"], opened[member]) = (json!("in_progress"), json!(""));
        self.item("response.output_item.added", index, &opened);
        for fragment in fragments {
            self.at(&format!("{stem}.delta"), place, json!({"delta": fragment}), 1, 0);
        }
        let mut done = json!({member: item[member]});
        if member == "arguments" {
            done["name"] = item["name"].clone();
        }
        self.at(&format!("{stem}.done"), place, done, 0, 0);
        self.item("response.output_item.done", index, item);
    }
}
