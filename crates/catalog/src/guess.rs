//! Guesses the mode of a model from its id, for models that are not in the catalogue.

use domain::model::Mode;

/// Substrings that identify a mode; the first one found in the id decides.
const PIECES: &[(&str, Mode)] = &[
    ("rerank", Mode::Rerank),
    ("embed", Mode::Embedding),
    ("moderation", Mode::Moderation),
    ("whisper", Mode::AudioTranscription),
    ("transcri", Mode::AudioTranscription),
    ("speech", Mode::AudioSpeech),
    ("audio", Mode::AudioSpeech),
    ("video", Mode::Video),
    ("dall-e", Mode::Image),
    ("image", Mode::Image),
    ("diffusion", Mode::Image),
    ("nano-banana", Mode::Image),
];

/// Whole words that identify a mode; they are too short or too common to be matched as substrings.
const WORDS: &[(&str, Mode)] = &[
    ("bge", Mode::Embedding),
    ("colbert", Mode::Rerank),
    ("e5", Mode::Embedding),
    ("gte", Mode::Embedding),
    ("guard", Mode::Moderation),
    ("tts", Mode::AudioSpeech),
    ("stt", Mode::AudioTranscription),
    ("asr", Mode::AudioTranscription),
    ("sora", Mode::Video),
    ("veo", Mode::Video),
    ("flux", Mode::Image),
    ("sdxl", Mode::Image),
];

/// The likely mode of a model, judged by its id alone; chat unless the id indicates another mode.
pub fn likely_mode(model: &str) -> Mode {
    // The part before the last slash names a vendor or a folder, not the model.
    let bare = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    if let Some((_, mode)) = PIECES.iter().find(|(piece, _)| bare.contains(piece)) {
        return *mode;
    }
    let words = || bare.split(|c: char| !c.is_ascii_alphanumeric());
    WORDS.iter().find(|(word, _)| words().any(|found| found == *word)).map_or(Mode::Chat, |(_, mode)| *mode)
}

#[cfg(test)]
mod tests {
    use domain::model::Category;

    use super::*;
    use crate::table;

    #[test]
    fn the_mode_is_guessed_from_the_model_name() {
        for (model, expected) in [
            ("gpt-9", Mode::Chat),
            ("my-model", Mode::Chat),
            ("", Mode::Chat),
            ("nomic-embed-text:v1.5", Mode::Embedding),
            ("text-embedding-4-large", Mode::Embedding),
            ("BAAI/bge-m3", Mode::Embedding),
            ("intfloat/e5-mistral-7b", Mode::Embedding),
            ("bge-reranker-v2-m3", Mode::Rerank),
            ("Cohere-rerank-v4", Mode::Rerank),
            ("whisper-large-v3", Mode::AudioTranscription),
            ("gpt-4o-mini-transcribe", Mode::AudioTranscription),
            ("tts-1-hd", Mode::AudioSpeech),
            ("gemini-3-flash-tts", Mode::AudioSpeech),
            ("gpt-audio-2", Mode::AudioSpeech),
            ("dall-e-3", Mode::Image),
            ("gpt-image-2", Mode::Image),
            ("imagen-4.0-generate-001", Mode::Image),
            ("black-forest-labs/FLUX.1-dev", Mode::Image),
            ("stable-diffusion-xl", Mode::Image),
            ("sora-2-pro", Mode::Video),
            ("veo-3.1-generate", Mode::Video),
            ("wan-video-2", Mode::Video),
            ("omni-moderation-latest", Mode::Moderation),
            ("meta-llama/Llama-Guard-4-12B", Mode::Moderation),
            // Only the last path segment counts, and words match only as a whole.
            ("embeddings-inc/chatty", Mode::Chat),
            ("veolia-7b", Mode::Chat),
            ("mattstt", Mode::Chat),
            ("gpt-oss-safeguard-20b", Mode::Chat),
        ] {
            assert_eq!(likely_mode(model), expected, "{model}");
        }
    }

    /// For models that the catalogue lists as something other than text generation, at least 70 % of the guesses agree.
    #[test]
    fn guesses_agree_with_the_catalogue() {
        let special =
            || table::all_rows().iter().filter(|row| row.facts.mode.category() != Category::TextGeneration);
        let guessed =
            special().filter(|row| likely_mode(row.model).category() == row.facts.mode.category()).count();
        let all = special().count();
        assert!(guessed * 10 >= all * 7, "{guessed} of {all}");
    }
}
