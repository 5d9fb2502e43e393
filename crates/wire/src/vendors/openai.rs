//! OpenAI.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "openai",
    title: "OpenAI",
    base_url: Some("https://api.openai.com/v1"),
    quirks: Quirks { developer_role: true, completion_tokens_rename: reasons, ..PLAIN },
    ..HOSTED
};

/// The o-series and gpt-5, fine-tuned (`ft:o4-mini:…`) or not.
fn reasons(model: &str) -> bool {
    let model = model.strip_prefix("ft:").unwrap_or(model);
    let o_series = model.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    o_series || model.starts_with("gpt-5")
}
