//! Ollama.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "ollama",
    title: "Ollama",
    base_url: Some("http://localhost:11434/v1"),
    credentials: Credentials::None,
    discovery: Discovery::OllamaTags,
    quirks: Quirks { max_tokens_only: true, ..PLAIN },
    ..LOCAL
};
