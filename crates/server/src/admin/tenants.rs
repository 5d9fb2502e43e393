//! `/admin/api/v1/tenants`: tenants, which can be suspended.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use domain::capability::Capability;
use domain::fault::{self, Fault};
use domain::resources::tenant::{Tenant, TenantStatus};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::{Stored, Write as Writing};
use utoipa::ToSchema;

use super::crud::{self, Served};
use super::names::Names;
use super::record;
use crate::App;
use crate::authorized::{Authorized, Read, Tenants, Write};
use crate::body::{EmptyBody, OptionalBody, Patch, Strict};
use crate::fault::Problem;
use crate::path::Named;
use crate::query::Pairs;
use crate::tenant_access::TenantAccess;

/// Members of the view that a PUT may repeat.
const READ_ONLY: [&str; 4] = ["slug", "status", "created_at", "updated_at"];

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantBody {
    /// 1 to 63 lower-case letters, digits or '-'; the tenant's permanent id
    pub slug: String,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantChange {
    /// Optional, because the id is in the path.
    #[serde(default)]
    pub id: Option<String>,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
}

#[derive(Serialize, ToSchema)]
pub struct TenantView {
    pub id: String,
    pub slug: String,
    pub name: String,
    /// active or suspended
    pub status: &'static str,
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    pub created_at: String,
    pub updated_at: String,
}

impl Served for Tenant {
    type View = TenantView;
    const TITLE: &'static str = "tenant";

    fn view(stored: Stored<Self>, _: &TenantAccess<'_>) -> TenantView {
        TenantView {
            slug: stored.value.id.clone(),
            id: stored.value.id,
            name: stored.value.name,
            status: stored.value.status.as_str(),
            metadata: stored.value.metadata,
            created_at: record::time(stored.created_at),
            updated_at: record::time(stored.updated_at),
        }
    }

    fn edited(name: &str, known: Option<&Self>, patch: &Patch) -> Result<Self, Fault> {
        let stored = known.map(|known| Editable { name: &known.name, metadata: &known.metadata });
        let body: TenantChange = patch.over(stored.as_ref(), &READ_ONLY)?;
        let id = record::name("id", body.id, name.to_owned())?;
        let status = known.map(|known| known.status).unwrap_or_default();
        Ok(Self { id, name: body.name.unwrap_or_default(), status, metadata: body.metadata })
    }

    fn check(&self, _: &Names) -> Result<(), Fault> {
        Ok(())
    }
}

/// The members of a tenant that a PUT may leave out.
#[derive(Serialize)]
struct Editable<'a> {
    name: &'a str,
    metadata: &'a Map<String, Value>,
}

/// Refuses a `tenant_id` that names no tenant, in editions that have tenants.
pub fn require_known(app: &App, tenant_id: Option<&str>) -> Result<(), Fault> {
    let Some(id) = tenant_id.filter(|_| app.gateway.capabilities.has(Capability::Identity)) else {
        return Ok(());
    };
    match app.gateway.snapshot().identities.tenants.has(id) {
        true => Ok(()),
        false => Err(fault::unknown_tenant(id)),
    }
}

/// List tenants by id.
#[utoipa::path(get, path = "/admin/api/v1/tenants", operation_id = "list_tenants", tag = "tenants",
    params(("limit" = Option<i64>, Query, description = "1 to 10000, default 10000"), ("offset" = Option<i64>, Query, description = "Default 0")),
    responses((status = 200, description = "The tenants; X-Total-Count has their number", body = Vec<TenantView>),
        (status = 400, description = "Invalid parameters"), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:tenants:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    _: Authorized<Read<Tenants>>,
    Query(pairs): Query<Pairs>,
) -> Result<Response, Problem> {
    crud::list::<Tenant>(&TenantAccess::of_default(&app), &pairs).await
}

