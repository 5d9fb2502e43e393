//! Anthropic.

use domain::canon::Effort;

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "anthropic",
    title: "Anthropic",
    base_url: Some("https://api.anthropic.com/v1"),
    credentials: Credentials::Header("x-api-key"),
    format: Format::Messages,
    discovery: Discovery::OpenAiList { path: "/models?limit=1000" },
    headers: &[("anthropic-version", "2023-06-01")],
    paths: Paths { messages: Some("/messages"), count_tokens: Some("/messages/count_tokens"), ..NOTHING },
    rules,
    ..HOSTED
};

/// Rules for other makers' models behind Anthropic's protocol, whose prompt caches are not documented here.
const STRANGER: Rules = Rules {
    max_temperature: 1.0,
    temperature_with_top_p: false,
    thinking: ThinkingStyle::Budget,
    native_schema: false,
    system_turns: false,
    efforts: &[],
    ..Rules::CAREFUL
};

fn rules(model: &str) -> Rules {
    let Some(claude) = Claude::read(model) else { return STRANGER };
    let Claude { family, version } = claude;
    let always_thinks = match family {
        "fable" | "mythos" => true,
        "opus" => version >= (5, 5),
        _ => version == NEWEST,
    };
    let late_sonnet = family == "sonnet" && version >= (5, 5);
    Rules {
        sampling: version < (4, 7),
        thinking: match version {
            (4, 6..) | (5.., _) => ThinkingStyle::Adaptive,
            (3, 7..) | (4, _) => ThinkingStyle::Budget,
            _ => ThinkingStyle::None,
        },
        native_schema: version >= (4, 5),
        system_turns: version >= (4, 8) && !(family == "sonnet" && version == (5, 0)),
        prefill: version < (4, 6),
        forced_tools: !always_thinks && !late_sonnet,
        thinking_off: match (always_thinks, late_sonnet) {
            (true, _) => None,
            (_, true) => Some("between_tools"),
            _ => Some("disabled"),
        },
        efforts: efforts(family, version),
        min_cached_prefix: min_cached_prefix(family, version),
        ..STRANGER
    }
}

/// The shortest prefix that a model caches. Where Anthropic's pages differ it is the smaller number, because a breakpoint
/// behind a shorter prefix has no effect and costs nothing.
fn min_cached_prefix(family: &str, version: (u32, u32)) -> Option<u64> {
    match (family, version) {
        ("instant", _) | (_, (..=2, _)) | ("sonnet", (3, 0)) => None,
        ("haiku", (3, _)) | ("opus", (4, 7)) => Some(2048),
        ("haiku", (4, _)) | ("opus", (4, 5 | 6)) => Some(4096),
        ("opus" | "fable" | "mythos", (5.., _)) => Some(512),
        _ => Some(1024),
    }
}

fn efforts(family: &str, version: (u32, u32)) -> &'static [Effort] {
    use Effort::{High, Low, Max, Medium, XHigh};
    match version {
        (4, 7..) | (5.., _) => &[Low, Medium, High, XHigh, Max],
        (4, 6) => &[Low, Medium, High, Max],
        (4, 5) if family == "opus" => &[Low, Medium, High],
        _ => &[],
    }
}

const NEWEST: (u32, u32) = (u32::MAX, 0);

/// The parsed id of a Claude model: `claude-opus-4-8`, `claude-3-5-sonnet-20241022`, `claude-sonnet-4@20250514`.
struct Claude<'a> {
    family: &'a str,
    version: (u32, u32),
}

impl<'a> Claude<'a> {
    /// Parses a model id; one without a version counts as the newest.
    fn read(model: &'a str) -> Option<Self> {
        let (_, name) = model.split_once("claude")?;
        let words: Vec<&str> = name
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        // Longer numbers are dates.
        let number = |word: &&str| word.parse::<u32>().ok().filter(|_| word.len() <= 2);
        let known = ["opus", "sonnet", "haiku", "fable", "mythos", "instant"];
        let family = words.iter().copied().find(|word| known.contains(word)).unwrap_or_default();
        let version = match words.iter().position(|word| number(word).is_some()) {
            Some(at) => {
                let minor = words.get(at + 1).and_then(number);
                (number(&words[at]).unwrap_or_default(), minor.unwrap_or_default())
            }
            None => NEWEST,
        };
        Some(Self { family, version })
    }
}
