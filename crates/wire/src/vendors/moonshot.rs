//! Moonshot: newer models have fixed sampling and require reasoning back with tool calls.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "moonshot",
    title: "Moonshot",
    base_url: Some("https://api.moonshot.ai/v1"),
    paths: CHAT,
    rules,
    ..HOSTED
};

fn rules(model: &str) -> Rules {
    let kimi = model.starts_with("kimi");
    let pinned = ["kimi-k2.", "kimi-k3"].iter().any(|newer| model.starts_with(newer));
    Rules {
        sampling: !pinned,
        penalties: !pinned,
        max_temperature: 1.0,
        native_schema: kimi,
        forced_tools: !pinned,
        wants_signatures: kimi,
        ..Rules::CAREFUL
    }
}
