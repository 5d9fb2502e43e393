//! Groq.

use super::*;

pub(super) static VENDOR: Vendor =
    Vendor { name: "groq", title: "Groq", base_url: Some("https://api.groq.com/openai/v1"), ..HOSTED };
