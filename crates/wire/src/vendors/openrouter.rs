//! OpenRouter.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "openrouter",
    title: "OpenRouter",
    base_url: Some("https://openrouter.ai/api/v1"),
    headers: &[("http-referer", "http://localhost"), ("x-title", "Gatehouse")],
    quirks: Quirks { developer_role: true, usage_member: true, ..PLAIN },
    ..HOSTED
};
