//! Allow and deny lists with `*` wildcards for providers and models.

use serde::{Deserialize, Serialize};

/// Matches a pattern in which `*` stands for any run of characters, and every other character for itself.
pub fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    let mut pieces = rest.split('*').peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return text.ends_with(piece);
        }
        match text.find(piece) {
            Some(at) => text = &text[at + piece.len()..],
            None => return false,
        }
    }
    true
}

/// The access lists of a key. An absent list sets no limit, an empty allow list allows nothing, and denial wins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessLists {
    pub allowed_providers: Option<Vec<String>>,
    pub allowed_models: Option<Vec<String>>,
    pub denied_models: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allowed,
    ProviderDenied,
    ModelDenied,
}

impl AccessLists {
    pub fn is_unlimited(&self) -> bool {
        self.allowed_providers.is_none() && self.allowed_models.is_none() && self.denied_models.is_empty()
    }

    /// Decides on access to a resolved target. A provider entry names an instance or a type; a model entry names
    /// `instance/model`, `type/model` or the bare model id.
    ///
    /// As in selectors, an instance takes precedence over a type of the same name: where the name of the type
    /// `is_taken` by an instance, only denials still apply to the whole type. `by_name` is true if the requested name
    /// itself is in `allowed_models`; then any model that it resolves to is allowed.
    pub fn judge(
        &self,
        instance: &str,
        provider_type: &str,
        is_taken: bool,
        model: &str,
        by_name: bool,
    ) -> Verdict {
        if self.is_unlimited() {
            return Verdict::Allowed;
        }
        let provider_listed =
            |pattern: &String| matches(pattern, instance) || (!is_taken && matches(pattern, provider_type));
        if self.allowed_providers.as_ref().is_some_and(|list| !list.iter().any(provider_listed)) {
            return Verdict::ProviderDenied;
        }
        let by_instance = format!("{instance}/{model}");
        let by_type = format!("{provider_type}/{model}");
        let denied = |pattern: &String| {
            matches(pattern, &by_instance) || matches(pattern, &by_type) || matches(pattern, model)
        };
        let allowed = |pattern: &String| {
            matches(pattern, &by_instance)
                || matches(pattern, model)
                || (!is_taken && matches(pattern, &by_type))
        };
        let is_allowed =
            || by_name || self.allowed_models.as_ref().is_none_or(|list| list.iter().any(allowed));
        if self.denied_models.iter().any(denied) || !is_allowed() {
            return Verdict::ModelDenied;
        }
        Verdict::Allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match() {
        for (pattern, text, expected) in [
            ("gpt-4o", "gpt-4o", true),
            ("gpt-*", "gpt-4o", true),
            ("*", "", true),
            ("*mini", "gpt-4o-mini", true),
            ("gpt*mini", "gpt-4o-mini", true),
            ("gpt*mini", "gpt-4o", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("ab*ab", "ab", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn deny_wins_and_an_empty_list_allows_nothing() {
        let lists = AccessLists {
            allowed_models: Some(vec!["openai/*".into()]),
            denied_models: vec!["gpt-4*".into()],
            ..AccessLists::default()
        };
        assert_eq!(lists.judge("openai-eu", "openai", false, "gpt-5", false), Verdict::Allowed);
        assert_eq!(lists.judge("openai-eu", "openai", true, "gpt-5", false), Verdict::ModelDenied);
        assert_eq!(lists.judge("openai-eu", "openai", false, "gpt-4o", false), Verdict::ModelDenied);
        assert_eq!(lists.judge("groq", "groq", true, "llama", false), Verdict::ModelDenied);
        assert_eq!(
            lists.judge("groq", "groq", true, "llama", true),
            Verdict::Allowed,
            "called by a listed name"
        );
        assert_eq!(lists.judge("groq", "groq", true, "gpt-4-x", true), Verdict::ModelDenied, "deny wins");
        let nothing = AccessLists { allowed_providers: Some(vec![]), ..AccessLists::default() };
        assert_eq!(nothing.judge("openai", "openai", true, "gpt-5", true), Verdict::ProviderDenied);
    }
}
