//! vLLM.

use super::*;

pub(super) static VENDOR: Vendor =
    Vendor { name: "vllm", title: "vLLM", base_url: Some("http://localhost:8000/v1"), ..LOCAL };
