//! OpenAI.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "openai",
    title: "OpenAI",
    base_url: Some("https://api.openai.com/v1"),
    paths: Paths { responses: Some("/responses"), lifecycle: Lifecycle::ALL, ..OPENAI_LIKE },
    rules,
    quirks: Quirks { developer_role: true, completion_tokens_rename: reasons, ..PLAIN },
    ..HOSTED
};

/// The o-series and gpt-5, fine-tuned (`ft:o4-mini:…`) or not.
pub(super) fn reasons(model: &str) -> bool {
    let model = model.strip_prefix("ft:").unwrap_or(model);
    let o_series = model.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    o_series || model.starts_with("gpt-5")
}

pub(super) fn rules(model: &str) -> Rules {
    let thinks = reasons(model);
    let thinking = if thinks { ThinkingStyle::Effort } else { ThinkingStyle::None };
    Rules { sampling: !thinks, thinking, responses_only: responses_only(model), ..Rules::CAREFUL }
}

/// Models that chat completions do not serve.
fn responses_only(model: &str) -> bool {
    model.contains("-codex")
        || model.contains("-deep-research")
        || model.ends_with("-pro")
        || model == "computer-use-preview"
}
