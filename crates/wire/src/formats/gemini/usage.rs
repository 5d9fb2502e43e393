//! Gemini's usage: read into disjoint buckets, written as totals.
//!
//! The prompt count includes cached tokens, the candidates count excludes thoughts, and tokens read by the provider's
//! own tools are counted separately.

use std::ops::Range;

use domain::usage::{Tokens, Untold, Usage};
use serde_json::{Map, Value, json};

use crate::count::count;
use crate::json::{self, Object};

/// Reads a usage object; `None` if it is not one or has no counts.
pub fn read_usage(usage_json: &[u8]) -> Option<Usage> {
    let object = json::scan(usage_json).ok()?;
    let mut reader = Reader { body: usage_json, caveats: Vec::new() };
    let prompt = reader.count(&object, "promptTokenCount");
    let candidates = reader.count(&object, "candidatesTokenCount");
    let thoughts = reader.count(&object, "thoughtsTokenCount");
    if prompt.is_none() && candidates.is_none() && thoughts.is_none() && reader.caveats.is_empty() {
        return None;
    }
    let untold = Untold { input: prompt.is_none(), output: candidates.is_none() && thoughts.is_none() };
    let mut tokens = Tokens::default();
    let mut rest = prompt.unwrap_or(0);
    let cached = reader.count(&object, "cachedContentTokenCount").unwrap_or(0);
    tokens.cache_read = reader.take(&mut rest, cached, "cachedContentTokenCount");
    let audio_input = reader.audio(&object, "promptTokensDetails");
    let audio_input = audio_input.saturating_sub(reader.audio(&object, "cacheTokensDetails"));
    tokens.audio_input = reader.take(&mut rest, audio_input, "promptTokensDetails");
    let tools = reader.count(&object, "toolUsePromptTokenCount").unwrap_or(0);
    tokens.input = rest.saturating_add(tools);

    let mut rest = candidates.unwrap_or(0);
    let audio_output = reader.audio(&object, "candidatesTokensDetails");
    tokens.audio_output = reader.take(&mut rest, audio_output, "candidatesTokensDetails");
    tokens.output = rest;
    tokens.reasoning = thoughts.unwrap_or(0);
    let caveat = (!reader.caveats.is_empty()).then(|| reader.caveats.join("; "));
    Some(Usage { tokens, untold, caveat, ..Usage::default() })
}

/// Writes usage. Cache writes are part of the prompt count, because the format has no field for them.
pub fn write_usage(usage: &Usage) -> Value {
    let tokens = &usage.tokens;
    let candidates = tokens.output.saturating_add(tokens.audio_output);
    let mut written = Map::new();
    written.insert("promptTokenCount".into(), tokens.total_input().into());
    written.insert("candidatesTokenCount".into(), candidates.into());
    if tokens.reasoning > 0 {
        written.insert("thoughtsTokenCount".into(), tokens.reasoning.into());
    }
    written.insert("totalTokenCount".into(), tokens.total().into());
    if tokens.cache_read > 0 {
        written.insert("cachedContentTokenCount".into(), tokens.cache_read.into());
    }
    if tokens.audio_input > 0 {
        let text = tokens.total_input() - tokens.audio_input;
        written.insert("promptTokensDetails".into(), details(text, tokens.audio_input));
    }
    if tokens.audio_output > 0 {
        written.insert("candidatesTokensDetails".into(), details(tokens.output, tokens.audio_output));
    }
    Value::Object(written)
}

fn details(text: u64, audio: u64) -> Value {
    json!([{"modality": "TEXT", "tokenCount": text}, {"modality": "AUDIO", "tokenCount": audio}])
}

struct Reader<'a> {
    body: &'a [u8],
    caveats: Vec<String>,
}

impl Reader<'_> {
    fn count(&mut self, object: &Object, name: &str) -> Option<u64> {
        count(name, &self.body[object.value(self.body, name)?], &mut self.caveats)
    }

    /// The audio tokens in a list of counts per modality.
    fn audio(&mut self, object: &Object, name: &str) -> u64 {
        let Some(list) = object.value(self.body, name) else { return 0 };
        let entries = json::scan_array(self.body, list).unwrap_or_default();
        entries.into_iter().map(|entry| self.audio_entry(entry)).fold(0, u64::saturating_add)
    }

    fn audio_entry(&mut self, entry: Range<usize>) -> u64 {
        let Ok(entry) = json::scan_within(self.body, entry) else { return 0 };
        let modality = entry.value(self.body, "modality").map(|range| &self.body[range]);
        if modality != Some(b"\"AUDIO\"") {
            return 0;
        }
        self.count(&entry, "tokenCount").unwrap_or(0)
    }

    /// Moves a part out of its total; a part that exceeds it is cut and noted.
    fn take(&mut self, whole: &mut u64, part: u64, name: &str) -> u64 {
        let taken = part.min(*whole);
        if taken < part {
            self.caveats
                .push(format!("{name} {part} is more than was left of its total and was cut to {taken}"));
        }
        *whole -= taken;
        taken
    }
}

#[cfg(test)]
mod tests;
