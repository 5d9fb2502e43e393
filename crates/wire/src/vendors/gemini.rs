//! Gemini.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "gemini",
    title: "Google Gemini",
    base_url: Some("https://generativelanguage.googleapis.com/v1beta"),
    credential: Credential::Header("x-goog-api-key"),
    format: Format::Generate,
    discovery: Discovery::GeminiList,
    paths: Paths {
        generate: Some("/models/{model}:generateContent"),
        generate_stream: Some("/models/{model}:streamGenerateContent?alt=sse"),
        embeddings: Some("/openai/embeddings"),
        ..NOTHING
    },
    rules,
    ..HOSTED
};

fn rules(_model: &str) -> Rules {
    Rules::CAREFUL
}
