//! Wire types of a chat completion or chunk: borrowed, and lenient where providers differ.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub struct Chunk<'a> {
    #[serde(borrow)]
    pub id: Option<Text<'a>>,
    #[serde(borrow)]
    pub model: Option<Text<'a>>,
    #[serde(borrow)]
    pub choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow)]
    pub usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub x_groq: Option<GroqExtension<'a>>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
    #[serde(borrow)]
    object: Option<Text<'a>>,
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
}

/// Groq's `x_groq` member, which may hold the usage.
#[derive(Deserialize)]
pub struct GroqExtension<'a> {
    #[serde(borrow)]
    pub usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub struct Choice<'a> {
    pub index: Option<u64>,
    #[serde(borrow)]
    pub delta: Option<Message<'a>>,
    #[serde(borrow)]
    pub message: Option<Message<'a>>,
    #[serde(borrow)]
    pub finish_reason: Option<Text<'a>>,
    /// vLLM: the stop sequence that matched, or a number if it was a token.
    #[serde(borrow)]
    pub stop_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    pub usage: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Message<'a> {
    #[serde(borrow)]
    pub content: Option<ContentValue<'a>>,
    #[serde(borrow)]
    pub refusal: Option<Text<'a>>,
    #[serde(borrow)]
    pub reasoning_content: Option<Text<'a>>,
    #[serde(borrow)]
    pub reasoning: Option<Text<'a>>,
    #[serde(borrow)]
    pub reasoning_details: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub tool_calls: Option<Vec<Call<'a>>>,
    #[serde(borrow)]
    pub function_call: Option<Function<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Call<'a> {
    pub index: Option<u64>,
    #[serde(borrow)]
    pub id: Option<Text<'a>>,
    #[serde(borrow)]
    pub function: Option<Function<'a>>,
    #[serde(borrow)]
    pub custom: Option<Custom<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Function<'a> {
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Custom<'a> {
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
    #[serde(borrow)]
    pub input: Option<Text<'a>>,
}

/// The members of a reasoning detail that are read in every chunk.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct DetailMembers<'a> {
    #[serde(borrow)]
    pub text: Option<Text<'a>>,
    #[serde(borrow)]
    pub summary: Option<Text<'a>>,
    #[serde(borrow)]
    pub signature: Option<Text<'a>>,
    #[serde(borrow)]
    pub data: Option<Text<'a>>,
}

/// A string; a value of another type reads as empty.
#[derive(Default)]
pub struct Text<'a>(pub Cow<'a, str>);

/// Message content: a string or an array of pieces.
pub enum ContentValue<'a> {
    Text(Cow<'a, str>),
    Pieces(Vec<Piece<'a>>),
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Piece<'a> {
    #[serde(borrow)]
    pub text: Option<Text<'a>>,
    #[serde(borrow)]
    pub refusal: Option<Text<'a>>,
    /// Mistral: reasoning, again as pieces.
    #[serde(borrow)]
    pub thinking: Option<ContentValue<'a>>,
}

impl<'a> Chunk<'a> {
    pub fn is_error(&self) -> bool {
        let says = |text: &Option<Text<'_>>| text.as_ref().is_some_and(|text| text.0 == "error");
        self.error.is_some() || (self.choices.is_none() && (says(&self.object) || says(&self.kind)))
    }

    /// The usage at the top level, in Groq's `x_groq` or, at Moonshot, in a choice.
    pub fn usage(&self) -> Option<&'a RawValue> {
        let beside = self.x_groq.as_ref().and_then(|beside| beside.usage);
        let inside = || self.choices.iter().flatten().find_map(|choice| choice.usage);
        self.usage.or(beside).or_else(inside)
    }
}

impl<'a> Text<'a> {
    /// The text, unless it is absent or empty.
    pub fn filled(text: &Option<Self>) -> Option<&str> {
        text.as_ref().map(|text| &*text.0).filter(|text| !text.is_empty())
    }
}

impl<'a> Function<'a> {
    /// The arguments as JSON text. They are a string, but some servers write the JSON object itself.
    pub fn arguments(&self) -> Option<Cow<'a, str>> {
        let raw = self.arguments?.get();
        match raw.starts_with('"') {
            true => serde_json::from_str::<Text<'a>>(raw).ok().map(|text| text.0),
            false => Some(Cow::Borrowed(raw)),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_any(TextOrPieces { pieces: false })? {
            ContentValue::Text(text) => Ok(Self(text)),
            ContentValue::Pieces(_) => Ok(Self::default()),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ContentValue<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrPieces { pieces: true })
    }
}

struct TextOrPieces {
    /// Whether an array is read instead of skipped.
    pieces: bool,
}

impl TextOrPieces {
    fn nothing<'a, E>() -> Result<ContentValue<'a>, E> {
        Ok(ContentValue::Text(Cow::Borrowed("")))
    }
}

impl<'de> Visitor<'de> for TextOrPieces {
    type Value = ContentValue<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<ContentValue<'de>, E> {
        Ok(ContentValue::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<ContentValue<'de>, E> {
        Ok(ContentValue::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<ContentValue<'de>, E> {
        Ok(ContentValue::Text(Cow::Owned(text)))
    }

    fn visit_unit<E>(self) -> Result<ContentValue<'de>, E> {
        Self::nothing()
    }

    fn visit_bool<E>(self, _: bool) -> Result<ContentValue<'de>, E> {
        Self::nothing()
    }

    fn visit_i64<E>(self, _: i64) -> Result<ContentValue<'de>, E> {
        Self::nothing()
    }

    fn visit_u64<E>(self, _: u64) -> Result<ContentValue<'de>, E> {
        Self::nothing()
    }

    fn visit_f64<E>(self, _: f64) -> Result<ContentValue<'de>, E> {
        Self::nothing()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ContentValue<'de>, A::Error> {
        let mut pieces = Vec::new();
        if self.pieces {
            while let Some(piece) = seq.next_element()? {
                pieces.push(piece);
            }
        } else {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
        }
        Ok(ContentValue::Pieces(pieces))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ContentValue<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Self::nothing()
    }
}
