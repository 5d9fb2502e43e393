//! Changes of workflows: a new version in force, a version that is put in force again, and one that is taken out of
//! force.

use domain::fault::{self, Fault};
use domain::principal::Principal;
use domain::resources::Resource as _;
use domain::resources::workflow::{Workflow, WorkflowActivation, WorkflowScope};
use serde::Deserialize;
use store::StoreError;

use super::changes;
use super::proposed_document::ProposedDocument;
use crate::admin::workflows::WorkflowBody;
use crate::body::Patch;
use crate::fault::Problem;
use crate::tenant_access::TenantAccess;

/// The result of reading a change. The outer error is one of storage.
type ReadChange = Result<Result<ProposedDocument, Fault>, Problem>;

/// Members of a stored activation that follow from the others.
const READ_ONLY: [&str; 3] = ["scope", "versions", "guardrails"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ActivationBody {
    /// The id of the version in force; null for none.
    #[serde(deserialize_with = "changes::nullable")]
    active: Option<String>,
}

/// Refuses the id of a version that exists. The outer error is one of storage.
pub async fn check_new(access: &TenantAccess<'_>, id: &str) -> Result<Result<(), Fault>, Problem> {
    if id != Workflow::MANAGED_DEFAULT && find(access, id).await?.is_none() {
        return Ok(Ok(()));
    }
    let message = format!(
        "The workflow version '{id}' exists, and versions do not change. Name a new one, or put '{id}' in force with a \
         workflow_activation."
    );
    Ok(Err(fault::conflict(message).param("name")))
}

/// A new version, as `POST /workflows` accepts it, under an id of its own.
pub fn new_version(asker: &Principal, id: &str, patch: &Patch) -> Result<ProposedDocument, Fault> {
    let body: WorkflowBody = patch.strict(&[])?;
    let workflow = Workflow {
        id: id.to_owned(),
        scope: body.scope.normalized()?,
        version: 0,
        name: body.name,
        description: body.description,
        workflow_payload: body.workflow_payload,
        created_by: asker.actor().to_owned(),
    };
    workflow.validate()?;
    Ok(ProposedDocument::Workflow(Box::new(workflow)))
}

/// The activation of a version that exists, for the scope with this key.
pub async fn activation(access: &TenantAccess<'_>, scope: &str, patch: &Patch) -> ReadChange {
    if WorkflowScope::from_key(scope).is_none() {
        let message = format!(
            "'{scope}' is not the key of a scope, such as 'global', 'path=/team' or 'provider=openai model=gpt-4o'."
        );
        return Ok(Err(fault::invalid_parameter("name", message)));
    }
    let ActivationBody { active } = match patch.strict(&READ_ONLY) {
        Ok(body) => body,
        Err(fault) => return Ok(Err(fault)),
    };
    let Some(id) = active.filter(|id| id != Workflow::MANAGED_DEFAULT) else {
        return Ok(Ok(ProposedDocument::Activation(without_version(scope.to_owned()))));
    };
    let found = find(access, &id).await?.filter(|workflow| workflow.scope.key() == scope);
    let missing = || {
        let message = format!("There is no workflow version '{id}' for the scope '{scope}'.");
        fault::invalid_parameter("active", message)
    };
    let activation = found.as_ref().map(activation_of).ok_or_else(missing);
    Ok(activation.map(ProposedDocument::Activation))
}

/// Takes a version out of force.
pub async fn deactivation(access: &TenantAccess<'_>, id: &str) -> ReadChange {
    let Some(workflow) = find(access, id).await? else {
        let message = format!("There is no workflow version '{id}'.");
        return Ok(Err(fault::not_found(message).param("name")));
    };
    let scope = workflow.scope.key();
    let activations = access.collection::<WorkflowActivation>();
    let in_force = activations.get_readable(&scope).await?;
    let in_force = in_force.or_else(|| access.configured_document(&scope));
    let in_force = in_force.and_then(|stored| stored.value.active);
    if in_force.as_deref() != Some(id) {
        let message = format!("The workflow version '{id}' is not in force.");
        return Ok(Err(fault::conflict(message).param("name")));
    }
    Ok(Ok(deactivated(access, scope)))
}

/// The end of the stored activation of a scope: that of the configuration file is in force again, if there is one.
pub fn deactivated(access: &TenantAccess<'_>, scope: String) -> ProposedDocument {
    let kind = WorkflowActivation::KIND;
    match access.is_configured(kind, &scope) {
        true => ProposedDocument::Deleted { kind, name: scope },
        false => ProposedDocument::Activation(without_version(scope)),
    }
}

/// The activation that puts a version in force.
pub fn activation_of(workflow: &Workflow) -> WorkflowActivation {
    let guardrails = workflow.workflow_payload.guardrails.iter();
    WorkflowActivation {
        active: Some(workflow.id.clone()),
        guardrails: guardrails.map(|step| step.reference.clone()).collect(),
        ..without_version(workflow.scope.key())
    }
}

/// The activation of a scope without a version in force. The number of its versions does not matter to calls.
pub fn without_version(scope: String) -> WorkflowActivation {
    WorkflowActivation { scope, versions: 0, active: None, guardrails: Vec::new() }
}

async fn find(access: &TenantAccess<'_>, id: &str) -> Result<Option<Workflow>, Problem> {
    let stored = match access.find_effective::<Workflow>(id).await {
        Err(StoreError::Corrupt(_)) => None,
        stored => stored?,
    };
    Ok(stored.map(|stored| stored.value))
}
