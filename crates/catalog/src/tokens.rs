//! Token counting: exact where a public vocabulary exists, estimated from bytes where speed matters more.

use std::sync::LazyLock;

mod merges;
mod pieces;
mod vocabulary;

use vocabulary::Vocabulary;

/// Counts the tokens of a text in the vocabulary of the model; models without a public one are counted with the newest
/// available.
///
/// The first call loads the vocabulary (megabytes), so it belongs off the hot path.
pub fn count_tokens(model: &str, text: &str) -> u64 {
    vocabulary_of(model).count(text) as u64
}

/// True if the vocabulary of the model is public, so that its tokens can be counted exactly.
pub fn has_public_vocabulary(provider_type: &str, model: &str) -> bool {
    let bare = model.rsplit('/').next().unwrap_or(model);
    let known = ["gpt-4", "gpt-3.5", "gpt-35", "o1", "o3", "o4", "text-embedding-3"];
    matches!(provider_type, "openai" | "azure") && known.iter().any(|prefix| bare.starts_with(prefix))
}

/// True if the vocabulary that counts the model's tokens has been loaded into memory.
pub fn vocabulary_is_loaded(model: &str) -> bool {
    LazyLock::get(vocabulary_of(model)).is_some()
}

/// Estimates four bytes per token, rounded up.
pub fn estimate_tokens_from_bytes(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}

fn vocabulary_of(model: &str) -> &'static LazyLock<Vocabulary> {
    if uses_older_vocabulary(model) { &vocabulary::CL100K_BASE } else { &vocabulary::O200K_BASE }
}

fn uses_older_vocabulary(model: &str) -> bool {
    let bare = model.rsplit('/').next().unwrap_or(model);
    let newer = ["gpt-4o", "gpt-4.1", "gpt-4.5"];
    let older = ["gpt-4", "gpt-3.5", "gpt-35", "text-embedding-3", "text-embedding-ada"];
    !newer.iter().any(|prefix| bare.starts_with(prefix))
        && older.iter().any(|prefix| bare.starts_with(prefix))
}

#[cfg(test)]
mod tests;
