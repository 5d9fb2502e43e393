//! Gemini's `:embedContent` and `:batchEmbedContents`, translated to OpenAI's embeddings format.

use std::borrow::Cow;

use bytes::Bytes;
use domain::call::Format;
use domain::canon::Dropped;
use domain::fault::{self, Fault};
use domain::usage::Usage;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{chat, plain};
use crate::codec::{
    Answer, AnswerReader, Class, MemberIndexes, Native, Request, RequestReader, RequestShape, Seen, Served,
    Target,
};
use crate::json::{self, ScanError};
use crate::splice::Patch;
use crate::sse;

/// Embedding of one content, or of a batch of requests with one content each.
pub struct EmbedContent {
    pub batch: bool,
}

/// The inputs of an embedding request.
#[derive(Debug, Default, PartialEq)]
struct Inputs {
    texts: Vec<String>,
    dimensions: Option<u64>,
    dropped: Dropped,
}

impl RequestReader for EmbedContent {
    fn peek(&self, body: Bytes) -> Result<Request, Fault> {
        let object = json::scan(&body)?;
        object.check_elements()?;
        self.inputs(&body)?;
        Ok(Request {
            format: Format::Gemini,
            // The model is in the path.
            model: None,
            stream: None,
            include_usage: false,
            provider_hint: None,
            max_output: Some(1),
            choices: 1,
            places: MemberIndexes::default(),
            object,
            body,
        })
    }

    fn shape<'a>(&self, request: &'a Request) -> RequestShape<'a> {
        plain::shape(request)
    }

    fn limit_output(&self, _request: &Request, _limit: u64) -> Option<Patch> {
        None
    }
}

impl AnswerReader for EmbedContent {
    /// Never streamed.
    fn classify(&self, _event: &sse::Event) -> Seen {
        Seen::of(Class::Error)
    }

    fn event_id(&self, _data: &[u8]) -> Option<String> {
        None
    }

    fn read_usage(&self, raw: &[u8], _so_far: Option<&Usage>) -> Option<Usage> {
        chat::read_usage(raw)
    }

    fn read_answer(&self, body: &[u8]) -> Result<Answer, ScanError> {
        let answer = plain::read_answer(body, "data")?;
        if answer.error.is_none() && vectors(body).is_none() {
            return Err(ScanError::Syntax {
                at: answer.object.close,
                expected: "arrays of numbers in 'data'",
            });
        }
        Ok(answer)
    }
}

impl Native for EmbedContent {
    fn splice(&self, request: &Request, target: &Target<'_>) -> Vec<Bytes> {
        let inputs = self.inputs(&request.body).unwrap_or_default();
        let mut body = Map::new();
        body.insert("model".into(), target.model.into());
        body.insert("input".into(), inputs.texts.into());
        if let Some(dimensions) = inputs.dimensions {
            body.insert("dimensions".into(), dimensions.into());
        }
        vec![Value::Object(body).to_string().into()]
    }

    fn dropped(&self, request: &Request) -> Dropped {
        self.inputs(&request.body).unwrap_or_default().dropped
    }

    fn splice_answer(&self, body: &Bytes, _answer: &Answer, _served: &Served<'_>) -> Vec<Bytes> {
        let embeddings = vectors(body).unwrap_or_default();
        let mut embeddings = embeddings.iter().map(|values| format!("{{\"values\":{values}}}"));
        let answer = match self.batch {
            true => format!("{{\"embeddings\":[{}]}}", embeddings.collect::<Vec<_>>().join(",")),
            false => format!("{{\"embedding\":{}}}", embeddings.next().as_deref().unwrap_or("null")),
        };
        vec![answer.into()]
    }
}

