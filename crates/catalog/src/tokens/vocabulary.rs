//! Vocabularies of OpenAI's models: their tokens as they are stored in the binary, and the tokenizers that use them.

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::LazyLock;

use flate2::read::ZlibDecoder;
use foldhash::fast::FixedState;

use super::merges;
use super::pieces::Splitter;

/// The vocabulary of GPT-4 and GPT-3.5.
pub static CL100K_BASE: LazyLock<Vocabulary> = LazyLock::new(|| {
    Vocabulary::load(
        include_bytes!(concat!(env!("OUT_DIR"), "/cl100k_base.tokens")),
        &["(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}\
           | ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+$"],
    )
});

/// The vocabulary of GPT-4o and later models.
pub static O200K_BASE: LazyLock<Vocabulary> = LazyLock::new(|| {
    Vocabulary::load(
        include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base.tokens")),
        &[
            "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+\
             (?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*\
             (?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+$",
        ],
    )
});

/// A tokenizer: the ids of all tokens, and the rule that splits a text into the pieces that are tokenized on their own.
pub struct Vocabulary {
    ids: HashMap<&'static [u8], u32, FixedState>,
    splitter: Splitter,
}

impl Vocabulary {
    fn load(compressed: &[u8], patterns: &[&str]) -> Self {
        let ids = tokens(unpacked(compressed)).zip(0..).collect();
        Self { ids, splitter: Splitter::new(&patterns.join("|")) }
    }

    pub fn count(&self, text: &str) -> usize {
        self.splitter.pieces(text).map(|piece| self.count_piece(piece.as_bytes())).sum()
    }

    /// Most pieces are one token.
    fn count_piece(&self, piece: &[u8]) -> usize {
        if self.ids.contains_key(piece) {
            return 1;
        }
        merges::count_tokens(piece, |bytes| self.ids.get(bytes).copied())
    }
}

/// The content of a file that `build.rs` has written. A vocabulary is loaded once and kept, so its tokens are never freed.
fn unpacked(compressed: &[u8]) -> &'static [u8] {
    let mut stored = Vec::new();
    let read = ZlibDecoder::new(compressed).read_to_end(&mut stored);
    debug_assert!(read.is_ok(), "{read:?}");
    stored.leak()
}

/// Reads the tokens that `build.rs` has written.
fn tokens(mut stored: &'static [u8]) -> impl Iterator<Item = &'static [u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = stored.split_first()?;
        let (token, rest) = rest.split_at_checked(usize::from(*length))?;
        stored = rest;
        Some(token)
    })
}
