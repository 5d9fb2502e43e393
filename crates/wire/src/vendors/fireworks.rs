//! Fireworks.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "fireworks",
    title: "Fireworks",
    base_url: Some("https://api.fireworks.ai/inference/v1"),
    rules: open_weights,
    quirks: Quirks { top_k: true, ..PLAIN },
    ..HOSTED
};