/// Create a tenant.
#[utoipa::path(post, path = "/admin/api/v1/tenants", operation_id = "create_tenant", tag = "tenants", request_body = TenantBody,
    responses((status = 201, description = "The tenant", body = TenantView), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized"), (status = 409, description = "The slug is taken")),
    security(("bearer" = ["admin:tenants:write"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Tenants>>,
    Strict(body): Strict<TenantBody>,
) -> Result<Response, Problem> {
    let TenantBody { slug, name, metadata } = body;
    let name = name.unwrap_or_default();
    let tenant = Tenant { id: slug, name, status: TenantStatus::Active, metadata };
    crud::create(&TenantAccess::of_default(&app), authorized.principal.actor(), tenant).await
}

/// Get a tenant.
#[utoipa::path(get, path = "/admin/api/v1/tenants/{id}", operation_id = "get_tenant", tag = "tenants", params(("id" = String, Path, description = "The tenant")),
    responses((status = 200, description = "The tenant", body = TenantView), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such tenant")),
    security(("bearer" = ["admin:tenants:read"])))]
pub async fn read(
    State(app): State<Arc<App>>,
    _: Authorized<Read<Tenants>>,
    Named(id): Named,
) -> Result<Response, Problem> {
    crud::read::<Tenant>(&TenantAccess::of_default(&app), &id).await
}

/// Change or create a tenant. Its status is changed by suspend and activate.
#[utoipa::path(put, path = "/admin/api/v1/tenants/{id}", operation_id = "replace_tenant", tag = "tenants", params(("id" = String, Path, description = "The tenant")),
    request_body = TenantChange,
    responses((status = 200, description = "The tenant", body = TenantView), (status = 201, description = "Created", body = TenantView),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:tenants:write"])))]
pub async fn replace(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Tenants>>,
    Named(id): Named,
    headers: HeaderMap,
    patch: Patch,
) -> Result<Response, Problem> {
    crud::replace::<Tenant>(
        &TenantAccess::of_default(&app),
        authorized.principal.actor(),
        &id,
        &headers,
        &patch,
    )
    .await
}

/// Delete a tenant that no key and no user belongs to.
#[utoipa::path(delete, path = "/admin/api/v1/tenants/{id}", operation_id = "delete_tenant", tag = "tenants", params(("id" = String, Path, description = "The tenant")),
    responses((status = 204, description = "Gone"), (status = 401, description = "Unauthorized"), (status = 404, description = "No such tenant"),
        (status = 409, description = "Still in use"), (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:tenants:write"])))]
pub async fn delete(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Tenants>>,
    Named(id): Named,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    crud::delete::<Tenant>(&TenantAccess::of_default(&app), authorized.principal.actor(), &id, &headers).await
}

/// Suspend a tenant: its keys, users and tokens get 403 `tenant_suspended`.
#[utoipa::path(post, path = "/admin/api/v1/tenants/{id}/suspend", operation_id = "suspend_tenant", tag = "tenants", params(("id" = String, Path, description = "The tenant")),
    responses((status = 200, description = "The tenant", body = TenantView), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such tenant")),
    security(("bearer" = ["admin:tenants:write"])))]
pub async fn suspend(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Tenants>>,
    Named(id): Named,
    OptionalBody(EmptyBody {}): OptionalBody<EmptyBody>,
) -> Result<Response, Problem> {
    set_status(&app, &id, TenantStatus::Suspended, authorized.principal.actor()).await
}

/// Activate a suspended tenant.
#[utoipa::path(post, path = "/admin/api/v1/tenants/{id}/activate", operation_id = "activate_tenant", tag = "tenants", params(("id" = String, Path, description = "The tenant")),
    responses((status = 200, description = "The tenant", body = TenantView), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such tenant")),
    security(("bearer" = ["admin:tenants:write"])))]
pub async fn activate(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Tenants>>,
    Named(id): Named,
    OptionalBody(EmptyBody {}): OptionalBody<EmptyBody>,
) -> Result<Response, Problem> {
    set_status(&app, &id, TenantStatus::Active, authorized.principal.actor()).await
}

async fn set_status(app: &App, id: &str, status: TenantStatus, actor: &str) -> Result<Response, Problem> {
    let _turn = app.naming.lock().await;
    let access = TenantAccess::of_default(app);
    let stored = crud::find::<Tenant>(&access, id).await?;
    let etag = stored.etag();
    let tenant = Tenant { status, ..stored.value };
    let tenants = app.refresher.store().collection::<Tenant>();
    let stored = tenants.put(&tenant, Writing::Replace, actor, Some(&etag)).await?;
    app.refresher.refresh().await?;
    Ok(record::answer(StatusCode::OK, &stored.etag(), Tenant::view(stored, &access)))
}
