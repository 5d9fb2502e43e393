//! `/admin/api/v1/combos`: virtual models that combine several selectors. A combo's id is its name.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::response::Response;
use domain::fault::{self, Fault};
use domain::resources::Resource;
use domain::resources::combo::Combo;
use domain::strategy::Strategy;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use store::Stored;
use utoipa::ToSchema;

use super::crud::{self, Served};
use super::names::Names;
use super::record::{self, ResourceOrigin};
use crate::App;
use crate::authorized::{Authorized, Combos, Read, Write};
use crate::body::{Patch, Strict};
use crate::fault::Problem;
use crate::path::Named;
use crate::query::Pairs;
use crate::tenant_access::TenantAccess;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ComboBody {
    /// Optional in a PUT.
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub description: Option<String>,
    /// 2 to 20, in order; `models` and `targets` are aliases of this field.
    #[serde(alias = "models", alias = "targets")]
    pub selectors: Vec<String>,
    /// Default: primary_fallback.
    #[serde(default)]
    pub strategy: Option<Strategy>,
    /// By selector; the default is 1.
    #[serde(default)]
    pub weights: Option<BTreeMap<String, f64>>,
}

#[derive(Serialize, ToSchema)]
pub struct ComboView {
    pub id: String,
    pub name: String,
    pub description: String,
    pub selectors: Vec<String>,
    pub strategy: Strategy,
    pub weights: BTreeMap<String, f64>,
    #[serde(flatten)]
    pub origin: ResourceOrigin,
}

#[derive(Serialize, ToSchema)]
pub struct Validation {
    /// True when every selector resolves to a target.
    pub valid: bool,
    pub selectors: Vec<SelectorStatus>,
}

#[derive(Serialize, ToSchema)]
pub struct SelectorStatus {
    pub selector: String,
    pub ok: bool,
    /// As `instance/model`, in the order in which they would be tried.
    pub targets: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl ComboBody {
    fn combo(self, name: String) -> Combo {
        Combo {
            name,
            description: self.description.unwrap_or_default(),
            selectors: self.selectors,
            strategy: self.strategy.unwrap_or(Strategy::PrimaryFallback),
            weights: self.weights.unwrap_or_default(),
        }
    }
}

impl Served for Combo {
    type View = ComboView;
    const TITLE: &'static str = "combo";

    fn view(stored: Stored<Self>, access: &TenantAccess<'_>) -> ComboView {
        let origin = ResourceOrigin::of(access.app, &stored);
        let combo = stored.value;
        ComboView {
            id: combo.name.clone(),
            name: combo.name,
            description: combo.description,
            selectors: combo.selectors,
            strategy: combo.strategy,
            weights: combo.weights,
            origin,
        }
    }

    fn edited(name: &str, known: Option<&Self>, patch: &Patch) -> Result<Self, Fault> {
        let mut patch = patch.clone();
        ["models", "targets"].iter().for_each(|alias| patch.rename(alias, "selectors"));
        let mut body: ComboBody =
            patch.over(known, &["id", "source", "tenant_id", "overrides", "created_at", "updated_at"])?;
        let name = record::name("name", body.name.take(), name.to_owned())?;
        let mut combo = body.combo(name);
        // Unless weights were sent, drops those of removed selectors.
        if patch.sent("weights").is_none() {
            combo.weights.retain(|selector, _| combo.selectors.contains(selector));
        }
        Ok(combo)
    }

