//! Model overrides, compiled for deployments: access rules and display metadata.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use domain::resources::model_override::{Metadata, ModelOverride};
use domain::resources::provider::Provider;
use domain::user_path::UserPath;

use super::facts;

/// The override of one deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    pub enabled: bool,
    /// Subtrees that may use the model; empty means everyone.
    pub user_paths: Vec<UserPath>,
    /// The selector of the override.
    pub override_selector: String,
    pub display_name: Option<String>,
    /// Capability flags that the gateway does not know; displayed, never evaluated.
    pub extra_capabilities: BTreeMap<String, bool>,
}

impl Access {
    /// Compiles an override. User paths that cannot be parsed are ignored; if none is left, the model is disabled.
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

/// The overrides of one instance. The first match applies to a model, as a whole: `instance/model`, `type/model`,
/// `instance/*`, `type/*`, `*/model`.
#[derive(Default)]
pub struct Overrides {
    by_model: HashMap<String, Rule>,
    /// The rule for `instance/*` or `type/*`.
    every_model: Option<Rule>,
    /// The rules for `*/model`.
    at_every_instance: HashMap<String, Rule>,
}

type Rule = (Arc<Access>, Metadata);

/// Wildcard for all models of an instance, or for all instances.
const ANY: &str = "*";

impl Overrides {
    pub fn of(provider: &Provider, all: &BTreeMap<String, ModelOverride>) -> Self {
        let mut own = Self::default();
        // Later rules replace earlier ones: the instance's own take precedence over its type's.
        for name in [&provider.provider_type, &provider.name] {
            for (model, rule) in below(all, name) {
                match model {
                    ANY => own.every_model = Some(rule),
                    model => drop(own.by_model.insert(model.to_owned(), rule)),
                }
            }
        }
        own.at_every_instance = below(all, ANY).map(|(model, rule)| (model.to_owned(), rule)).collect();
        own
    }

    /// Whether some rule denies its model to this user path.
    pub fn restrict(&self, path: &UserPath) -> bool {
        let rules = self.by_model.values().chain(&self.every_model).chain(self.at_every_instance.values());
        rules.into_iter().any(|(access, _)| !access.permits(path))
    }

    pub fn find(&self, model: &str) -> Option<&Rule> {
        let exact = self.by_model.get(model).or(self.every_model.as_ref());
        exact.or_else(|| self.at_every_instance.get(model))
    }
}

/// The rules whose selector begins with `name/`, by the rest of the selector.
fn below<'a>(
    all: &'a BTreeMap<String, ModelOverride>,
    name: &str,
) -> impl Iterator<Item = (&'a str, Rule)> + use<'a> {
    let prefix = format!("{name}/");
    let length = prefix.len();
    let found = all.range(prefix.clone()..).take_while(move |(selector, _)| selector.starts_with(&prefix));
    found.map(move |(selector, rule)| {
        (&selector[length..], (Arc::new(Access::compile(rule)), rule.metadata.clone()))
    })
}
