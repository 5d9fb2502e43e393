//! Mistral: rejects unknown parameters and call ids that do not have its own form.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "mistral",
    title: "Mistral",
    base_url: Some("https://api.mistral.ai/v1"),
    paths: Paths { completions: None, ..OPENAI_LIKE },
    rules: |_| Rules { max_temperature: 1.5, ..Rules::CAREFUL },
    quirks: Quirks {
        stream_usage: StreamUsage::Always,
        max_tokens_only: true,
        call_ids: CallIds::NineLettersOrDigits,
        dropped: &["stream_options", "store", "user"],
        ..PLAIN
    },
    ..HOSTED
};
