//! Fireworks.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "fireworks",
    title: "Fireworks",
    base_url: Some("https://api.fireworks.ai/inference/v1"),
    ..HOSTED
};
