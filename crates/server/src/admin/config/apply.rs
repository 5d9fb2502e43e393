//! `POST /admin/api/v1/config/apply`: makes the changes of a plan in one transaction, all or none.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use domain::fault::{self, Fault, FaultCode};
use domain::ids;
use domain::resources::Resource as _;
use domain::resources::alias::Alias;
use domain::resources::auth_key::AuthKey;
use domain::resources::budget::Budget;
use domain::resources::budget_settings::BudgetSettings;
use domain::resources::combo::Combo;
use domain::resources::guardrail::Guardrail;
use domain::resources::model_override::ModelOverride;
use domain::resources::model_price::ModelPrice;
use domain::resources::pool::Pool;
use domain::resources::provider::Provider;
use domain::resources::setting_values::SettingValues;
use domain::resources::tenant::Tenant;
use domain::resources::workflow::{Workflow, WorkflowActivation};
use domain::scope::{Action, Scope};
use http::{HeaderMap, StatusCode};
use store::{Batch, DEFAULT_TENANT, StoreError};

use super::document::ConfigDocument;
use super::kind::{ConfigKind, DocumentId};
use super::plan::{Plan, PlanError, PlanRequest, PlanResult};
use super::planned_change::PlannedChange;
use crate::App;
use crate::admin::{record, settings, workflows};
use crate::authorized::{Authorized, Config, Write};
use crate::body::Strict;
use crate::fault::Problem;
use crate::tenant_access::TenantAccess;

/// Number of retries of a change that loses a race against another replica.
const ATTEMPTS: usize = 5;

/// Apply changes of the configuration, as `/config/plan` shows them, in one transaction. `If-Match` with the revision of a
/// plan applies it only if nothing was changed since. A document also needs the write scope of its area.
#[utoipa::path(post, path = "/admin/api/v1/config/apply", tag = "config", operation_id = "apply_config", request_body = PlanRequest,
    responses((status = 200, description = "The changes that were made; the ETag is the revision after them", body = PlanResult),
        (status = 400, description = "Invalid request, or a document that cannot be used"), (status = 401, description = "Unauthorized"),
        (status = 403, description = "A document needs a scope that the caller lacks, or has more rights than the caller"),
        (status = 409, description = "A document is still in use, or a name is taken"),
        (status = 412, description = "Changed since the plan")),
    security(("bearer" = ["admin:config:write"])))]
pub async fn apply(
    State(app): State<Arc<App>>,
    authorized: Authorized<Write<Config>>,
    headers: HeaderMap,
    Strict(request): Strict<PlanRequest>,
) -> Result<Response, Problem> {
    if request.replay.is_some() {
        let message = "'replay' belongs to a plan: nothing is replayed while changes are made.";
        return Err(fault::invalid_parameter("replay", message).into());
    }
    let principal = &authorized.principal;
    super::require_no_tenant(&app, principal)?;
    let _turn = app.naming.lock().await;
    for _ in 0..ATTEMPTS {
        let plan = Box::pin(Plan::make(&app, principal, request.clone())).await?;
        record::expect(&headers, Some(&format!("\"{}\"", plan.current.revision)))?;
        if !plan.errors.is_empty() {
            return Err(refused(&plan.errors).into());
        }
        for change in &plan.changes {
            principal.require(Scope::Admin(Some(change.id.kind.area()), Action::Write))?;
        }
        if plan.changes.is_empty() {
            return Ok(answer(&app, &plan, plan.current.revision));
        }
        let batch = batch(&app, &plan, principal.actor()).await?;
        let documents = app.refresher.store().documents();
        let revision = match documents.apply(&batch, principal.actor(), plan.current.revision).await {
            Err(StoreError::PreconditionFailed) if record::if_match(&headers).is_none() => continue,
            written => written?,
        };
        app.refresher.refresh().await?;
        discover(&app, &plan);
        if plan.changes.iter().any(|change| change.id.kind == ConfigKind::Settings) {
            settings::apply(&app).await?;
        }
        return Ok(answer(&app, &plan, revision));
    }
    Err(fault::conflict("The configuration is being changed by others: try again.").into())
}

/// The changes that were made, with the revision after them.
fn answer(app: &App, plan: &Plan, revision: i64) -> Response {
    record::answer(StatusCode::OK, &format!("\"{revision}\""), PlanResult { revision, ..plan.view(app) })
}

/// Discovers the models of the written providers, as writing each of them through the admin API does.
fn discover(app: &App, plan: &Plan) {
    let written = plan.changes.iter().filter(|change| change.after.is_some());
    for change in written.filter(|change| change.id.kind == ConfigKind::Provider) {
        let (refresher, id) = (app.refresher.clone(), change.id.clone());
        app.gateway.tasks.spawn(async move { refresher.discover_one(id.tenant(), &id.name).await });
    }
}

/// The error of a plan that cannot be applied: the status of the first document, and all of them in the message.
fn refused(errors: &[PlanError]) -> Fault {
    let listed: Vec<String> = errors
        .iter()
        .map(|error| {
            let field = error.field.as_ref().map(|field| format!(", {field}")).unwrap_or_default();
            format!("{} '{}'{field}: {}", error.kind, error.name, error.message)
        })
        .collect();
    let code = errors.first().and_then(|error| FaultCode::known(&error.code));
    let message = format!("Nothing was changed. {}", listed.join(" "));
    Fault::new(code.unwrap_or(FaultCode::InvalidParameter), message)
}

