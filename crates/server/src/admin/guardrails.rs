//! `/admin/api/v1/guardrails`: checks of the texts of calls, which workflows refer to by name.

mod config_schema;
mod draft;
pub mod dry_run;
#[cfg(test)]
mod tests;
pub mod types;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use domain::fault::{self, Fault};
use domain::resources::guardrail::{
    Direction, Guardrail, GuardrailConfig, GuardrailMode, GuardrailType, OnError, OnUnreadable,
};
use domain::resources::provider::masked_header;
use http::{HeaderMap, StatusCode};
use pipeline::guardrails::{CompileError, CompiledGuardrail};
use pipeline::routing::resolve;
use pipeline::routing::routes::Routes;
use pipeline::services::webhooks;
use serde::Serialize;
use serde_json::Value;
use store::Stored;
use utoipa::ToSchema;

use super::crud::{self, Served};
use super::names::Names;
use super::record::{self, ResourceOrigin};
use crate::App;
use crate::authorized::{Authorized, Guardrails, Read, Write};
use crate::body::Patch;
use crate::fault::Problem;
use crate::path::Named;
use crate::query::Pairs;
use crate::tenant_access::TenantAccess;
pub use draft::GuardrailBody;

#[derive(Serialize, ToSchema)]
pub struct GuardrailView {
    pub name: String,
    #[serde(rename = "type")]
    pub guardrail_type: GuardrailType,
    /// The settings of the type, defaults included.
    #[schema(value_type = Object)]
    pub config: Value,
    pub direction: Direction,
    pub mode: GuardrailMode,
    pub description: Option<String>,
    /// The subtree whose calls it applies to; null for all.
    pub user_path: Option<String>,
    pub on_error: OnError,
    pub on_unreadable: OnUnreadable,
    #[serde(flatten)]
    pub origin: ResourceOrigin,
    /// Why the stored guardrail does not compile. The calls of workflows that refer to it are refused meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Served for Guardrail {
    type View = GuardrailView;
    const TITLE: &'static str = "guardrail";

    fn view(stored: Stored<Self>, access: &TenantAccess<'_>) -> GuardrailView {
        let origin = ResourceOrigin::of(access.app, &stored);
        let guardrail = stored.value;
        let error = compiled(access, &guardrail).err();
        GuardrailView {
            guardrail_type: guardrail.config.guardrail_type(),
            config: settings(&guardrail.config, &guardrail.headers),
            name: guardrail.name,
            direction: guardrail.direction,
            mode: guardrail.mode,
            description: guardrail.description,
            user_path: guardrail.user_path.map(|path| path.as_str().to_owned()),
            on_error: guardrail.on_error,
            on_unreadable: guardrail.on_unreadable,
            origin,
            error: error.map(|CompileError { param, message }| format!("{param}: {message}")),
        }
    }

    fn edited(name: &str, known: Option<&Self>, patch: &Patch) -> Result<Self, Fault> {
        let mut body = GuardrailBody::over(known, patch)?;
        let name = record::name("name", body.name.take(), name.to_owned())?;
        body.guardrail(name, known)
    }

    /// Refuses patterns and kinds that do not compile. Names of guardrails are not names of models.
    fn check(&self, _: &Names) -> Result<(), Fault> {
        CompiledGuardrail::compile(self.clone()).map(drop).map_err(Fault::from)
    }

    /// Refuses a webhook at an address that the gateway may not call, and a model that no provider serves.
    fn check_settings(&self, access: &TenantAccess<'_>) -> Result<(), Fault> {
        let app = access.app;
        if let Some(reason) = unknown_model(&access.snapshot().routes, self) {
            return Err(fault::invalid_parameter("config.model", reason));
        }
        match &self.config {
            GuardrailConfig::Webhook(webhook) => {
                webhooks::check("config.url", &webhook.url, &app.gateway.egress, app.gateway.admin_trust)
            }
            _ => Ok(()),
        }
    }
}

/// The reason why the model that a guardrail asks cannot be called; `None` if it can be, or if there is none.
pub(super) fn unknown_model(routes: &Routes, guardrail: &Guardrail) -> Option<String> {
    let GuardrailConfig::LlmBasedAltering(config) = &guardrail.config else { return None };
    let model = config.model.trim();
    if !resolve::candidates(routes, model).is_empty() {
        return None;
    }
    let nearest = routes.nearest(model, &|_| true, &|_| true);
    Some(fault::model_not_found(model, &nearest).message)
}

