//! Maps the status of a response, and the reason why it is incomplete, from and to the canonical stop reasons.

use domain::canon::StopReason;

use super::wire_types::{Response, Text};

/// The stop reason, given whether the response has calls or a refusal.
pub fn read(response: &Response<'_>, called: bool, refused: bool) -> StopReason {
    let reason = response.incomplete_details.as_ref().map_or("", |details| Text::of(&details.reason));
    match (Text::of(&response.status), reason) {
        ("incomplete", "content_filter") => StopReason::ContentFilter,
        ("incomplete", _) => StopReason::MaxTokens,
        _ if called => StopReason::ToolCalls,
        _ if refused => StopReason::Refusal,
        _ => StopReason::EndTurn,
    }
}

/// The reason of an incomplete response; `None` for a complete one. `refused` says whether the output contains a
/// refusal.
pub fn write(stop: &StopReason, refused: bool) -> Option<&'static str> {
    match stop {
        StopReason::MaxTokens => Some("max_output_tokens"),
        StopReason::ContentFilter => Some("content_filter"),
        StopReason::Refusal if !refused => Some("content_filter"),
        _ => None,
    }
}
