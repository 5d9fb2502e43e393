//! Token counting: exact where a public vocabulary exists, estimated from bytes where speed matters more.

use std::sync::atomic::{AtomicBool, Ordering};

static LOADED: AtomicBool = AtomicBool::new(false);

/// Counts the tokens of a text in the vocabulary of the model; models without a public one are counted with the newest
/// available.
///
/// The first call loads the vocabulary (tens of megabytes), so it belongs off the hot path.
pub fn count_tokens(model: &str, text: &str) -> u64 {
    let tokenizer =
        if uses_older_vocabulary(model) { bpe_openai::cl100k_base() } else { bpe_openai::o200k_base() };
    LOADED.store(true, Ordering::Relaxed);
    tokenizer.count(text) as u64
}

/// True if the vocabulary of the model is public, so that its tokens can be counted exactly.
pub fn has_public_vocabulary(provider_type: &str, model: &str) -> bool {
    let bare = model.rsplit('/').next().unwrap_or(model);
    let known = ["gpt-4", "gpt-3.5", "gpt-35", "o1", "o3", "o4", "text-embedding-3"];
    matches!(provider_type, "openai" | "azure") && known.iter().any(|prefix| bare.starts_with(prefix))
}

/// True if a vocabulary has been loaded into memory.
pub fn tokenizer_loaded() -> bool {
    LOADED.load(Ordering::Relaxed)
}

/// Estimates four bytes per token, rounded up.
pub fn estimate_tokens_from_bytes(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}

fn uses_older_vocabulary(model: &str) -> bool {
    let bare = model.rsplit('/').next().unwrap_or(model);
    let newer = ["gpt-4o", "gpt-4.1", "gpt-4.5"];
    let older = ["gpt-4", "gpt-3.5", "gpt-35", "text-embedding-3", "text-embedding-ada"];
    !newer.iter().any(|prefix| bare.starts_with(prefix))
        && older.iter().any(|prefix| bare.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_has_its_vocabulary() {
        for older in ["gpt-4", "gpt-4-turbo", "openai/gpt-3.5-turbo", "text-embedding-3-small"] {
            assert!(uses_older_vocabulary(older), "{older}");
        }
        for newer in ["gpt-4o", "gpt-4.1-mini", "o3", "gpt-5", "claude-sonnet-5", ""] {
            assert!(!uses_older_vocabulary(newer), "{newer}");
        }
    }

    #[test]
    fn texts_are_counted_by_the_vocabulary_of_the_model() {
        assert_eq!(count_tokens("gpt-4o", "Hello, world!"), 4);
        assert_eq!(count_tokens("gpt-4", "Hello, world!"), 4);
        assert_eq!(count_tokens("gpt-4o", ""), 0);
        // The newer vocabulary needs fewer tokens for languages other than English.
        let text = "नमस्ते, मेरा नाम जीपीटी है।";
        assert!(count_tokens("gpt-4o", text) < count_tokens("gpt-4", text));
        assert!(tokenizer_loaded());
    }

    #[test]
    fn bytes_are_rounded_up() {
        assert_eq!([0, 1, 4, 5].map(estimate_tokens_from_bytes), [0, 1, 1, 2]);
    }
}
