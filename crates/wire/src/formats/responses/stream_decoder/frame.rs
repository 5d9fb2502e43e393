//! Wire types of the stream events.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::formats::responses::item::{Spoken, Text};

/// A delta event, by far the most frequent one.
#[derive(Deserialize)]
pub struct Frame<'a> {
    #[serde(default)]
    pub output_index: u64,
    #[serde(default)]
    pub content_index: u64,
    #[serde(default)]
    pub summary_index: u64,
    #[serde(borrow)]
    pub delta: Option<Text<'a>>,
}

/// An item or part that is added or done, or the end of the response.
#[derive(Deserialize)]
pub struct Opened<'a> {
    #[serde(default)]
    pub output_index: u64,
    #[serde(default)]
    pub content_index: u64,
    #[serde(borrow)]
    pub item: Option<&'a RawValue>,
    #[serde(borrow)]
    pub part: Option<Spoken<'a>>,
    #[serde(borrow)]
    pub response: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub struct Begun<'a> {
    #[serde(borrow)]
    pub response: Option<Names<'a>>,
}

#[derive(Deserialize)]
pub struct Names<'a> {
    #[serde(borrow)]
    pub id: Option<Text<'a>>,
    #[serde(borrow)]
    pub model: Option<Text<'a>>,
}
