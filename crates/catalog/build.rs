//! Writes the tokens of each vocabulary, one after the other and compressed, into a file that `src/tokens/vocabulary.rs` includes.
//!
//! The tables that `bpe-openai` has prepared for a vocabulary take twenty times the space of its tokens, and building them takes
//! seconds.

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
    let write = |name, tokenizer| std::fs::write(Path::new(&out).join(name), tokens(tokenizer)?);
    write("cl100k_base.tokens", bpe_openai::cl100k_base())?;
    write("o200k_base.tokens", bpe_openai::o200k_base())
}

/// The tokens in the order of their ids, each as its length in one byte and its bytes, compressed.
fn tokens(tokenizer: &Tokenizer) -> io::Result<Vec<u8>> {
    let mut tokens = ZlibEncoder::new(Vec::new(), Compression::best());
    for id in 0..tokenizer.bpe.num_tokens() as u32 {
        let token = tokenizer.bpe.token_bytes(id);
        tokens.write_all(&[u8::try_from(token.len()).map_err(io::Error::other)?])?;
        tokens.write_all(token)?;
    }
    tokens.finish()
}
