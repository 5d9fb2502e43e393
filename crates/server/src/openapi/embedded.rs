//! The copy of the OpenAPI document in the binary: `openapi.json`, which a test keeps equal to what the handlers declare.

use std::io::Read as _;

use flate2::read::ZlibDecoder;
use serde_json::Value;

use super::complete::complete;

/// Compressed by `build.rs`.
const COMPRESSED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/openapi.json.zlib"));

/// The document as the handlers declare it. Read again for each use, because a parsed document takes megabytes.
pub fn declared() -> Value {
    let mut text = Vec::new();
    let read = ZlibDecoder::new(COMPRESSED).read_to_end(&mut text);
    read.ok().and_then(|_| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// The document as it is published: with the errors and examples that no handler declares.
pub fn published() -> Value {
    let mut document = declared();
    complete(&mut document);
    document
}
