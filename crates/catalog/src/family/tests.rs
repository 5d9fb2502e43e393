//! Family lookups by example, and invariance under changes of date, host and capitalization.

use proptest::prelude::*;

use super::*;
use crate::table;

#[test]
fn model_ids_map_to_families() {
    for (model, expected) in [
        ("gpt-5", "gpt-5"),
        ("gpt-5-mini-2025-08-07", "gpt-5"),
        ("gpt-5.1-codex", "gpt-5"),
        ("openai/gpt-4o-mini", "gpt-4o"),
        ("chatgpt-4o-latest", "gpt-4o"),
        ("ft:gpt-4o-mini-2024-07-18:acme::abc", "gpt-4o"),
        ("gpt-4.1-nano", "gpt-4.1"),
        ("gpt-4-turbo", "gpt-4"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-35-turbo", "gpt-3.5"),
        ("openai.gpt-oss-120b-1:0", "gpt-oss"),
        ("o1", "o-series"),
        ("o4-mini-2025-04-16", "o-series"),
        ("openai/o3:online", "o-series"),
        ("claude-opus-4-5", "claude-opus"),
        ("claude-3-opus-20240229", "claude-opus"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet"),
        ("claude-3-5-haiku@20241022", "claude-haiku"),
        ("claude-2.1", "claude"),
        ("gemini-2.5-pro", "gemini-pro"),
        ("google/gemini-2.5-flash-lite", "gemini-flash"),
        ("gemini-flash-latest", "gemini-flash"),
        ("models/gemma-3-27b-it", "gemma"),
        ("meta-llama/Llama-3.3-70B-Instruct-Turbo", "llama"),
        ("Meta-Llama-3.1-8B-Instruct", "llama"),
        ("meta.llama3-2-11b-instruct-v1:0", "llama"),
        ("accounts/fireworks/models/llama-v3p1-8b-instruct", "llama"),
        ("codellama:34b", "llama"),
        ("mistral-large-latest", "mistral"),
        ("mistralai/Mixtral-8x7B", "mistral"),
        ("codestral-2508", "codestral"),
        ("Qwen/Qwen3-235B-A22B", "qwen"),
        ("qwq-32b", "qwen"),
        ("deepseek-r1-distill-llama-70b", "deepseek"),
        ("deepseek-ai/DeepSeek-V3.1", "deepseek"),
        ("x-ai/grok-4-fast", "grok"),
        ("command-r-plus-08-2024", "command"),
        ("c4ai-command-a", "command"),
        ("GLM-4.6", "glm"),
        ("moonshotai/kimi-k2", "kimi"),
        ("amazon.nova-pro-v1:0", "nova"),
        ("phi4:14b", "phi"),
        ("sonar-reasoning-pro", "sonar"),
    ] {
        assert_eq!(family(model), Some(expected), "{model}");
    }
}

#[test]
fn unknown_and_non_text_models_have_no_family() {
    for model in [
        "",
        "my-model",
        "philosopher-7b",
        "gpt-45",
        "opus",
        "o",
        "o1ympus",
        "é",
        ".",
        // Models that do not generate text have no family: embeddings of two models are not comparable.
        "text-embedding-3-small",
        "mistral-embed",
        "gpt-4o-transcribe",
        "gpt-image-1",
        "gemini-2.5-flash-image",
        "llama-guard-4-12b",
    ] {
        assert_eq!(family(model), None, "{model}");
    }
}

/// Most text generation models have a family, and it does not depend on the host or the spelling of the id.
#[test]
fn the_catalogue_has_families() {
    let (mut all, mut known) = (0, 0);
    for row in table::all_rows() {
        let found = family(row.model);
        assert_eq!(family(&format!("some-host/{}", row.model)), found, "{}", row.model);
        assert_eq!(family(&row.model.to_ascii_uppercase()), found, "{}", row.model);
        if row.facts.mode.category() == Category::TextGeneration {
            all += 1;
            known += usize::from(found.is_some());
        }
    }
    assert!(known * 10 >= all * 8, "{known} of {all}");
}

proptest! {
    #[test]
    fn sizes_and_dates_do_not_change_the_family(index in 0..table::all_rows().len(), tail in "-(8b|70b|mini|2025-01-31|20250131|latest)") {
        let model = table::all_rows()[index].model;
        prop_assert_eq!(family(&format!("{model}{tail}")), family(model));
    }

    #[test]
    fn no_text_is_too_odd(model in "\\PC{0,40}") {
        let _ = family(&model);
    }
}