/// The members read from a request; the rest is skipped without being built.
#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    content: Content<'a>,
    #[serde(rename = "outputDimensionality", alias = "output_dimensionality")]
    dimensions: Option<u64>,
    #[serde(rename = "taskType", alias = "task_type")]
    task_type: Option<IgnoredAny>,
    title: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    parts: Vec<Part<'a>>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Batch<'a> {
    #[serde(borrow)]
    requests: Vec<Item<'a>>,
}

impl EmbedContent {
    fn inputs(&self, body: &[u8]) -> Result<Inputs, Fault> {
        let mut inputs = Inputs::default();
        if !self.batch {
            let item = serde_json::from_slice::<Item<'_>>(body).map_err(|error| unread("content", &error))?;
            inputs.add(&item, "")?;
            return Ok(inputs);
        }
        let batch = serde_json::from_slice::<Batch<'_>>(body).map_err(|error| unread("requests", &error))?;
        if batch.requests.is_empty() {
            return Err(wrong("requests", "an array with at least one request"));
        }
        for (index, item) in batch.requests.iter().enumerate() {
            inputs.add(item, &format!("requests[{index}]."))?;
        }
        Ok(inputs)
    }
}

impl Inputs {
    /// `place` is the path of the item inside the body.
    fn add(&mut self, item: &Item<'_>, place: &str) -> Result<(), Fault> {
        self.texts.push(text_of(&item.content, place)?);
        let dimensions = item.dimensions;
        if dimensions == Some(0) {
            return Err(wrong(&format!("{place}outputDimensionality"), "a whole number above 0"));
        }
        if self.texts.len() > 1 && dimensions != self.dimensions {
            return Err(wrong(&format!("{place}outputDimensionality"), "the same in every request"));
        }
        self.dimensions = dimensions;
        for (name, member) in [("taskType", &item.task_type), ("title", &item.title)] {
            if member.is_some() {
                self.dropped.name(name);
            }
        }
        Ok(())
    }
}

/// The text of all parts, joined: Gemini computes one vector per content.
fn text_of(content: &Content<'_>, place: &str) -> Result<String, Fault> {
    let mut text = String::new();
    for (index, part) in content.parts.iter().enumerate() {
        let Some(more) = &part.text else {
            let place = format!("{place}content.parts[{index}].text");
            return Err(wrong(&place, "a text: nothing else can be embedded"));
        };
        if index > 0 {
            text.push('\n');
        }
        text.push_str(more);
    }
    match text.trim().is_empty() {
        true => Err(wrong(&format!("{place}content.parts"), "an array with at least one text")),
        false => Ok(text),
    }
}

/// The vectors of an OpenAI-style answer as raw JSON, in the order of the inputs.
fn vectors(body: &[u8]) -> Option<Vec<&str>> {
    #[derive(Deserialize)]
    struct Answered<'a> {
        #[serde(borrow)]
        data: Vec<Embedded<'a>>,
    }
    #[derive(Deserialize)]
    struct Embedded<'a> {
        #[serde(default)]
        index: u64,
        #[serde(borrow)]
        embedding: &'a RawValue,
    }
    let mut answered: Answered<'_> = serde_json::from_slice(body).ok()?;
    answered.data.sort_by_key(|item| item.index);
    let vectors = answered.data.into_iter().map(|item| item.embedding.get());
    vectors.map(|text| text.starts_with('[').then_some(text)).collect()
}

fn unread(place: &str, error: &serde_json::Error) -> Fault {
    fault::invalid_parameter(place, format!("'{place}' cannot be read: {error}."))
}

