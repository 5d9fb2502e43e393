//! `/admin/api/v1/workflows`: versions of the policies of calls, by scope. Versions do not change; one of each scope is in
//! force.

pub mod activation;
pub mod diff;
pub mod references;
mod stored;

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Response};
use domain::fault::{self, Fault};
use domain::ids;
use domain::resources::Resource as _;
use domain::resources::workflow::{
    Workflow, WorkflowActivation, WorkflowFeatures, WorkflowPayload, WorkflowScope, WorkflowScopeType,
};
use domain::user_path::UserPath;
use http::{HeaderMap, StatusCode};
use pipeline::routing::routes::Routes;
use serde::{Deserialize, Serialize};
use store::Write as Writing;
use utoipa::ToSchema;

use super::record;
use crate::App;
use crate::authorized::{Authorized, Read, Workflows, Write};
use crate::body::Strict;
use crate::fault::Problem;
use crate::nearest;
use crate::path::Named;
use crate::query::{self, Pairs};
use crate::tenant_access::TenantAccess;
use stored::StoredWorkflows;

const MAX_PAGE: i64 = 1000;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkflowBody {
    /// The calls that it applies to; all if empty.
    #[serde(default)]
    pub scope: WorkflowScope,
    pub name: String,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    pub workflow_payload: WorkflowPayload,
}

/// A version, or the id of one that cannot be read.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum WorkflowRecord {
    Version(Box<WorkflowVersion>),
    Unreadable(UnreadableWorkflow),
}

#[derive(Serialize, ToSchema)]
pub struct WorkflowVersion {
    pub id: String,
    pub scope: WorkflowScope,
    pub scope_type: WorkflowScopeType,
    /// From 1 on within the scope; 0 for the managed default.
    pub version: u64,
    /// Whether it is in force for its scope.
    pub active: bool,
    /// Whether it is the built-in version of the global scope.
    pub managed_default: bool,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub workflow_payload: WorkflowPayload,
    /// A hash of scope and payload.
    pub workflow_hash: String,
    /// A hash of its guardrails as they are stored now, with their steps.
    pub guardrails_hash: String,
    /// The features that are on in the version and in the gateway.
    pub effective_features: WorkflowFeatures,
    /// Null for the managed default.
    pub created_at: Option<String>,
    pub created_by: String,
    /// The tenant that the version belongs to; absent for those of the default tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Why one of its guardrails cannot work at present; its `on_error` applies to calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A stored version that cannot be read. While it is in force, the calls of its scope are refused.
#[derive(Serialize, ToSchema)]
pub struct UnreadableWorkflow {
    pub id: String,
    pub active: bool,
    /// The scope in which it is in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<WorkflowScope>,
    pub error: String,
}

impl WorkflowRecord {
    fn is_active(&self) -> bool {
        match self {
            Self::Version(version) => version.active,
            Self::Unreadable(version) => version.active,
        }
    }

