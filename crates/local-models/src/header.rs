//! The description of a model at the start of its file.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::config::BertConfig;

/// The purpose of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    /// Texts to vectors, for the semantic cache.
    Encoder,
    /// Texts to a probability of prompt injection.
    InjectionClassifier,
}

impl ModelKind {
    /// The stem of the model's file. There is one model of each kind.
    pub const fn file_stem(self) -> &'static str {
        match self {
            Self::Encoder => "encoder",
            Self::InjectionClassifier => "injection-classifier",
        }
    }
}

impl fmt::Display for ModelKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Encoder => "sentence encoder",
            Self::InjectionClassifier => "prompt-injection classifier",
        })
    }
}

/// The description of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelHeader {
    pub kind: ModelKind,
    pub name: String,
    /// The name of the number format of its weights.
    pub quantisation: String,
    /// The version of the conversion; vectors of different versions are not comparable.
    pub version: u32,
    /// The licence of its weights.
    pub licence: String,
    /// The package that it was imported from, with its version.
    pub package: String,
    pub config: BertConfig,
    /// The most word pieces of one pass, with the two that mark start and end.
    pub max_pieces: usize,
    /// The divisor of a classifier's output before it becomes a probability.
    pub temperature: f32,
}

impl ModelHeader {
    /// Model, quantisation and version in one text.
    pub fn identity(&self) -> String {
        format!("{} {} v{}", self.name, self.quantisation, self.version)
    }

    /// The reason why a model with this header cannot run, if it cannot.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        if !(3..=self.config.positions).contains(&self.max_pieces) {
            Some("its number of word pieces does not fit its positions")
        } else if !(self.temperature.is_finite() && self.temperature > 0.0) {
            Some("its temperature is not positive")
        } else {
            self.config.fault()
        }
    }
}
