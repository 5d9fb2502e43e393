//! Embeddings without a model: texts that share words get similar vectors.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};

use super::{Reply, refuse};
use crate::fingerprint::fingerprint;

pub const MODEL: &str = "demo-embedding";
const DIMENSIONS: u64 = 256;
/// Maximum number of inputs, as at OpenAI.
const MOST_INPUTS: usize = 2048;
/// Limits the size of the answer, which is built in memory.
const MOST_NUMBERS: u64 = MOST_INPUTS as u64 * DIMENSIONS;

pub fn answer(request: &Value) -> Reply {
    let texts: Vec<String> = match &request["input"] {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Value::Array(items) if items.iter().all(Value::is_number) => vec![request["input"].to_string()],
        Value::Array(items) => items.iter().map(Value::to_string).collect(),
        _ => return refuse("'input' must be a text, or an array of texts or tokens.", Some("input")),
    };
    let dimensions = request["dimensions"].as_u64().unwrap_or(DIMENSIONS);
    if !(1..=4096).contains(&dimensions) {
        return refuse("'dimensions' must be a whole number from 1 to 4096.", Some("dimensions"));
    }
    if texts.len() > MOST_INPUTS {
        return refuse(&format!("'input' must have at most {MOST_INPUTS} elements."), Some("input"));
    }
    if texts.len() as u64 * dimensions > MOST_NUMBERS {
        let message = format!("Inputs times 'dimensions' must be at most {MOST_NUMBERS}.");
        return refuse(&message, Some("dimensions"));
    }
    let packed = request["encoding_format"] == "base64";
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let vector = embed(text, dimensions as usize);
            let embedding = if packed { json!(pack(&vector)) } else { json!(vector) };
            json!({"object": "embedding", "index": index, "embedding": embedding})
        })
        .collect();
    let tokens: usize = texts.iter().map(|text| text.split_whitespace().count().max(1)).sum();
    let answer = json!({
        "object": "list", "data": data, "model": request["model"].as_str().unwrap_or(MODEL),
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    });
    Reply::Json(Bytes::from(answer.to_string()))
}

/// Embeds a text: every word adds to eight dimensions selected by its hash, and the result is normalised to length one.
fn embed(text: &str, dimensions: usize) -> Vec<f32> {
    let mut vector = vec![0f32; dimensions];
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    for word in words {
        let mut state = fingerprint(word.to_lowercase().as_bytes()) | 1;
        for _ in 0..8 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let sign = if state & 1 == 0 { 1.0 } else { -1.0 };
            vector[(state >> 8) as usize % dimensions] += sign;
        }
    }
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length == 0.0 {
        vector[0] = 1.0;
        return vector;
    }
    vector.iter().map(|value| value / length).collect()
}

/// Encodes a vector as little-endian floats in base64, which clients request to save bytes.
fn pack(vector: &[f32]) -> String {
    let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn embedding(text: &str) -> Vec<f32> {
        embed(text, DIMENSIONS as usize)
    }

    fn likeness(one: &str, other: &str) -> f32 {
        embedding(one).iter().zip(embedding(other)).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn texts_that_share_words_are_near() {
        assert!((likeness("the red house", "The red HOUSE!") - 1.0).abs() < 1e-5);
        assert!(likeness("the red house", "a red house") > likeness("the red house", "quantum tunnelling"));
        assert!((likeness("", "") - 1.0).abs() < 1e-5);
    }

    #[test]
    fn packing_is_base64() {
        assert_eq!(pack(&[0.0]), "AAAAAA==");
        assert_eq!(pack(&[1.0, -1.0, 0.5]), "AACAPwAAgL8AAAA/");
    }
}
