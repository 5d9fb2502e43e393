//! Cohere, through its OpenAI-compatible API.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "cohere",
    title: "Cohere",
    base_url: Some("https://api.cohere.ai/compatibility/v1"),
    // The compatible API has no model list.
    discovery: Discovery::None,
    models: &[
        "command-a-03-2025",
        "command-a-reasoning-08-2025",
        "command-a-vision-07-2025",
        "command-r-plus-08-2024",
        "command-r7b-12-2024",
        "embed-v4.0",
    ],
    paths: Paths { embeddings: Some("/embeddings"), ..CHAT },
    quirks: Quirks { max_tokens_only: true, ..PLAIN },
    ..HOSTED
};
