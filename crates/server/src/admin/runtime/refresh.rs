//! `POST /admin/api/v1/runtime/refresh`: reads settings, documents, budgets and models again, without a restart.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use domain::capability::Capability;
use pipeline::budgets;
use serde::Serialize;
use utoipa::ToSchema;

use crate::App;
use crate::authorized::{Authorized, Runtime, Write};
use crate::body::{EmptyBody, OptionalBody};

#[derive(Serialize, ToSchema)]
pub struct RefreshResult {
    /// ok, or failed if a step failed
    pub status: &'static str,
    pub steps: Vec<RefreshStep>,
}

#[derive(Serialize, ToSchema)]
pub struct RefreshStep {
    /// settings, documents, budgets or models
    pub name: &'static str,
    /// ok, failed or skipped
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    pub duration_ms: u64,
}

/// The outcome of a step: a remark, or the reason why it failed.
type Outcome = Result<Option<String>, String>;

/// Refresh this process: reload the settings as on SIGHUP, compile changed documents, synchronise budgets with storage
/// and ask providers for their models. A step that fails does not stop the others.
#[utoipa::path(post, path = "/admin/api/v1/runtime/refresh", tag = "runtime", operation_id = "refresh_runtime",
    responses((status = 200, description = "What came of each step", body = RefreshResult), (status = 401, description = "Unauthorized")),
    security(("bearer" = ["admin:runtime:write"])))]
pub async fn create(
    State(app): State<Arc<App>>,
    _: Authorized<Write<Runtime>>,
    OptionalBody(EmptyBody {}): OptionalBody<EmptyBody>,
) -> Json<RefreshResult> {
    let mut steps = Vec::with_capacity(4);
    let started = app.gateway.clock.tick();
    let settings = app.settings.reload().await.map(|()| None);
    steps.push(step(&app, "settings", started, settings));
    let started = app.gateway.clock.tick();
    let documents = app.refresher.refresh().await.map_err(|error| error.to_string());
    steps.push(step(&app, "documents", started, documents.map(|()| uncompiled(&app))));
    steps.push(budget_step(&app).await);
    let started = app.gateway.clock.tick();
    app.refresher.discover().await;
    steps.push(step(&app, "models", started, discovered(&app)));
    let failed = steps.iter().any(|step| step.status == "failed");
    Json(RefreshResult { status: if failed { "failed" } else { "ok" }, steps })
}

fn step(app: &App, name: &'static str, started: Duration, outcome: Outcome) -> RefreshStep {
    let elapsed = app.gateway.clock.tick().saturating_sub(started);
    let (status, message) = match outcome {
        Ok(remark) => ("ok", remark),
        Err(reason) => ("failed", Some(reason)),
    };
    let duration_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    RefreshStep { name, status, message, duration_ms }
}

async fn budget_step(app: &App) -> RefreshStep {
    let started = app.gateway.clock.tick();
    if !app.gateway.capabilities.has(Capability::AdvancedBudgets) {
        let message = Some("Budgets are not in this edition.".to_owned());
        return RefreshStep { name: "budgets", status: "skipped", message, duration_ms: 0 };
    }
    let store = app.refresher.store();
    let outcome = budgets::synchronise(&app.gateway.budgets, &*app.gateway.clock, store).await;
    step(app, "budgets", started, outcome.map(|()| None).map_err(|error| error.to_string()))
}

/// The number of documents that do not compile, if there are any.
fn uncompiled(app: &App) -> Option<String> {
    match app.gateway.snapshot().all_document_errors().count() {
        0 => None,
        count => Some(format!("{count} stored documents do not compile: see /runtime/status.")),
    }
}

/// The providers that did not list their models.
fn discovered(app: &App) -> Outcome {
    let snapshot = app.gateway.snapshot();
    let enabled = snapshot.routes.instances.values().filter(|instance| instance.provider.enabled);
    let failed: Vec<String> = enabled
        .filter_map(|instance| {
            let reason = app.refresher.inventory.listing(instance)?.last_error?;
            Some(format!("{}: {reason}", instance.name()))
        })
        .collect();
    if failed.is_empty() { Ok(None) } else { Err(failed.join("; ")) }
}
