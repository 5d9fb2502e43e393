//! Activation of versions: each scope has one document that names the version in force.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use domain::fault::{self, Fault};
use domain::resources::workflow::{Workflow, WorkflowActivation, WorkflowScope, WorkflowScopeType};
use http::{HeaderMap, StatusCode};
use store::{StoreError, Stored, Write as Writing};

use super::stored::StoredWorkflows;
use super::{WorkflowRecord, answer, missing, references};
use crate::App;
use crate::admin::record;
use crate::authorized::{Authorized, Workflows, Write};
use crate::fault::Problem;
use crate::path::Named;
use crate::tenant_access::TenantAccess;

/// Number of retries of a change that loses a race against another replica.
const ATTEMPTS: usize = 5;

/// Put a version in force for its scope, in place of the one before: also an older one, to go back to it.
#[utoipa::path(post, path = "/admin/api/v1/workflows/{id}/activate", tag = "workflows", params(("id" = String, Path, description = "The id of the version")),
    responses((status = 200, description = "The version", body = WorkflowRecord), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such version"),
        (status = 409, description = "The version cannot be read, or a guardrail of it no longer exists"),
        (status = 412, description = "Another version was put in force in the meantime")),
    security(("bearer" = ["admin:workflows:write"])))]
pub async fn activate(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Workflows>>,
    Named(id): Named,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let access = authorized.documents(&app);
    let stored = StoredWorkflows::load(&access).await?;
    let Some(workflow) = stored.find(&id) else {
        return Err(match stored.record(&access, &id) {
            Some(_) => fault::conflict(format!("The version '{id}' cannot be read.")).into(),
            None => missing(&id).into(),
        });
    };
    // Held until the activation refers to the guardrails: they cannot be deleted then.
    let _turn = app.naming.lock().await;
    references::check_activated(&access, &workflow).await?;
    let edit = |activation: &mut WorkflowActivation| {
        set_active(activation, &workflow);
        Ok(())
    };
    update(&access, authorized.principal.actor(), &workflow.scope, record::if_match(&headers), edit).await?;
    answer(&access, StatusCode::OK, &id).await
}

/// Take a version out of force. The calls of its scope have the workflow of the next wider scope then.
#[utoipa::path(post, path = "/admin/api/v1/workflows/{id}/deactivate", tag = "workflows", params(("id" = String, Path, description = "The id of the version")),
    responses((status = 200, description = "The version", body = WorkflowRecord), (status = 400, description = "The scope is global"),
        (status = 401, description = "Unauthorized"), (status = 404, description = "No such version"), (status = 409, description = "The version is not in force"),
        (status = 412, description = "Another version was put in force in the meantime")),
    security(("bearer" = ["admin:workflows:write"])))]
pub async fn deactivate(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Workflows>>,
    Named(id): Named,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let access = authorized.documents(&app);
    let stored = StoredWorkflows::load(&access).await?;
    let scope = stored.find(&id).map(|workflow| workflow.scope).or_else(|| stored.scope_of_active(&id));
    let not_in_force = || fault::conflict(format!("The version '{id}' is not in force."));
    let scope = match (scope, stored.record(&access, &id)) {
        (Some(scope), _) => scope,
        (None, Some(_)) => return Err(not_in_force().into()),
        (None, None) => return Err(missing(&id).into()),
    };
    if scope.scope_type() == WorkflowScopeType::Global {
        let message = "The global scope always has a workflow: activate another version, or 'default'.";
        return Err(fault::invalid_parameter("id", message).into());
    }
    let edit = |activation: &mut WorkflowActivation| match activation.active.take() {
        Some(active) if active == id => {
            activation.guardrails.clear();
            // The version of the configuration file is in force again, unless it is the one to take out of force.
            let key = activation.scope.clone();
            let configured = access.configured_document::<WorkflowActivation>(&key);
            if let Some(configured) = configured.filter(|stored| stored.value.active.as_ref() != Some(&id)) {
                (activation.active, activation.guardrails) =
                    (configured.value.active, configured.value.guardrails);
            }
            Ok(())
        }
        _ => Err(not_in_force()),
    };
    update(&access, authorized.principal.actor(), &scope, record::if_match(&headers), edit).await?;
    answer(&access, StatusCode::OK, &id).await
}

/// Takes the number of the next version of a scope.
pub(super) async fn take_number(
    access: &TenantAccess<'_>,
    actor: &str,
    scope: &WorkflowScope,
    headers: &HeaderMap,
) -> Result<u64, Problem> {
    let edit = |activation: &mut WorkflowActivation| {
        activation.versions += 1;
        Ok(())
    };
    Ok(update(access, actor, scope, record::if_match(headers), edit).await?.versions)
}

/// Puts a new version in force, unless a newer one of its scope is.
pub(super) async fn put_in_force(
    access: &TenantAccess<'_>,
    actor: &str,
    workflow: &Workflow,
) -> Result<(), Problem> {
    let stored = StoredWorkflows::load(access).await?;
    let number = |id: &String| stored.find(id).map_or(0, |version| version.version);
    let edit = |activation: &mut WorkflowActivation| {
        if activation.active.as_ref().map_or(0, number) < workflow.version {
            set_active(activation, workflow);
        }
        Ok(())
    };
    update(access, actor, &workflow.scope, None, edit).await.map(drop)
}

/// Names a version and its guardrails as those in force. The managed default is in force where no version is named.
pub(in crate::admin) fn set_active(activation: &mut WorkflowActivation, workflow: &Workflow) {
    activation.active = (workflow.id != Workflow::MANAGED_DEFAULT).then(|| workflow.id.clone());
    let steps = workflow.workflow_payload.guardrails.iter();
    activation.guardrails = steps.map(|step| step.reference.clone()).collect();
}

/// Changes the activation of a scope, and applies it in this process. An activation that cannot be read is replaced.
async fn update(
    access: &TenantAccess<'_>,
    actor: &str,
    scope: &WorkflowScope,
    if_match: Option<&str>,
    edit: impl Fn(&mut WorkflowActivation) -> Result<(), Fault>,
) -> Result<WorkflowActivation, Problem> {
    let collection = access.collection::<WorkflowActivation>();
    let key = scope.key();
    for _ in 0..ATTEMPTS {
        let (known, write) = match collection.get(&key).await {
            Err(StoreError::Corrupt(_)) => (None, Writing::Upsert),
            known => {
                let known = known?;
                let write = if known.is_some() { Writing::Upsert } else { Writing::Create };
                (known, write)
            }
        };
        let etag = known.as_ref().map(Stored::etag);
        let before = known.map(|known| known.value);
        let configured = access.configured_document::<WorkflowActivation>(&key);
        let mut activation = match before.as_ref().or(configured.as_ref().map(|stored| &stored.value)) {
            Some(activation) => activation.clone(),
            None => {
                let versions = StoredWorkflows::load(access).await?.newest(&key);
                WorkflowActivation { scope: key.clone(), versions, active: None, guardrails: Vec::new() }
            }
        };
        edit(&mut activation)?;
        if before.as_ref() == Some(&activation) {
            return Ok(activation);
        }
        match collection.put(&activation, write, actor, if_match.or(etag.as_deref())).await {
            Err(StoreError::PreconditionFailed | StoreError::Conflict { .. }) if if_match.is_none() => {
                continue;
            }
            written => {
                written?;
                access.app.refresher.refresh().await?;
                return Ok(activation);
            }
        }
    }
    Err(fault::conflict("The workflows of this scope are being changed by others: try again.").into())
}
