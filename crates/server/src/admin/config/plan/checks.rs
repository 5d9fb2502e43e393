//! Checks of a plan that depend on other documents, on the caller and on the edition.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::capability::Capability;
use domain::fault::{self, Fault};
use domain::principal::Principal;
use domain::resources::provider::ProviderSource;
use domain::resources::workflow::Workflow;
use pipeline::refresh::ProposedDocuments;
use pipeline::services::webhooks;
use pipeline::snapshot::Snapshot;

use super::super::current::CurrentConfig;
use super::super::document::ConfigDocument;
use super::super::kind::{ConfigKind, DocumentId};
use super::super::planned_change::PlannedChange;
use super::{Plan, PlanError, referrers};
use crate::App;
use crate::admin::crud::Served as _;
use crate::admin::explain::replay::{ProposedDocument, deactivated};
use crate::admin::names::Names;
use crate::admin::{auth_keys, combos, providers};
use crate::fault::Problem;
use crate::tenant_access::TenantAccess;

impl Plan {
    /// Compiles the planned configuration and reports every document that cannot be used.
    pub(super) async fn check(&mut self, app: &App, asker: &Principal) -> Result<(), Problem> {
        let mut proposed = ProposedDocuments::default();
        for change in &self.changes {
            if let Some(document) = proposed_document(app, change) {
                document.lay_over(&change.id.tenant, &mut proposed)?;
            }
        }
        let after = Arc::new(compile(app, self.before.clone(), proposed).await?);
        let mut errors = Vec::new();
        let names = Names::load(&TenantAccess::of_default(app)).await?;
        let names = self.check_tenant(&TenantAccess::of_default(app), asker, names, &after, &mut errors)?;
        let tenants: BTreeSet<&str> = self.changes.iter().filter_map(|change| change.id.tenant()).collect();
        for tenant in tenants {
            let access = TenantAccess::new(app, Some(tenant));
            let names = names.clone().with_own(&access).await?;
            self.check_tenant(&access, asker, names, &after, &mut errors)?;
        }
        errors.extend(referrers::check(app, &self.changes, &self.current));
        errors.extend(check_digests(&self.changes, &self.current));
        errors.extend(uncompiled(&self.changes, &self.before, &after));
        self.errors.extend(errors);
        self.after = after;
        Ok(())
    }

    /// Checks the changed documents of one tenant among the names that it sees. Returns these names after the changes.
    fn check_tenant(
        &self,
        access: &TenantAccess<'_>,
        asker: &Principal,
        mut names: Names,
        after: &Arc<Snapshot>,
        errors: &mut Vec<PlanError>,
    ) -> Result<Names, Problem> {
        let seen = after.clone().seen_by(access.tenant());
        names.routes = seen.routes.clone();
        let of_tenant = self.changes.iter().filter(|change| change.id.tenant() == access.tenant());
        let changes: Vec<&PlannedChange> = of_tenant.collect();
        for change in changes.iter().filter(|change| change.after.is_none()) {
            if let Some(document) = proposed_document(access.app, change) {
                document.name_in(&seen, &mut names);
            }
        }
        errors.extend(check_names(access.app, &changes, &mut names, &seen));
        for change in changes {
            if let Err(fault) = check_alone(access, asker, self, change, (&names, after)) {
                errors.push(PlanError::new(&change.id, fault));
            }
        }
        Ok(names)
    }
}

/// Compiles the planned configuration on a thread that serves no connection: patterns take long.
async fn compile(app: &App, before: Arc<Snapshot>, proposed: ProposedDocuments) -> Result<Snapshot, Problem> {
    let (runtime, refresher) = (tokio::runtime::Handle::current(), app.refresher.clone());
    let compile = move || runtime.block_on(refresher.propose(&before, &proposed));
    let gateway = &app.gateway;
    Ok(gateway.body_work.run(&gateway.tasks, compile).await??)
}

