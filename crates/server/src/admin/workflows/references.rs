//! The guardrails that workflows refer to, as they are stored: a check must see the writes of other replicas.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use domain::fault::{self, Fault};
use domain::resources::guardrail::{Direction, Guardrail, GuardrailMode, GuardrailType};
use domain::resources::workflow::{Workflow, WorkflowPayload};
use pipeline::routing::routes::Routes;
use serde::Serialize;
use store::StoreError;
use utoipa::ToSchema;

use super::page;
use crate::App;
use crate::admin::guardrails::unknown_model;
use crate::authorized::{Authorized, Read, Workflows};
use crate::fault::Problem;
use crate::nearest;
use crate::query::Pairs;
use crate::tenant_access::TenantAccess;

/// A guardrail that workflows can refer to.
#[derive(Serialize, ToSchema)]
pub struct WorkflowGuardrail {
    pub name: String,
    #[serde(rename = "type")]
    pub guardrail_type: GuardrailType,
    pub direction: Direction,
    pub mode: GuardrailMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The subtree whose calls it applies to; absent if it applies to all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_path: Option<String>,
}

/// List the guardrails that workflows can refer to, by name.
#[utoipa::path(get, path = "/admin/api/v1/workflows/guardrails", tag = "workflows",
    params(("limit" = Option<i64>, Query, description = "1 to 1000, default 1000"), ("offset" = Option<i64>, Query, description = "Default 0")),
    responses((status = 200, description = "The guardrails; X-Total-Count has their number", body = Vec<WorkflowGuardrail>),
        (status = 400, description = "Invalid parameters"), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:workflows:read"])))]
pub async fn guardrails(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Workflows>>,
    Query(pairs): Query<Pairs>,
) -> Result<Response, Problem> {
    let view = |guardrail: Guardrail| WorkflowGuardrail {
        guardrail_type: guardrail.config.guardrail_type(),
        name: guardrail.name,
        direction: guardrail.direction,
        mode: guardrail.mode,
        description: guardrail.description,
        user_path: guardrail.user_path.map(|path| path.as_str().to_owned()),
    };
    page(
        &pairs,
        stored_guardrails(&authorized.documents(&app)).await?.into_values().map(view).collect::<Vec<_>>(),
    )
}

/// The guardrails that can be read, by name: stored ones and those of the configuration file.
pub(super) async fn stored_guardrails(
    access: &TenantAccess<'_>,
) -> Result<BTreeMap<String, Guardrail>, StoreError> {
    let documents = access.effective::<Guardrail>().await?;
    Ok(documents.into_iter().map(|stored| (stored.value.name.clone(), stored.value)).collect())
}

/// Refuses a new version that refers to guardrails which do not exist, or whose model does not.
pub(super) async fn check(access: &TenantAccess<'_>, payload: &WorkflowPayload) -> Result<(), Problem> {
    let stored = stored_guardrails(access).await?;
    let names: Vec<&str> = stored.keys().map(String::as_str).collect();
    check_names(payload, &names)?;
    match compile_error(&access.snapshot().routes, payload, &stored) {
        Some((index, reason)) => {
            let param = format!("workflow_payload.guardrails[{index}].ref");
            Err(fault::invalid_parameter(param, reason).into())
        }
        None => Ok(()),
    }
}

/// The position of a guardrail that cannot work, with the reason.
pub(super) fn compile_error(
    routes: &Routes,
    payload: &WorkflowPayload,
    stored: &BTreeMap<String, Guardrail>,
) -> Option<(usize, String)> {
    payload.guardrails.iter().enumerate().find_map(|(index, step)| {
        let reason = unknown_model(routes, stored.get(&step.reference)?)?;
        Some((index, format!("The guardrail '{}' asks a model. {reason}", step.reference)))
    })
}

/// Refuses references to guardrails that are not among the known names.
pub fn check_names(payload: &WorkflowPayload, known: &[&str]) -> Result<(), Fault> {
    for (index, step) in payload.guardrails.iter().enumerate() {
        if !known.contains(&step.reference.as_str()) {
            let hint = nearest::hint(&step.reference, known.iter().copied());
            let message = format!("There is no guardrail '{}'.{hint}", step.reference);
            let param = format!("workflow_payload.guardrails[{index}].ref");
            return Err(fault::invalid_parameter(param, message));
        }
    }
    Ok(())
}

/// Refuses to put a version in force whose guardrails no longer exist.
pub(super) async fn check_activated(access: &TenantAccess<'_>, workflow: &Workflow) -> Result<(), Problem> {
    let stored = stored_guardrails(access).await?;
    let names = workflow.workflow_payload.guardrails.iter().map(|step| &*step.reference);
    Ok(check_existing(&workflow.id, names, |name| stored.contains_key(name))?)
}

/// Refuses a version if one of its guardrails does not exist any more.
pub fn check_existing<'a>(
    id: &str,
    names: impl Iterator<Item = &'a str>,
    exists: impl Fn(&str) -> bool,
) -> Result<(), Fault> {
    let missing: Vec<String> = names.filter(|name| !exists(name)).map(|name| format!("'{name}'")).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!(
        "The version '{id}' refers to guardrails that no longer exist: {}. Create them again, or a new version.",
        missing.join(", ")
    );
    Err(fault::conflict(message))
}
