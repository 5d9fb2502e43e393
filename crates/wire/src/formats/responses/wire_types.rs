//! Wire types of a response, its items and the events of its stream, borrowed from the body.

use std::borrow::Cow;

use domain::call::Format;
use domain::canon::{self, Opaque, Origin};
use domain::fault::{self, Fault};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::codec::Decoding;

/// A borrowed string; inside an `Option`, a bare `Cow` would always be copied.
#[derive(Deserialize)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

#[derive(Deserialize)]
pub struct Response<'a> {
    #[serde(borrow)]
    pub id: Option<Text<'a>>,
    #[serde(borrow)]
    pub model: Option<Text<'a>>,
    #[serde(borrow)]
    pub status: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub output: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub incomplete_details: Option<Details<'a>>,
    #[serde(borrow)]
    pub usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub struct Details<'a> {
    #[serde(borrow)]
    pub reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct TypeTag<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
pub struct Item<'a> {
    #[serde(borrow)]
    pub id: Option<Text<'a>>,
    #[serde(borrow)]
    call_id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    namespace: Option<Text<'a>>,
    #[serde(borrow)]
    arguments: Option<Text<'a>>,
    #[serde(borrow)]
    input: Option<Text<'a>>,
    #[serde(borrow)]
    encrypted_content: Option<Text<'a>>,
    #[serde(borrow)]
    pub content: Option<Vec<TextPart<'a>>>,
    #[serde(borrow)]
    summary: Option<Vec<TextPart<'a>>>,
}

/// A part of a message or of reasoning.
#[derive(Deserialize)]
pub struct TextPart<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    refusal: Option<Text<'a>>,
}

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
    pub part: Option<TextPart<'a>>,
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

pub enum Reading<'a> {
    Message(Item<'a>),
    Reasoning(Item<'a>),
    Call { item: Item<'a>, custom: bool },
    Foreign,
}

impl<'a> Text<'a> {
    pub fn of(text: &'a Option<Text<'_>>) -> &'a str {
        text.as_ref().map_or("", |text| &text.0)
    }

    pub fn owned(text: &Option<Text<'_>>) -> Option<String> {
        text.as_ref().map(|text| text.0.clone().into_owned()).filter(|text| !text.is_empty())
    }
}

/// The fault for an answer whose JSON does not have the expected shape.
pub fn unreadable(decoding: &Decoding, error: &serde_json::Error) -> Fault {
    fault::upstream_invalid_response(&decoding.provider, &format!("its JSON is not as expected ({error})"))
}

impl<'a> Reading<'a> {
    pub fn of(raw: &'a RawValue) -> Result<Self, serde_json::Error> {
        let kind = serde_json::from_str::<TypeTag<'_>>(raw.get())?.kind;
        let item = || serde_json::from_str::<Item<'a>>(raw.get());
        Ok(match &*kind {
            "message" => Self::Message(item()?),
            "reasoning" => Self::Reasoning(item()?),
            "function_call" => Self::Call { item: item()?, custom: false },
            "custom_tool_call" => Self::Call { item: item()?, custom: true },
            _ => Self::Foreign,
        })
    }
}

impl Item<'_> {
    /// The flat tool name, including the namespace.
    pub fn name(&self) -> String {
        canon::flat_name(Some(Text::of(&self.namespace)), Text::of(&self.name))
    }

    /// The id that the result will refer to.
    pub fn call_id(&self, decoding: &mut Decoding) -> String {
        let given = Text::owned(&self.call_id).or_else(|| Text::owned(&self.id));
        given.unwrap_or_else(|| decoding.ids.item("call_"))
    }

    pub fn arguments(&self, custom: bool) -> &str {
        Text::of(if custom { &self.input } else { &self.arguments })
    }

    pub fn state(&self, decoding: &Decoding) -> Option<Opaque> {
        let data = Text::owned(&self.encrypted_content)?;
        let origin = Origin { format: Format::Responses, model: decoding.model.to_string() };
        Some(Opaque { origin, data, whole: false, text: None })
    }

    /// The summary, or the reasoning text if there is no summary.
    pub fn reasoning_text(&self) -> String {
        let lists = [&self.summary, &self.content];
        let parts = lists.into_iter().flatten().find(|parts| !parts.is_empty());
        let texts: Vec<&str> = parts.into_iter().flatten().map(TextPart::text).collect();
        texts.join("\n\n")
    }
}

impl TextPart<'_> {
    pub fn is_refusal(&self) -> bool {
        self.kind == "refusal"
    }

    pub fn text(&self) -> &str {
        Text::of(if self.is_refusal() { &self.refusal } else { &self.text })
    }
}
