//! The shape of a body whose format is unknown, such as one that is passed to a provider's own endpoint.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Content, RequestShape, names, whole_number};
use crate::json;

/// Reads each fact at the top level and in the generation settings. Some servers ignore the case of names and some
/// take the first of two equal ones, so that the largest number under any spelling counts.
pub fn shape(body: &[u8]) -> Option<RequestShape<'_>> {
    // Raw values are not checked completely: a body that cannot be parsed as a tree counts as unreadable.
    serde_json::from_slice::<Value>(body).ok()?;
    // A body that is not an object sets nothing.
    let top = serde_json::from_slice::<Members<'_>>(body).unwrap_or_default();
    let settings = top.named(&names::GENERATION_CONFIGS);
    let settings: Vec<Members<'_>> =
        settings.filter_map(|value| serde_json::from_str(value.get()).ok()).collect();
    let largest = |wanted: &[&[&str]]| {
        let objects = || settings.iter().chain([&top]);
        let values = objects().flat_map(|object| wanted.iter().flat_map(|names| object.named(names)));
        values.filter_map(|value| whole_number(value.get().as_bytes())).max()
    };
    let has = |names: &[&str]| top.named(names).any(|value| value.get() != "null");
    let is_template = top.named(&["prompt"]).any(|value| value.get().starts_with('{'));
    let choices = largest(&[&names::CHOICES, &names::CHOICES_IN_CONFIG]).unwrap_or(1).max(1);
    let prompts = top.named(&["prompt"]).map(|value| prompt_count(value.get().as_bytes())).max();
    Some(RequestShape {
        max_output: largest(&[&names::OUTPUT_LIMITS, &names::OUTPUT_LIMITS_IN_CONFIG]),
        choices: choices.saturating_mul(prompts.unwrap_or(1)),
        generates: true,
        reasoning: has(&names::REASONING),
        tools: has(&["tools"]),
        stored_context: is_template || has(&names::STORED_CONTEXT),
        bound_to_provider: has(&names::BOUND_TO_PROVIDER),
        content: Content::of(body),
    })
}

/// The number of prompts in a list: several strings or several token lists count each, a single token list counts
/// once.
pub fn prompt_count(value: &[u8]) -> u64 {
    let mut several = 0;
    if value.starts_with(b"[") {
        // The body was accepted before, so this cannot fail.
        let _ = json::visit_array(value, 0..value.len(), |prompt| {
            several += u64::from(matches!(value[prompt.start], b'"' | b'['));
        });
    }
    several.max(1)
}

/// The members of an object as they are written, with repeated names.
#[derive(Default)]
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    fn named<'s>(&'s self, names: &'s [&'s str]) -> impl Iterator<Item = &'a RawValue> + 's {
        let is_named = move |key: &str| names.iter().any(|name| key.eq_ignore_ascii_case(name));
        self.0.iter().filter(move |(key, _)| is_named(key)).map(|(_, value)| *value)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collector;
        impl<'de> Visitor<'de> for Collector {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(key) = map.next_key::<Name<'de>>()? {
                    members.push((key.0, map.next_value()?));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collector)
    }
}

/// A name, borrowed unless it contains escapes.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
