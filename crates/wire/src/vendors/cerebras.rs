//! Cerebras.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "cerebras",
    title: "Cerebras",
    base_url: Some("https://api.cerebras.ai/v1"),
    paths: Paths { embeddings: None, ..OPENAI_LIKE },
    rules: open_weights,
    ..HOSTED
};
