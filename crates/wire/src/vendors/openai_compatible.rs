//! OpenAI-compatible server.

use super::*;

pub(super) static VENDOR: Vendor =
    Vendor { name: "openai_compatible", title: "OpenAI-compatible server", base_url_required: true, ..LOCAL };
