//! Together.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "together",
    title: "Together",
    base_url: Some("https://api.together.xyz/v1"),
    quirks: Quirks { max_tokens_only: true, ..PLAIN },
    ..HOSTED
};
