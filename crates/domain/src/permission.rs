//! Permissions of roles, and the scopes that they amount to.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::scope::{Action, Area, Scope};

/// One rule of a role. A rule that denies wins over every rule that allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Permission {
    pub action: PermittedAction,
    pub resource: PermittedResource,
    #[serde(default)]
    pub effect: Effect,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    #[default]
    Allow,
    Deny,
}

/// The actions that a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PermittedAction {
    #[serde(rename = "read")]
    Read,
    #[serde(rename = "write")]
    Write,
    #[serde(rename = "*")]
    Every,
}

/// The part of the gateway that a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PermittedResource {
    /// All areas of the admin API, and inference.
    Everything,
    /// Calls to models, which count as writing.
    Inference,
    Area(Area),
}

impl PermittedAction {
    const fn covers(self, action: Action) -> bool {
        matches!((self, action), (Self::Every, _) | (Self::Read, Action::Read) | (Self::Write, Action::Write))
    }
}

impl PermittedResource {
    const INFERENCE: &'static str = "inference";

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Everything => "*",
            Self::Inference => Self::INFERENCE,
            Self::Area(area) => area.as_str(),
        }
    }

    /// All resources that a rule may name.
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::Everything, Self::Inference].into_iter().chain(Area::ALL.iter().copied().map(Self::Area))
    }

    fn covers(self, resource: Self) -> bool {
        self == Self::Everything || self == resource
    }
}

impl Serialize for PermittedResource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for PermittedResource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::all().find(|resource| resource.as_str() == text).ok_or_else(|| {
            let names: Vec<&str> = Self::all().map(Self::as_str).collect();
            serde::de::Error::custom(format!("unknown resource '{text}': use one of {}", names.join(", ")))
        })
    }
}

const fn allow(action: PermittedAction, resource: PermittedResource) -> Permission {
    Permission { action, resource, effect: Effect::Allow }
}

const fn deny(action: PermittedAction, resource: PermittedResource) -> Permission {
    Permission { action, resource, effect: Effect::Deny }
}

/// The roles that exist in every installation and cannot be changed, with a description.
pub const SYSTEM_ROLES: [(&str, &str, &[Permission]); 3] = [
    ("admin", "All rights", &[allow(PermittedAction::Every, PermittedResource::Everything)]),
    (
        "operator",
        "All rights but to change users, roles, tenants and tokens",
        &[
            allow(PermittedAction::Every, PermittedResource::Everything),
            deny(PermittedAction::Write, PermittedResource::Area(Area::Identity)),
            deny(PermittedAction::Write, PermittedResource::Area(Area::Tenants)),
            deny(PermittedAction::Write, PermittedResource::Area(Area::Tokens)),
        ],
    ),
    (
        "viewer",
        "Read everything, change nothing, call no model",
        &[allow(PermittedAction::Read, PermittedResource::Everything)],
    ),
];

/// The permissions of a system role.
pub fn system_role(name: &str) -> Option<&'static [Permission]> {
    SYSTEM_ROLES.iter().find(|(role, ..)| *role == name).map(|(.., permissions)| *permissions)
}

/// The scopes that permissions amount to: the only translation between the two. To write includes to read, so whoever may
/// not read an area may not write to it either.
pub fn scopes(permissions: &[Permission]) -> Vec<Scope> {
    let ruled = |effect: Effect, action: Action, resource: PermittedResource| {
        permissions
            .iter()
            .any(|rule| rule.effect == effect && rule.action.covers(action) && rule.resource.covers(resource))
    };
    let may = |action: Action, resource: PermittedResource| {
        let allowed = ruled(Effect::Allow, action, resource)
            || (action == Action::Read && ruled(Effect::Allow, Action::Write, resource));
        let denied = ruled(Effect::Deny, action, resource) || ruled(Effect::Deny, Action::Read, resource);
        allowed && !denied
    };
    let mut scopes = Vec::new();
    if may(Action::Write, PermittedResource::Inference) {
        scopes.push(Scope::Inference);
    }
    let permitted = |action: Action| {
        Area::ALL.iter().copied().filter(move |area| may(action, PermittedResource::Area(*area)))
    };
    let everywhere = |action: Action| permitted(action).count() == Area::ALL.len();
    if everywhere(Action::Write) {
        scopes.push(Scope::Admin(None, Action::Write));
        return scopes;
    }
    scopes.extend(permitted(Action::Write).map(|area| Scope::Admin(Some(area), Action::Write)));
    if everywhere(Action::Read) {
        scopes.push(Scope::Admin(None, Action::Read));
        return scopes;
    }
    let only_read =
        permitted(Action::Read).filter(|area| !may(Action::Write, PermittedResource::Area(*area)));
    scopes.extend(only_read.map(|area| Scope::Admin(Some(area), Action::Read)));
    scopes
}

#[cfg(test)]
mod tests;
