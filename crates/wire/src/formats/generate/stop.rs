//! Why an answer ends, in Gemini's words and in ours.

use domain::canon::StopReason;

/// What a finish reason means.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    Stop(StopReason),
    /// The model wrote a call that nobody can read.
    Garbled,
}

pub fn read(reason: &str) -> Ending {
    Ending::Stop(match reason {
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => StopReason::ContentFilter,
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "MISSING_THOUGHT_SIGNATURE"
        | "MALFORMED_RESPONSE" => return Ending::Garbled,
        // STOP, and reasons that only say that there is no better one.
        _ => StopReason::EndTurn,
    })
}

pub fn write(reason: &StopReason) -> &'static str {
    match reason {
        StopReason::EndTurn | StopReason::StopSequence(_) | StopReason::ToolCalls | StopReason::PauseTurn => {
            "STOP"
        }
        StopReason::MaxTokens => "MAX_TOKENS",
        StopReason::ContentFilter | StopReason::Refusal => "SAFETY",
    }
}