    fn check(&self, names: &Names) -> Result<(), Fault> {
        names.free(Self::KIND, &self.name)?;
        apart(self, names)?;
        for (index, selector) in self.selectors.iter().enumerate() {
            names
                .of_combo(&self.name, selector)
                .map_err(|problem| fault::invalid_parameter(format!("selectors[{index}]"), problem))?;
        }
        Ok(())
    }
}

/// Rejects a combo that another combo would contain, directly or through an alias.
fn apart(combo: &Combo, names: &Names) -> Result<(), Fault> {
    let leads_here = |name: &String| {
        *name == combo.name || names.aliases.get(name).is_some_and(|alias| alias.target == combo.name)
    };
    let others = names.combos.values().filter(|other| other.name != combo.name);
    match others.flat_map(|other| other.selectors.iter().map(move |selector| (other, selector))).find(|(_, selector)| leads_here(selector)) {
        None => Ok(()),
        Some((other, selector)) => Err(fault::conflict(format!(
            "The combo '{}' has the selector '{selector}', which would lead to this combo, and a combo is not made of combos.",
            other.name
        ))
        .param("name")),
    }
}

/// Rejects changes while combos are disabled; stored ones can still be read.
pub(super) fn switched_on(app: &App) -> Result<(), Fault> {
    if app.config.combos_enabled {
        return Ok(());
    }
    Err(fault::feature_unavailable("Combos are switched off: set COMBOS_ENABLED=true."))
}

/// List combos by name.
#[utoipa::path(get, path = "/admin/api/v1/combos", tag = "combos",
    params(("limit" = Option<i64>, Query, description = "1 to 10000, default 10000"), ("offset" = Option<i64>, Query, description = "Default 0")),
    responses((status = 200, description = "The combos; X-Total-Count has their number", body = Vec<ComboView>),
        (status = 400, description = "Invalid parameters"), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:combos:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Combos>>,
    Query(pairs): Query<Pairs>,
) -> Result<Response, Problem> {
    crud::list::<Combo>(&authorized.documents(&app), &pairs).await
}

/// Create a combo.
#[utoipa::path(post, path = "/admin/api/v1/combos", tag = "combos", request_body = ComboBody,
    responses((status = 201, description = "The combo", body = ComboView), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized"), (status = 409, description = "The name is taken"),
        (status = 503, description = "Combos are switched off")),
    security(("bearer" = ["admin:combos:write"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Combos>>,
    Strict(mut body): Strict<ComboBody>,
) -> Result<Response, Problem> {
    switched_on(&app)?;
    let name = body.name.take().unwrap_or_default();
    crud::create(&authorized.documents(&app), authorized.principal.actor(), body.combo(name)).await
}

/// Get a combo.
#[utoipa::path(get, path = "/admin/api/v1/combos/{id}", tag = "combos", params(("id" = String, Path, description = "The combo's name; a slash in it is encoded")),
    responses((status = 200, description = "The combo", body = ComboView), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such combo")),
    security(("bearer" = ["admin:combos:read"])))]
pub async fn read(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Combos>>,
    Named(id): Named,
) -> Result<Response, Problem> {
    crud::read::<Combo>(&authorized.documents(&app), &id).await
}

/// Replace or create a combo.
#[utoipa::path(put, path = "/admin/api/v1/combos/{id}", tag = "combos", params(("id" = String, Path, description = "The combo's name; a slash in it is encoded")),
    request_body = ComboBody,
    responses((status = 200, description = "Replaced", body = ComboView), (status = 201, description = "Created", body = ComboView),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 409, description = "The name is taken by another kind"), (status = 412, description = "Changed in the meantime"),
        (status = 503, description = "Combos are switched off")),
    security(("bearer" = ["admin:combos:write"])))]
pub async fn replace(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Combos>>,
    Named(id): Named,
    headers: HeaderMap,
    patch: Patch,
) -> Result<Response, Problem> {
    switched_on(&app)?;
    crud::replace::<Combo>(&authorized.documents(&app), authorized.principal.actor(), &id, &headers, &patch)
        .await
}

/// Delete a combo.
#[utoipa::path(delete, path = "/admin/api/v1/combos/{id}", tag = "combos", params(("id" = String, Path, description = "The combo's name; a slash in it is encoded")),
    responses((status = 204, description = "Gone"), (status = 401, description = "Unauthorized"), (status = 404, description = "No such combo"),
        (status = 409, description = "Still in use"), (status = 412, description = "Changed in the meantime"),
        (status = 503, description = "Combos are switched off")),
    security(("bearer" = ["admin:combos:write"])))]
pub async fn delete(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Combos>>,
    Named(id): Named,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    switched_on(&app)?;
    crud::delete::<Combo>(&authorized.documents(&app), authorized.principal.actor(), &id, &headers).await
}

/// Validate a combo: resolve each of its selectors. Changes nothing.
#[utoipa::path(post, path = "/admin/api/v1/combos/{id}/validate", tag = "combos",
    params(("id" = String, Path, description = "The combo's name; a slash in it is encoded")),
    responses((status = 200, description = "Where its selectors lead", body = Validation), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such combo")),
    security(("bearer" = ["admin:combos:read"])))]
pub async fn validate(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Combos>>,
    Named(id): Named,
) -> Result<Json<Validation>, Problem> {
    let access = authorized.documents(&app);
    let combo = crud::find::<Combo>(&access, &id).await?.value;
    let names = Names::load(&access).await?;
    let tried = combo.selectors.iter().map(|selector| {
        let led = names.of_combo(&combo.name, selector);
        SelectorStatus {
            selector: selector.clone(),
            ok: led.is_ok(),
            problem: led.as_ref().err().cloned(),
            targets: led.unwrap_or_default(),
        }
    });
    let selectors: Vec<SelectorStatus> = tried.collect();
    Ok(Json(Validation { valid: selectors.iter().all(|selector| selector.ok), selectors }))
}
