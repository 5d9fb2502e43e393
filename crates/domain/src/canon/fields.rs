//! Request fields that a target format cannot express, named as in the client's format.

use crate::call::Format;

/// A field of the canonical model that some format cannot express.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    Temperature,
    TopP,
    TopK,
    Seed,
    PresencePenalty,
    FrequencyPenalty,
    Stop,
    Reasoning,
    Verbosity,
    User,
    Metadata,
    ServiceTier,
    Choices,
    ParallelTools,
    ToolChoice,
    Strict,
    CacheControl,
    IsError,
    ImageDetail,
    Output,
    MaxOutput,
}

impl Field {
    /// The name of the field in the client's format.
    pub fn name(self, format: Format) -> &'static str {
        use Format::{Chat, Gemini, Messages, Responses};
        match (self, format) {
            (Self::Temperature, Gemini) => "generationConfig.temperature",
            (Self::Temperature, _) => "temperature",
            (Self::TopP, Gemini) => "generationConfig.topP",
            (Self::TopP, _) => "top_p",
            (Self::TopK, Gemini) => "generationConfig.topK",
            (Self::TopK, _) => "top_k",
            (Self::Seed, Gemini) => "generationConfig.seed",
            (Self::Seed, _) => "seed",
            (Self::PresencePenalty, Gemini) => "generationConfig.presencePenalty",
            (Self::PresencePenalty, _) => "presence_penalty",
            (Self::FrequencyPenalty, Gemini) => "generationConfig.frequencyPenalty",
            (Self::FrequencyPenalty, _) => "frequency_penalty",
            (Self::Stop, Gemini) => "generationConfig.stopSequences",
            (Self::Stop, Messages) => "stop_sequences",
            (Self::Stop, _) => "stop",
            (Self::Reasoning, Chat) => "reasoning_effort",
            (Self::Reasoning, Responses) => "reasoning",
            (Self::Reasoning, Messages) => "thinking",
            (Self::Reasoning, Gemini) => "generationConfig.thinkingConfig",
            (Self::Verbosity, Responses) => "text.verbosity",
            (Self::Verbosity, _) => "verbosity",
            (Self::User, Messages) => "metadata.user_id",
            (Self::User, _) => "user",
            (Self::Metadata, Gemini) => "labels",
            (Self::Metadata, _) => "metadata",
            (Self::ServiceTier, _) => "service_tier",
            (Self::Choices, Gemini) => "generationConfig.candidateCount",
            (Self::Choices, _) => "n",
            (Self::ParallelTools, Messages) => "tool_choice.disable_parallel_tool_use",
            (Self::ParallelTools, _) => "parallel_tool_calls",
            (Self::ToolChoice, Gemini) => "toolConfig",
            (Self::ToolChoice, _) => "tool_choice",
            (Self::Strict, _) => "tools.strict",
            (Self::CacheControl, _) => "cache_control",
            (Self::IsError, _) => "is_error",
            (Self::ImageDetail, _) => "detail",
            (Self::Output, Chat) => "response_format",
            (Self::Output, Responses) => "text.format",
            (Self::Output, Messages) => "output_config.format",
            (Self::Output, Gemini) => "generationConfig.responseSchema",
            (Self::MaxOutput, Responses) => "max_output_tokens",
            (Self::MaxOutput, Gemini) => "generationConfig.maxOutputTokens",
            (Self::MaxOutput, _) => "max_tokens",
        }
    }
}

/// Names of the request fields that were left out, without duplicates, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dropped(Vec<String>);

impl Dropped {
    pub fn field(&mut self, field: Field, client: Format) {
        self.name(field.name(client));
    }

    /// Adds a name. Count and length are limited because the names are sent in a response header.
    pub fn name(&mut self, name: impl Into<String>) {
        const MOST: usize = 50;
        let name: String = name.into().chars().filter(char::is_ascii_graphic).take(100).collect();
        match self.0.len() {
            MOST.. => {}
            _ if self.0.contains(&name) => {}
            length if length + 1 == MOST => self.0.push("...".into()),
            _ => self.0.push(name),
        }
    }

    pub fn names(&self) -> &[String] {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
