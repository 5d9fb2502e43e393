//! DashScope.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "dashscope",
    title: "DashScope",
    base_url: Some("https://dashscope-intl.aliyuncs.com/compatible-mode/v1"),
    quirks: Quirks { max_tokens_only: true, top_k: true, ..PLAIN },
    ..HOSTED
};
