//! `POST /admin/api/v1/config/plan`: the changes that documents would make, without making them.

mod checks;
mod referrers;
mod request;

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use domain::fault::{self, Fault};
use domain::principal::Principal;
use domain::scope::{Action, Area, Scope};
use pipeline::snapshot::Snapshot;
use serde::Serialize;
use utoipa::ToSchema;

use super::current::CurrentConfig;
use super::document::ConfigDocument;
use super::kind::{ConfigKind, DocumentId};
use super::planned_change::{PlannedChange, PlannedChangeView};
use super::secret_references::{SecretSettings, check_resolved};
use crate::App;
use crate::admin::explain::replay::{self, ReplayResult};
use crate::admin::{audit, settings};
use crate::authorized::{Authorized, Config, Read};
use crate::body::Strict;
use crate::fault::Problem;
use crate::request_context::RequestContext;
pub use request::PlanRequest;
use request::WantedDocument;

/// A plan as it is shown.
#[derive(Serialize, ToSchema)]
pub struct PlanResult {
    /// The revision that the plan was made from; `If-Match: "<revision>"` applies it only to this one. Of an applied plan,
    /// the revision after its changes
    pub revision: i64,
    /// In the order in which they would be made
    pub changes: Vec<PlannedChangeView>,
    /// Number of documents that would not change
    pub unchanged: usize,
    /// Documents that cannot be used; a plan with errors cannot be applied
    pub errors: Vec<PlanError>,
    /// Audited calls that would be handled in another way; only with `replay`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayResult>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PlanError {
    pub kind: &'static str,
    pub name: String,
    /// The tenant that the document belongs to; absent for the default tenant
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// The member of the document
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    pub code: String,
    pub message: String,
}

impl PlanError {
    pub fn new(id: &DocumentId, fault: Fault) -> Self {
        let code = fault.code.as_str().to_owned();
        Self {
            kind: id.kind.kind(),
            name: id.name.clone(),
            tenant_id: id.tenant().map(str::to_owned),
            field: fault.param,
            code,
            message: fault.message,
        }
    }
}

/// The changes from the configuration in force to the wanted one.
pub struct Plan {
    pub current: CurrentConfig,
    pub changes: Vec<PlannedChange>,
    pub unchanged: usize,
    pub errors: Vec<PlanError>,
    /// The configuration in force and the planned one, compiled.
    pub before: Arc<Snapshot>,
    pub after: Arc<Snapshot>,
}

/// Plan changes of the configuration: show what would change and which documents cannot be used. With `replay`, also the
/// audited calls whose route, cost or verdict would differ. Nothing is stored.
#[utoipa::path(post, path = "/admin/api/v1/config/plan", tag = "config", operation_id = "plan_config", request_body = PlanRequest,
    responses((status = 200, description = "The plan", body = PlanResult), (status = 400, description = "Invalid request"),
        (status = 401, description = "Unauthorized"), (status = 403, description = "`replay` needs admin:audit:read"),
        (status = 503, description = "`replay` needs the audit log")),
    security(("bearer" = ["admin:config:read"])))]
pub async fn plan(
    State(app): State<Arc<App>>,
    Extension(context): Extension<RequestContext>,
    authorized: Authorized<Read<Config>>,
    Strict(request): Strict<PlanRequest>,
) -> Result<Json<PlanResult>, Problem> {
    super::require_no_tenant(&app, &authorized.principal)?;
    let replayed = request.replay;
    if replayed.is_some() {
        authorized.principal.require(Scope::Admin(Some(Area::Audit), Action::Read))?;
        audit::enabled(&app)?;
    }
    let plan = Box::pin(Plan::make(&app, &authorized.principal, request)).await?;
    let replay = match replayed.filter(|_| plan.errors.is_empty()) {
        None => None,
        Some(limit) => {
            let (before, after) = (plan.before.clone(), plan.after.clone());
            Some(replay::run(app.clone(), context, authorized.principal, (before, after), limit).await?)
        }
    };
    Ok(Json(PlanResult { replay, ..plan.view(&app) }))
}

