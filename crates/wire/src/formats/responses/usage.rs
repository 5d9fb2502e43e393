//! Usage of the Responses API: read into disjoint buckets, written with totals.

use domain::usage::Usage;
use serde_json::{Value, json};

use crate::formats::chat;

/// Reads a usage object; `None` if it is not one or has no counts. It differs from chat's in names, not in shape.
pub fn read_usage(usage_json: &[u8]) -> Option<Usage> {
    chat::read_usage(usage_json)
}

pub fn write_usage(usage: &Usage) -> Value {
    let tokens = &usage.tokens;
    let mut written = json!({
        "input_tokens": tokens.total_input(),
        "input_tokens_details": {
            "cached_tokens": tokens.cache_read,
            "cache_write_tokens": tokens.cache_write(),
        },
        "output_tokens": tokens.total_output(),
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.total(),
    });
    for (details, audio) in
        [("input_tokens_details", tokens.audio_input), ("output_tokens_details", tokens.audio_output)]
    {
        if audio > 0 {
            written[details]["audio_tokens"] = audio.into();
        }
    }
    written
}

#[cfg(test)]
mod tests;
