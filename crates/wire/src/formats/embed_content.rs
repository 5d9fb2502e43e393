//! Gemini's `:embedContent` and `:batchEmbedContents`, carried to providers in OpenAI's shape.

use bytes::Bytes;
use domain::call::Format;
use domain::canon::Dropped;
use domain::fault::{self, Fault};
use domain::usage::Usage;
use serde_json::{Map, Value, json};

use super::{chat, plain};
use crate::codec::{Answer, Class, Native, Places, Request, Seen, Served, Target};
use crate::json::{self, ScanError};
use crate::sse;

/// One content, or a list of requests with one content each.
pub struct EmbedContent {
    pub batch: bool,
}

/// What a request asks to embed.
#[derive(Debug, Default, PartialEq)]
struct Inputs {
    texts: Vec<String>,
    dimensions: Option<u64>,
    dropped: Dropped,
}

impl Native for EmbedContent {
    fn peek(&self, body: Bytes) -> Result<Request, Fault> {
        let object = json::scan(&body)?;
        object.check_elements()?;
        self.inputs(&body)?;
        Ok(Request {
            format: Format::Generate,
            // The path names it.
            model: None,
            stream: None,
            include_usage: false,
            provider_hint: None,
            max_output: Some(1),
            choices: 1,
            places: Places::default(),
            object,
            body,
        })
    }

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

    fn splice_answer(&self, body: &Bytes, _answer: &Answer, _served: &Served<'_>) -> Vec<Bytes> {
        let mut embeddings =
            vectors(body).unwrap_or_default().into_iter().map(|values| json!({"values": values}));
        let answer = match self.batch {
            true => json!({"embeddings": embeddings.collect::<Vec<_>>()}),
            false => json!({"embedding": embeddings.next()}),
        };
        vec![answer.to_string().into()]
    }
}

impl EmbedContent {
    fn inputs(&self, body: &[u8]) -> Result<Inputs, Fault> {
        let mut inputs = Inputs::default();
        let body: Value = serde_json::from_slice(body)
            .map_err(|error| fault::invalid_json(format!("The body is not valid JSON: {error}.")))?;
        if !self.batch {
            inputs.read(&body, "")?;
            return Ok(inputs);
        }
        let requests = body["requests"].as_array().filter(|requests| !requests.is_empty());
        let Some(requests) = requests else {
            return Err(wrong("requests", "an array with at least one request"));
        };
        for (index, request) in requests.iter().enumerate() {
            inputs.read(request, &format!("requests[{index}]."))?;
        }
        Ok(inputs)
    }
}

impl Inputs {
    /// `place` is the path of the request inside the body.
    fn read(&mut self, request: &Value, place: &str) -> Result<(), Fault> {
        self.texts.push(text_of(&request["content"], place)?);
        let dimensions = match member(request, "outputDimensionality", "output_dimensionality") {
            None => None,
            Some(value) => match value.as_u64().filter(|number| *number > 0) {
                Some(number) => Some(number),
                None => return Err(wrong(&format!("{place}outputDimensionality"), "a whole number above 0")),
            },
        };
        if self.texts.len() > 1 && dimensions != self.dimensions {
            return Err(wrong(&format!("{place}outputDimensionality"), "the same in every request"));
        }
        self.dimensions = dimensions;
        for (name, other) in [("taskType", "task_type"), ("title", "title")] {
            if member(request, name, other).is_some() {
                self.dropped.name(name);
            }
        }
        Ok(())
    }
}

/// The text of all parts: Gemini makes one vector of a content.
fn text_of(content: &Value, place: &str) -> Result<String, Fault> {
    let Some(parts) = content["parts"].as_array().filter(|parts| !parts.is_empty()) else {
        return Err(wrong(&format!("{place}content.parts"), "an array with at least one part"));
    };
    let mut texts = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let Some(text) = part["text"].as_str() else {
            let place = format!("{place}content.parts[{index}].text");
            return Err(wrong(&place, "a text: nothing else can be embedded"));
        };
        texts.push(text);
    }
    let text = texts.join("\n");
    match text.is_empty() {
        true => Err(wrong(&format!("{place}content.parts"), "a text that is not empty")),
        false => Ok(text),
    }
}

/// Google's servers take members in either spelling.
fn member<'a>(request: &'a Value, camel: &str, snake: &str) -> Option<&'a Value> {
    request.get(camel).or_else(|| request.get(snake)).filter(|value| !value.is_null())
}

/// The vectors of an answer in OpenAI's shape, in the order of the inputs.
fn vectors(body: &[u8]) -> Option<Vec<Value>> {
    let mut answer: Value = serde_json::from_slice(body).ok()?;
    let Value::Array(mut data) = answer["data"].take() else { return None };
    data.sort_by_key(|item| item["index"].as_u64());
    let vector = |mut item: Value| Some(item["embedding"].take()).filter(Value::is_array);
    data.into_iter().map(vector).collect()
}

fn wrong(place: &str, expected: &str) -> Fault {
    fault::invalid_parameter(place, format!("'{place}' must be {expected}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{splice, vendors};

    const SINGLE: EmbedContent = EmbedContent { batch: false };
    const BATCH: EmbedContent = EmbedContent { batch: true };

    fn sent(surface: &EmbedContent, body: &Value) -> (Value, Vec<String>) {
        let request = surface.peek(body.to_string().into()).unwrap();
        let vendor = vendors::find("openai").unwrap();
        let target = Target { model: "embed-3", stream: false, vendor, max_output: None };
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
    fn what_is_wrong_is_named() {
        let good = json!({"content": {"parts": [{"text": "a"}]}});
        let other = json!({"content": {"parts": [{"text": "a"}]}, "outputDimensionality": 3});
        for (surface, body, param) in [
            (SINGLE, json!({}), "content.parts"),
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
            (BATCH, json!({"requests": [good, {"content": 5}]}), "requests[1].content.parts"),
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