impl Plan {
    pub async fn make(app: &App, asker: &Principal, request: PlanRequest) -> Result<Self, Problem> {
        let before = app.gateway.snapshot();
        let current = CurrentConfig::load(app).await?;
        let prune = request.prune;
        let wanted = request::documents(request, &current, app.gateway.clock.now())?;
        let mut plan = Self {
            current,
            changes: Vec::new(),
            unchanged: 0,
            errors: Vec::new(),
            after: before.clone(),
            before,
        };
        let secrets = plan.current.secret_settings(app);
        let mut named = BTreeSet::new();
        for document in wanted {
            named.insert(document.id.clone());
            plan.add(app, &secrets, document);
        }
        if prune {
            plan.prune(&named);
        }
        plan.changes.sort_by(|one, other| one.id.cmp(&other.id));
        plan.check(app, asker).await?;
        Ok(plan)
    }

    /// Adds a wanted document, unless it is in force already.
    fn add(&mut self, app: &App, secrets: &SecretSettings, wanted: WantedDocument) {
        let WantedDocument { id, members } = wanted;
        let now = app.gateway.clock.now();
        let known = self.current.documents.get(&id);
        let before = known.map(|known| known.document.members(now));
        let Some(members) = members else {
            match known {
                Some(known) if known.is_stored => {
                    self.changes.push(PlannedChange { id, before, after: None });
                }
                Some(_) => {
                    let message = format!(
                        "'{}' is configured in the file or the environment, and cannot be deleted here.",
                        id.name
                    );
                    self.errors.push(PlanError::new(&id, fault::conflict(message)));
                }
                None => {
                    let message = format!("There is no {} {}.", id.kind.kind(), id.described());
                    self.errors.push(PlanError::new(&id, fault::not_found(message)));
                }
            }
            return;
        };
        let known = known.map(|known| &known.document);
        let read = check_resolved(id.kind, secrets, &members).and_then(|()| match id.kind {
            ConfigKind::Settings => read_settings(app, &members),
            kind => ConfigDocument::read(kind, &id.name, members, known, now),
        });
        match read {
            Err(fault) => self.errors.push(PlanError::new(&id, fault)),
            Ok(document) => {
                let after = document.members(now);
                if before.as_ref() == Some(&after) {
                    self.unchanged += 1;
                } else {
                    self.changes.push(PlannedChange { id, before, after: Some((document, after)) });
                }
            }
        }
    }

    /// Deletes the stored documents that are not among the wanted ones.
    fn prune(&mut self, wanted: &BTreeSet<DocumentId>) {
        let others =
            self.current.documents.iter().filter(|(id, current)| current.is_stored && !wanted.contains(id));
        for (id, current) in others {
            let before = Some(current.document.members(domain::clock::Timestamp(i64::MAX)));
            self.changes.push(PlannedChange { id: id.clone(), before, after: None });
        }
    }

    pub fn view(&self, app: &App) -> PlanResult {
        let known = self.current.secret_settings(app);
        PlanResult {
            revision: self.current.revision,
            changes: self.changes.iter().map(|change| change.view(&known)).collect(),
            unchanged: self.unchanged,
            errors: self.errors.clone(),
            replay: None,
        }
    }
}

/// Reads the settings of a file. Those that the environment sets may be stored: they have no effect until it does not.
fn read_settings(app: &App, members: &super::document::Members) -> Result<ConfigDocument, Fault> {
    let mut known = app.settings.list();
    for setting in &mut known {
        setting.locked &=
            setting.never_stored || setting.source != crate::runtime_settings::SettingLayer::Env;
    }
    let mut values = domain::resources::setting_values::SettingValues::default();
    for (name, value) in members {
        let (setting, value) = settings::edit(&known, name, value)?;
        values.set(setting.name, setting.secret, value);
    }
    app.settings.check(&values).map_err(settings::refused)?;
    Ok(ConfigDocument::Settings(values))
}
