//! Maps Anthropic's stop reasons from and to the canonical ones.

use domain::canon::StopReason;

pub fn read(reason: &str, sequence: Option<String>) -> StopReason {
    match reason {
        "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence(sequence),
        "tool_use" => StopReason::ToolCalls,
        "pause_turn" => StopReason::PauseTurn,
        "refusal" => StopReason::Refusal,
        _ => StopReason::EndTurn,
    }
}

/// The stop reason, and the stop sequence if there is one.
pub fn write(stop: &StopReason) -> (&'static str, Option<&str>) {
    match stop {
        StopReason::EndTurn => ("end_turn", None),
        StopReason::StopSequence(sequence) => ("stop_sequence", sequence.as_deref()),
        StopReason::MaxTokens => ("max_tokens", None),
        StopReason::ToolCalls => ("tool_use", None),
        StopReason::ContentFilter | StopReason::Refusal => ("refusal", None),
        StopReason::PauseTurn => ("pause_turn", None),
    }
}
