//! Scopes of keys: `inference`, `admin:read`, `admin:write`, `admin:<area>:read|write`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The areas of the admin API; every admin route names one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Area {
    Aliases,
    Audit,
    AuthKeys,
    Budgets,
    Cache,
    Changes,
    CliTools,
    Combos,
    Config,
    Console,
    Dashboard,
    Explain,
    Guardrails,
    Identity,
    Metrics,
    ModelOverrides,
    ModelPricing,
    Models,
    Pools,
    Providers,
    Runtime,
    Settings,
    Tenants,
    Tokens,
    Usage,
    Webhooks,
    Workflows,
}

impl Area {
    pub const ALL: &'static [Self] = &[
        Self::Aliases,
        Self::Audit,
        Self::AuthKeys,
        Self::Budgets,
        Self::Cache,
        Self::Changes,
        Self::CliTools,
        Self::Combos,
        Self::Config,
        Self::Console,
        Self::Dashboard,
        Self::Explain,
        Self::Guardrails,
        Self::Identity,
        Self::Metrics,
        Self::ModelOverrides,
        Self::ModelPricing,
        Self::Models,
        Self::Pools,
        Self::Providers,
        Self::Runtime,
        Self::Settings,
        Self::Tenants,
        Self::Tokens,
        Self::Usage,
        Self::Webhooks,
        Self::Workflows,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Aliases => "aliases",
            Self::Audit => "audit",
            Self::AuthKeys => "auth-keys",
            Self::Budgets => "budgets",
            Self::Cache => "cache",
            Self::Changes => "changes",
            Self::CliTools => "cli-tools",
            Self::Combos => "combos",
            Self::Config => "config",
            Self::Console => "console",
            Self::Dashboard => "dashboard",
            Self::Explain => "explain",
            Self::Guardrails => "guardrails",
            Self::Identity => "identity",
            Self::Metrics => "metrics",
            Self::ModelOverrides => "model-overrides",
            Self::ModelPricing => "model-pricing",
            Self::Models => "models",
            Self::Pools => "pools",
            Self::Providers => "providers",
            Self::Runtime => "runtime",
            Self::Settings => "settings",
            Self::Tenants => "tenants",
            Self::Tokens => "tokens",
            Self::Usage => "usage",
            Self::Webhooks => "webhooks",
            Self::Workflows => "workflows",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    Read,
    Write,
}

impl Action {
    fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    Inference,
    /// `None` stands for every area.
    Admin(Option<Area>, Action),
}

impl Scope {
    /// True if holding `self` is sufficient where `needed` is required. Write includes read; inference and admin are
    /// separate.
    pub fn grants(self, needed: Self) -> bool {
        match (self, needed) {
            (Self::Inference, Self::Inference) => true,
            (Self::Admin(area, action), Self::Admin(needed_area, needed_action)) => {
                (area.is_none() || area == needed_area) && action >= needed_action
            }
            _ => false,
        }
    }
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Inference => f.write_str("inference"),
            Self::Admin(None, action) => write!(f, "admin:{}", action.as_str()),
            Self::Admin(Some(area), action) => write!(f, "admin:{}:{}", area.as_str(), action.as_str()),
        }
    }
}

impl std::str::FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let action = |text: &str| match text {
            "read" => Some(Action::Read),
            "write" => Some(Action::Write),
            _ => None,
        };
        let parts: Vec<&str> = text.split(':').collect();
        let scope = match parts.as_slice() {
            ["inference"] => Some(Self::Inference),
            ["admin", verb] => action(verb).map(|action| Self::Admin(None, action)),
            ["admin", area, verb] => {
                let area = Area::ALL.iter().find(|known| known.as_str() == *area);
                area.zip(action(verb)).map(|(area, action)| Self::Admin(Some(*area), action))
            }
            _ => None,
        };
        scope.ok_or_else(|| {
            format!(
                "unknown scope '{text}': use inference, admin:read, admin:write or admin:<area>:read|write"
            )
        })
    }
}

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(held: &str, needed: &str, expected: bool) {
        let (held, needed): (Scope, Scope) = (held.parse().unwrap(), needed.parse().unwrap());
        assert_eq!(held.grants(needed), expected, "{held} grants {needed}");
    }

    #[test]
    fn scopes_grant_their_area_and_action() {
        check("inference", "inference", true);
        check("inference", "admin:usage:read", false);
        check("admin:read", "admin:usage:read", true);
        check("admin:read", "admin:usage:write", false);
        check("admin:write", "admin:usage:read", true);
        check("admin:usage:write", "admin:usage:read", true);
        check("admin:usage:write", "admin:auth-keys:read", false);
        check("admin:usage:read", "admin:read", false);
        check("admin:write", "inference", false);
    }

    #[test]
    fn unknown_scopes_are_refused() {
        assert!("root".parse::<Scope>().is_err());
        assert!("admin:nowhere:read".parse::<Scope>().is_err());
    }
}
