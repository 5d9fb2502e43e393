//! Perplexity: system messages only at the beginning.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "perplexity",
    title: "Perplexity",
    base_url: Some("https://api.perplexity.ai"),
    discovery: Discovery::None,
    models: &["sonar", "sonar-pro", "sonar-reasoning-pro", "sonar-deep-research"],
    paths: CHAT,
    rules,
    quirks: Quirks {
        stream_usage: StreamUsage::Always,
        max_tokens_only: true,
        top_k: true,
        dropped: &["stream_options"],
        ..PLAIN
    },
    ..HOSTED
};

fn rules(model: &str) -> Rules {
    let thinking = if model == "sonar-deep-research" { ThinkingStyle::Effort } else { ThinkingStyle::None };
    Rules { thinking, system_turns: false, ..Rules::CAREFUL }
}
