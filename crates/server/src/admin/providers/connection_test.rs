//! Connection tests of providers: the list of models is requested to check address and key. Nothing is changed.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::fault;
use pipeline::routing::inventory;
use pipeline::routing::routes::Instance;
use serde::Serialize;
use utoipa::ToSchema;

use super::{ProviderBody, find, is_own, judge_address, own};
use crate::App;
use crate::authorized::{Authorized, Providers, Write};
use crate::body::Strict;
use crate::fault::Problem;
use crate::path::Named;

/// The name of an instance in a body without one.
const UNSAVED: &str = "unsaved";
/// Most models that are named.
const MOST_MODELS: usize = 100;

#[derive(Serialize, ToSchema)]
pub struct TestResult {
    pub ok: bool,
    pub latency_ms: u64,
    /// Null when the test failed.
    pub model_count: Option<usize>,
    /// Null when it succeeded.
    pub error: Option<String>,
    /// The names of the models, at most 100; empty when the provider lists none.
    pub models: Vec<String>,
}

/// Test an instance: request its list of models to check address and key. Changes nothing.
#[utoipa::path(post, path = "/admin/api/v1/providers/{name}/test", tag = "providers", params(("name" = String, Path, description = "The instance")),
    responses((status = 200, description = "What came of it", body = TestResult), (status = 401, description = "Unauthorized"),
        (status = 404, description = "No such instance")),
    security(("bearer" = ["admin:providers:write"])))]
pub async fn test(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Providers>>,
    Named(name): Named,
) -> Result<Json<TestResult>, Problem> {
    let instance = find(&authorized.snapshot.routes.instances, &name)?;
    if !is_own(&authorized.documents(&app), &instance) {
        authorized.principal.require_no_tenant()?;
    }
    Ok(Json(request_models(&app, &instance).await))
}

/// Test an instance that is not stored: request its list of models to check address and key. Changes nothing.
///
/// Without `api_key`, the key of the instance with the same `name` is used, if its `type` and `base_url` are the same.
#[utoipa::path(post, path = "/admin/api/v1/providers/test", tag = "providers", operation_id = "test_unsaved_provider",
    request_body = ProviderBody,
    responses((status = 200, description = "What came of it", body = TestResult), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:providers:write"])))]
pub async fn test_unsaved(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Providers>>,
    Strict(mut body): Strict<ProviderBody>,
) -> Result<Json<TestResult>, Problem> {
    let name = body.name.take().filter(|name| !name.is_empty()).unwrap_or_else(|| UNSAVED.to_owned());
    let known = own(&authorized.documents(&app), &name);
    body.name = Some(name);
    let provider = body.provider(known.as_ref().map(|known| &known.provider))?;
    judge_address(&app, &provider)?;
    let instance = app.refresher.unsaved_instance(&provider).ok_or_else(fault::internal_error)?;
    Ok(Json(request_models(&app, &instance).await))
}

async fn request_models(app: &App, instance: &Instance) -> TestResult {
    let started = app.gateway.clock.tick();
    let listed: Result<Vec<String>, String> = match instance.core.vendor.answer {
        Some(_) => Ok(instance.deployments.keys().map(|model| model.to_string()).collect()),
        None => {
            let models = inventory::ask(instance, &app.gateway.egress).await;
            models.map(|models| models.into_iter().map(|model| model.id).collect())
        }
    };
    let latency_ms = app.gateway.clock.tick().saturating_sub(started).as_millis() as u64;
    match listed {
        Ok(mut models) => {
            let model_count = Some(models.len());
            models.truncate(MOST_MODELS);
            TestResult { ok: true, latency_ms, model_count, error: None, models }
        }
        Err(reason) => {
            let (model_count, models) = (None, Vec::new());
            TestResult { ok: false, latency_ms, model_count, error: Some(reason), models }
        }
    }
}
