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

/// Whether a model reasons: the o-series, gpt-5 and later, also fine-tuned (`ft:o4-mini:…`).
pub(super) fn reasons(model: &str) -> bool {
    let model = model.strip_prefix("ft:").unwrap_or(model);
    let o_series = model.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    o_series || version(model) >= Some((5, 0))
}

/// The version, `gpt-5.4-mini` → (5, 4); `None` if the name has none.
fn version(model: &str) -> Option<(u32, u32)> {
    let rest = model.strip_prefix("gpt-")?;
    let number = rest.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    Some((major.parse().ok()?, minor.parse().unwrap_or(0)))
}

pub(super) fn rules(model: &str) -> Rules {
    let model = model.strip_prefix("ft:").unwrap_or(model);
    let careful = Rules {
        responses_only: responses_only(model),
        // From this version on, chat completions reject tools combined with an effort.
        prefers_responses: version(model) >= Some((5, 4)),
        ..Rules::CAREFUL
    };
    let newest = version(model) >= Some((5, 0));
    // The `-chat` models do not reason, whatever their version.
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

/// Supported efforts: gpt-5 has `minimal`, its successors `none` instead, and from 5.2 on `xhigh`.
fn efforts(model: &str) -> &'static [&'static str] {
    match version(model) {
        None => &["low", "medium", "high"],
        Some((5, 0)) => &["minimal", "low", "medium", "high"],
        Some((5, 1)) => &["none", "low", "medium", "high"],
        Some(_) => &["none", "low", "medium", "high", "xhigh"],
    }
}

/// Whether a model is not available in chat completions.
fn responses_only(model: &str) -> bool {
    model.contains("-codex")
        || model.contains("-deep-research")
        || model.ends_with("-pro")
        || model == "computer-use-preview"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_are_recognized_by_number() {
        for (model, thinks) in [
            ("gpt-4o", false),
            ("gpt-4.1-mini", false),
            ("gpt-5", true),
            ("gpt-5.4-mini", true),
            ("gpt-6-large", true),
            ("ft:o4-mini:acme", true),
            ("gpt-oss-120b", false),
            ("omni", false),
        ] {
            assert_eq!(reasons(model), thinks, "{model}");
        }
        assert!(rules("gpt-5.4").prefers_responses && rules("gpt-6").prefers_responses);
        assert!(!rules("gpt-5-mini").prefers_responses && !rules("gpt-4o").prefers_responses);
        assert!(rules("gpt-5.2").effort_words.contains(&"xhigh"));
    }
}
