//! `/admin/api/v1/aliases`: alternative names for models, pools and combos. Slashes in a name need no encoding.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use domain::fault::{self, Fault};
use domain::resources::Resource;
use domain::resources::alias::Alias;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use store::Stored;
use utoipa::ToSchema;

use super::crud::{self, Served};
use super::names::Names;
use super::record::{self, ResourceOrigin};
use crate::App;
use crate::authorized::{Aliases, Authorized, Read, Write};
use crate::body::Patch;
use crate::fault::Problem;
use crate::path::Named;
use crate::query::Pairs;
use crate::tenant_access::TenantAccess;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AliasBody {
    /// Optional, because the name is in the path.
    #[serde(default)]
    pub name: Option<String>,
    /// `provider/model`, a model, a pool or a combo.
    pub target: String,
    #[serde(default)]
    pub description: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct AliasView {
    pub name: String,
    pub target: String,
    pub description: String,
    #[serde(flatten)]
    pub origin: ResourceOrigin,
}

impl Served for Alias {
    type View = AliasView;
    const TITLE: &'static str = "alias";

    fn view(stored: Stored<Self>, access: &TenantAccess<'_>) -> AliasView {
        AliasView {
            origin: ResourceOrigin::of(access.app, &stored),
            name: stored.value.name,
            target: stored.value.target,
            description: stored.value.description,
        }
    }

    fn edited(name: &str, known: Option<&Self>, patch: &Patch) -> Result<Self, Fault> {
        let body: AliasBody = patch.over(known, &record::ORIGIN)?;
        let name = record::name("name", body.name, name.to_owned())?;
        Ok(Self { name, target: body.target, description: body.description.unwrap_or_default() })
    }

    fn check(&self, names: &Names) -> Result<(), Fault> {
        names.free(Self::KIND, &self.name)?;
        if names.aliases.contains_key(&self.target) {
            let message = format!("'{}' is an alias, and an alias does not lead to an alias.", self.target);
            return Err(fault::invalid_parameter("target", message));
        }
        if let Some(other) = names.aliases.values().find(|other| other.target == self.name) {
            let message = format!(
                "The alias '{}' leads to '{}', and an alias does not lead to an alias.",
                other.name, self.name
            );
            return Err(fault::conflict(message).param("name"));
        }
        if !names.combos.contains_key(&self.target) {
            let led = names.targets(&self.target);
            return led.map(drop).map_err(|problem| fault::invalid_parameter("target", problem));
        }
        match names.combos.values().find(|combo| combo.selectors.contains(&self.name)) {
            None => Ok(()),
            Some(combo) => Err(fault::conflict(format!(
                "'{}' is a selector of the combo '{}', and a combo is not made of combos.",
                self.name, combo.name
            ))
            .param("target")),
        }
    }
}

/// List aliases by name.
#[utoipa::path(get, path = "/admin/api/v1/aliases", tag = "aliases",
    params(("limit" = Option<i64>, Query, description = "1 to 10000, default 10000"), ("offset" = Option<i64>, Query, description = "Default 0")),
    responses((status = 200, description = "The aliases; X-Total-Count has their number", body = Vec<AliasView>),
        (status = 400, description = "Invalid parameters"), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:aliases:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Aliases>>,
    Query(pairs): Query<Pairs>,
) -> Result<Response, Problem> {
    crud::list::<Alias>(&authorized.documents(&app), &pairs).await
}

/// Get an alias.
#[utoipa::path(get, path = "/admin/api/v1/aliases/{*name}", tag = "aliases", params(("name" = String, Path, description = "The alias, slashes and all")),
    responses((status = 200, description = "The alias", body = AliasView), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such alias")),
    security(("bearer" = ["admin:aliases:read"])))]
pub async fn read(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Aliases>>,
    Named(name): Named,
) -> Result<Response, Problem> {
    crud::read::<Alias>(&authorized.documents(&app), &name).await
}

/// Replace or create an alias.
#[utoipa::path(put, path = "/admin/api/v1/aliases/{*name}", tag = "aliases", params(("name" = String, Path, description = "The alias, slashes and all")),
    request_body = AliasBody,
    responses((status = 200, description = "Replaced", body = AliasView), (status = 201, description = "Created", body = AliasView),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 409, description = "The name is taken by another kind"), (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:aliases:write"])))]
pub async fn replace(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Aliases>>,
    Named(name): Named,
    headers: HeaderMap,
    patch: Patch,
) -> Result<Response, Problem> {
    crud::replace::<Alias>(&authorized.documents(&app), authorized.principal.actor(), &name, &headers, &patch)
        .await
}

/// Delete an alias.
#[utoipa::path(delete, path = "/admin/api/v1/aliases/{*name}", tag = "aliases", params(("name" = String, Path, description = "The alias, slashes and all")),
    responses((status = 204, description = "Gone"), (status = 401, description = "Unauthorized"), (status = 404, description = "No such alias"),
        (status = 409, description = "Still in use"), (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:aliases:write"])))]
pub async fn delete(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Aliases>>,
    Named(name): Named,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    crud::delete::<Alias>(&authorized.documents(&app), authorized.principal.actor(), &name, &headers).await
}
