//! MiniMax: temperatures above 0 and up to 1; schemas only in its first text model.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "minimax",
    title: "MiniMax",
    base_url: Some("https://api.minimax.io/v1"),
    paths: CHAT,
    rules: |model| Rules {
        max_temperature: 1.0,
        native_schema: model == "MiniMax-Text-01",
        ..Rules::CAREFUL
    },
    quirks: Quirks { min_temperature_above_zero: true, ..PLAIN },
    ..HOSTED
};