/// Checks documents that refer to others. They may come in any order: those that fail are checked again after others
/// were added, until no further one passes.
fn check_names(app: &App, changes: &[&PlannedChange], names: &mut Names, after: &Snapshot) -> Vec<PlanError> {
    let added = changes.iter().filter(|change| change.after.is_some());
    let mut pending: Vec<(&PlannedChange, ProposedDocument)> =
        added.filter_map(|change| Some((*change, proposed_document(app, change)?))).collect();
    loop {
        let mut failed = Vec::new();
        let mut errors = Vec::new();
        let count = pending.len();
        for (change, document) in pending {
            match document.check(names, after) {
                Ok(()) => document.name_in(after, names),
                Err(fault) => {
                    errors.push(PlanError::new(&change.id, fault));
                    failed.push((change, document));
                }
            }
        }
        if failed.is_empty() || failed.len() == count {
            return errors;
        }
        pending = failed;
    }
}

/// Checks that need no other changed document.
fn check_alone(
    access: &TenantAccess<'_>,
    asker: &Principal,
    plan: &Plan,
    change: &PlannedChange,
    (names, after): (&Names, &Arc<Snapshot>),
) -> Result<(), Fault> {
    let (app, kind) = (access.app, change.id.kind);
    check_tenant_exists(app, plan, change)?;
    if kind.is_of_budgets() && !app.gateway.capabilities.has(Capability::AdvancedBudgets) {
        return Err(fault::edition_restricted(Capability::AdvancedBudgets.as_str()));
    }
    if kind == ConfigKind::Combo {
        combos::switched_on(app)?;
    }
    match change.after.as_ref().map(|(document, _)| document) {
        Some(ConfigDocument::Provider(provider)) => providers::judge_address(app, provider),
        Some(ConfigDocument::Guardrail(guardrail)) => guardrail.check_settings(access),
        Some(ConfigDocument::AuthKey(key)) => {
            let routes = &app.gateway.snapshot().routes;
            // Otherwise a caller could gain the rights of a more powerful key by giving it another value.
            if let Some(replaced) = plan.current.auth_key(&key.id) {
                auth_keys::check_rights(replaced, asker, &routes.names)?;
            }
            auth_keys::check_grant(asker, key, &routes.names)?;
            let pool = key.provider_pool_id.as_ref().filter(|_| key.deactivated_at.is_none());
            let seen = after.clone().seen_by(key.tenant_id.as_deref());
            let pool = pool.filter(|pool| !seen.routes.names.pools.contains_key(*pool));
            pool.map_or(Ok(()), |pool| names.pool("provider_pool_id", pool))
        }
        Some(ConfigDocument::BudgetSettings(settings)) => match &settings.webhook_url {
            Some(url) => {
                let trust = app.refresher.trust(ProviderSource::Admin);
                webhooks::check("webhook_url", url, &app.gateway.egress, trust)
            }
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Refuses documents of tenants in an edition without tenants, and those of a tenant that does not exist after the plan.
fn check_tenant_exists(app: &App, plan: &Plan, change: &PlannedChange) -> Result<(), Fault> {
    let DocumentId { kind, .. } = change.id;
    let Some(tenant) = change.id.tenant().or(Some("").filter(|_| kind == ConfigKind::Tenant)) else {
        return Ok(());
    };
    if !app.gateway.capabilities.has(Capability::Identity) {
        return Err(fault::edition_restricted(Capability::Identity.as_str()));
    }
    let id = DocumentId::of_default(ConfigKind::Tenant, tenant);
    let planned = plan.changes.iter().find(|planned| planned.id == id);
    let exists = planned.map_or(plan.current.documents.contains_key(&id), |planned| planned.after.is_some());
    match exists || kind == ConfigKind::Tenant || change.after.is_none() {
        true => Ok(()),
        false => Err(fault::unknown_tenant(tenant)),
    }
}

/// Keys with a value that another key has as well: a call by it would be one of either.
fn check_digests(changes: &[PlannedChange], current: &CurrentConfig) -> Vec<PlanError> {
    let changed = changes.iter().filter(|change| change.id.kind == ConfigKind::AuthKey);
    let changed: BTreeMap<&str, &PlannedChange> = changed.map(|change| (&*change.id.name, change)).collect();
    if changed.is_empty() {
        return Vec::new();
    }
    let kept = current.auth_keys().filter(|key| !changed.contains_key(&*key.id));
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for key in kept {
        let id = &*key.id;
        owners.extend(key.digests().map(|digest| (digest, id)));
    }
    let mut errors = Vec::new();
    for (id, change) in changed {
        let Some((ConfigDocument::AuthKey(key), _)) = &change.after else { continue };
        let owner = key.digests().find_map(|digest| owners.get(digest));
        if let Some(owner) = owner {
            let message = format!("The key '{owner}' has the same value, now or before a rotation.");
            errors.push(PlanError::new(&change.id, fault::conflict(message).param("digest")));
        }
        owners.extend(key.digests().map(|digest| (digest, id)));
    }
    errors
}

/// Changed documents that do not compile.
fn uncompiled(changes: &[PlannedChange], before: &Snapshot, after: &Snapshot) -> Vec<PlanError> {
    let known: Vec<_> =
        before.all_document_errors().map(|(tenant, error)| (tenant, error.kind, error.name)).collect();
    let all = after.all_document_errors();
    let new = all.filter(|(tenant, error)| !known.contains(&(*tenant, error.kind, error.name)));
    let named = new.filter_map(|(tenant, error)| {
        let of_change = |change: &&PlannedChange| {
            let DocumentId { kind, name, .. } = &change.id;
            change.id.tenant == tenant
                && kind.kind() == error.kind
                && (name == error.name || planned_id(name) == error.name)
        };
        let change = changes.iter().find(of_change)?;
        let fault = Fault { param: None, ..fault::invalid_parameter("", error.error) };
        Some(PlanError::new(&change.id, fault))
    });
    named.collect()
}

/// The id of the version that a plan puts in force for a scope.
fn planned_id(scope: &str) -> String {
    format!("planned {scope}")
}

/// The document in the form in which replays compile it; `None` for kinds that routes and workflows do not depend on.
fn proposed_document(app: &App, change: &PlannedChange) -> Option<ProposedDocument> {
    let name = change.id.name.clone();
    Some(match change.after.as_ref().map(|(document, _)| document.clone()) {
        Some(ConfigDocument::Alias(alias)) => ProposedDocument::Alias(alias),
        Some(ConfigDocument::Combo(combo)) => ProposedDocument::Combo(combo),
        Some(ConfigDocument::Pool(pool)) => ProposedDocument::Pool(pool),
        Some(ConfigDocument::Guardrail(guardrail)) => ProposedDocument::Guardrail(guardrail),
        Some(ConfigDocument::ModelOverride(document)) => ProposedDocument::ModelOverride(document),
        Some(ConfigDocument::ModelPrice(price)) => ProposedDocument::ModelPrice(price),
        Some(ConfigDocument::Provider(provider)) => ProposedDocument::Provider(provider),
        Some(ConfigDocument::Workflow(workflow)) => {
            let id = planned_id(&name);
            ProposedDocument::Workflow(Box::new(Workflow { id, ..*workflow }))
        }
        Some(_) => return None,
        None => match change.id.kind {
            ConfigKind::Workflow => deactivated(&TenantAccess::new(app, change.id.tenant()), name),
            ConfigKind::Settings
            | ConfigKind::Tenant
            | ConfigKind::Budget
            | ConfigKind::BudgetSettings
            | ConfigKind::AuthKey => return None,
            kind => ProposedDocument::Deleted { kind: kind.kind(), name },
        },
    })
}
