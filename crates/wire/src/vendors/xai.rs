//! xAI.

use super::*;

pub(super) static VENDOR: Vendor =
    Vendor { name: "xai", title: "xAI", base_url: Some("https://api.x.ai/v1"), ..HOSTED };
