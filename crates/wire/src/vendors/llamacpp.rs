//! llama.cpp.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "llamacpp",
    title: "llama.cpp",
    base_url: Some("http://localhost:8080/v1"),
    quirks: Quirks { top_k: true, ..PLAIN },
    ..LOCAL
};
