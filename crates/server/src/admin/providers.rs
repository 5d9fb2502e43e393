//! `/admin/api/v1/providers`: provider instances. API keys are write-only.

pub mod connection_test;
mod draft;
mod health;
mod recent_calls;
mod view;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use domain::fault::{self, Fault};
use domain::resources::Resource as _;
use domain::resources::provider::{Provider, ProviderSource};
use http::{HeaderMap, StatusCode};
use pipeline::routing::routes::Instance;
use store::Write as Writing;

use super::crud;
use super::names::Names;
use super::record;
use crate::App;
use crate::authorized::{Authorized, Providers, Read, Write};
use crate::body::{Patch, Strict};
use crate::fault::Problem;
use crate::path::Named;
use crate::tenant_access::TenantAccess;
pub use draft::ProviderBody;
pub use health::{ProviderHealth, of as health_of};
use view::{ProviderView, TypeView};
pub use view::{StatusView, status as status_of};

/// List provider instances from all sources.
#[utoipa::path(get, path = "/admin/api/v1/providers", tag = "providers",
    responses((status = 200, description = "The instances", body = Vec<ProviderView>), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:providers:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Providers>>,
) -> Json<Vec<ProviderView>> {
    let (instances, tenant) = (&authorized.snapshot.routes.instances, authorized.reported_tenant());
    let tenant = tenant.map(|tenant| &**tenant);
    Json(instances.values().map(|instance| view::show(&app, instance, tenant)).collect())
}