    fn scope(&self) -> Option<&WorkflowScope> {
        match self {
            Self::Version(version) => Some(&version.scope),
            Self::Unreadable(version) => version.scope.as_ref(),
        }
    }
}

fn missing(id: &str) -> Fault {
    fault::not_found(format!("There is no workflow version '{id}'."))
}

/// The answer with a version as it is stored now. Its ETag is that of the activation of its scope: versions themselves
/// do not change.
async fn answer(access: &TenantAccess<'_>, status: StatusCode, id: &str) -> Result<Response, Problem> {
    let stored = StoredWorkflows::load(access).await?;
    let record = stored.record(access, id).ok_or_else(|| missing(id))?;
    let activation = record.scope().and_then(|scope| stored.activation(&scope.key()));
    Ok(match activation.map(store::Stored::etag) {
        Some(etag) => record::answer(status, &etag, record),
        None => (status, Json(record)).into_response(),
    })
}

fn page(pairs: &Pairs, records: Vec<impl Serialize>) -> Result<Response, Problem> {
    Ok(record::paged(record::page(pairs, MAX_PAGE, MAX_PAGE)?, records, |record| record))
}

/// List the workflows in force, one for each scope.
#[utoipa::path(get, path = "/admin/api/v1/workflows", tag = "workflows",
    params(("limit" = Option<i64>, Query, description = "1 to 1000, default 1000"), ("offset" = Option<i64>, Query, description = "Default 0")),
    responses((status = 200, description = "The versions in force; X-Total-Count has their number", body = Vec<WorkflowRecord>),
        (status = 400, description = "Invalid parameters"), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:workflows:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Workflows>>,
    Query(pairs): Query<Pairs>,
) -> Result<Response, Problem> {
    let access = authorized.documents(&app);
    let mut records = StoredWorkflows::load(&access).await?.records(&access);
    records.retain(WorkflowRecord::is_active);
    page(&pairs, records)
}

/// List versions, of all scopes or of one, from the newest to the oldest.
#[utoipa::path(get, path = "/admin/api/v1/workflows/versions", tag = "workflows",
    params(("scope_type" = Option<String>, Query, description = "Only global, provider, provider_model, path, provider_path or provider_model_path"),
        ("scope_provider_name" = Option<String>, Query, description = "Only scopes with this provider"),
        ("scope_model" = Option<String>, Query, description = "Only scopes with this model"),
        ("scope_user_path" = Option<String>, Query, description = "Only scopes with this user path"),
        ("limit" = Option<i64>, Query, description = "1 to 1000, default 1000"), ("offset" = Option<i64>, Query, description = "Default 0")),
    responses((status = 200, description = "The versions; X-Total-Count has their number", body = Vec<WorkflowRecord>),
        (status = 400, description = "Invalid parameters"), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:workflows:read"])))]
pub async fn versions(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Workflows>>,
    Query(pairs): Query<Pairs>,
) -> Result<Response, Problem> {
    let types = WorkflowScopeType::ALL.map(|scope_type| (scope_type.as_str(), Some(scope_type)));
    let scope_type = query::choice(&pairs, "scope_type", &types, None)?;
    let path = query::text(&pairs, "scope_user_path").map(UserPath::parse).transpose();
    let path = path.map_err(|reason| fault::invalid_parameter("scope_user_path", reason))?;
    let fits = |wanted: Option<&str>, member: &Option<String>| {
        wanted.is_none_or(|wanted| member.as_deref() == Some(wanted))
    };
    let access = authorized.documents(&app);
    let mut records = StoredWorkflows::load(&access).await?.records(&access);
    records.retain(|record| {
        // A version whose scope is not known is always listed.
        record.scope().is_none_or(|scope| {
            scope_type.is_none_or(|wanted| wanted == scope.scope_type())
                && fits(query::text(&pairs, "scope_provider_name"), &scope.scope_provider_name)
                && fits(query::text(&pairs, "scope_model"), &scope.scope_model)
                && fits(path.as_ref().map(UserPath::as_str), &scope.scope_user_path)
        })
    });
    page(&pairs, records)
}

/// Get a version.
#[utoipa::path(get, path = "/admin/api/v1/workflows/{id}", tag = "workflows", params(("id" = String, Path, description = "The id of the version")),
    responses((status = 200, description = "The version", body = WorkflowRecord), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such version")),
    security(("bearer" = ["admin:workflows:read"])))]
pub async fn read(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Workflows>>,
    Named(id): Named,
) -> Result<Response, Problem> {
    answer(&authorized.documents(&app), StatusCode::OK, &id).await
}

/// Create a version and put it in force for its scope. `If-Match` refers to the version in force before.
#[utoipa::path(post, path = "/admin/api/v1/workflows", tag = "workflows", request_body = WorkflowBody,
    responses((status = 201, description = "The version", body = WorkflowRecord), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized"), (status = 412, description = "Another version was put in force in the meantime")),
    security(("bearer" = ["admin:workflows:write"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Workflows>>,
    headers: HeaderMap,
    Strict(body): Strict<WorkflowBody>,
) -> Result<Response, Problem> {
    let actor = authorized.principal.actor();
    let gateway = &app.gateway;
    let mut workflow = Workflow {
        id: ids::prefixed("wf", gateway.clock.now(), &*gateway.entropy),
        scope: body.scope.normalized()?,
        version: 0,
        name: body.name,
        description: body.description,
        workflow_payload: body.workflow_payload,
        created_by: actor.to_owned(),
    };
    workflow.validate()?;
    let access = authorized.documents(&app);
    check_provider(&access.snapshot().routes, &workflow.scope)?;
    // Held until the activation refers to the guardrails: they cannot be deleted then.
    let _turn = app.naming.lock().await;
    references::check(&access, &workflow.workflow_payload).await?;
    // The number is taken before the version is written: versions never change, so a number that two requests have
    // taken could not be corrected. If the process ends here, the number is not used, or the version is not in force.
    workflow.version = activation::take_number(&access, actor, &workflow.scope, &headers).await?;
    let collection = access.collection::<Workflow>();
    collection.put(&workflow, Writing::Create, actor, None).await?;
    activation::put_in_force(&access, actor, &workflow).await?;
    answer(&access, StatusCode::CREATED, &workflow.id).await
}

/// The stored activation of a scope, or one without a version in force.
pub(super) async fn activation_of_scope(
    access: &TenantAccess<'_>,
    scope: &str,
) -> Result<WorkflowActivation, Problem> {
    let stored = StoredWorkflows::load(access).await?;
    let known = access.collection::<WorkflowActivation>().get_readable(scope).await?;
    Ok(known.map(|known| known.value).unwrap_or_else(|| WorkflowActivation {
        scope: scope.to_owned(),
        versions: stored.newest(scope),
        active: None,
        guardrails: Vec::new(),
    }))
}

/// Rejects the scope of a provider that does not exist: no call would match it.
pub(super) fn check_provider(routes: &Routes, scope: &WorkflowScope) -> Result<(), Fault> {
    let Some(name) = &scope.scope_provider_name else { return Ok(()) };
    if routes.instances.contains_key(name) {
        return Ok(());
    }
    let hint = nearest::hint(name, routes.instances.keys().map(String::as_str));
    let message = format!("There is no provider '{name}'.{hint}");
    Err(fault::invalid_parameter("scope.scope_provider_name", message))
}
