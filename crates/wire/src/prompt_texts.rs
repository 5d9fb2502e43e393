//! The texts of a request's prompt, in any format, for counting tokens.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::codec::shape::PROMPT;
use crate::json;

/// The prompt text and the tool definitions as text.
#[derive(Default)]
pub struct PromptTexts {
    pub prompt: String,
    pub tools: String,
    /// The number of turns and of other texts.
    pub messages: u64,
}

impl PromptTexts {
    /// Reads a body as a stream of JSON tokens: a tree of it would take many times its length. `None` if it is not a
    /// JSON object.
    pub fn read(body: &[u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }
}

impl<'de> Deserialize<'de> for PromptTexts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = PromptTexts;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PromptTexts, A::Error> {
                let mut texts = PromptTexts::default();
                while let Some(name) = map.next_key::<Cow<'de, str>>()? {
                    if PROMPT.contains(&&*name) {
                        texts.messages += map.next_value_seed(TextCollector(&mut texts.prompt))?;
                    } else if name == "tools" {
                        // Tool definitions are part of the prompt too, as the provider renders them.
                        texts.tools = json::compact(map.next_value::<&RawValue>()?.get()).into_owned();
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(texts)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// Appends the strings of a value to a text and counts the value's elements; embedded files are left out.
struct TextCollector<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for TextCollector<'_> {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TextCollector<'_> {
    type Value = u64;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_str<E>(self, text: &str) -> Result<u64, E> {
        if !text.starts_with("data:") {
            self.0.push_str(text);
            self.0.push('\n');
        }
        Ok(1)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<u64, A::Error> {
        let mut elements = 0;
        while seq.next_element_seed(TextCollector(self.0))?.is_some() {
            elements += 1;
        }
        Ok(elements)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<u64, A::Error> {
        while map.next_key::<IgnoredAny>()?.is_some() {
            map.next_value_seed(TextCollector(self.0))?;
        }
        Ok(1)
    }

    fn visit_bool<E>(self, _: bool) -> Result<u64, E> {
        Ok(1)
    }

    fn visit_i64<E>(self, _: i64) -> Result<u64, E> {
        Ok(1)
    }

    fn visit_u64<E>(self, _: u64) -> Result<u64, E> {
        Ok(1)
    }

    fn visit_f64<E>(self, _: f64) -> Result<u64, E> {
        Ok(1)
    }

    fn visit_unit<E>(self) -> Result<u64, E> {
        Ok(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_tools_are_counted_in_every_dialect() {
        let check = |body: &str, prompt: &str, tools: &str, messages: u64| {
            let texts = PromptTexts::read(body.as_bytes()).unwrap();
            assert_eq!((&*texts.prompt, &*texts.tools, texts.messages), (prompt, tools, messages), "{body}");
        };
        check(
            r#"{"messages":[{"role":"user","content":"a"},{"x":[1,true,null,2.5,-1]}]}"#,
            "user\na\n",
            "",
            2,
        );
        check(
            r#"{"instructions":"a","input":"b","n":1,"tools":[ {"name": "t"} ]}"#,
            "a\nb\n",
            r#"[{"name":"t"}]"#,
            2,
        );
        check(r#"{"contents":[{"parts":[{"text":"x\u0041"},{"url":"data:abc"}]}]}"#, "xA\n", "", 1);
        check(r#"{"model":"m"}"#, "", "", 0);
    }
}
