//! Compresses `openapi.json`, which `src/openapi/embedded.rs` includes: its operations repeat each other.

use std::io::{self, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::write::ZlibEncoder;

#[expect(
    clippy::disallowed_methods,
    reason = "Cargo tells a build script its directories in the environment"
)]
fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=openapi.json");
    let document = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.json"))?;
    let out = std::env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&document)?;
    std::fs::write(Path::new(&out).join("openapi.json.zlib"), encoder.finish()?)
}
