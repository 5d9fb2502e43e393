//! Usage of chat completions: read into disjoint buckets, written as totals with their parts.

use std::ops::Range;

use domain::money::Nanos;
use domain::usage::{Tokens, Untold, Usage};
use serde::Serialize;

use crate::codec::number;
use crate::count::count;
use crate::json::{self, Object};

/// Reads a usage object; `None` if it is not one or has no counts.
pub fn read_usage(usage_json: &[u8]) -> Option<Usage> {
    let object = json::scan(usage_json).ok()?;
    let mut reader = Reader { body: usage_json, caveats: Vec::new() };
    let prompt = reader.first(&object, ["prompt_tokens", "input_tokens"]);
    let completion = reader.first(&object, ["completion_tokens", "output_tokens"]);
    if prompt.is_none() && completion.is_none() && reader.caveats.is_empty() {
        return None;
    }
    let untold = Untold { input: prompt.is_none(), output: completion.is_none() };
    let (prompt, completion) = (prompt.unwrap_or(0), completion.unwrap_or(0));
    let total = reader.first(&object, ["total_tokens"]);
    let mut tokens = Tokens::default();
    reader.input(&object, prompt, &mut tokens);
    reader.output(&object, prompt, completion, total, &mut tokens);
    let reported_cost = reader.cost(&object);
    let caveat = (!reader.caveats.is_empty()).then(|| reader.caveats.join("; "));
    Some(Usage { tokens, untold, reported_cost, caveat, ..Usage::default() })
}

/// The `usage` member: totals that include their parts, as OpenAI counts them.
#[derive(Serialize)]
pub struct UsageMember {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    prompt_tokens_details: InputDetails,
    completion_tokens_details: OutputDetails,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
}

#[derive(Serialize)]
struct InputDetails {
    cached_tokens: u64,
    cache_write_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    audio_tokens: u64,
}

#[derive(Serialize)]
struct OutputDetails {
    reasoning_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    audio_tokens: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl UsageMember {
    pub fn new(usage: &Usage) -> Self {
        let tokens = &usage.tokens;
        Self {
            prompt_tokens: tokens.total_input(),
            completion_tokens: tokens.total_output(),
            total_tokens: tokens.total(),
            prompt_tokens_details: InputDetails {
                cached_tokens: tokens.cache_read,
                cache_write_tokens: tokens.cache_write(),
                audio_tokens: tokens.audio_input,
            },
            completion_tokens_details: OutputDetails {
                reasoning_tokens: tokens.reasoning,
                audio_tokens: tokens.audio_output,
            },
            cost: usage.reported_cost.map(Nanos::usd),
        }
    }
}

struct Reader<'a> {
    body: &'a [u8],
    caveats: Vec<String>,
}

impl Reader<'_> {
    fn input(&mut self, object: &Object, prompt: u64, tokens: &mut Tokens) {
        let details = self.inner(object, ["prompt_tokens_details", "input_tokens_details"]);
        let detail =
            |reader: &mut Self, name: &str| details.as_ref().and_then(|inner| reader.first(inner, [name]));
        let cached = detail(self, "cached_tokens")
            .or_else(|| self.first(object, ["prompt_cache_hit_tokens", "cached_tokens"]))
            .unwrap_or(0);
        let written = detail(self, "cache_write_tokens").unwrap_or(0);
        let audio = detail(self, "audio_tokens").unwrap_or(0);
        let mut rest = prompt;
        tokens.cache_read = self.take(&mut rest, cached, "cached_tokens", "prompt_tokens");
        tokens.cache_write_5m = self.take(&mut rest, written, "cache_write_tokens", "prompt_tokens");
        tokens.audio_input = self.take(&mut rest, audio, "audio_tokens", "prompt_tokens");
        tokens.input = rest;
    }

    fn output(
        &mut self,
        object: &Object,
        prompt: u64,
        completion: u64,
        total: Option<u64>,
        tokens: &mut Tokens,
    ) {
        let details = self.inner(object, ["completion_tokens_details", "output_tokens_details"]);
        let detail =
            |reader: &mut Self, name: &str| details.as_ref().and_then(|inner| reader.first(inner, [name]));
        let reasoning = detail(self, "reasoning_tokens")
            .or_else(|| self.first(object, ["reasoning_tokens"]))
            .unwrap_or(0);
        let audio = detail(self, "audio_tokens").unwrap_or(0);
        let mut rest = completion;
        // Some providers (xAI) count reasoning beside the completion instead of inside it, which their total reveals.
        let beside = reasoning > 0 && total == Some(prompt + completion + reasoning);
        tokens.reasoning = if beside {
            reasoning
        } else {
            self.take(&mut rest, reasoning, "reasoning_tokens", "completion_tokens")
        };
        tokens.audio_output = self.take(&mut rest, audio, "audio_tokens", "completion_tokens");
        tokens.output = rest;
    }

    /// Moves a part out of its total; a part that exceeds it is cut and noted.
    #[inline]
    fn take(&mut self, whole: &mut u64, part: u64, part_name: &str, whole_name: &str) -> u64 {
        let taken = part.min(*whole);
        if taken < part {
            self.caveats.push(format!(
                "{part_name} {part} is more than was left of {whole_name} and was cut to {taken}"
            ));
        }
        *whole -= taken;
        taken
    }

    /// The first plausible count under one of the names.
    #[inline(always)]
    fn first<const N: usize>(&mut self, object: &Object, names: [&str; N]) -> Option<u64> {
        for name in names {
            let value = object.value(self.body, name);
            if let Some(count) = value.and_then(|value| self.count(name, value)) {
                return Some(count);
            }
        }
        None
    }

    fn count(&mut self, name: &str, value: Range<usize>) -> Option<u64> {
        count(name, &self.body[value], &mut self.caveats)
    }

    #[inline(always)]
    fn inner(&self, object: &Object, names: [&str; 2]) -> Option<Object> {
        let [first, second] = names;
        let value = object.value(self.body, first).or_else(|| object.value(self.body, second))?;
        json::scan_within(self.body, value).ok()
    }

    /// Reads the cost: a number at OpenRouter, an object with a total at Perplexity.
    fn cost(&mut self, object: &Object) -> Option<Nanos> {
        let value = object.value(self.body, "cost")?;
        let usd = match json::scan_within(self.body, value.clone()) {
            Ok(inner) => self.number_at(inner.value(self.body, "total_cost")?)?,
            Err(_) => self.number_at(value)?,
        };
        if usd < 0.0 {
            self.caveats.push(format!("cost was {usd} and was ignored"));
            return None;
        }
        Nanos::from_usd(usd)
    }

    fn number_at(&self, value: Range<usize>) -> Option<f64> {
        number(&self.body[value])
    }
}

#[cfg(test)]
mod tests;
