//! The verdict of a guardrail on a call, as the audit log and explain show it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::resources::guardrail::GuardrailMode;

/// The verdict of one guardrail on the request or on the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GuardrailVerdict {
    /// The name of the guardrail.
    pub name: String,
    pub subject: GuardedSubject,
    /// In the mode `monitor`, the verdict has no effect.
    pub mode: GuardrailMode,
    pub verdict: Verdict,
    /// The number of findings of each kind; for patterns, the kind is `pattern` and their position in the list.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<String, u64>,
    /// The highest score of a text, for guardrails that score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
    /// The highest score that the classifier gave, if it was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classifier_score: Option<f32>,
    /// The reason why the guardrail failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The subject of an inspection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuardedSubject {
    Request,
    Answer,
}

impl GuardedSubject {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Answer => "answer",
        }
    }
}

/// A decision about the texts of a request or an answer, from the weakest to the strongest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The webhook of the guardrail was not called.
    NotAsked,
    #[default]
    Allow,
    /// A finding was recorded and has no other effect.
    Flag,
    /// Texts were changed.
    Redact,
    /// The guardrail failed.
    Error,
    Block,
}

impl Verdict {
    /// The name as it is shown, the same as when serialized.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotAsked => "not_asked",
            Self::Allow => "allow",
            Self::Flag => "flag",
            Self::Redact => "redact",
            Self::Error => "error",
            Self::Block => "block",
        }
    }
}
