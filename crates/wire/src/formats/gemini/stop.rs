//! Maps Gemini's finish reasons from and to the canonical ones.

use domain::canon::StopReason;

/// The meaning of a finish reason.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    Stop(StopReason),
    /// The output was malformed, such as an invalid call.
    Malformed,
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
        | "MALFORMED_RESPONSE" => return Ending::Malformed,
        // STOP, and unspecific reasons.
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
