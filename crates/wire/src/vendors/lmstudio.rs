//! LM Studio.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "lmstudio",
    title: "LM Studio",
    base_url: Some("http://localhost:1234/v1"),
    quirks: Quirks { max_tokens_only: true, top_k: true, ..PLAIN },
    ..LOCAL
};
