//! Overrides as the lanes want them: who may use a model, and what else the operator says of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use domain::resources::model_override::{Metadata, ModelOverride};
use domain::resources::provider::Provider;
use domain::user_path::UserPath;

use super::facts;

/// What an override says about one lane.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    pub enabled: bool,
    /// Subtrees that may use it; none means everyone.
    pub user_paths: Vec<UserPath>,
    /// The override this comes from.
    pub override_selector: String,
    pub display_name: Option<String>,
    /// Flags the gateway does not know itself: shown, never judged by.
    pub extra_capabilities: BTreeMap<String, bool>,
}

impl Access {
    /// A path that cannot be read admits nobody, so a list that is left without any closes the model.
    fn compile(found: &ModelOverride) -> Self {
        let user_paths: Vec<UserPath> =
            found.user_paths.iter().filter_map(|path| UserPath::parse(path).ok()).collect();
        let unreadable = user_paths.is_empty() && !found.user_paths.is_empty();
        let capabilities = found.metadata.capabilities.iter();
        Self {
            enabled: found.enabled && !unreadable,
            user_paths,
            override_selector: found.selector.clone(),
            display_name: found.metadata.display_name.clone(),
            extra_capabilities: capabilities
                .filter(|(name, _)| !facts::is_flag(name))
                .map(|(name, has)| (name.clone(), *has))
                .collect(),
        }
    }

    pub fn permits(&self, path: &UserPath) -> bool {
        self.enabled && (self.user_paths.is_empty() || self.user_paths.iter().any(|own| own.covers(path)))
    }
}

/// The overrides that concern one instance, by model.
#[derive(Default)]
pub struct Overrides(HashMap<String, (Arc<Access>, Metadata)>);

impl Overrides {
    /// One for the instance wins, as a whole, over one for its type.
    pub fn of(provider: &Provider, all: &BTreeMap<String, ModelOverride>) -> Self {
        let mut own = HashMap::new();
        for name in [&provider.provider_type, &provider.name] {
            let prefix = format!("{name}/");
            let below = all.range(prefix.clone()..).take_while(|(selector, _)| selector.starts_with(&prefix));
            for (selector, found) in below {
                let compiled = (Arc::new(Access::compile(found)), found.metadata.clone());
                own.insert(selector[prefix.len()..].to_owned(), compiled);
            }
        }
        Self(own)
    }

    /// Some model is not for callers of this path.
    pub fn restrict(&self, path: &UserPath) -> bool {
        self.0.values().any(|(access, _)| !access.permits(path))
    }

    pub fn find(&self, model: &str) -> Option<&(Arc<Access>, Metadata)> {
        self.0.get(model)
    }
}
