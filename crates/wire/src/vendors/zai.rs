//! Z.ai: temperatures up to 1, one stop sequence, JSON mode without schemas, no forced tool calls.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "zai",
    title: "Z.ai",
    base_url: Some("https://api.z.ai/api/paas/v4"),
    paths: CHAT,
    rules: |_| Rules {
        max_temperature: 1.0,
        stops: 1,
        native_schema: false,
        forced_tools: false,
        wants_signatures: true,
        ..Rules::CAREFUL
    },
    quirks: Quirks { max_tokens_only: true, ..PLAIN },
    ..HOSTED
};
