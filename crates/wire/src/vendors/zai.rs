//! Z.ai.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "zai",
    title: "Z.ai",
    base_url: Some("https://api.z.ai/api/paas/v4"),
    quirks: Quirks { max_tokens_only: true, ..PLAIN },
    ..HOSTED
};
