//! Writes each vocabulary, compressed, into a file that `src/tokens/vocabulary.rs` includes.
//!
//! The tables that `bpe-openai` has prepared for a vocabulary take twenty times the space of its tokens, and building them takes
//! seconds. Every token but the single bytes is two earlier ones, whose ids take less space than its bytes.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::path::Path;

use bpe_openai::Tokenizer;
use flate2::Compression;
use flate2::write::ZlibEncoder;

#[expect(
    clippy::disallowed_methods,
    reason = "Cargo tells a build script its directories in the environment"
)]
fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    let write = |name, tokenizer| std::fs::write(Path::new(&out).join(name), pairs(tokenizer)?);
    write("cl100k_base.pairs", bpe_openai::cl100k_base())?;
    write("o200k_base.pairs", bpe_openai::o200k_base())
}

/// The tokens in the order of their ids: 256 of one byte each, then pairs of the ids of both halves. The first bytes of all pairs
/// come first, then the second ones and so on, because only the higher bytes of an id can be compressed.
fn pairs(tokenizer: &Tokenizer) -> io::Result<Vec<u8>> {
    let tokens: Vec<&[u8]> =
        (0..tokenizer.bpe.num_tokens() as u32).map(|id| tokenizer.bpe.token_bytes(id)).collect();
    let ids: HashMap<&[u8], u32> = tokens.iter().copied().zip(0..).collect();
    let (bytes, others) = tokens.split_at(256);
    let mut pairs = Vec::with_capacity(others.len());
    for (token, id) in others.iter().zip(256..) {
        let earlier = |part: &[u8]| ids.get(part).copied().filter(|part| *part < id);
        let halves = |split| Some((earlier(&token[..split])?, earlier(&token[split..])?));
        pairs.push((1..token.len()).find_map(halves).ok_or(io::ErrorKind::InvalidData)?);
    }
    let mut stored = ZlibEncoder::new(Vec::new(), Compression::best());
    stored.write_all(&bytes.concat())?;
    for half in [|pair: &(u32, u32)| pair.0, |pair: &(u32, u32)| pair.1] {
        for place in 0..3 {
            let plane: Vec<u8> = pairs.iter().map(|pair| half(pair).to_le_bytes()[place]).collect();
            stored.write_all(&plane)?;
        }
    }
    stored.finish()
}
