//! The differences between two versions of a workflow.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use domain::fault;
use domain::resources::workflow::Workflow;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::missing;
use super::stored::StoredWorkflows;
use crate::App;
use crate::authorized::{Authorized, Read, Workflows};
use crate::fault::Problem;
use crate::path::Named;
use crate::query::{self, Pairs};

#[derive(Serialize, ToSchema)]
pub struct WorkflowDiff {
    /// The id of the version that it is compared with.
    pub from: String,
    pub to: String,
    pub changes: Vec<WorkflowChange>,
}

/// A member that differs.
#[derive(Serialize, ToSchema)]
pub struct WorkflowChange {
    /// E.g. `workflow_payload.features.audit`.
    pub path: String,
    /// Null if it is missing.
    #[schema(value_type = Value)]
    pub before: Value,
    #[schema(value_type = Value)]
    pub after: Value,
}

/// Compare a version with another one; without `with`, with the one in force for its scope.
#[utoipa::path(get, path = "/admin/api/v1/workflows/{id}/diff", tag = "workflows",
    params(("id" = String, Path, description = "The id of the version"), ("with" = Option<String>, Query, description = "The id of the version to compare it with")),
    responses((status = 200, description = "The differences", body = WorkflowDiff), (status = 400, description = "Invalid parameters"),
        (status = 401, description = "Unauthorized"), (status = 404, description = "No such version")),
    security(("bearer" = ["admin:workflows:read"])))]
pub async fn diff(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Workflows>>,
    Named(id): Named,
    Query(pairs): Query<Pairs>,
) -> Result<Json<WorkflowDiff>, Problem> {
    let stored = StoredWorkflows::load(&authorized.documents(&app)).await?;
    let find = |id: &str| stored.find(id).ok_or_else(|| missing(id));
    let to = find(&id)?;
    let with = query::text(&pairs, "with").or_else(|| stored.active(&to.scope));
    let from = find(with.unwrap_or(Workflow::MANAGED_DEFAULT))?;
    let mut changes = Vec::new();
    let compared = |workflow: &Workflow| {
        let Workflow { scope, name, description, workflow_payload, .. } = workflow;
        serde_json::to_value((scope, name, description, workflow_payload))
            .map_err(|_| fault::internal_error())
    };
    let (before, after) = (compared(&from)?, compared(&to)?);
    for (index, member) in ["scope", "name", "description", "workflow_payload"].into_iter().enumerate() {
        add_changes(member, &before[index], &after[index], &mut changes);
    }
    Ok(Json(WorkflowDiff { from: from.id, to: to.id, changes }))
}

/// Collects the differing members of two values, with their paths.
fn add_changes(path: &str, before: &Value, after: &Value, changes: &mut Vec<WorkflowChange>) {
    if let (Value::Object(old), Value::Object(new)) = (before, after) {
        let added = new.keys().filter(|name| !old.contains_key(*name));
        for name in old.keys().chain(added) {
            add_changes(&format!("{path}.{name}"), &before[name], &after[name], changes);
        }
    } else if before != after {
        changes.push(WorkflowChange { path: path.to_owned(), before: before.clone(), after: after.clone() });
    }
}
