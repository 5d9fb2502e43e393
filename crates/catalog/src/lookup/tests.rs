//! Lookups by example, against the data the gateway ships.

use super::*;

fn input_usd(provider_type: &str, model: &str) -> Option<f64> {
    Some(facts(provider_type, model)?.price.as_ref()?.input.usd_per_mtok())
}

#[track_caller]
fn same(left: (&str, &str), right: (&str, &str)) {
    let (a, b) = (facts(left.0, left.1), facts(right.0, right.1));
    assert!(a.is_some(), "{left:?} is unknown");
    assert_eq!(a, b);
}

#[test]
fn an_exact_id_is_found_with_window_abilities_and_price() {
    let facts = facts("anthropic", "claude-sonnet-4-5").unwrap();
    assert_eq!(facts.context_window, Some(200_000));
    assert!(facts.abilities.tools && facts.abilities.vision);
    assert_eq!(facts.price.as_ref().unwrap().input.usd_per_mtok(), 3.0);
}

#[test]
fn dates_and_latest_are_looked_through() {
    same(("anthropic", "claude-opus-4-8-20991231"), ("anthropic", "claude-opus-4-8"));
    same(("anthropic", "claude-opus-4-8-latest"), ("anthropic", "claude-opus-4-8"));
    same(("openai", "gpt-4o-2029-01-01"), ("openai", "gpt-4o"));
}

#[test]
fn a_model_listed_only_with_dates_is_found_without_one() {
    let rows = table::rows("anthropic");
    let dated =
        rows.iter().find(|row| undated(row.model) != row.model && exact(rows, undated(row.model)).is_none());
    let dated = dated.expect("the data has a model with dated editions only");
    assert_eq!(undated(find("anthropic", undated(dated.model)).unwrap().model), undated(dated.model));
}

#[test]
fn dates_are_stripped_from_model_ids() {
    for (model, expected) in [
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("claude-3-haiku-20240307", "claude-3-haiku"),
        ("claude-3-haiku@20240307", "claude-3-haiku"),
        ("gpt-4-0613", "gpt-4-0613"),
        ("-20240307", "-20240307"),
        ("modèle-é", "modèle-é"),
        ("", ""),
    ] {
        assert_eq!(undated(model), expected);
    }
}

#[test]
fn resellers_have_rows_of_their_own_then_the_vendors() {
    assert!(input_usd("openrouter", "openai/gpt-4o").is_some());
    assert!(input_usd("openrouter", "openai/gpt-4o:online").is_some());
    same(("openrouter", "openai/text-embedding-3-small-latest"), ("openai", "text-embedding-3-small"));
    assert_eq!(facts("openrouter", "openai/gpt-4o:free"), None);
    assert_eq!(facts("openrouter", "nobody/nothing"), None);
}

#[test]
fn a_host_sets_its_own_prices_so_an_unlisted_model_is_unpriced() {
    let facts = facts("bedrock", "deepseek/deepseek-chat").unwrap();
    assert_eq!(facts.price, None);
    assert!(facts.context_window.is_some());
}

#[test]
fn self_hosted_models_are_never_priced() {
    for (provider_type, model) in [
        ("ollama", "gpt-oss:20b"),
        ("vllm", "openai/gpt-oss-120b"),
        ("openai_compatible", "gpt-4o"),
        ("lmstudio", "GPT-4o"),
    ] {
        let facts = facts(provider_type, model).unwrap_or_else(|| panic!("{provider_type} {model}"));
        assert_eq!(facts.price, None);
        assert!(facts.context_window.is_some());
    }
    assert_eq!(facts("ollama", ""), None);
    assert_eq!(facts("ollama", "my-own-finetune"), None);
}

#[test]
fn the_demo_is_priced() {
    let facts = facts("demo", "demo-chat").unwrap();
    assert_eq!(facts.context_window, Some(32_768));
    assert!(facts.abilities.tools && facts.abilities.json_schema);
    let price = facts.price.as_ref().unwrap();
    assert_eq!((price.input.usd_per_mtok(), price.output.usd_per_mtok()), (0.5, 1.5));
}

#[test]
fn models_are_listed_by_type() {
    let listed: Vec<_> = models("anthropic").map(|(model, _)| model).collect();
    assert!(listed.contains(&"claude-sonnet-4-5") && listed.is_sorted());
    assert_eq!(models("nobody").count(), 0);
}
