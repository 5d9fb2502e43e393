//! Usage as Anthropic reports it: input apart from cache reads and writes, thinking inside the output.

use domain::usage::{Tokens, Usage};
use serde_json::{Value, json};

use crate::codec::number;
use crate::json::{self, Object};

/// More than this in one call is a fault of the provider's counter.
const ABSURD: f64 = (1u64 << 40) as f64;

/// A stream tells the input first and the output last; what the later object does not say stays as it was.
pub fn read_usage(raw: &[u8], so_far: Option<&Usage>) -> Option<Usage> {
    let object = json::scan(raw).ok()?;
    let mut reader =
        Reader { raw, caveats: so_far.and_then(|usage| usage.caveat.clone()).into_iter().collect() };
    let input = reader.count(&object, "input_tokens");
    let output = reader.count(&object, "output_tokens");
    let read = reader.count(&object, "cache_read_input_tokens");
    let written = reader.written(&object, so_far);
    if input.is_none() && output.is_none() && read.is_none() && written.is_none() {
        return None;
    }
    let mut tokens = so_far.map(|usage| usage.tokens).unwrap_or_default();
    tokens.input = input.unwrap_or(tokens.input);
    tokens.output = output.unwrap_or(tokens.output);
    tokens.cache_read = read.unwrap_or(tokens.cache_read);
    if let Some((five_minutes, one_hour)) = written {
        (tokens.cache_write_5m, tokens.cache_write_1h) = (five_minutes, one_hour);
    }
    let caveat = (!reader.caveats.is_empty()).then(|| reader.caveats.join("; "));
    Some(Usage { tokens, caveat, ..Usage::default() })
}

/// The totals as Anthropic's clients read them.
pub fn write_usage(usage: &Usage) -> Value {
    let Tokens { input, audio_input, cache_read, cache_write_5m, cache_write_1h, .. } = usage.tokens;
    let mut object = json!({
        "input_tokens": input.saturating_add(audio_input),
        "cache_creation_input_tokens": usage.tokens.cache_write(),
        "cache_read_input_tokens": cache_read,
        "output_tokens": usage.tokens.total_output(),
    });
    if usage.tokens.cache_write() > 0 {
        object["cache_creation"] = json!({
            "ephemeral_5m_input_tokens": cache_write_5m,
            "ephemeral_1h_input_tokens": cache_write_1h,
        });
    }
    object
}

struct Reader<'a> {
    raw: &'a [u8],
    caveats: Vec<String>,
}

impl Reader<'_> {
    /// Tokens written to the cache for five minutes and for an hour.
    fn written(&mut self, object: &Object, so_far: Option<&Usage>) -> Option<(u64, u64)> {
        let total = self.count(object, "cache_creation_input_tokens");
        let split = object.value(self.raw, "cache_creation");
        let split = split.and_then(|range| json::scan_within(self.raw, range).ok());
        let Some(split) = split else {
            let known = so_far.map(|usage| usage.tokens).filter(|tokens| Some(tokens.cache_write()) == total);
            return known.map(|tokens| (tokens.cache_write_5m, tokens.cache_write_1h)).or(Some((total?, 0)));
        };
        let one_hour = self.count(&split, "ephemeral_1h_input_tokens").unwrap_or(0);
        let five_minutes = self.count(&split, "ephemeral_5m_input_tokens");
        let rest = total.unwrap_or(0).saturating_sub(one_hour);
        Some((five_minutes.unwrap_or(rest), one_hour))
    }

    fn count(&mut self, object: &Object, name: &str) -> Option<u64> {
        let count = number(&self.raw[object.value(self.raw, name)?])?;
        let kept = count.clamp(0.0, ABSURD).round();
        if kept != count {
            self.caveats.push(format!("{name} was {count} and was taken as {kept}"));
        }
        Some(kept as u64)
    }
}

#[cfg(test)]
mod tests;
