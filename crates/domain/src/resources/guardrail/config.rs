//! The types of guardrails, with their settings.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Direction;
use crate::fault::{self, Fault};

const MAX_PATTERNS: usize = 1000;
const MAX_CONTENT: usize = 256 * 1024;
const MAX_REPLACEMENT: usize = 200;
const MAX_TIMEOUT_MS: u64 = 60_000;
const MAX_SELECTOR: usize = 300;
const MAX_PREFIX: usize = 1000;
const MAX_ALTERED_TOKENS: u64 = 1_000_000;

/// The type of a guardrail and its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "config", rename_all = "snake_case")]
pub enum GuardrailConfig {
    SystemPrompt(SystemPromptConfig),
    RegexBlock(RegexConfig),
    PiiRedact(PiiConfig),
    PromptInjection(InjectionConfig),
    LengthLimit(LengthConfig),
    LlmBasedAltering(AlteringConfig),
    Webhook(WebhookConfig),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuardrailType {
    SystemPrompt,
    RegexBlock,
    PiiRedact,
    PromptInjection,
    LengthLimit,
    LlmBasedAltering,
    Webhook,
}

impl GuardrailType {
    pub const ALL: [Self; 7] = [
        Self::SystemPrompt,
        Self::RegexBlock,
        Self::PiiRedact,
        Self::PromptInjection,
        Self::LengthLimit,
        Self::LlmBasedAltering,
        Self::Webhook,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::SystemPrompt => "system_prompt",
            Self::RegexBlock => "regex_block",
            Self::PiiRedact => "pii_redact",
            Self::PromptInjection => "prompt_injection",
            Self::LengthLimit => "length_limit",
            Self::LlmBasedAltering => "llm_based_altering",
            Self::Webhook => "webhook",
        }
    }
}

/// A role whose messages are inspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TextRole {
    System,
    Developer,
    User,
    Assistant,
    Tool,
}

/// Settings of `system_prompt`, which changes the instructions of requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SystemPromptConfig {
    #[serde(default)]
    pub mode: SystemPromptMode,
    pub content: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SystemPromptMode {
    /// Added if the request has no instructions.
    #[default]
    Inject,
    /// In place of the instructions of the request.
    Override,
    /// Before the instructions of the request.
    Decorator,
}

/// Settings of `regex_block`, which looks for patterns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RegexConfig {
    #[serde(default)]
    pub action: MatchAction,
    /// Regular expressions without look-around and back-references.
    pub patterns: Vec<String>,
    #[serde(default = "redacted")]
    pub replacement: String,
    /// All roles if empty.
    #[serde(default)]
    pub roles: Vec<TextRole>,
}

fn redacted() -> String {
    "[REDACTED]".to_owned()
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MatchAction {
    #[default]
    Block,
    /// Matches are replaced.
    Sanitize,
}

/// Settings of `pii_redact`, which looks for personal data and secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PiiConfig {
    /// The default kinds if empty.
    pub kinds: Vec<String>,
    pub action: PiiAction,
    /// Whether placeholders in answers are replaced by the values that they stand for.
    pub reversible: bool,
    /// All roles if empty.
    pub roles: Vec<TextRole>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PiiAction {
    #[default]
    Redact,
    Block,
}

/// Settings of `prompt_injection`, which scores attempts to change the model's instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InjectionConfig {
    pub sensitivity: Sensitivity,
    pub action: InjectionAction,
    pub classifier: ClassifierUse,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sensitivity {
    Low,
    #[default]
    Medium,
    High,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InjectionAction {
    Block,
    /// The verdict is recorded, and the call is made.
    #[default]
    Flag,
}

/// Whether a classifier scores texts beside the rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClassifierUse {
    /// If its weights are imported.
    #[default]
    Auto,
    Off,
}

/// Settings of `length_limit`. At least one limit is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LengthConfig {
    pub max_chars: Option<u64>,
    pub max_estimated_tokens: Option<u64>,
}

/// Settings of `llm_based_altering`, which replaces texts by those that a model makes of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AlteringConfig {
    /// The selector of the model: an alias, combo, pool or model.
    pub model: String,
    /// The instructions of the model.
    pub prompt: String,
    /// All roles if empty.
    #[serde(default)]
    pub roles: Vec<TextRole>,
    /// Texts that begin with it are not altered; none if empty.
    #[serde(default)]
    pub skip_content_prefix: String,
    /// The most output tokens for one text.
    #[serde(default = "altering_max_tokens")]
    pub max_tokens: u64,
}

fn altering_max_tokens() -> u64 {
    4096
}

