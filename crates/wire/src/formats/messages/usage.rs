//! Anthropic's usage: input excludes cache reads and writes, thinking is part of the output.

use domain::usage::{Tokens, Untold, Usage};
use serde_json::{Value, json};

use crate::count::count;
use crate::json::{self, Object};

/// Reads usage. A stream reports the input first and the output last; values missing in the later object are kept.
pub fn read_usage(raw: &[u8], so_far: Option<&Usage>) -> Option<Usage> {
    let object = json::scan(raw).ok()?;
    let mut reader =
        Reader { raw, caveats: so_far.and_then(|usage| usage.caveat.clone()).into_iter().collect() };
    let input = reader.count(&object, "input_tokens");
    let output = reader.count(&object, "output_tokens");
    let read = reader.count(&object, "cache_read_input_tokens");
    let written = reader.written(&object, so_far);
    let nothing = input.is_none() && output.is_none() && read.is_none() && written.is_none();
    if nothing && reader.caveats.is_empty() {
        return None;
    }
    let before = so_far.map_or(Untold { input: true, output: true }, |usage| usage.untold);
    let untold = Untold {
        input: before.input && input.is_none() && read.is_none() && written.is_none(),
        // A count from the start of the stream does not replace an unusable final one.
        output: output.is_none() && (before.output || object.value(raw, "output_tokens").is_some()),
    };
    let mut tokens = so_far.map(|usage| usage.tokens).unwrap_or_default();
    tokens.input = input.unwrap_or(tokens.input);
    tokens.output = output.unwrap_or(tokens.output);
    tokens.cache_read = read.unwrap_or(tokens.cache_read);
    if let Some((five_minutes, one_hour)) = written {
        (tokens.cache_write_5m, tokens.cache_write_1h) = (five_minutes, one_hour);
    }
    let caveat = (!reader.caveats.is_empty()).then(|| reader.caveats.join("; "));
    Some(Usage { tokens, untold, caveat, ..Usage::default() })
}

/// Writes usage as Anthropic reports it.
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
    /// Tokens written to the five-minute and the one-hour cache.
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
        count(name, &self.raw[object.value(self.raw, name)?], &mut self.caveats)
    }
}

#[cfg(test)]
mod tests;
