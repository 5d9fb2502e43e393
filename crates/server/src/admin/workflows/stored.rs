//! The versions and activations of workflows in storage and in the configuration file, those that cannot be read
//! included.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use domain::resources::Resource as _;
use domain::resources::guardrail::Guardrail;
use domain::resources::workflow::{Workflow, WorkflowActivation, WorkflowScope, WorkflowScopeType};
use store::{DEFAULT_TENANT, Stored};

use super::{UnreadableWorkflow, WorkflowRecord, WorkflowVersion, references};
use crate::admin::record;
use crate::fault::Problem;
use crate::tenant_access::TenantAccess;

pub struct StoredWorkflows {
    versions: Vec<Stored<Workflow>>,
    /// The reason by id.
    unreadable: BTreeMap<String, String>,
    /// By the key of the scope; `None` if it cannot be read.
    activations: BTreeMap<String, Option<Stored<WorkflowActivation>>>,
    /// Those that can be read, by name.
    guardrails: BTreeMap<String, Guardrail>,
}

impl StoredWorkflows {
    pub async fn load(access: &TenantAccess<'_>) -> Result<Self, Problem> {
        let (mut versions, mut unreadable) = (Vec::new(), BTreeMap::new());
        for raw in access.effective_raw(Workflow::KIND).await? {
            match store::decode(&raw) {
                Ok(version) => versions.push(version),
                Err(reason) => _ = unreadable.insert(raw.name, reason),
            }
        }
        let activations = access.effective_raw(WorkflowActivation::KIND).await?;
        let activations = activations.into_iter().map(|raw| (raw.name.clone(), store::decode(&raw).ok()));
        let guardrails = references::stored_guardrails(access).await?;
        Ok(Self { versions, unreadable, activations: activations.collect(), guardrails })
    }

    /// The activation of a scope; `None` if there is none or it cannot be read.
    pub fn activation(&self, scope: &str) -> Option<&Stored<WorkflowActivation>> {
        self.activations.get(scope)?.as_ref()
    }

    /// The id of the version in force for a scope.
    pub fn active(&self, scope: &WorkflowScope) -> Option<&str> {
        self.activation(&scope.key())?.value.active.as_deref()
    }

    /// The scope in which a version is in force.
    pub fn scope_of_active(&self, id: &str) -> Option<WorkflowScope> {
        let mut activations = self.activations.values().flatten().map(|stored| &stored.value);
        let found = activations.find(|activation| activation.active.as_deref() == Some(id))?;
        WorkflowScope::from_key(&found.scope)
    }

    /// The number of the newest version of a scope that can be read.
    pub fn newest(&self, scope: &str) -> u64 {
        let versions = self.versions.iter().map(|stored| &stored.value);
        versions
            .filter(|version| version.scope.key() == scope)
            .map(|version| version.version)
            .max()
            .unwrap_or(0)
    }

    /// A version by its id.
    pub fn find(&self, id: &str) -> Option<Workflow> {
        if id == Workflow::MANAGED_DEFAULT {
            return Some(Workflow::managed_default());
        }
        self.versions.iter().map(|stored| &stored.value).find(|version| version.id == id).cloned()
    }

    /// The record of a version; `None` if there is none.
    pub fn record(&self, access: &TenantAccess<'_>, id: &str) -> Option<WorkflowRecord> {
        if let Some(error) = self.unreadable.get(id) {
            return Some(self.unreadable_record(id, error));
        }
        let stored = self.versions.iter().find(|stored| stored.value.id == id);
        Some(self.version(access, self.find(id)?, stored))
    }

    /// All versions: the managed default, then by scope and from the newest to the oldest, then those that cannot be
    /// read.
    pub fn records(&self, access: &TenantAccess<'_>) -> Vec<WorkflowRecord> {
        let mut versions: Vec<&Stored<Workflow>> = self.versions.iter().collect();
        versions.sort_by_cached_key(|stored| {
            let scope = &stored.value.scope;
            (scope.scope_type() != WorkflowScopeType::Global, scope.key(), Reverse(stored.value.version))
        });
        let stored = versions.into_iter().map(|stored| (stored.value.clone(), Some(stored)));
        let all = std::iter::once((Workflow::managed_default(), None)).chain(stored);
        let readable = all.map(|(workflow, stored)| self.version(access, workflow, stored));
        let unreadable = self.unreadable.iter().map(|(id, error)| self.unreadable_record(id, error));
        readable.chain(unreadable).collect()
    }

    fn unreadable_record(&self, id: &str, error: &str) -> WorkflowRecord {
        let scope = self.scope_of_active(id);
        WorkflowRecord::Unreadable(UnreadableWorkflow {
            id: id.to_owned(),
            active: scope.is_some(),
            scope,
            error: error.to_owned(),
        })
    }

    fn version(
        &self,
        access: &TenantAccess<'_>,
        workflow: Workflow,
        stored: Option<&Stored<Workflow>>,
    ) -> WorkflowRecord {
        let managed_default = workflow.id == Workflow::MANAGED_DEFAULT;
        let active = match self.activations.get(&workflow.scope.key()) {
            // Calls are refused: the version in force is not known.
            Some(None) => false,
            _ if managed_default => self.active(&workflow.scope).is_none(),
            _ => self.active(&workflow.scope) == Some(&*workflow.id),
        };
        let tenant_id = stored.map(|stored| stored.tenant.clone()).filter(|tenant| tenant != DEFAULT_TENANT);
        let error = references::compile_error(
            &access.snapshot().routes,
            &workflow.workflow_payload,
            &self.guardrails,
        );
        WorkflowRecord::Version(Box::new(WorkflowVersion {
            error: error.map(|(_, reason)| reason),
            scope_type: workflow.scope.scope_type(),
            version: workflow.version,
            active,
            managed_default,
            workflow_hash: workflow.hash(),
            guardrails_hash: workflow.guardrails_hash(|name| self.guardrails.get(name)),
            effective_features: access
                .app
                .gateway
                .features()
                .restricted_by(workflow.workflow_payload.features),
            created_at: stored.map(|stored| record::time(stored.created_at)),
            tenant_id,
            id: workflow.id,
            scope: workflow.scope,
            name: workflow.name,
            description: workflow.description,
            workflow_payload: workflow.workflow_payload,
            created_by: workflow.created_by,
        }))
    }
}
