//! Perplexity.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "perplexity",
    title: "Perplexity",
    base_url: Some("https://api.perplexity.ai"),
    discovery: Discovery::None,
    models: &["sonar", "sonar-pro", "sonar-reasoning-pro", "sonar-deep-research"],
    quirks: Quirks {
        stream_usage: StreamUsage::Always,
        max_tokens_only: true,
        dropped: &["stream_options"],
        ..PLAIN
    },
    ..HOSTED
};
