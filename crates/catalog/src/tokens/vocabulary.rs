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
        include_bytes!(concat!(env!("OUT_DIR"), "/cl100k_base.pairs")),
        &["(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}\
           | ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+$"],
    )
});

/// The vocabulary of GPT-4o and later models.
pub static O200K_BASE: LazyLock<Vocabulary> = LazyLock::new(|| {
    Vocabulary::load(
        include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base.pairs")),
        &[
            "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+\
             (?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*\
             (?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+$",
        ],
    )
});

/// Number of tokens of a single byte, which come first.
const SINGLE: usize = 256;
/// Number of bytes of a pair of ids, each of which is in a plane of its own.
const PLANES: usize = 6;

/// A tokenizer: the ids of all tokens, and the rule that splits a text into the pieces that are tokenized on their own.
pub struct Vocabulary {
    ids: HashMap<&'static [u8], u32, FixedState>,
    splitter: Splitter,
}

impl Vocabulary {
    fn load(compressed: &[u8], patterns: &[&str]) -> Self {
        let ids = tokens(&unpacked(compressed)).zip(0..).collect();
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

/// The content of a file that `build.rs` has written.
fn unpacked(compressed: &[u8]) -> Vec<u8> {
    let mut stored = Vec::new();
    let read = ZlibDecoder::new(compressed).read_to_end(&mut stored);
    debug_assert!(read.is_ok(), "{read:?}");
    stored
}

/// The tokens that `build.rs` has written: single bytes, then tokens of two earlier ones each. A vocabulary is loaded once and
/// kept, so its tokens are never freed.
fn tokens(stored: &[u8]) -> impl Iterator<Item = &'static [u8]> {
    let (single, planes) = stored.split_at(SINGLE.min(stored.len()));
    let pairs = planes.len() / PLANES;
    let mut text = single.to_vec();
    // Where each token ends, which is where the next one starts.
    let mut ends: Vec<u32> = (1..=single.len() as u32).collect();
    for pair in 0..pairs {
        for plane in [0, PLANES / 2] {
            let byte = |place: usize| usize::from(planes[(plane + place) * pairs + pair]);
            let earlier = byte(0) | byte(1) << 8 | byte(2) << 16;
            let start = earlier.checked_sub(1).map_or(0, |before| ends[before]);
            text.extend_from_within(start as usize..ends[earlier] as usize);
        }
        ends.push(text.len() as u32);
    }
    let text: &'static [u8] = text.leak();
    let mut start = 0;
    ends.into_iter().map(move |end| {
        let token = &text[start..end as usize];
        start = end as usize;
        token
    })
}
