//! xAI.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "xai",
    title: "xAI",
    base_url: Some("https://api.x.ai/v1"),
    paths: Paths {
        responses: Some("/responses"),
        lifecycle: &[Lifecycle::Retrieve, Lifecycle::Delete],
        ..CHAT
    },
    rules,
    ..HOSTED
};

/// Rules of a model. Reasoning models reject penalties and stop sequences; only some accept an effort.
fn rules(model: &str) -> Rules {
    let thinks = ["grok-3-mini", "grok-4", "grok-code", "grok-latest"];
    if model.contains("non-reasoning") || !thinks.iter().any(|name| model.starts_with(name)) {
        return Rules::CAREFUL;
    }
    let efforts: &[&str] = match model {
        _ if model.starts_with("grok-3-mini") => &["low", "high"],
        _ if model.starts_with("grok-4.3") || model == "grok-latest" => &["none", "low", "medium", "high"],
        _ => &[],
    };
    let thinking = if efforts.is_empty() { ThinkingStyle::None } else { ThinkingStyle::Effort };
    Rules { thinking, effort_words: efforts, penalties: false, stops: 0, ..Rules::CAREFUL }
}
