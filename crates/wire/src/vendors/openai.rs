//! OpenAI.

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "openai",
    title: "OpenAI",
    base_url: Some("https://api.openai.com/v1"),
    paths: Paths { responses: Some("/responses"), lifecycle: Lifecycle::ALL, ..OPENAI_LIKE },
    rules,
    quirks: Quirks {
        developer_role: true,
        completion_tokens_rename: reasons,
        call_ids: CallIds::UpToForty,
        cache_keys: true,
        ..PLAIN
    },
    ..HOSTED
};

/// The o-series and gpt-5, fine-tuned (`ft:o4-mini:…`) or not.
pub(super) fn reasons(model: &str) -> bool {
    let model = model.strip_prefix("ft:").unwrap_or(model);
    let o_series = model.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    o_series || model.starts_with("gpt-5")
}

pub(super) fn rules(model: &str) -> Rules {
    let model = model.strip_prefix("ft:").unwrap_or(model);
    let careful = Rules { responses_only: responses_only(model), ..Rules::CAREFUL };
    let newest = model.starts_with("gpt-5");
    // The models of the chat product do not think, whatever their number.
    if !reasons(model) || model.contains("-chat") {
        return Rules { custom_tools: newest, ..careful };
    }
    Rules {
        sampling: false,
        penalties: false,
        thinking: ThinkingStyle::Effort,
        effort_words: efforts(model),
        verbosity: newest,
        stops: 0,
        custom_tools: newest,
        parallel_tools: newest,
        ..careful
    }
}

/// gpt-5 itself knows `minimal`; its successors know `none` instead, and from 5.2 on `xhigh`.
fn efforts(model: &str) -> &'static [&'static str] {
    match model.strip_prefix("gpt-5") {
        None => &["low", "medium", "high"],
        Some(rest) if rest.starts_with(".1") => &["none", "low", "medium", "high"],
        Some(rest) if rest.starts_with('.') => &["none", "low", "medium", "high", "xhigh"],
        Some(_) => &["minimal", "low", "medium", "high"],
    }
}

/// Models that chat completions do not serve.
fn responses_only(model: &str) -> bool {
    model.contains("-codex")
        || model.contains("-deep-research")
        || model.ends_with("-pro")
        || model == "computer-use-preview"
}
