//! What a model takes and refuses, asked when a request is translated for it.

/// Where models of one vendor differ by generation. The default is a careful guess for a model nobody described.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Takes temperature, top_p and the like.
    pub sampling: bool,
    pub max_temperature: f64,
    /// Takes temperature and top_p in the same request.
    pub temperature_with_top_p: bool,
    pub thinking: ThinkingStyle,
    /// Takes a JSON schema for its answer; otherwise a forced tool stands in for it.
    pub native_schema: bool,
    /// Takes system turns in the middle of a conversation.
    pub system_turns: bool,
    /// A last assistant turn is continued.
    pub prefill: bool,
    /// Wants the signatures of its thoughts back with its tool calls.
    pub wants_signatures: bool,
    /// Answers only through the responses API.
    pub responses_only: bool,
}

/// How a model is told to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingStyle {
    /// It cannot be told.
    None,
    /// By a word: OpenAI's `reasoning_effort`, Gemini's `thinkingLevel`.
    Effort,
    /// By a number of tokens: Claude's `budget_tokens`, Gemini's `thinkingBudget`.
    Budget,
    /// The model decides; a word steers it: Claude's `adaptive` with `output_config.effort`.
    Adaptive,
}

impl Rules {
    pub const CAREFUL: Self = Self {
        sampling: true,
        max_temperature: 2.0,
        temperature_with_top_p: true,
        thinking: ThinkingStyle::None,
        native_schema: true,
        system_turns: true,
        prefill: true,
        wants_signatures: false,
        responses_only: false,
    };
}
