//! Together.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "together",
    title: "Together",
    base_url: Some("https://api.together.xyz/v1"),
    paths: Paths { rerank: Some("/rerank"), ..OPENAI_LIKE },
    rules: open_weights,
    quirks: Quirks { max_tokens_only: true, top_k: true, ..PLAIN },
    ..HOSTED
};
