//! Wire types of an answer or a stream chunk, deserialised without copying.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Chunk<'a> {
    #[serde(borrow)]
    pub candidates: Option<Vec<Candidate<'a>>>,
    #[serde(borrow)]
    pub usage_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    pub model_version: Option<Text<'a>>,
    #[serde(borrow)]
    pub response_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub prompt_feedback: Option<Feedback<'a>>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Candidate<'a> {
    #[serde(borrow)]
    pub content: Option<Content<'a>>,
    #[serde(borrow)]
    pub finish_reason: Option<Text<'a>>,
    pub index: Option<u32>,
}

#[derive(Deserialize)]
pub struct Content<'a> {
    #[serde(borrow)]
    pub parts: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Part<'a> {
    #[serde(borrow)]
    pub text: Option<Text<'a>>,
    pub thought: Option<bool>,
    #[serde(borrow)]
    pub thought_signature: Option<Text<'a>>,
    #[serde(borrow)]
    pub function_call: Option<FunctionCall<'a>>,
}

#[derive(Deserialize)]
pub struct FunctionCall<'a> {
    #[serde(borrow)]
    pub id: Option<Text<'a>>,
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Feedback<'a> {
    #[serde(borrow)]
    pub block_reason: Option<Text<'a>>,
}

/// A string that is borrowed if it has no escapes, also inside an `Option`, where a bare `Cow` would always be copied.
#[derive(Deserialize)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);
