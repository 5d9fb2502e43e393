//! Groq.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "groq",
    title: "Groq",
    base_url: Some("https://api.groq.com/openai/v1"),
    paths: CHAT,
    rules,
    ..HOSTED
};

/// Rules of a model. For Qwen, reasoning can only be disabled.
fn rules(model: &str) -> Rules {
    match model.contains("qwen3") {
        true => Rules { thinking: ThinkingStyle::Effort, effort_words: &["none"], ..Rules::CAREFUL },
        false => open_weights(model),
    }
}
