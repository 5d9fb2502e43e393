//! Parameters that a model accepts, consulted when a request is translated for it.

use domain::canon::Effort;

/// Differences between models of one vendor. The default is a conservative guess for unknown models.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Accepts temperature, top_p and related parameters.
    pub sampling: bool,
    pub max_temperature: f64,
    /// Accepts temperature and top_p in the same request.
    pub temperature_with_top_p: bool,
    /// Accepts presence and frequency penalties.
    pub penalties: bool,
    /// Maximum number of stop sequences in chat completions.
    pub stops: usize,
    pub thinking: ThinkingStyle,
    /// Supported efforts, weakest first.
    pub efforts: &'static [Effort],
    /// Effort values in chat completions, weakest first, including `none` if supported.
    pub effort_words: &'static [&'static str],
    /// Minimum and maximum thinking budget in tokens.
    pub thinking_budget: (u64, u64),
    /// The value that disables thinking; `None` if it cannot be disabled.
    pub thinking_off: Option<&'static str>,
    /// Requires its reasoning, or its signatures, back with tool calls.
    pub wants_signatures: bool,
    /// Accepts `verbosity`.
    pub verbosity: bool,
    /// Accepts a JSON schema for its answer; otherwise a forced tool emulates it.
    pub native_schema: bool,
    /// Accepts a schema combined with tools.
    pub schema_with_tools: bool,
    /// Supports forced tool calls.
    pub forced_tools: bool,
    /// Accepts the parallel tool calls setting.
    pub parallel_tools: bool,
    /// Accepts custom tools and `allowed_tools` in chat completions.
    pub custom_tools: bool,
    /// Accepts system messages in the middle of a conversation.
    pub system_turns: bool,
    /// Continues a trailing assistant message.
    pub prefill: bool,
    /// Available only through the Responses API.
    pub responses_only: bool,
    /// Works better through the Responses API than through chat completions for clients of other formats.
    pub prefers_responses: bool,
    /// The shortest prompt prefix, in tokens, that is cached at a `cache_control` breakpoint; `None` if the vendor does
    /// not document breakpoints for the model, so that none are added.
    pub min_cached_prefix: Option<u64>,
}

/// The way a model's thinking is controlled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingStyle {
    /// Not controllable.
    None,
    /// By a level: OpenAI's `reasoning_effort`, Gemini's `thinkingLevel`.
    Effort,
    /// By a token budget: Claude's `budget_tokens`, Gemini's `thinkingBudget`.
    Budget,
    /// By the model itself, guided by an effort: Claude's `adaptive` with `output_config.effort`.
    Adaptive,
}

impl Rules {
    pub const CAREFUL: Self = Self {
        sampling: true,
        max_temperature: 2.0,
        temperature_with_top_p: true,
        penalties: true,
        stops: 4,
        thinking: ThinkingStyle::None,
        efforts: &Effort::ALL,
        effort_words: &["low", "medium", "high"],
        thinking_budget: (1, u64::MAX),
        thinking_off: Some("disabled"),
        wants_signatures: false,
        verbosity: false,
        native_schema: true,
        schema_with_tools: true,
        forced_tools: true,
        parallel_tools: true,
        custom_tools: false,
        system_turns: true,
        prefill: true,
        responses_only: false,
        prefers_responses: false,
        min_cached_prefix: None,
    };

    /// The strongest supported effort that does not exceed the wanted one, or else the weakest.
    pub fn nearest_effort(&self, wanted: Effort) -> Option<Effort> {
        let below = self.efforts.iter().rev().find(|effort| **effort <= wanted);
        below.or(self.efforts.first()).copied()
    }
}
