//! Maps finish reasons of chat completions.

use domain::canon::StopReason;
use domain::fault::{self, Fault};

/// Content of the answer that disambiguates a finish reason.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    pub calls: bool,
    pub refusal: bool,
}

/// Reads a finish reason. Values beyond OpenAI's come from Mistral, Z.ai, DeepSeek and servers that forward those of
/// another format.
pub fn read(word: &str, held: Held, provider: &str) -> Result<StopReason, Fault> {
    Ok(match word {
        "length" | "max_tokens" | "model_length" => StopReason::MaxTokens,
        "content_filter" | "sensitive" | "safety" if held.refusal => StopReason::Refusal,
        "content_filter" | "sensitive" | "safety" => StopReason::ContentFilter,
        "refusal" => StopReason::Refusal,
        "error" | "network_error" | "insufficient_system_resource" => {
            return Err(fault::upstream_interrupted(provider));
        }
        _ if held.calls => StopReason::ToolCalls,
        _ if held.refusal => StopReason::Refusal,
        _ => StopReason::EndTurn,
    })
}

pub fn write(reason: &StopReason, held: Held) -> &'static str {
    match reason {
        StopReason::MaxTokens => "length",
        StopReason::ToolCalls => "tool_calls",
        StopReason::ContentFilter => "content_filter",
        // A refusal with text counts as a regular answer.
        StopReason::Refusal if !held.refusal => "content_filter",
        StopReason::EndTurn | StopReason::StopSequence(_) | StopReason::Refusal | StopReason::PauseTurn => {
            "stop"
        }
    }
}
