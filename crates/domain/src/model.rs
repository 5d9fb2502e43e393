//! What is known about a model: window, limits, abilities, price.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::money::Rate;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    Chat,
    Completion,
    Embedding,
    Rerank,
    Image,
    AudioTranscription,
    AudioSpeech,
    Moderation,
    Video,
    Other,
}

/// What a model can do, as flags that routing and `/models` show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Abilities {
    pub tools: bool,
    pub vision: bool,
    pub reasoning: bool,
    pub json_schema: bool,
    pub prompt_cache: bool,
    pub pdf: bool,
    pub audio_input: bool,
    pub audio_output: bool,
    pub web_search: bool,
}

/// Rates in nano-dollars per million tokens; an absent one falls back as `catalog::cost` says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Price {
    pub input: Rate,
    pub output: Rate,
    pub cache_read: Option<Rate>,
    pub cache_write_5m: Option<Rate>,
    pub cache_write_1h: Option<Rate>,
    pub reasoning: Option<Rate>,
    pub audio_input: Option<Rate>,
    pub audio_output: Option<Rate>,
    pub batch_input: Option<Rate>,
    pub batch_output: Option<Rate>,
    /// Flat nano-dollars for each request.
    pub per_request: Option<i64>,
    /// Ascending; the highest one whose threshold the total input exceeds replaces the rates it names.
    pub tiers: Vec<Tier>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tier {
    pub above_tokens: u64,
    pub input: Rate,
    pub output: Rate,
    pub cache_read: Option<Rate>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ModelFacts {
    pub mode: Mode,
    pub context_window: Option<u64>,
    pub max_output_tokens: Option<u64>,
    pub abilities: Abilities,
    /// Absent is "unpriced", which is not the same as free.
    pub price: Option<Price>,
}
