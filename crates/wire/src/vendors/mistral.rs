//! Mistral.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "mistral",
    title: "Mistral",
    base_url: Some("https://api.mistral.ai/v1"),
    quirks: Quirks {
        stream_usage: StreamUsage::Always,
        max_tokens_only: true,
        dropped: &["stream_options", "store", "user"],
        ..PLAIN
    },
    ..HOSTED
};
