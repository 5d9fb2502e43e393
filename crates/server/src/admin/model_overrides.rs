//! `/admin/api/v1/model-overrides`: access to a model and its metadata. Slashes need no encoding.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use domain::fault::{self, Fault};
use domain::resources::Resource as _;
use domain::resources::model_override::{Metadata, ModelOverride};
use domain::user_path::UserPath;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use store::Stored;
use utoipa::ToSchema;
use wire::vendors;

use super::crud::{self, Served};
use super::names::Names;
use super::record::{self, ResourceOrigin};
use crate::App;
use crate::authorized::{Authorized, ModelOverrides, Read, Write};
use crate::body::Patch;
use crate::fault::Problem;
use crate::nearest;
use crate::path::Named;
use crate::query::Pairs;
use crate::tenant_access::TenantAccess;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OverrideBody {
    /// Optional, because the selector is in the path.
    #[serde(default)]
    pub selector: Option<String>,
    /// Default: true.
    #[serde(default)]
    pub enabled: Option<bool>,
    /// Subtrees that may use the model, each with a leading slash; an empty list allows everyone.
    #[serde(default)]
    pub user_paths: Option<Vec<String>>,
    #[serde(default)]
    pub metadata: Option<Metadata>,
}

#[derive(Serialize, ToSchema)]
pub struct OverrideView {
    pub selector: String,
    pub enabled: bool,
    pub user_paths: Vec<String>,
    pub metadata: Metadata,
    #[serde(flatten)]
    pub origin: ResourceOrigin,
}

impl OverrideBody {
    fn document(self, selector: String) -> Result<ModelOverride, Fault> {
        let mut document = ModelOverride {
            selector,
            enabled: self.enabled.unwrap_or(true),
            user_paths: self.user_paths.unwrap_or_default(),
            metadata: self.metadata.unwrap_or_default(),
        };
        // Validated as sent, stored in normalized form.
        document.validate()?;
        for path in &mut document.user_paths {
            if let Ok(normal) = UserPath::parse(path) {
                *path = normal.as_str().to_owned();
            }
        }
        Ok(document)
    }
}

impl Served for ModelOverride {
    type View = OverrideView;
    const TITLE: &'static str = "model override";

    fn view(stored: Stored<Self>, access: &TenantAccess<'_>) -> OverrideView {
        OverrideView {
            origin: ResourceOrigin::of(access.app, &stored),
            selector: stored.value.selector,
            enabled: stored.value.enabled,
            user_paths: stored.value.user_paths,
            metadata: stored.value.metadata,
        }
    }

    fn edited(name: &str, known: Option<&Self>, patch: &Patch) -> Result<Self, Fault> {
        let mut body: OverrideBody = patch.over(known, &record::ORIGIN)?;
        let selector = record::name("selector", body.selector.take(), name.to_owned())?;
        body.document(selector)
    }

    /// Checks the provider only: a model that no provider lists yet can be disabled in advance.
    fn check(&self, names: &Names) -> Result<(), Fault> {
        let provider = self.selector.split_once('/').map_or(&*self.selector, |(provider, _)| provider);
        if provider == "*" || names.routes.has_provider(provider) || vendors::find(provider).is_some() {
            return Ok(());
        }
        let instances = names.routes.instances.keys().map(String::as_str);
        let types = vendors::list().iter().map(|vendor| vendor.name);
        let hint = nearest::hint(provider, instances.chain(types));
        let message = format!("'{provider}' is neither a provider nor a type of provider.{hint}");
        Err(fault::invalid_parameter("selector", message))
    }
}

/// List model overrides by selector.
#[utoipa::path(get, path = "/admin/api/v1/model-overrides", tag = "model-overrides",
    params(("limit" = Option<i64>, Query, description = "1 to 10000, default 10000"), ("offset" = Option<i64>, Query, description = "Default 0")),
    responses((status = 200, description = "The overrides; X-Total-Count has their number", body = Vec<OverrideView>),
        (status = 400, description = "Invalid parameters"), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:model-overrides:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<ModelOverrides>>,
    Query(pairs): Query<Pairs>,
) -> Result<Response, Problem> {
    crud::list::<ModelOverride>(&authorized.documents(&app), &pairs).await
}

/// Get a model override.
#[utoipa::path(get, path = "/admin/api/v1/model-overrides/{*selector}", tag = "model-overrides",
    params(("selector" = String, Path, description = "provider/model")),
    responses((status = 200, description = "The override", body = OverrideView), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such override")),
    security(("bearer" = ["admin:model-overrides:read"])))]
pub async fn read(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<ModelOverrides>>,
    Named(selector): Named,
) -> Result<Response, Problem> {
    crud::read::<ModelOverride>(&authorized.documents(&app), &selector).await
}

/// Replace or create an override.
#[utoipa::path(put, path = "/admin/api/v1/model-overrides/{*selector}", tag = "model-overrides",
    params(("selector" = String, Path, description = "provider/model")), request_body = OverrideBody,
    responses((status = 200, description = "Replaced", body = OverrideView), (status = 201, description = "Created", body = OverrideView),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:model-overrides:write"])))]
pub async fn replace(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<ModelOverrides>>,
    Named(selector): Named,
    headers: HeaderMap,
    patch: Patch,
) -> Result<Response, Problem> {
    crud::replace::<ModelOverride>(
        &authorized.documents(&app),
        authorized.principal.actor(),
        &selector,
        &headers,
        &patch,
    )
    .await
}

/// Delete an override: the provider's and the catalogue's values apply again.
#[utoipa::path(delete, path = "/admin/api/v1/model-overrides/{*selector}", tag = "model-overrides",
    params(("selector" = String, Path, description = "provider/model")),
    responses((status = 204, description = "Gone"), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such override"), (status = 409, description = "Configured in the file"), (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:model-overrides:write"])))]
pub async fn delete(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<ModelOverrides>>,
    Named(selector): Named,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    crud::delete::<ModelOverride>(
        &authorized.documents(&app),
        authorized.principal.actor(),
        &selector,
        &headers,
    )
    .await
}
