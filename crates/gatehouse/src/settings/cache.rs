//! Value types of the response cache settings.

use pipeline::policy;

use super::value::Value;

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
