//! Wire types of the stream events, borrowed where the value is only inspected.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub(super) struct Kind<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Cow<'a, str>,
}

#[derive(Deserialize)]
pub(super) struct MessageStart<'a> {
    #[serde(borrow)]
    pub(super) message: Message<'a>,
}

#[derive(Deserialize)]
pub(super) struct Message<'a> {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct BlockStart<'a> {
    pub(super) index: u32,
    #[serde(borrow)]
    pub(super) content_block: &'a RawValue,
}

#[derive(Deserialize)]
pub(super) struct BlockDelta<'a> {
    pub(super) index: u32,
    #[serde(borrow)]
    pub(super) delta: Delta<'a>,
}

/// A delta. Text that becomes part of a canonical event is owned, so that it is unescaped only once.
#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Cow<'a, str>,
    pub(super) text: Option<String>,
    pub(super) partial_json: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) signature: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct BlockStop {
    pub(super) index: u32,
}

#[derive(Deserialize)]
pub(super) struct MessageDelta<'a> {
    #[serde(borrow, default)]
    pub(super) delta: Ending<'a>,
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
pub(super) struct Ending<'a> {
    #[serde(borrow, default)]
    pub(super) stop_reason: Option<Cow<'a, str>>,
    pub(super) stop_sequence: Option<String>,
}