/// A stored guardrail in compiled form: that of the snapshot, unless the snapshot has another version.
fn compiled(
    access: &TenantAccess<'_>,
    guardrail: &Guardrail,
) -> Result<Arc<CompiledGuardrail>, CompileError> {
    match access.snapshot().guardrails.get(&guardrail.name) {
        Some(compiled) if compiled.document() == guardrail => Ok(compiled.clone()),
        _ => CompiledGuardrail::compile(guardrail.clone()).map(Arc::new),
    }
}

/// The settings without the type. The values of headers are masked.
fn settings(config: &GuardrailConfig, headers: &BTreeMap<String, String>) -> Value {
    let mut settings = match serde_json::to_value(config) {
        Ok(Value::Object(mut members)) => members.remove("config").unwrap_or_default(),
        _ => Value::Null,
    };
    if config.guardrail_type() == GuardrailType::Webhook {
        let masked = headers.iter().map(|(name, value)| (name.clone(), Value::from(masked_header(value))));
        settings["headers"] = Value::Object(masked.collect());
    }
    settings
}

/// List guardrails by name.
#[utoipa::path(get, path = "/admin/api/v1/guardrails", tag = "guardrails",
    params(("limit" = Option<i64>, Query, description = "1 to 10000, default 10000"), ("offset" = Option<i64>, Query, description = "Default 0")),
    responses((status = 200, description = "The guardrails; X-Total-Count has their number", body = Vec<GuardrailView>),
        (status = 400, description = "Invalid parameters"), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:guardrails:read"])))]
pub async fn list(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Guardrails>>,
    Query(pairs): Query<Pairs>,
) -> Result<Response, Problem> {
    crud::list::<Guardrail>(&authorized.documents(&app), &pairs).await
}

/// Get a guardrail.
#[utoipa::path(get, path = "/admin/api/v1/guardrails/{name}", tag = "guardrails", params(("name" = String, Path, description = "The guardrail")),
    responses((status = 200, description = "The guardrail", body = GuardrailView), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such guardrail"), (status = 409, description = "The stored guardrail cannot be read")),
    security(("bearer" = ["admin:guardrails:read"])))]
pub async fn read(
    State(app): State<Arc<App>>,
    authorized: Authorized<Read<Guardrails>>,
    Named(name): Named,
) -> Result<Response, Problem> {
    crud::read::<Guardrail>(&authorized.documents(&app), &name).await
}

/// Replace or create a guardrail. Workflows in force that refer to it apply it from the next call on.
#[utoipa::path(put, path = "/admin/api/v1/guardrails/{name}", tag = "guardrails", params(("name" = String, Path, description = "The guardrail")),
    request_body = GuardrailBody,
    responses((status = 200, description = "Replaced", body = GuardrailView), (status = 201, description = "Created", body = GuardrailView),
        (status = 400, description = "Invalid request"), (status = 401, description = "Unauthorized"),
        (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:guardrails:write"])))]
pub async fn replace(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Guardrails>>,
    Named(name): Named,
    headers: HeaderMap,
    patch: Patch,
) -> Result<Response, Problem> {
    crud::replace::<Guardrail>(
        &authorized.documents(&app),
        authorized.principal.actor(),
        &name,
        &headers,
        &patch,
    )
    .await
}

/// Delete a guardrail. Refused while a workflow in force refers to it.
#[utoipa::path(delete, path = "/admin/api/v1/guardrails/{name}", tag = "guardrails", params(("name" = String, Path, description = "The guardrail")),
    responses((status = 204, description = "Gone"), (status = 401, description = "Unauthorized"), (status = 404, description = "No such guardrail"),
        (status = 409, description = "Still in use"), (status = 412, description = "Changed in the meantime")),
    security(("bearer" = ["admin:guardrails:write"])))]
pub async fn delete(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Guardrails>>,
    Named(name): Named,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    crud::delete::<Guardrail>(&authorized.documents(&app), authorized.principal.actor(), &name, &headers)
        .await
}
