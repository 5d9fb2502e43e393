//! Moonshot.

use super::*;

pub(super) static VENDOR: Vendor =
    Vendor { name: "moonshot", title: "Moonshot", base_url: Some("https://api.moonshot.ai/v1"), ..HOSTED };
