//! DeepSeek: JSON but no schemas, and thoughts that must come back with their tool calls.

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

/// Its models think unless told otherwise, and cannot be made to call a tool while they do.
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