impl AlteringConfig {
    fn validate(&self, direction: Direction) -> Result<(), Fault> {
        let refused = |param: &str, message: String| Err(fault::invalid_parameter(param, message));
        if direction == Direction::Log {
            let message = "An llm_based_altering changes calls, and would send to a model what is to be kept out of records: its direction is input, output or both.";
            return refused("direction", message.to_owned());
        }
        if self.model.trim().is_empty() || self.model.len() > MAX_SELECTOR {
            return refused("config.model", format!("The model has 1 to {MAX_SELECTOR} bytes."));
        }
        if self.prompt.is_empty() || self.prompt.len() > MAX_CONTENT {
            return refused("config.prompt", format!("The prompt has 1 to {MAX_CONTENT} bytes."));
        }
        if self.skip_content_prefix.len() > MAX_PREFIX {
            let message = format!("The prefix has at most {MAX_PREFIX} bytes.");
            return refused("config.skip_content_prefix", message);
        }
        if !(1..=MAX_ALTERED_TOKENS).contains(&self.max_tokens) {
            return refused("config.max_tokens", format!("max_tokens is 1 to {MAX_ALTERED_TOKENS}."));
        }
        Ok(())
    }
}

/// Settings of `webhook`, which asks a server for its verdict. The headers of its requests are in the guardrail itself,
/// where they are encrypted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    pub url: String,
    /// The time for an answer, in milliseconds.
    #[serde(default = "webhook_timeout")]
    pub timeout_ms: u64,
}

fn webhook_timeout() -> u64 {
    5000
}

impl GuardrailConfig {
    pub fn guardrail_type(&self) -> GuardrailType {
        match self {
            Self::SystemPrompt(_) => GuardrailType::SystemPrompt,
            Self::RegexBlock(_) => GuardrailType::RegexBlock,
            Self::PiiRedact(_) => GuardrailType::PiiRedact,
            Self::PromptInjection(_) => GuardrailType::PromptInjection,
            Self::LengthLimit(_) => GuardrailType::LengthLimit,
            Self::LlmBasedAltering(_) => GuardrailType::LlmBasedAltering,
            Self::Webhook(_) => GuardrailType::Webhook,
        }
    }

    /// Validates the settings. Patterns and kinds are checked when the guardrail is compiled.
    pub(super) fn validate(&self, direction: Direction) -> Result<(), Fault> {
        match self {
            Self::SystemPrompt(config) if config.content.is_empty() || config.content.len() > MAX_CONTENT => {
                Err(fault::invalid_parameter(
                    "config.content",
                    format!("The content has 1 to {MAX_CONTENT} bytes."),
                ))
            }
            Self::SystemPrompt(_) if !direction.includes_input() => Err(fault::invalid_parameter(
                "direction",
                "A system_prompt changes requests: its direction is input.",
            )),
            Self::PromptInjection(_) if !direction.includes_input() => Err(fault::invalid_parameter(
                "direction",
                "A prompt_injection inspects requests: its direction is input or both.",
            )),
            Self::LengthLimit(_) if direction == Direction::Log => Err(fault::invalid_parameter(
                "direction",
                "A length_limit has nothing to redact: its direction is input, output or both.",
            )),
            Self::LlmBasedAltering(config) => config.validate(direction),
            Self::Webhook(_) if direction == Direction::Log => Err(fault::invalid_parameter(
                "direction",
                "A webhook decides about calls: its direction is input, output or both.",
            )),
            Self::Webhook(config) if !(1..=MAX_TIMEOUT_MS).contains(&config.timeout_ms) => {
                let message = format!("A timeout is 1 to {MAX_TIMEOUT_MS} milliseconds.");
                Err(fault::invalid_parameter("config.timeout_ms", message))
            }
            Self::RegexBlock(config) if !(1..=MAX_PATTERNS).contains(&config.patterns.len()) => {
                Err(fault::invalid_parameter(
                    "config.patterns",
                    format!("There are 1 to {MAX_PATTERNS} patterns."),
                ))
            }
            Self::RegexBlock(config) if config.replacement.len() > MAX_REPLACEMENT => {
                let message = format!("A replacement has at most {MAX_REPLACEMENT} bytes.");
                Err(fault::invalid_parameter("config.replacement", message))
            }
            Self::LengthLimit(config)
                if config.max_chars == Some(0) || config.max_estimated_tokens == Some(0) =>
            {
                Err(fault::invalid_parameter("config", "A limit is at least 1."))
            }
            Self::LengthLimit(LengthConfig { max_chars: None, max_estimated_tokens: None }) => {
                Err(fault::invalid_parameter("config", "Set max_chars, max_estimated_tokens or both."))
            }
            _ => Ok(()),
        }
    }
}
