//! Anthropic.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "anthropic",
    title: "Anthropic",
    base_url: Some("https://api.anthropic.com/v1"),
    credential: Credential::Header("x-api-key"),
    format: Format::Messages,
    discovery: Discovery::OpenAiList { path: "/models?limit=1000" },
    headers: &[("anthropic-version", "2023-06-01")],
    paths: Paths { messages: Some("/messages"), count_tokens: Some("/messages/count_tokens"), ..NOTHING },
    rules,
    ..HOSTED
};

fn rules(_model: &str) -> Rules {
    Rules { max_temperature: 1.0, ..Rules::CAREFUL }
}
