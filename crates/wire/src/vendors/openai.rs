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
    is_o_series(model) || version(model) >= Some(GPT_5)
}

fn is_o_series(model: &str) -> bool {
    matches!(model.as_bytes(), [b'o', b'0'..=b'9', ..])
}

const GPT_5: (u32, u32) = (5, 0);

/// The version, `gpt-5.4-mini` → (5, 4); `None` if the name has none.
fn version(model: &str) -> Option<(u32, u32)> {
    let (major, rest) = leading_number(model.strip_prefix("gpt-")?.as_bytes());
    let minor = match rest.strip_prefix(b".").map(leading_number) {
        // A third number is no part of a version.
        Some((Some(minor), rest)) if !rest.starts_with(b".") => minor,
        _ => 0,
    };
    Some((major?, minor))
}

/// The number at the start of a text, and the text after its digits.
fn leading_number(text: &[u8]) -> (Option<u32>, &[u8]) {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(digits);
    let append = |number: u32, digit: &u8| number.checked_mul(10)?.checked_add(u32::from(digit - b'0'));
    let number = digits.iter().try_fold(0, append).filter(|_| !digits.is_empty());
    (number, rest)
}

pub(super) fn rules(model: &str) -> Rules {
    let model = model.strip_prefix("ft:").unwrap_or(model);
    let version = version(model);
    let careful = Rules {
        responses_only: responses_only(model),
        // From this version on, chat completions reject tools combined with an effort.
        prefers_responses: version >= Some((5, 4)),
        ..Rules::CAREFUL
    };
    let newest = version >= Some(GPT_5);
    // The `-chat` models do not reason, whatever their version.
    if !(is_o_series(model) || newest) || has_part(model, &["chat"]) {
        return Rules { custom_tools: newest, ..careful };
    }
    Rules {
        sampling: false,
        penalties: false,
        thinking: ThinkingStyle::Effort,
        effort_words: efforts(version),
        verbosity: newest,
        stops: 0,
        custom_tools: newest,
        parallel_tools: newest,
        ..careful
    }
}

/// Supported efforts: gpt-5 has `minimal`, its successors `none` instead, and from 5.2 on `xhigh`.
fn efforts(version: Option<(u32, u32)>) -> &'static [&'static str] {
    match version {
        None => &["low", "medium", "high"],
        Some((5, 0)) => &["minimal", "low", "medium", "high"],
        Some((5, 1)) => &["none", "low", "medium", "high"],
        Some(_) => &["none", "low", "medium", "high", "xhigh"],
    }
}

/// Whether a model is not available in chat completions.
fn responses_only(model: &str) -> bool {
    has_part(model, &["codex", "deep-research"]) || model.ends_with("-pro") || model == "computer-use-preview"
}

/// Whether one of the parts follows a hyphen. The rules of a model are read in every call, and for such short texts this
/// costs a fraction of `str::contains`.
fn has_part(model: &str, parts: &[&str]) -> bool {
    let model = model.as_bytes();
    let is_part = |rest: &[u8]| parts.iter().any(|part| rest.starts_with(part.as_bytes()));
    (1..model.len()).any(|at| model[at - 1] == b'-' && is_part(&model[at..]))
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

    #[test]
    fn versions_are_the_number_after_the_family() {
        for (model, expected) in [
            ("gpt-4o", Some((4, 0))),
            ("gpt-4.1-mini", Some((4, 1))),
            ("gpt-5.10", Some((5, 10))),
            ("gpt-5.4.1", Some((5, 0))),
            ("gpt-5.-x", Some((5, 0))),
            ("gpt-5.99999999999", Some((5, 0))),
            ("gpt-99999999999", None),
            ("gpt-.5", None),
            ("gpt-", None),
            ("gpt-oss-120b", None),
            ("o4-mini", None),
        ] {
            assert_eq!(version(model), expected, "{model}");
        }
    }

    #[test]
    fn parts_of_a_name_follow_a_hyphen() {
        for (model, only) in [
            ("gpt-5-codex", true),
            ("gpt-5-codex-mini", true),
            ("o3-deep-research-2025-06-26", true),
            ("o3-pro", true),
            ("codex-mini-latest", false),
            ("o3-deepresearch", false),
            ("gpt-5-", false),
            ("", false),
        ] {
            assert_eq!(rules(model).responses_only, only, "{model}");
        }
        assert!(!rules("gpt-5-chat-latest").verbosity && rules("gpt-5-mini").verbosity);
    }
}
