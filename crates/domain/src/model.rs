//! Facts about a model: context window, limits, abilities, price.

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

impl Mode {
    pub fn category(self) -> Category {
        match self {
            Self::Chat | Self::Completion => Category::TextGeneration,
            Self::Embedding => Category::Embedding,
            Self::Rerank => Category::Rerank,
            Self::Image => Category::Image,
            Self::AudioTranscription | Self::AudioSpeech => Category::Audio,
            Self::Video => Category::Video,
            Self::Moderation | Self::Other => Category::Utility,
        }
    }
}

/// The group under which a model is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    TextGeneration,
    Embedding,
    Rerank,
    Image,
    Audio,
    Video,
    Utility,
}

impl Category {
    /// In display order.
    pub const ALL: &'static [Self] = &[
        Self::TextGeneration,
        Self::Embedding,
        Self::Rerank,
        Self::Image,
        Self::Audio,
        Self::Video,
        Self::Utility,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::TextGeneration => "text_generation",
            Self::Embedding => "embedding",
            Self::Rerank => "rerank",
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::Utility => "utility",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::TextGeneration => "Text generation",
            Self::Embedding => "Embeddings",
            Self::Rerank => "Reranking",
            Self::Image => "Images",
            Self::Audio => "Audio",
            Self::Video => "Video",
            Self::Utility => "Utility",
        }
    }
}

/// Abilities of a model, as flags for routing and `/models`.
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

impl Abilities {
    /// The flag with this name, or `None`.
    pub fn flag(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "tools" => &mut self.tools,
            "vision" => &mut self.vision,
            "reasoning" => &mut self.reasoning,
            "json_schema" => &mut self.json_schema,
            "prompt_cache" => &mut self.prompt_cache,
            "pdf" => &mut self.pdf,
            "audio_input" => &mut self.audio_input,
            "audio_output" => &mut self.audio_output,
            "web_search" => &mut self.web_search,
            _ => return None,
        })
    }

    /// The names of the flags that are set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let flags = [
            ("tools", self.tools),
            ("vision", self.vision),
            ("reasoning", self.reasoning),
            ("json_schema", self.json_schema),
            ("prompt_cache", self.prompt_cache),
            ("pdf", self.pdf),
            ("audio_input", self.audio_input),
            ("audio_output", self.audio_output),
            ("web_search", self.web_search),
        ];
        flags.into_iter().filter(|(_, set)| *set).map(|(name, _)| name)
    }
}

/// Rates in nano-dollars per million tokens; absent rates fall back as described at `catalog::cost`.
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
    /// Flat price per request, in nano-dollars.
    pub per_request: Option<i64>,
    /// Price per generated image, in nano-dollars.
    pub per_image: Option<i64>,
    /// Price per second of audio input, in nano-dollars.
    pub per_second_input: Option<i64>,
    /// Price per input character of speech synthesis, in nano-dollars.
    pub per_character_input: Option<i64>,
    /// Ascending; the highest tier whose threshold the total input exceeds replaces the rates it names.
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
    /// `None` means unpriced, which is not the same as free.
    pub price: Option<Price>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_is_found_by_the_name_it_is_written_with() {
        let written = serde_json::to_value(Abilities::default()).unwrap();
        for name in written.as_object().unwrap().keys() {
            let mut abilities = Abilities::default();
            *abilities.flag(name).unwrap_or_else(|| panic!("{name} has no flag")) = true;
            assert_eq!(abilities.names().collect::<Vec<_>>(), [name]);
            assert_eq!(serde_json::to_value(abilities).unwrap()[name], true);
        }
        assert!(Abilities::default().flag("telepathy").is_none());
    }

    #[test]
    fn a_category_is_written_as_it_is_read() {
        for category in Category::ALL {
            assert_eq!(serde_json::to_value(category).unwrap(), category.as_str());
        }
    }
}
