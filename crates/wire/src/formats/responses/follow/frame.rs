//! The events of a stream, as far as they are followed.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::formats::responses::item::{Spoken, Text};

/// A piece of something: the one that comes a thousand times.
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

/// An item or a part that opens or is done, or the response that ends.
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
