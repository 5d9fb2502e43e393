//! Renders a reply in Gemini's format: one document, or a stream of documents with CRLF line ends.

use serde_json::{Value, json};

use super::super::answer::Step;
use super::super::dialect::{Dialect, ResponseRenderer};
use super::super::memory::Memory;
use super::super::rejection::encode;
use super::super::reply::{Reply, Stop, UsageStyle};

pub(super) struct GeminiRenderer<'a> {
    pub id: String,
    pub memory: &'a Memory,
    /// Whether thought signatures are issued.
    pub signs: bool,
    pub numbers_calls: bool,
    /// Whether the stream is one JSON array, as without `alt=sse`.
    pub as_list: bool,
}

/// A chunk of the answer: its parts and their token counts.
struct Piece {
    parts: Vec<Value>,
    completion: u64,
    reasoning: u64,
}

impl ResponseRenderer for GeminiRenderer<'_> {
    fn dialect(&self) -> Dialect {
        Dialect::Gemini
    }

    fn document(&self, reply: &Reply) -> Value {
        if self.as_list {
            return self.chunks(reply).into_iter().map(|(chunk, ..)| chunk).collect();
        }
        let mut parts = Vec::new();
        if !reply.reasoning.is_empty() {
            parts.push(json!({"text": reply.reasoning.concat(), "thought": true}));
        }
        if !reply.content.is_empty() {
            let mut text = json!({"text": reply.text()});
            if self.signs && !reply.reasoning.is_empty() {
                text["thoughtSignature"] = json!(self.signature(0));
            }
            parts.push(text);
        }
        parts.extend(self.calls(reply).into_iter().flat_map(|piece| piece.parts));
        let totals = (reply.completion_tokens(), reply.reasoning_tokens());
        self.envelope(reply, parts, Some(finish_reason(reply)), totals)
    }

    fn events(&self, reply: &Reply) -> Vec<Step> {
        let chunks = self.chunks(reply).into_iter();
        chunks
            .map(|(chunk, completion, reasoning)| Step::send_billed(event(&chunk), completion, reasoning))
            .collect()
    }

    fn failing_end(&self, _reply: &Reply, _sent: usize) -> Step {
        Step::send(event(&Dialect::Gemini.error(&Dialect::Gemini.overloaded())))
    }

    fn broken_event(&self) -> &'static str {
        "data: {\"candidates\": [{\"content\":\r\n\r\n"
    }
}

impl GeminiRenderer<'_> {
    fn signature(&self, index: usize) -> String {
        let seal = encode(&format!("thought:{}:{index}", self.id));
        self.memory.seal(&seal, "");
        seal
    }

    /// The calls; the first of parallel calls carries the signature.
    fn calls(&self, reply: &Reply) -> Vec<Piece> {
        let piece = |(index, call): (usize, &super::super::reply::ToolCall)| {
            let mut part = json!({"functionCall": {"name": call.name, "args": call.arguments()}});
            if self.numbers_calls {
                part["functionCall"]["id"] = json!(format!("call-{}-{index}", self.id));
            }
            if self.signs && index == 0 {
                part["thoughtSignature"] = json!(self.signature(1));
            }
            Piece { parts: vec![part], completion: call.arguments.len() as u64, reasoning: 0 }
        };
        reply.calls.iter().enumerate().map(piece).collect()
    }

    fn chunks(&self, reply: &Reply) -> Vec<(Value, u64, u64)> {
        let thought = |text: &String| Piece {
            parts: vec![json!({"text": text, "thought": true})],
            completion: 1,
            reasoning: 1,
        };
        let content =
            |text: &String| Piece { parts: vec![json!({"text": text})], completion: 1, reasoning: 0 };
        let mut pieces: Vec<Piece> = reply.reasoning.iter().map(thought).collect();
        // Filtered content is counted but not shown.
        let shown = !matches!(reply.stop, Stop::Filter | Stop::Refusal);
        let hidden = if shown { 0 } else { reply.content.len() as u64 };
        if shown {
            pieces.extend(reply.content.iter().map(content));
        }
        pieces.extend(self.calls(reply));
        let mut totals = (0, 0);
        let mut chunks = Vec::new();
        for piece in pieces {
            totals = (totals.0 + piece.completion, totals.1 + piece.reasoning);
            let chunk = self.envelope(reply, piece.parts, None, totals);
            chunks.push((chunk, piece.completion, piece.reasoning));
        }
        let mut last = Vec::new();
        if shown && reply.calls.is_empty() {
            let mut text = json!({"text": ""});
            if self.signs && !reply.reasoning.is_empty() {
                text["thoughtSignature"] = json!(self.signature(0));
            }
            last.push(text);
        }
        totals.0 += hidden;
        chunks.push((self.envelope(reply, last, Some(finish_reason(reply)), totals), hidden, 0));
        chunks
    }

    /// The document. A blocked candidate has no content, a blocked prompt no candidate.
    fn envelope(&self, reply: &Reply, parts: Vec<Value>, finish: Option<&str>, totals: (u64, u64)) -> Value {
        let mut document = match reply.stop {
            Stop::Refusal => json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}),
            Stop::Filter => json!({"candidates": [{"index": 0, "safetyRatings": [
                {"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": true},
            ]}]}),
            _ if parts.is_empty() => json!({"candidates": [{"content": {"role": "model"}, "index": 0}]}),
            _ => json!({"candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}]}),
        };
        if let Some(finish) = finish.filter(|_| reply.stop != Stop::Refusal) {
            document["candidates"][0]["finishReason"] = json!(finish);
        }
        if reply.usage != UsageStyle::Absent {
            document["usageMetadata"] = usage(reply, totals);
        }
        document["modelVersion"] = json!(reply.model);
        document["responseId"] = json!(self.id);
        document
    }
}

/// The usage; thoughts are counted separately from the candidates' tokens.
fn usage(reply: &Reply, (completion, reasoning): (u64, u64)) -> Value {
    if reply.usage == UsageStyle::Weird {
        return json!({"promptTokenCount": -5, "candidatesTokenCount": 1e30, "totalTokenCount": "many"});
    }
    let mut usage = json!({
        "promptTokenCount": reply.prompt_tokens,
        "candidatesTokenCount": completion - reasoning,
        "totalTokenCount": reply.prompt_tokens + completion,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": reply.prompt_tokens}],
    });
    if reply.cached_tokens > 0 {
        usage["cachedContentTokenCount"] = json!(reply.cached_tokens);
        usage["cacheTokensDetails"] = json!([{"modality": "TEXT", "tokenCount": reply.cached_tokens}]);
    }
    if reasoning > 0 {
        usage["thoughtsTokenCount"] = json!(reasoning);
    }
    usage
}

fn finish_reason(reply: &Reply) -> &'static str {
    match reply.stop {
        Stop::End | Stop::Sequence(_) | Stop::Refusal => "STOP",
        Stop::Length => "MAX_TOKENS",
        Stop::Filter => "SAFETY",
    }
}

fn event(data: &Value) -> String {
    format!("data: {data}\r\n\r\n")
}
