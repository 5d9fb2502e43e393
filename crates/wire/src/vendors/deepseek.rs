//! DeepSeek: JSON mode without schemas, and reasoning that must be sent back with tool calls.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "deepseek",
    title: "DeepSeek",
    base_url: Some("https://api.deepseek.com"),
    paths: CHAT,
    rules,
    quirks: Quirks { max_tokens_only: true, ..PLAIN },
    ..HOSTED
};

/// Rules of a model. All but `deepseek-chat` reason, and those do not support forced tool calls.
fn rules(model: &str) -> Rules {
    let thinks = model != "deepseek-chat";
    Rules {
        thinking: if thinks { ThinkingStyle::Effort } else { ThinkingStyle::None },
        effort_words: &["low", "high", "max"],
        native_schema: false,
        forced_tools: !thinks,
        wants_signatures: true,
        ..Rules::CAREFUL
    }
}