fn wrong(place: &str, expected: &str) -> Fault {
    fault::invalid_parameter(place, format!("'{place}' must be {expected}."))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{splice, vendors};

    const SINGLE: EmbedContent = EmbedContent { batch: false };
    const BATCH: EmbedContent = EmbedContent { batch: true };

    fn sent(surface: &EmbedContent, body: &Value) -> (Value, Vec<String>) {
        let request = surface.peek(body.to_string().into()).unwrap();
        let vendor = vendors::find("openai").unwrap();
        let prompt_cache = Default::default();
        let target = Target { model: "embed-3", stream: false, vendor, max_output: None, prompt_cache };
        let written = splice::concat(&surface.splice(&request, &target));
        (serde_json::from_slice(&written).unwrap(), surface.dropped(&request).names().to_vec())
    }

    #[test]
    fn requests_become_openais() {
        let content = |texts: &[&str]| {
            let parts: Vec<Value> = texts.iter().map(|text| json!({"text": text})).collect();
            json!({"parts": parts})
        };
        let single =
            json!({"model": "models/x", "content": content(&["a", "b"]), "taskType": "RETRIEVAL_QUERY"});
        let expected = json!({"model": "embed-3", "input": ["a\nb"]});
        assert_eq!(sent(&SINGLE, &single), (expected, vec!["taskType".to_owned()]));
        let batch = json!({"requests": [
            {"model": "models/x", "content": content(&["a"]), "outputDimensionality": 8},
            {"content": content(&["b"]), "output_dimensionality": 8},
        ]});
        let expected = json!({"model": "embed-3", "input": ["a", "b"], "dimensions": 8});
        assert_eq!(sent(&BATCH, &batch), (expected, Vec::new()));
    }

    #[test]
    fn invalid_members_are_named() {
        let good = json!({"content": {"parts": [{"text": "a"}]}});
        let other = json!({"content": {"parts": [{"text": "a"}]}, "outputDimensionality": 3});
        for (surface, body, param) in [
            (SINGLE, json!({}), "content"),
            (SINGLE, json!({"content": {"parts": [{"text": 5}]}}), "content"),
            (SINGLE, json!({"content": {"parts": []}}), "content.parts"),
            (SINGLE, json!({"content": {"parts": [{"text": ""}]}}), "content.parts"),
            (SINGLE, json!({"content": {"parts": [{"inlineData": {}}]}}), "content.parts[0].text"),
            (
                SINGLE,
                json!({"content": {"parts": [{"text": "a"}]}, "outputDimensionality": 0}),
                "outputDimensionality",
            ),
            (BATCH, good.clone(), "requests"),
            (BATCH, json!({"requests": []}), "requests"),
            (BATCH, json!({"requests": [good, {"content": 5}]}), "requests"),
            (BATCH, json!({"requests": [good, {"content": {"parts": []}}]}), "requests[1].content.parts"),
            (BATCH, json!({"requests": [good, other]}), "requests[1].outputDimensionality"),
        ] {
            let fault = surface.peek(body.to_string().into()).unwrap_err();
            assert_eq!((fault.status, fault.param.as_deref()), (400, Some(param)), "{body}");
        }
    }

    #[test]
    fn answers_become_geminis_in_the_order_of_the_inputs() {
        let served = Served { provider: "p", model: "m", requested_model: "m", latency_ms: 1 };
        let body = Bytes::from_static(
            br#"{"object":"list","data":[{"index":1,"embedding":[0.5]},{"index":0,"embedding":[0.25,1e-3]}],"usage":{"prompt_tokens":2,"total_tokens":2}}"#,
        );
        let written = |surface: &EmbedContent| {
            let answer = surface.read_answer(&body).unwrap();
            assert!(answer.usage.is_some());
            let written = splice::concat(&surface.splice_answer(&body, &answer, &served));
            serde_json::from_slice::<Value>(&written).unwrap()
        };
        assert_eq!(written(&BATCH), json!({"embeddings": [{"values": [0.25, 1e-3]}, {"values": [0.5]}]}));
        assert_eq!(written(&SINGLE), json!({"embedding": {"values": [0.25, 1e-3]}}));
        assert!(BATCH.read_answer(br#"{"data":[{"index":0,"embedding":"AAAA"}]}"#).is_err());
        assert!(BATCH.read_answer(br#"{"error":{"message":"no"}}"#).unwrap().error.is_some());
    }
}
