//! Value types of the settings of the response cache and of prompt caches.

use pipeline::policy;

use super::value::{Value, Verdict, require};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheScope(pub policy::CacheScope);

impl Value for CacheScope {
    const KIND: &'static str = "user_path, key, tenant or global";

    fn parse(text: &str) -> Option<Self> {
        Some(Self(match text.to_ascii_lowercase().as_str() {
            "user_path" => policy::CacheScope::UserPath,
            "key" => policy::CacheScope::Key,
            "tenant" => policy::CacheScope::Tenant,
            "global" => policy::CacheScope::Global,
            _ => return None,
        }))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SemanticMode(pub policy::SemanticMode);

impl Value for SemanticMode {
    const KIND: &'static str = "shadow or serve";

    fn parse(text: &str) -> Option<Self> {
        Some(Self(match text.to_ascii_lowercase().as_str() {
            "shadow" => policy::SemanticMode::Shadow,
            "serve" => policy::SemanticMode::Serve,
            _ => return None,
        }))
    }
}

/// The store of the semantic cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SemanticStore {
    #[default]
    Embedded,
    Pgvector,
    Qdrant,
}

impl Value for SemanticStore {
    const KIND: &'static str = "embedded, pgvector or qdrant";

    fn parse(text: &str) -> Option<Self> {
        Some(match text.to_ascii_lowercase().as_str() {
            "embedded" => Self::Embedded,
            "pgvector" => Self::Pgvector,
            "qdrant" => Self::Qdrant,
            _ => return None,
        })
    }
}

/// Checks the name of a collection of Qdrant, which is a part of a path.
pub fn collection_name(name: &str) -> Verdict {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    require(!name.is_empty() && name.chars().all(is_allowed), "must be of letters, digits, '_' and '-'")
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PromptCacheMode(pub policy::PromptCacheMode);

impl Value for PromptCacheMode {
    const KIND: &'static str = "auto, manual or off";

    fn parse(text: &str) -> Option<Self> {
        Some(Self(match text.to_ascii_lowercase().as_str() {
            "auto" => policy::PromptCacheMode::Auto,
            "manual" => policy::PromptCacheMode::Manual,
            "off" | "false" => policy::PromptCacheMode::Off,
            _ => return None,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_read_or_refused() {
        use policy::PromptCacheMode::{Auto, Manual, Off};
        for (text, expected) in
            [("auto", Some(Auto)), ("Manual", Some(Manual)), ("off", Some(Off)), ("on", None), ("", None)]
        {
            assert_eq!(PromptCacheMode::parse(text).map(|mode| mode.0), expected, "{text}");
        }
    }
}