/// List the provider types.
#[utoipa::path(get, path = "/admin/api/v1/providers/types", tag = "providers",
    responses((status = 200, description = "The types", body = Vec<TypeView>), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:providers:read"])))]
pub async fn types(_: Authorized<Read<Providers>>) -> Json<Vec<TypeView>> {
    Json(view::types())
}

/// List the health of all instances: circuit breakers, error rates and latency per model, and their calls in each of
/// the last 60 minutes. The figures are those of this process.
#[utoipa::path(get, path = "/admin/api/v1/providers/status", tag = "providers",
    responses((status = 200, description = "The instances", body = Vec<StatusView>), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:providers:read"])))]
pub async fn status(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Providers>>,
) -> Json<Vec<StatusView>> {
    let (instances, tenant) = (&authorized.snapshot.routes.instances, authorized.reported_tenant());
    let tenant = tenant.map(|tenant| &**tenant);
    Json(instances.values().map(|instance| view::status(&app, instance, tenant)).collect())
}

/// Create a provider instance.
#[utoipa::path(post, path = "/admin/api/v1/providers", tag = "providers", request_body = ProviderBody,
    responses((status = 201, description = "The instance", body = ProviderView), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized"), (status = 409, description = "The name is taken")),
    security(("bearer" = ["admin:providers:write"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Providers>>,
    Strict(body): Strict<ProviderBody>,
) -> Result<Response, Problem> {
    let _turn = app.naming.lock().await;
    let provider = body.provider(None)?;
    let access = authorized.documents(&app);
    if own(&access, &provider.name).is_some() {
        return Err(fault::conflict(format!("There is already a provider '{}'.", provider.name))
            .param("name")
            .into());
    }
    write(&access, authorized.principal.actor(), provider, Writing::Create, None, StatusCode::CREATED).await
}

/// Get a provider instance.
#[utoipa::path(get, path = "/admin/api/v1/providers/{name}", tag = "providers", params(("name" = String, Path, description = "The instance")),
    responses((status = 200, description = "The instance", body = ProviderView), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such instance")),
    security(("bearer" = ["admin:providers:read"])))]
pub async fn read(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Providers>>,
    Named(name): Named,
) -> Result<Response, Problem> {
    let instance = find(&authorized.snapshot.routes.instances, &name)?;
    let stored = authorized.documents(&app).collection::<Provider>().get_readable(&name).await?;
    let view = Json(view::show(&app, &instance, authorized.reported_tenant().map(|tenant| &**tenant)));
    Ok(match stored {
        Some(stored) => record::answer(StatusCode::OK, &stored.etag(), view.0),
        None => view.into_response(),
    })
}

/// Update or create an instance. Absent members keep their value, null clears one; a new `base_url` without a key
/// clears the key, so that a key is never sent to another address. An instance from the environment or the
/// configuration file is overridden until the override is deleted.
#[utoipa::path(put, path = "/admin/api/v1/providers/{name}", tag = "providers", params(("name" = String, Path, description = "The instance")),
    request_body = ProviderBody,
    responses((status = 200, description = "Replaced", body = ProviderView), (status = 201, description = "Created", body = ProviderView),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 409, description = "The name is taken by another kind"), (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:providers:write"])))]
pub async fn replace(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Providers>>,
    Named(name): Named,
    headers: HeaderMap,
    patch: Patch,
) -> Result<Response, Problem> {
    let _turn = app.naming.lock().await;
    let access = authorized.documents(&app);
    let status = if own(&access, &name).is_some() { StatusCode::OK } else { StatusCode::CREATED };
    let provider = edited(&access, &name, &patch)?;
    write(
        &access,
        authorized.principal.actor(),
        provider,
        Writing::Upsert,
        record::if_match(&headers),
        status,
    )
    .await
}

/// The instance that a PUT asks for: the members that were sent, over those in force.
pub(super) fn edited(access: &TenantAccess<'_>, name: &str, patch: &Patch) -> Result<Provider, Fault> {
    let known = own(access, name);
    let stored = known.as_ref().map(|known| &known.provider);
    let mut body = ProviderBody::over(stored, patch)?;
    body.name = Some(record::name("name", body.name.take(), name.to_owned())?);
    body.provider(stored)
}

/// The tenant's own instance in the current snapshot: one of a tenant has nothing, above all no key, of the one of the
/// default tenant that it replaces. Read after the `naming` lock is acquired, so that a waiting request does not restore
/// a value that was just replaced.
fn own(access: &TenantAccess<'_>, name: &str) -> Option<Arc<Instance>> {
    let snapshot = access.snapshot();
    let instance = snapshot.routes.instances.get(name).filter(|known| is_own(access, known));
    instance.filter(|known| known.source != ProviderSource::Default).cloned()
}

fn is_own(access: &TenantAccess<'_>, instance: &Instance) -> bool {
    instance.tenant.as_deref() == access.tenant()
}

/// Writes an instance. The caller must hold the `naming` lock.
async fn write(
    access: &TenantAccess<'_>,
    actor: &str,
    provider: Provider,
    writing: Writing,
    if_match: Option<&str>,
    status: StatusCode,
) -> Result<Response, Problem> {
    let app = access.app;
    judge_address(app, &provider)?;
    Names::load(access).await?.free(Provider::KIND, &provider.name)?;
    let stored = access.collection::<Provider>().put(&provider, writing, actor, if_match).await?;
    app.refresher.refresh().await?;
    let (refresher, name) = (app.refresher.clone(), provider.name.clone());
    let tenant = access.tenant().map(str::to_owned);
    app.gateway.tasks.spawn(async move { refresher.discover_one(tenant.as_deref(), &name).await });
    let instance = find(&access.snapshot().routes.instances, &provider.name)?;
    Ok(record::answer(status, &stored.etag(), view::show(app, &instance, access.tenant())))
}

/// Rejects an address that the egress policy forbids when it is configured, not when it is first used.
pub(super) fn judge_address(app: &App, provider: &Provider) -> Result<(), Fault> {
    if provider.base_url.is_empty() {
        return Ok(());
    }
    let judged =
        app.gateway.egress.destination(&provider.base_url, app.refresher.trust(ProviderSource::Admin));
    judged.map(drop).map_err(|error| {
        fault::invalid_parameter("base_url", format!("This address cannot be used: {}.", error.reason()))
    })
}

fn find(
    instances: &std::collections::BTreeMap<String, Arc<Instance>>,
    name: &str,
) -> Result<Arc<Instance>, Fault> {
    instances.get(name).cloned().ok_or_else(|| fault::provider_not_found(name))
}

/// Delete an instance, or the override of an instance from the environment or the file, whose values then apply again.
#[utoipa::path(delete, path = "/admin/api/v1/providers/{name}", tag = "providers", params(("name" = String, Path, description = "The instance")),
    responses((status = 204, description = "Gone"), (status = 401, description = "Unauthorized"), (status = 404, description = "No such instance"),
        (status = 409, description = "Configured elsewhere, or still in use")),
    security(("bearer" = ["admin:providers:write"])))]
pub async fn delete(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Providers>>,
    Named(name): Named,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let _turn = app.naming.lock().await;
    // Looked up in storage: an unreadable document is not in the snapshot and can still be deleted.
    let access = authorized.documents(&app);
    if access.documents().find(Provider::KIND, &name).await?.is_none() {
        let instance = find(&access.snapshot().routes.instances, &name)?;
        return Err(match access.tenant() {
            Some(tenant) => record::inherited("provider", &name, tenant).into(),
            None => not_stored(&name, instance.source).into(),
        });
    }
    let providers = access.collection::<Provider>();
    let (actor, if_match) = (authorized.principal.actor(), record::if_match(&headers));
    // Of a tenant: the name continues to exist as that of the default tenant's instance.
    match app.refresher.configured_source(&name) {
        Some(_) => providers.delete_override(&name, actor, if_match).await?,
        None => {
            let deleted = providers.delete_any(&name, actor, if_match).await;
            deleted.map_err(|error| crud::not_deleted(&name, error))?;
        }
    }
    app.refresher.refresh().await?;
    Ok(StatusCode::NO_CONTENT)
}

fn not_stored(name: &str, source: ProviderSource) -> Fault {
    let place = match source {
        ProviderSource::Env => "in the environment",
        ProviderSource::Config => "in the configuration file",
        _ => "by the gateway itself",
    };
    fault::conflict(format!("'{name}' is configured {place} and cannot be deleted here."))
}

/// Discover the models of an instance and update its list.
#[utoipa::path(post, path = "/admin/api/v1/providers/{name}/discover", tag = "providers",
    params(("name" = String, Path, description = "The instance")),
    responses((status = 200, description = "The instance", body = ProviderView), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such instance")),
    security(("bearer" = ["admin:providers:write"])))]
pub async fn discover(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Providers>>,
    Named(name): Named,
) -> Result<Json<ProviderView>, Problem> {
    let access = authorized.documents(&app);
    if !is_own(&access, &*find(&authorized.snapshot.routes.instances, &name)?) {
        authorized.principal.require_no_tenant()?;
    }
    app.refresher.discover_one(access.tenant(), &name).await;
    let instance = find(&access.snapshot().routes.instances, &name)?;
    Ok(Json(view::show(&app, &instance, access.tenant())))
}
