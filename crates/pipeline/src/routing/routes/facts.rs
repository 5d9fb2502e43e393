//! Model facts: the operator's overrides applied to the catalogue's.

use std::borrow::Cow;

use domain::model::{Abilities, ModelFacts, Price};
use domain::resources::model_override::Metadata;
use domain::resources::model_price::ModelPrice;

/// Applies an override's metadata. Unknown capabilities change nothing; they are for display only.
pub fn adjusted(
    facts: Option<&'static ModelFacts>,
    metadata: &Metadata,
    model: &str,
) -> Option<Cow<'static, ModelFacts>> {
    let silent = metadata.context_window.is_none()
        && metadata.max_output_tokens.is_none()
        && !metadata.capabilities.keys().any(|name| is_flag(name));
    if silent {
        return facts.map(Cow::Borrowed);
    }
    let mut own = facts.cloned().unwrap_or_else(|| unlisted(model));
    own.context_window = metadata.context_window.or(own.context_window);
    own.max_output_tokens = metadata.max_output_tokens.or(own.max_output_tokens);
    for (name, has) in &metadata.capabilities {
        if let Some(flag) = own.abilities.flag(name) {
            *flag = *has;
        }
    }
    Some(Cow::Owned(own))
}

/// Replaces the price by the effective one.
pub fn priced(
    facts: Option<Cow<'static, ModelFacts>>,
    own: &ModelPrice,
    base: Option<&Price>,
    model: &str,
) -> Option<Cow<'static, ModelFacts>> {
    let Some(price) = own.over(base) else { return facts };
    let mut facts = facts.map_or_else(|| unlisted(model), Cow::into_owned);
    facts.price = Some(price);
    Some(Cow::Owned(facts))
}

pub fn is_flag(name: &str) -> bool {
    Abilities::default().flag(name).is_some()
}

fn unlisted(model: &str) -> ModelFacts {
    ModelFacts {
        mode: catalog::likely_mode(model),
        context_window: None,
        max_output_tokens: None,
        abilities: Abilities::default(),
        price: None,
    }
}

#[cfg(test)]
mod tests {
    use domain::model::Mode;

    use super::*;

    fn metadata(text: &str) -> Metadata {
        serde_json::from_str(text).unwrap()
    }

    fn known() -> &'static ModelFacts {
        catalog::facts("anthropic", "claude-sonnet-4-5").unwrap()
    }

    #[test]
    fn an_empty_override_changes_and_copies_nothing() {
        for text in ["{}", r#"{"display_name": "Sonnet"}"#, r#"{"capabilities": {"telepathy": true}}"#] {
            assert_eq!(adjusted(None, &metadata(text), "x"), None, "{text}");
            let found = adjusted(Some(known()), &metadata(text), "claude-sonnet-4-5");
            assert!(matches!(found, Some(Cow::Borrowed(facts)) if std::ptr::eq(facts, known())), "{text}");
        }
    }

    #[test]
    fn only_overridden_facts_change() {
        let overrides = metadata(
            r#"{"context_window": 9000, "capabilities": {"tools": false, "web_search": true, "x": true}}"#,
        );
        let found = adjusted(Some(known()), &overrides, "claude-sonnet-4-5").unwrap();
        let mut expected = known().clone();
        expected.context_window = Some(9000);
        expected.abilities.tools = false;
        expected.abilities.web_search = true;
        assert_eq!(*found, expected);
        assert!(found.price.is_some() && found.max_output_tokens == known().max_output_tokens);
    }

    #[test]
    fn an_unlisted_model_gets_the_override_and_no_price() {
        let found = adjusted(None, &metadata(r#"{"max_output_tokens": 100}"#), "own-embedder").unwrap();
        assert_eq!((found.mode, found.max_output_tokens), (Mode::Embedding, Some(100)));
        assert_eq!((found.context_window, &found.price), (None, &None));
    }
}
