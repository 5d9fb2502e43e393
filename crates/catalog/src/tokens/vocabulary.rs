//! Vocabularies of OpenAI's models: their tokens as they are stored in the binary, and the tokenizers built from them.

use std::sync::LazyLock;

use bpe::byte_pair_encoding::BytePairEncoding;

use super::pieces::Splitter;

/// A factor that spreads the hashes of both vocabularies without collisions; without it, building panics.
const HASH_FACTOR: u64 = 17_846_336_922_010_275_747;

/// The vocabulary of GPT-4 and GPT-3.5.
pub static CL100K_BASE: LazyLock<Vocabulary> = LazyLock::new(|| {
    Vocabulary::build(
        include_bytes!(concat!(env!("OUT_DIR"), "/cl100k_base.tokens")),
        &["(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}\
           | ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+$"],
    )
});

/// The vocabulary of GPT-4o and later models.
pub static O200K_BASE: LazyLock<Vocabulary> = LazyLock::new(|| {
    Vocabulary::build(
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

/// A tokenizer: a byte-pair encoding, and the rule that splits a text into the pieces it is applied to.
pub struct Vocabulary {
    encoding: BytePairEncoding,
    splitter: Splitter,
}

impl Vocabulary {
    /// Builds the tables of the encoding from the stored tokens. It takes most of a second and tens of megabytes.
    fn build(stored: &[u8], patterns: &[&str]) -> Self {
        let encoding = BytePairEncoding::from_dictionary(tokens(stored), Some(HASH_FACTOR));
        Self { encoding, splitter: Splitter::new(&patterns.join("|")) }
    }

    pub fn count(&self, text: &str) -> usize {
        self.splitter.pieces(text).map(|piece| self.encoding.count(piece.as_bytes())).sum()
    }
}

/// Reads the tokens that `build.rs` has written.
fn tokens(mut stored: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    std::iter::from_fn(move || {
        let (length, rest) = stored.split_first()?;
        let (token, rest) = rest.split_at_checked(usize::from(*length))?;
        stored = rest;
        Some(token.to_vec())
    })
}
