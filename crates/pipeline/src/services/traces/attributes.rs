//! Span attributes as OTLP JSON, including those of request parameters.

use domain::call::Format;
use serde_json::{Value, json};
use wire::codec::Request;

/// The longest parameter in bytes that becomes an attribute.
const LONGEST_PARAMETER: usize = 4096;

pub fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

pub fn integer(key: &str, value: impl Into<i64>) -> Value {
    json!({"key": key, "value": {"intValue": value.into().to_string()}})
}

pub fn count(key: &str, value: u64) -> Value {
    integer(key, i64::try_from(value).unwrap_or(i64::MAX))
}

pub fn double(key: &str, value: f64) -> Value {
    json!({"key": key, "value": {"doubleValue": value}})
}

pub fn boolean(key: &str, value: bool) -> Value {
    json!({"key": key, "value": {"boolValue": value}})
}

pub fn list(key: &str, values: &[String]) -> Value {
    let values: Vec<Value> = values.iter().map(|value| json!({"stringValue": value})).collect();
    json!({"key": key, "value": {"arrayValue": {"values": values}}})
}

#[derive(Clone, Copy)]
enum AttributeType {
    Integer,
    Double,
    List,
}

/// Member, its name in Gemini's `generationConfig`, attribute and type, by the GenAI semantic conventions.
const PARAMETERS: [(&str, &str, &str, AttributeType); 13] = [
    ("temperature", "temperature", "gen_ai.request.temperature", AttributeType::Double),
    ("top_p", "topP", "gen_ai.request.top_p", AttributeType::Double),
    ("top_k", "topK", "gen_ai.request.top_k", AttributeType::Double),
    ("max_tokens", "maxOutputTokens", "gen_ai.request.max_tokens", AttributeType::Integer),
    ("max_completion_tokens", "", "gen_ai.request.max_tokens", AttributeType::Integer),
    ("max_output_tokens", "", "gen_ai.request.max_tokens", AttributeType::Integer),
    ("frequency_penalty", "frequencyPenalty", "gen_ai.request.frequency_penalty", AttributeType::Double),
    ("presence_penalty", "presencePenalty", "gen_ai.request.presence_penalty", AttributeType::Double),
    ("seed", "seed", "gen_ai.request.seed", AttributeType::Integer),
    ("n", "candidateCount", "gen_ai.request.choice.count", AttributeType::Integer),
    ("stop", "stopSequences", "gen_ai.request.stop_sequences", AttributeType::List),
    ("stop_sequences", "", "gen_ai.request.stop_sequences", AttributeType::List),
    ("dimensions", "", "gen_ai.embeddings.dimension.count", AttributeType::Integer),
];

pub fn parameters(request: &Request) -> Vec<Value> {
    let member = |name: &str| {
        let range = request.object.value(&request.body, name)?;
        let raw = request.body.get(range).filter(|raw| raw.len() <= LONGEST_PARAMETER)?;
        serde_json::from_slice::<Value>(raw).ok()
    };
    let config = (request.format == Format::Gemini).then(|| member("generationConfig")).flatten();
    let read = |&(name, in_config, attribute, kind): &(&str, &str, &str, AttributeType)| {
        let value = match &config {
            Some(config) => config.get(in_config).cloned(),
            None => member(name),
        };
        shown(attribute, kind, &value?)
    };
    PARAMETERS.iter().filter_map(read).collect()
}

fn shown(attribute: &str, kind: AttributeType, value: &Value) -> Option<Value> {
    match kind {
        AttributeType::Integer => value.as_i64().map(|number| integer(attribute, number)),
        AttributeType::Double => value.as_f64().map(|number| double(attribute, number)),
        AttributeType::List => {
            let words = match value {
                Value::String(word) => vec![word.clone()],
                Value::Array(words) => words.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                _ => return None,
            };
            Some(list(attribute, &words))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::call::Surface;

    fn keys(format: Format, body: &'static str) -> Vec<(String, Value)> {
        let native = wire::formats::native(Surface::Converse(format));
        let request = native.peek(body.as_bytes().into()).unwrap();
        let found = parameters(&request);
        found
            .iter()
            .map(|entry| (entry["key"].as_str().unwrap().to_owned(), entry["value"].clone()))
            .collect()
    }

    #[test]
    fn parameters_become_attributes_of_the_conventions() {
        let chat = keys(
            Format::Chat,
            r#"{"model":"m","messages":[{"role":"user","content":"x"}],"temperature":0.5,"max_completion_tokens":7,"stop":"END","n":2,"seed":null}"#,
        );
        let expected = [
            ("gen_ai.request.temperature", json!({"doubleValue": 0.5})),
            ("gen_ai.request.max_tokens", json!({"intValue": "7"})),
            ("gen_ai.request.choice.count", json!({"intValue": "2"})),
            ("gen_ai.request.stop_sequences", json!({"arrayValue": {"values": [{"stringValue": "END"}]}})),
        ];
        assert_eq!(chat, expected.map(|(key, value)| (key.to_owned(), value)));
        let gemini = keys(
            Format::Gemini,
            r#"{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"topP":0.9,"maxOutputTokens":5}}"#,
        );
        let names: Vec<&str> = gemini.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(names, ["gen_ai.request.top_p", "gen_ai.request.max_tokens"]);
    }
}
