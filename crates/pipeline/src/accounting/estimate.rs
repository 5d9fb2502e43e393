//! Estimates usage that no provider reported: the prompt with a real tokenizer, the output from its length.

use std::borrow::Cow;

use domain::usage::{Tokens, Usage};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Longer prompts are estimated by length: tokenizing them would take up to a second of CPU time.
const TOKENIZER_LIMIT: usize = 1024 * 1024;

/// Tokens per message for the role and the separators that a chat template adds.
const MESSAGE_OVERHEAD: u64 = 4;

/// The members of the API formats that hold the prompt.
const SAID: [&str; 10] = [
    "messages",
    "system",
    "instructions",
    "input",
    "contents",
    "systemInstruction",
    "system_instruction",
    "prompt",
    "query",
    "documents",
];

pub fn usage(model: &str, prompt: &[u8], content_bytes: u64) -> Usage {
    let tokens = Tokens {
        input: prompt_tokens(model, prompt),
        output: catalog::estimate_tokens_from_bytes(content_bytes),
        ..Tokens::default()
    };
    Usage { tokens, estimated: true, ..Usage::default() }
}

/// Estimates the usage of a continuation. Its prompt has so many bytes more, of the response so far.
pub fn rest(model: &str, prompt: &[u8], repeated: u64, content_bytes: u64, bound: Option<u64>) -> Usage {
    let mut usage = usage(model, prompt, content_bytes);
    usage.tokens.input += catalog::estimate_tokens_from_bytes(repeated);
    usage.tokens.output = output(content_bytes, bound);
    usage
}

/// Estimates output tokens from a length, up to the bound of the call.
pub fn output(content_bytes: u64, bound: Option<u64>) -> u64 {
    let tokens = catalog::estimate_tokens_from_bytes(content_bytes);
    bound.map_or(tokens, |bound| tokens.min(bound))
}

/// Counts the prompt's texts with the model's tokenizer. The body is read as a stream of JSON tokens: a tree of it
/// would take many times its length.
pub fn prompt_tokens(model: &str, prompt: &[u8]) -> u64 {
    let by_length = catalog::estimate_tokens_from_bytes(prompt.len() as u64);
    if prompt.len() > TOKENIZER_LIMIT {
        return by_length;
    }
    let Ok(PromptTexts { said, tools, messages }) = serde_json::from_slice(prompt) else { return by_length };
    catalog::count_tokens(model, &said) + catalog::count_tokens(model, &tools) + MESSAGE_OVERHEAD * messages
}

/// The prompt text and the tool definitions as text.
#[derive(Default)]
struct PromptTexts {
    said: String,
    tools: String,
    messages: u64,
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
                    if SAID.contains(&&*name) {
                        texts.messages += map.next_value_seed(TextCollector(&mut texts.said))?;
                    } else if name == "tools" {
                        // Tool definitions are part of the prompt too, as the provider renders them.
                        texts.tools = wire::json::compact(map.next_value::<&RawValue>()?.get()).into_owned();
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
    fn a_prompt_is_counted_and_marked() {
        let usage = usage("gpt-4o", br#"{"messages":[{"role":"user","content":"hello world"}]}"#, 40);
        assert!(usage.estimated);
        assert_eq!(usage.tokens.output, 10);
        assert!((5..=12).contains(&usage.tokens.input), "{}", usage.tokens.input);
    }

    #[test]
    fn texts_and_tools_are_counted_in_every_dialect() {
        let check = |body: &str, said: &str, tools: &str, messages: u64| {
            let texts: PromptTexts = serde_json::from_str(body).unwrap();
            assert_eq!((&*texts.said, &*texts.tools, texts.messages), (said, tools, messages), "{body}");
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

    #[test]
    fn long_prompts_and_other_texts_are_counted_by_length() {
        let long = format!("{{\"messages\":[{}1]}}", "1,".repeat(TOKENIZER_LIMIT));
        assert_eq!(prompt_tokens("gpt-4o", long.as_bytes()), (long.len() as u64).div_ceil(4));
        assert_eq!(prompt_tokens("gpt-4o", b"[1,2,3,4]"), 3);
    }
}
