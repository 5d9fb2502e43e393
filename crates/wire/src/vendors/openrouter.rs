//! OpenRouter.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "openrouter",
    title: "OpenRouter",
    base_url: Some("https://openrouter.ai/api/v1"),
    headers: &[("http-referer", "http://localhost"), ("x-title", "Gatehouse")],
    // OpenRouter itself drops parameters that a model does not support.
    rules: |_| Rules {
        thinking: ThinkingStyle::Effort,
        effort_words: &["none", "minimal", "low", "medium", "high", "xhigh"],
        verbosity: true,
        ..Rules::CAREFUL
    },
    quirks: Quirks { developer_role: true, usage_member: true, top_k: true, ..PLAIN },
    ..HOSTED
};
