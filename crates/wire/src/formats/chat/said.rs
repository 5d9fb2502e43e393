//! A provider's answer or a chunk of it, as providers write it: borrowed, and lenient where they differ.

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
    pub x_groq: Option<Beside<'a>>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
    #[serde(borrow)]
    object: Option<Text<'a>>,
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
}

/// Groq's own member, where its usage may stand.
#[derive(Deserialize)]
pub struct Beside<'a> {
    #[serde(borrow)]
    pub usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub struct Choice<'a> {
    pub index: Option<u64>,
    #[serde(borrow)]
    pub delta: Option<Said<'a>>,
    #[serde(borrow)]
    pub message: Option<Said<'a>>,
    #[serde(borrow)]
    pub finish_reason: Option<Text<'a>>,
    /// The stop sequence that was met, at vLLM; a number where it was a token.
    #[serde(borrow)]
    pub stop_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    pub usage: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Said<'a> {
    #[serde(borrow)]
    pub content: Option<Words<'a>>,
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

/// The members of a detail that are looked at in every chunk.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Glance<'a> {
    #[serde(borrow)]
    pub text: Option<Text<'a>>,
    #[serde(borrow)]
    pub summary: Option<Text<'a>>,
    #[serde(borrow)]
    pub signature: Option<Text<'a>>,
    #[serde(borrow)]
    pub data: Option<Text<'a>>,
}

/// A string; whatever else stands in its place says nothing.
#[derive(Default)]
pub struct Text<'a>(pub Cow<'a, str>);

/// Content: a string or pieces.
pub enum Words<'a> {
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
    /// Mistral's thoughts: again pieces.
    #[serde(borrow)]
    pub thinking: Option<Words<'a>>,
}

impl<'a> Chunk<'a> {
    pub fn is_error(&self) -> bool {
        let says = |text: &Option<Text<'_>>| text.as_ref().is_some_and(|text| text.0 == "error");
        self.error.is_some() || (self.choices.is_none() && (says(&self.object) || says(&self.kind)))
    }

    /// Usage at the top, in Groq's own member or, at Moonshot, in the choice.
    pub fn usage(&self) -> Option<&'a RawValue> {
        let beside = self.x_groq.as_ref().and_then(|beside| beside.usage);
        let inside = || self.choices.iter().flatten().find_map(|choice| choice.usage);
        self.usage.or(beside).or_else(inside)
    }
}

impl<'a> Text<'a> {
    /// Nothing where there is nothing in it.
    pub fn filled(text: &Option<Self>) -> Option<&str> {
        text.as_ref().map(|text| &*text.0).filter(|text| !text.is_empty())
    }
}

impl<'a> Function<'a> {
    /// Arguments are JSON text in a string; some servers write the JSON itself.
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
        match deserializer.deserialize_any(Loose { pieces: false })? {
            Words::Text(text) => Ok(Self(text)),
            Words::Pieces(_) => Ok(Self::default()),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Words<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Loose { pieces: true })
    }
}

struct Loose {
    /// An array is read, not passed over.
    pieces: bool,
}

impl Loose {
    fn nothing<'a, E>() -> Result<Words<'a>, E> {
        Ok(Words::Text(Cow::Borrowed("")))
    }
}

impl<'de> Visitor<'de> for Loose {
    type Value = Words<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Words<'de>, E> {
        Ok(Words::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Words<'de>, E> {
        Ok(Words::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Words<'de>, E> {
        Ok(Words::Text(Cow::Owned(text)))
    }

    fn visit_unit<E>(self) -> Result<Words<'de>, E> {
        Self::nothing()
    }

    fn visit_bool<E>(self, _: bool) -> Result<Words<'de>, E> {
        Self::nothing()
    }

    fn visit_i64<E>(self, _: i64) -> Result<Words<'de>, E> {
        Self::nothing()
    }

    fn visit_u64<E>(self, _: u64) -> Result<Words<'de>, E> {
        Self::nothing()
    }

    fn visit_f64<E>(self, _: f64) -> Result<Words<'de>, E> {
        Self::nothing()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Words<'de>, A::Error> {
        let mut pieces = Vec::new();
        if self.pieces {
            while let Some(piece) = seq.next_element()? {
                pieces.push(piece);
            }
        } else {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
        }
        Ok(Words::Pieces(pieces))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Words<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Self::nothing()
    }
}
