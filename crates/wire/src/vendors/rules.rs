//! What a model takes and refuses, asked when a request is translated for it.

use domain::canon::Effort;

/// Where models of one vendor differ by generation. The default is a careful guess for a model nobody described.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Takes temperature, top_p and the like.
    pub sampling: bool,
    pub max_temperature: f64,
    /// Takes temperature and top_p in the same request.
    pub temperature_with_top_p: bool,
    /// Takes presence and frequency penalties.
    pub penalties: bool,
    /// How many stop sequences chat completions take for it.
    pub stops: usize,
    pub thinking: ThinkingStyle,
    /// The efforts it takes, weakest first.
    pub efforts: &'static [Effort],
    /// The words for its effort in chat completions, from least to most; `none` among them where it is one.
    pub effort_words: &'static [&'static str],
    /// The fewest and the most tokens of thought it can be told, where they are counted.
    pub thinking_budget: (u64, u64),
    /// The word that switches its thinking off; none where it cannot be.
    pub thinking_off: Option<&'static str>,
    /// Wants its thoughts, or their signatures, back with its tool calls.
    pub wants_signatures: bool,
    /// Takes `verbosity`.
    pub verbosity: bool,
    /// Takes a JSON schema for its answer; otherwise a forced tool stands in for it.
    pub native_schema: bool,
    /// Takes that schema beside tools.
    pub schema_with_tools: bool,
    /// Can be made to call a tool.
    pub forced_tools: bool,
    /// Can be told whether to call several tools at once.
    pub parallel_tools: bool,
    /// Takes tools with free text for input in chat completions, and a choice among some of its tools.
    pub custom_tools: bool,
    /// Takes system turns in the middle of a conversation.
    pub system_turns: bool,
    /// A last assistant turn is continued.
    pub prefill: bool,
    /// Answers only through the responses API.
    pub responses_only: bool,
    /// Clients of other dialects are better served through the responses API than through chat completions.
    pub prefers_responses: bool,
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
    };

    /// The strongest effort it takes that is no stronger than what is wanted, or else its weakest.
    pub fn nearest_effort(&self, wanted: Effort) -> Option<Effort> {
        let below = self.efforts.iter().rev().find(|effort| **effort <= wanted);
        below.or(self.efforts.first()).copied()
    }
}
