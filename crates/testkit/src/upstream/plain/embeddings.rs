//! Embeddings: vectors that only depend on the text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::answer::Step;
use super::super::chat;
use super::super::dialect::{Dialect, ResponseRenderer};
use super::super::openai::{invalid, missing, one_of};
use super::super::parsed_request::ParsedRequest;
use super::super::rejection::{UpstreamRejection, given};
use super::super::reply::{Reply, UsageStyle};
use super::super::upstream_request::{AcceptedRequest, UpstreamRequest};

/// OpenAI's fields, and the `task` of other vendors.
const FIELDS: [&str; 6] = ["dimensions", "encoding_format", "input", "model", "task", "user"];
const MOST_INPUTS: usize = 2048;
const DIMENSIONS: u64 = 8;

struct EmbeddingsRenderer {
    inputs: Vec<String>,
    dimensions: u64,
    base64: bool,
}

pub(in super::super) fn open<'a>(
    context: &UpstreamRequest<'a>,
    request: &Value,
) -> Result<AcceptedRequest<'a>, UpstreamRejection> {
    let parsed = super::admit(context, request, &FIELDS)?;
    if let Some(format) = given(request, "encoding_format") {
        one_of(format, "encoding_format", &["float", "base64"])?;
    }
    let dimensions = given(request, "dimensions").map_or(Some(DIMENSIONS), Value::as_u64);
    let dimensions = dimensions.filter(|number| (1..=4096).contains(number));
    let dimensions = dimensions.ok_or_else(|| invalid("dimensions", &request["dimensions"]))?;
    let inputs = inputs(request)?;
    let parsed = ParsedRequest { texts: inputs.clone(), ..parsed };
    let renderer = EmbeddingsRenderer { inputs, dimensions, base64: request["encoding_format"] == "base64" };
    Ok(AcceptedRequest { parsed, renderer: Box::new(renderer) })
}

/// Reads a text, texts, tokens, or lists of tokens; a token counts as a word.
fn inputs(request: &Value) -> Result<Vec<String>, UpstreamRejection> {
    let words = |tokens: &[Value]| tokens.iter().map(Value::to_string).collect::<Vec<_>>().join(" ");
    let inputs = match given(request, "input").ok_or_else(|| missing("input"))? {
        Value::String(text) => vec![text.clone()],
        Value::Array(tokens) if tokens.first().is_some_and(Value::is_number) => vec![words(tokens)],
        Value::Array(items) => {
            let text = |item: &Value| match item {
                Value::String(text) => Some(text.clone()),
                Value::Array(tokens) if tokens.iter().all(Value::is_number) => Some(words(tokens)),
                _ => None,
            };
            let texts: Option<Vec<String>> = items.iter().map(text).collect();
            texts.ok_or_else(|| invalid("input", &request["input"]))?
        }
        other => return Err(invalid("input", other)),
    };
    if inputs.is_empty() || inputs.len() > MOST_INPUTS || inputs.iter().any(String::is_empty) {
        return Err(invalid("input", &request["input"]));
    }
    Ok(inputs)
}

impl EmbeddingsRenderer {
    fn vector(&self, text: &str) -> Value {
        let sum: u64 = text.bytes().map(u64::from).sum();
        let number = |index: u64| ((sum + index * 31) % 97) as f32 / 97.0;
        let numbers: Vec<f32> = (0..self.dimensions).map(number).collect();
        if self.base64 {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            return json!(STANDARD.encode(bytes));
        }
        json!(numbers)
    }
}

impl ResponseRenderer for EmbeddingsRenderer {
    fn dialect(&self) -> Dialect {
        Dialect::Embeddings
    }

    fn document(&self, reply: &Reply) -> Value {
        let entry = |(index, text): (usize, &String)| json!({"object": "embedding", "index": index, "embedding": self.vector(text)});
        let data: Vec<Value> = self.inputs.iter().enumerate().map(entry).collect();
        let mut document = json!({"object": "list", "data": data, "model": reply.model});
        let tokens = reply.prompt_tokens;
        match reply.usage {
            UsageStyle::Absent => {}
            UsageStyle::Weird => document["usage"] = json!({"prompt_tokens": -5, "total_tokens": "many"}),
            UsageStyle::Plain | UsageStyle::EveryChunk => {
                document["usage"] = json!({"prompt_tokens": tokens, "total_tokens": tokens});
            }
        }
        document
    }

    fn events(&self, _reply: &Reply) -> Vec<Step> {
        Vec::new()
    }

    fn failing_end(&self, _reply: &Reply, _sent: usize) -> Step {
        Step::send(chat::event(&Dialect::Embeddings.error(&Dialect::Embeddings.overloaded())))
    }
}
