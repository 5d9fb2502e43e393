//! The workflows in force, by the calls they apply to.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use domain::fault::{self, Fault};
use domain::receipt::WorkflowVersion;
use domain::resources::workflow::{Workflow, WorkflowActivation, WorkflowPayload, WorkflowScope};
use domain::user_path::UserPath;

use crate::guardrails::{CallGuardrails, GuardrailPlan};
use crate::snapshot::guardrails::Guardrails;

/// The workflow in force for a scope.
pub struct ActiveWorkflow {
    /// The id of the version.
    pub id: String,
    /// The name and number of the version; `None` if it does not compile.
    pub version: Option<WorkflowVersion>,
    /// `None` if the version or one of its guardrails does not compile. The calls of its scope are refused then: they
    /// would otherwise be made without its policies.
    pub policies: Option<WorkflowPolicies>,
}

/// The policies of a workflow, with its guardrails.
pub struct WorkflowPolicies {
    pub payload: WorkflowPayload,
    pub guardrails: GuardrailPlan,
    /// A hash of the documents of its guardrails.
    pub guardrails_hash: String,
}

/// The workflows of all scopes.
#[derive(Default)]
pub struct Workflows {
    paths: HashMap<String, ByProvider>,
    /// The scopes without a user path.
    all_paths: ByProvider,
}

#[derive(Default)]
struct ByProvider {
    providers: HashMap<String, ByModel>,
    all: Option<Arc<ActiveWorkflow>>,
}

#[derive(Default)]
struct ByModel {
    models: HashMap<String, Arc<ActiveWorkflow>>,
    all: Option<Arc<ActiveWorkflow>>,
}

impl Workflows {
    /// Finds the version in force for each scope. Versions that are missing do not compile; `report` is called with
    /// those that name a guardrail that is missing or does not compile, and with that name.
    pub fn link(
        versions: &BTreeMap<String, Workflow>,
        activations: &BTreeMap<String, WorkflowActivation>,
        guardrails: &Guardrails,
        mut report: impl FnMut(&str, &str),
    ) -> Self {
        let mut workflows = Self::default();
        for activation in activations.values() {
            let Some(scope) = WorkflowScope::from_key(&activation.scope) else { continue };
            let Some(id) = &activation.active else { continue };
            let policies = versions.get(id).and_then(|version| {
                let payload = version.workflow_payload.clone();
                let guardrails_hash = version.guardrails_hash(|name| Some(guardrails.get(name)?.document()));
                let guardrails = GuardrailPlan::link(&payload.guardrails, |name| guardrails.get(name));
                let guardrails = guardrails.inspect_err(|missing| report(id, missing)).ok()?;
                Some(WorkflowPolicies { payload, guardrails, guardrails_hash })
            });
            let version = versions
                .get(id)
                .map(|version| WorkflowVersion { name: version.name.clone(), version: version.version });
            workflows.insert(scope, ActiveWorkflow { id: id.clone(), version, policies });
        }
        workflows
    }

    /// Whether no workflow is in force but the managed default.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.all_paths.providers.is_empty() && self.all_paths.all.is_none()
    }

    /// Whether a workflow that may apply to calls on this path has guardrails.
    pub fn have_guardrails(&self, path: &UserPath) -> bool {
        let at_paths = path.ancestors().filter_map(|path| self.paths.get(path));
        at_paths.chain([&self.all_paths]).any(ByProvider::have_guardrails)
    }

    fn insert(&mut self, scope: WorkflowScope, workflow: ActiveWorkflow) {
        let workflow = Arc::new(workflow);
        let by_provider = match scope.scope_user_path {
            Some(path) => self.paths.entry(path).or_default(),
            None => &mut self.all_paths,
        };
        let Some(provider) = scope.scope_provider_name else {
            by_provider.all = Some(workflow);
            return;
        };
        let by_model = by_provider.providers.entry(provider).or_default();
        match scope.scope_model {
            Some(model) => _ = by_model.models.insert(model, workflow),
            None => by_model.all = Some(workflow),
        }
    }

    /// The workflow of a call: that of the deepest user path, and there the one that names most of its target. Scopes
    /// without a user path come last.
    pub fn find(&self, provider: &str, model: &str, path: &UserPath) -> Option<&Arc<ActiveWorkflow>> {
        let mut at_paths = path.ancestors().filter_map(|path| self.paths.get(path));
        let at_path = match self.paths.is_empty() {
            true => None,
            false => at_paths.find_map(|by_provider| by_provider.find(provider, model)),
        };
        at_path.or_else(|| self.all_paths.find(provider, model))
    }

    /// The workflows that [`Workflows::find`] finds for any model of a provider.
    pub fn of_any_model(&self, provider: &str, path: &UserPath) -> Vec<&Arc<ActiveWorkflow>> {
        let at_paths = path.ancestors().filter_map(|path| self.paths.get(path));
        let mut found = Vec::new();
        for by_provider in at_paths.chain([&self.all_paths]) {
            let by_model = by_provider.providers.get(provider);
            found.extend(by_model.into_iter().flat_map(|by_model| by_model.models.values()));
            if let Some(all) =
                by_model.and_then(|by_model| by_model.all.as_ref()).or(by_provider.all.as_ref())
            {
                found.push(all);
                break;
            }
        }
        found
    }
}

impl ActiveWorkflow {
    /// The policies of the workflow; an error if it does not compile.
    pub fn require_policies(&self) -> Result<&WorkflowPolicies, Fault> {
        self.policies.as_ref().ok_or_else(|| fault::workflow_unavailable(&self.id))
    }

    fn has_guardrails(&self) -> bool {
        self.policies.as_ref().is_none_or(|policies| !policies.payload.guardrails.is_empty())
    }
}

impl WorkflowPolicies {
    /// The guardrails that apply to calls on a path; `None` if there are none, or if the workflow switches them off.
    pub fn guardrails_for(&self, path: &UserPath) -> Option<CallGuardrails> {
        self.payload.features.guardrails.then(|| self.guardrails.for_path(path)).flatten()
    }
}

impl ByProvider {
    fn have_guardrails(&self) -> bool {
        let by_model = self.providers.values();
        let mut all = by_model.flat_map(|own| own.models.values().chain(&own.all)).chain(&self.all);
        all.any(|workflow| workflow.has_guardrails())
    }

    fn find(&self, provider: &str, model: &str) -> Option<&Arc<ActiveWorkflow>> {
        let by_model = self.providers.get(provider);
        let named = by_model.and_then(|by_model| by_model.models.get(model).or(by_model.all.as_ref()));
        named.or(self.all.as_ref())
    }
}
