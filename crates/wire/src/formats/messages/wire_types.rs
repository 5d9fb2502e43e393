//! Wire types of a message and the events of its stream, borrowed where the value is only inspected.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// A complete message.
#[derive(Deserialize)]
pub struct Message<'a> {
    #[serde(borrow, default, rename = "type")]
    pub kind: Cow<'a, str>,
    pub id: Option<String>,
    pub model: Option<String>,
    #[serde(borrow, default)]
    pub content: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    pub stop_reason: Option<Cow<'a, str>>,
    pub stop_sequence: Option<String>,
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
}

/// A block of an answer, or the start of a block in a stream.
#[derive(Deserialize)]
pub struct RawBlock<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    pub id: Option<String>,
    pub name: Option<String>,
    pub text: Option<String>,
    pub thinking: Option<String>,
    pub signature: Option<String>,
    pub data: Option<String>,
    #[serde(borrow, default)]
    pub input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub struct TypeTag<'a> {
    #[serde(borrow, default, rename = "type")]
    pub kind: Cow<'a, str>,
}

#[derive(Deserialize)]
pub struct MessageStart<'a> {
    #[serde(borrow)]
    pub message: StartedMessage<'a>,
}

/// The message at the start of its stream, without content.
#[derive(Deserialize)]
pub struct StartedMessage<'a> {
    pub id: Option<String>,
    pub model: Option<String>,
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub struct BlockStart<'a> {
    pub index: u32,
    #[serde(borrow)]
    pub content_block: &'a RawValue,
}

#[derive(Deserialize)]
pub struct BlockDelta<'a> {
    pub index: u32,
    #[serde(borrow)]
    pub delta: Delta<'a>,
}

/// A delta. Text that becomes part of a canonical event is owned, so that it is unescaped only once.
#[derive(Deserialize)]
pub struct Delta<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    pub text: Option<String>,
    pub partial_json: Option<String>,
    pub thinking: Option<String>,
    pub signature: Option<String>,
}

#[derive(Deserialize)]
pub struct BlockStop {
    pub index: u32,
}

#[derive(Deserialize)]
pub struct MessageDelta<'a> {
    #[serde(borrow, default)]
    pub delta: Ending<'a>,
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
pub struct Ending<'a> {
    #[serde(borrow, default)]
    pub stop_reason: Option<Cow<'a, str>>,
    pub stop_sequence: Option<String>,
}