/// The writes of a plan: documents that others refer to are written first and deleted last.
async fn batch(app: &App, plan: &Plan, actor: &str) -> Result<Batch, Problem> {
    let mut batch = Batch::default();
    for change in &plan.changes {
        if let Some((document, _)) = &change.after {
            let access = TenantAccess::new(app, change.id.tenant());
            put(&access, plan, document, actor, &mut batch).await?;
        }
    }
    for change in plan.changes.iter().rev().filter(|change| change.after.is_none()) {
        delete(app, plan, change, &mut batch).await?;
    }
    Ok(batch)
}

async fn put(
    access: &TenantAccess<'_>,
    plan: &Plan,
    document: &ConfigDocument,
    actor: &str,
    batch: &mut Batch,
) -> Result<(), Problem> {
    let tenant = access.tenant().unwrap_or(DEFAULT_TENANT);
    match document {
        ConfigDocument::Tenant(document) => batch.put(tenant, document)?,
        ConfigDocument::Settings(values) => batch.put(tenant, values)?,
        ConfigDocument::Provider(provider) => batch.put::<Provider>(tenant, provider)?,
        ConfigDocument::Pool(pool) => batch.put(tenant, pool)?,
        ConfigDocument::Combo(combo) => batch.put(tenant, combo)?,
        ConfigDocument::Alias(alias) => batch.put(tenant, alias)?,
        ConfigDocument::ModelOverride(document) => batch.put(tenant, document)?,
        ConfigDocument::ModelPrice(price) => batch.put::<ModelPrice>(tenant, price)?,
        ConfigDocument::Guardrail(guardrail) => batch.put::<Guardrail>(tenant, guardrail)?,
        ConfigDocument::Workflow(workflow) => put_workflow(access, workflow, actor, batch).await?,
        ConfigDocument::BudgetSettings(settings) => batch.put::<BudgetSettings>(tenant, settings)?,
        ConfigDocument::Budget(budget) => {
            let reset = plan.current.resets.get(budget.name()).copied();
            let mut budget = Budget::clone(budget);
            budget.last_reset_at = budget.last_reset_at.or(reset);
            batch.put(tenant, &budget)?;
        }
        ConfigDocument::AuthKey(key) => batch.put::<AuthKey>(tenant, key)?,
    }
    Ok(())
}

/// A new version of the scope, in force.
async fn put_workflow(
    access: &TenantAccess<'_>,
    workflow: &Workflow,
    actor: &str,
    batch: &mut Batch,
) -> Result<(), Problem> {
    let (gateway, tenant) = (&access.app.gateway, access.tenant().unwrap_or(DEFAULT_TENANT));
    let mut activation = workflows::activation_of_scope(access, &workflow.scope.key()).await?;
    activation.versions += 1;
    let workflow = Workflow {
        id: ids::prefixed("wf", gateway.clock.now(), &*gateway.entropy),
        version: activation.versions,
        created_by: actor.to_owned(),
        ..workflow.clone()
    };
    workflows::activation::set_active(&mut activation, &workflow);
    batch.put(tenant, &workflow)?;
    batch.put(tenant, &activation)?;
    Ok(())
}

async fn delete(app: &App, plan: &Plan, change: &PlannedChange, batch: &mut Batch) -> Result<(), Problem> {
    let DocumentId { kind, tenant, name } = &change.id;
    let access = TenantAccess::new(app, change.id.tenant());
    let is_override = access.is_configured(kind.kind(), name);
    match kind {
        ConfigKind::Tenant => batch.delete::<Tenant>(tenant, name, false),
        ConfigKind::Settings => batch.delete::<SettingValues>(tenant, name, false),
        ConfigKind::Provider => {
            batch.delete::<Provider>(
                tenant,
                name,
                access.tenant().is_none() && app.refresher.configured_source(name).is_some(),
            );
        }
        ConfigKind::Pool => batch.delete::<Pool>(tenant, name, is_override),
        ConfigKind::Combo => batch.delete::<Combo>(tenant, name, is_override),
        ConfigKind::Alias => batch.delete::<Alias>(tenant, name, is_override),
        ConfigKind::ModelOverride => batch.delete::<ModelOverride>(tenant, name, is_override),
        ConfigKind::ModelPrice => batch.delete::<ModelPrice>(tenant, name, is_override),
        ConfigKind::Guardrail => batch.delete::<Guardrail>(tenant, name, is_override),
        ConfigKind::Workflow if access.is_configured(WorkflowActivation::KIND, name) => {
            batch.delete::<WorkflowActivation>(tenant, name, true);
        }
        ConfigKind::Workflow => {
            let activation = workflows::activation_of_scope(&access, name).await?;
            batch.put(tenant, &WorkflowActivation { active: None, guardrails: Vec::new(), ..activation })?;
        }
        ConfigKind::BudgetSettings => batch.delete::<BudgetSettings>(tenant, name, is_override),
        ConfigKind::Budget => {
            let current = plan.current.documents.get(&change.id);
            if let Some(ConfigDocument::Budget(budget)) = current.map(|current| &current.document) {
                delete_budget(app, budget, batch)?;
            }
        }
        ConfigKind::AuthKey => batch.delete::<AuthKey>(tenant, name, is_override),
    }
    Ok(())
}

/// Deletes a budget as `DELETE /budgets` does: the reset of an override still applies to the configured budget.
fn delete_budget(app: &App, budget: &Budget, batch: &mut Batch) -> Result<(), Problem> {
    let is_override = app.refresher.configured_budgets().iter().any(|known| known.name() == budget.name());
    match budget.key().filter(|_| is_override && budget.last_reset_at.is_some()) {
        Some(key) => batch.put(DEFAULT_TENANT, &Budget::new(key, None, budget.last_reset_at))?,
        None => batch.delete::<Budget>(DEFAULT_TENANT, budget.name(), true),
    }
    Ok(())
}
