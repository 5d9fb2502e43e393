//! DeepSeek.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "deepseek",
    title: "DeepSeek",
    base_url: Some("https://api.deepseek.com"),
    quirks: Quirks { max_tokens_only: true, ..PLAIN },
    ..HOSTED
};
