//! Gemini.

use domain::canon::Effort;

use super::*;

pub(super) static VENDOR: Vendor = Vendor {
    name: "gemini",
    title: "Google Gemini",
    base_url: Some("https://generativelanguage.googleapis.com/v1beta"),
    credentials: Credentials::Header("x-goog-api-key"),
    format: Format::Gemini,
    discovery: Discovery::GeminiList,
    paths: Paths {
        gemini: Some("/models/{model}:generateContent"),
        gemini_stream: Some("/models/{model}:streamGenerateContent?alt=sse"),
        embeddings: Some("/openai/embeddings"),
        ..NOTHING
    },
    rules,
    ..HOSTED
};

/// Rules by generation. From the third on, thinking is set by level and signatures are required back; 2.5 models take a
/// token budget. Models before the third accept a schema or tools, not both.
fn rules(model: &str) -> Rules {
    let older = Rules { schema_with_tools: false, ..Rules::CAREFUL };
    let (major, minor) = generation(model);
    let pro = model.contains("pro");
    match (major, minor) {
        (3.., _) => Rules {
            thinking: ThinkingStyle::Effort,
            efforts: match (pro, major, minor) {
                (true, 3, 0) => &[Effort::Low, Effort::High],
                (true, ..) => &[Effort::Low, Effort::Medium, Effort::High],
                (false, ..) => &[Effort::Minimal, Effort::Low, Effort::Medium, Effort::High],
            },
            thinking_off: None,
            wants_signatures: true,
            ..Rules::CAREFUL
        },
        (2, 5) if pro => Rules {
            thinking: ThinkingStyle::Budget,
            thinking_budget: (128, 32_768),
            thinking_off: None,
            ..older
        },
        (2, 5) => Rules {
            thinking: ThinkingStyle::Budget,
            thinking_budget: (if model.contains("lite") { 512 } else { 1 }, 24_576),
            ..older
        },
        _ => older,
    }
}

/// The generation: `gemini-2.5-flash` is 2.5; a name without a number (`gemini-flash-latest`) is the newest.
fn generation(model: &str) -> (u32, u32) {
    let Some(rest) = model.strip_prefix("gemini-") else { return (0, 0) };
    let version = rest.split('-').next().unwrap_or_default();
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
    match numbers.next().flatten() {
        Some(major) => (major, numbers.next().flatten().unwrap_or(0)),
        None if model.ends_with("-latest") => (3, 1),
        None => (0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_think_each_in_their_way() {
        let style = |model: &str| rules(model).thinking;
        for model in [
            "gemini-3-pro-preview",
            "gemini-3-flash-preview",
            "gemini-3.1-pro",
            "gemini-4-flash",
            "gemini-flash-latest",
        ] {
            assert_eq!(
                (style(model), rules(model).wants_signatures),
                (ThinkingStyle::Effort, true),
                "{model}"
            );
        }
        for model in ["gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite-preview-09-2025"] {
            assert_eq!(
                (style(model), rules(model).wants_signatures),
                (ThinkingStyle::Budget, false),
                "{model}"
            );
        }
        for model in ["gemini-2.0-flash", "gemini-1.5-pro-latest", "gemma-3-27b-it", "gemini-pro", "x"] {
            assert_eq!(
                (style(model), rules(model).schema_with_tools),
                (ThinkingStyle::None, false),
                "{model}"
            );
        }
        assert!(
            rules("gemini-2.5-pro").thinking_off.is_none()
                && rules("gemini-2.5-flash").thinking_off.is_some()
        );
    }
}
