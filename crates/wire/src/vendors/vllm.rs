//! vLLM.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "vllm",
    title: "vLLM",
    base_url: Some("http://localhost:8000/v1"),
    paths: Paths { rerank: Some("/rerank"), ..OPENAI_LIKE },
    rules: open_weights,
    quirks: Quirks { top_k: true, ..PLAIN },
    ..LOCAL
};
