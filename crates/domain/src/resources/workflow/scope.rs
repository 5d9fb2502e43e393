//! The calls that a workflow applies to.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::fault::{self, Fault};
use crate::user_path::UserPath;

/// A set of calls, by the provider instance and model that serve them and by their user path. A missing member matches
/// all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WorkflowScope {
    /// The provider instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope_provider_name: Option<String>,
    /// The model, as the provider names it. Requires a provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope_model: Option<String>,
    /// A user path; it includes the paths below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope_user_path: Option<String>,
}

/// The members that a scope has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowScopeType {
    Global,
    Provider,
    ProviderModel,
    Path,
    ProviderPath,
    ProviderModelPath,
}

impl WorkflowScopeType {
    pub const ALL: [Self; 6] = [
        Self::Global,
        Self::Provider,
        Self::ProviderModel,
        Self::Path,
        Self::ProviderPath,
        Self::ProviderModelPath,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Provider => "provider",
            Self::ProviderModel => "provider_model",
            Self::Path => "path",
            Self::ProviderPath => "provider_path",
            Self::ProviderModelPath => "provider_model_path",
        }
    }
}

impl WorkflowScope {
    pub fn scope_type(&self) -> WorkflowScopeType {
        match (&self.scope_provider_name, &self.scope_model, &self.scope_user_path) {
            (None, _, None) => WorkflowScopeType::Global,
            (None, _, Some(_)) => WorkflowScopeType::Path,
            (Some(_), None, None) => WorkflowScopeType::Provider,
            (Some(_), Some(_), None) => WorkflowScopeType::ProviderModel,
            (Some(_), None, Some(_)) => WorkflowScopeType::ProviderPath,
            (Some(_), Some(_), Some(_)) => WorkflowScopeType::ProviderModelPath,
        }
    }

    /// A text that identifies the scope: its members, joined by blanks. Blanks in a member are encoded as in URLs.
    pub fn key(&self) -> String {
        let member = |name: &str, value: &Option<String>| {
            value.as_ref().map(|value| format!("{name}={}", encode(value)))
        };
        let members = [
            member("provider", &self.scope_provider_name),
            member("model", &self.scope_model),
            member("path", &self.scope_user_path),
        ];
        let text = members.into_iter().flatten().collect::<Vec<_>>().join(" ");
        if text.is_empty() { "global".into() } else { text }
    }

    /// The scope with empty members as missing ones and its user path in canonical form.
    pub fn normalized(self) -> Result<Self, Fault> {
        let given = |member: Option<String>| member.filter(|text| !text.is_empty());
        let path = given(self.scope_user_path).map(|path| parse_path(&path)).transpose()?;
        Ok(Self {
            scope_provider_name: given(self.scope_provider_name),
            scope_model: given(self.scope_model),
            scope_user_path: path.map(|path| path.as_str().to_owned()),
        })
    }

    /// The scope of a key; `None` if it is not the key of one.
    pub fn from_key(key: &str) -> Option<Self> {
        let mut scope = Self::default();
        if key == "global" {
            return Some(scope);
        }
        for member in key.split(' ') {
            let (name, value) = member.split_once('=')?;
            let member = match name {
                "provider" => &mut scope.scope_provider_name,
                "model" => &mut scope.scope_model,
                "path" if value.starts_with('/') => &mut scope.scope_user_path,
                _ => return None,
            };
            *member = Some(value.replace("%20", " ").replace("%25", "%"));
        }
        (scope.key() == key).then_some(scope)
    }

    pub(super) fn validate(&self) -> Result<(), Fault> {
        for (param, value) in
            [("scope_provider_name", &self.scope_provider_name), ("scope_model", &self.scope_model)]
        {
            let fits = |text: &String| {
                !text.trim().is_empty() && text.len() <= 300 && !text.chars().any(char::is_control)
            };
            if !value.as_ref().is_none_or(fits) {
                let message = "A name in a scope has 1 to 300 bytes, without control characters.";
                return Err(fault::invalid_parameter(format!("scope.{param}"), message));
            }
        }
        if self.scope_model.is_some() && self.scope_provider_name.is_none() {
            let message = "A model is that of a provider: set 'scope_provider_name' as well.";
            return Err(fault::invalid_parameter("scope.scope_model", message));
        }
        Ok(())
    }
}

fn encode(member: &str) -> String {
    member.replace('%', "%25").replace(' ', "%20")
}

fn parse_path(text: &str) -> Result<UserPath, Fault> {
    let path = match text.starts_with('/') {
        true => UserPath::parse(text),
        false => Err("A user path begins with '/'.".into()),
    };
    path.map_err(|reason| fault::invalid_parameter("scope.scope_user_path", reason))
}
