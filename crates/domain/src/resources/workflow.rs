//! Workflows: the policies of calls, for a scope of providers, models and user paths.
//!
//! A version never changes after it is created. The document of its scope names the version in force, so that activation
//! and rollback change one document.

mod payload;
mod scope;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::Resource;
use super::auth_key::hex_digest;
use super::guardrail::Guardrail;
use super::provider::Provider;
use crate::fault::{self, Fault};

pub use payload::{CacheOptions, GuardrailStep, RoutingOptions, WorkflowFeatures, WorkflowPayload};
pub use scope::{WorkflowScope, WorkflowScopeType};

const MAX_NAME: usize = 200;
const MAX_DESCRIPTION: usize = 2000;

/// One version of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workflow {
    pub id: String,
    pub scope: WorkflowScope,
    /// The number of the version within its scope, from 1 on.
    pub version: u64,
    /// The title that administrators see.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub workflow_payload: WorkflowPayload,
    /// The principal that created the version.
    pub created_by: String,
}

impl Workflow {
    /// The id of the version that is in force for all calls until another one is activated for the global scope.
    pub const MANAGED_DEFAULT: &'static str = "default";

    /// A hash of scope and payload: equal for versions that have the same effect.
    pub fn hash(&self) -> String {
        let text = serde_json::to_string(&(&self.scope, &self.workflow_payload));
        hex_digest(&text.unwrap_or_default())
    }

    /// A hash of the guardrails that calls pass, each with its step: equal where they have the same effect.
    pub fn guardrails_hash<'a>(&self, find: impl Fn(&str) -> Option<&'a Guardrail>) -> String {
        let steps = self.workflow_payload.guardrails.iter();
        let steps = steps.map(|step| (step.step, &step.reference, find(&step.reference)));
        hex_digest(&serde_json::to_string(&steps.collect::<Vec<_>>()).unwrap_or_default())
    }

    /// The managed default: all features, and no options of its own. It is built in and not stored.
    pub fn managed_default() -> Self {
        Self {
            id: Self::MANAGED_DEFAULT.into(),
            scope: WorkflowScope::default(),
            version: 0,
            name: "Default".into(),
            description: Some("In force for calls without a workflow of their own.".into()),
            workflow_payload: WorkflowPayload::default(),
            created_by: "system".into(),
        }
    }
}

impl Resource for Workflow {
    const KIND: &'static str = "workflow";

    #[expect(clippy::misnamed_getters, reason = "documents are stored by id; the member `name` is a title")]
    fn name(&self) -> &str {
        &self.id
    }

    fn validate(&self) -> Result<(), Fault> {
        if self.name.trim().is_empty() || self.name.len() > MAX_NAME {
            let message = format!("The name of a workflow has 1 to {MAX_NAME} bytes.");
            return Err(fault::invalid_parameter("name", message));
        }
        if self.description.as_ref().is_some_and(|text| text.len() > MAX_DESCRIPTION) {
            let message = format!("A description has at most {MAX_DESCRIPTION} bytes.");
            return Err(fault::invalid_parameter("description", message));
        }
        self.scope.validate()?;
        self.workflow_payload.validate()
    }
}

/// The versions of a scope: how many were created, and the one in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkflowActivation {
    /// The key of the scope.
    pub scope: String,
    /// The number of the newest version.
    pub versions: u64,
    /// The id of the version in force; `None` if the scope is deactivated. For the global scope, the managed default is
    /// in force then.
    pub active: Option<String>,
    /// The guardrails of the version in force: they cannot be deleted meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guardrails: Vec<String>,
}

impl Resource for WorkflowActivation {
    const KIND: &'static str = "workflow_activation";

    fn name(&self) -> &str {
        &self.scope
    }

    fn validate(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn references(&self) -> Vec<(&'static str, String)> {
        let Some(id) = &self.active else { return Vec::new() };
        let provider = WorkflowScope::from_key(&self.scope).and_then(|scope| scope.scope_provider_name);
        let provider = provider.map(|name| (Provider::KIND, name));
        let guardrails = self.guardrails.iter().map(|name| (Guardrail::KIND, name.clone()));
        [(Workflow::KIND, id.clone())].into_iter().chain(provider).chain(guardrails).collect()
    }
}
