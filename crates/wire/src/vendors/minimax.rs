//! MiniMax.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "minimax",
    title: "MiniMax",
    base_url: Some("https://api.minimax.io/v1"),
    quirks: Quirks { min_temperature_above_zero: true, ..PLAIN },
    ..HOSTED
};
