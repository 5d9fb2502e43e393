//! Documents that refer to those that a plan deletes.

use std::collections::{BTreeMap, BTreeSet};

use domain::fault;
use domain::resources::Resource as _;
use store::DEFAULT_TENANT;

use super::super::current::CurrentConfig;
use super::super::document::ConfigDocument;
use super::super::kind::{ConfigKind, DocumentId};
use super::super::planned_change::PlannedChange;
use super::PlanError;
use crate::App;
use crate::admin::explain::replay::activation_of;

/// Deleted documents that others refer to after the plan, as storage would refuse them. The deletion of an override is
/// none: its name continues to exist.
pub fn check(app: &App, changes: &[PlannedChange], current: &CurrentConfig) -> Vec<PlanError> {
    let deleted = changes.iter().filter(|change| change.after.is_none() && !is_override(app, change));
    let deleted: Vec<&PlannedChange> = deleted.collect();
    if deleted.is_empty() {
        return Vec::new();
    }
    let changed: BTreeSet<&DocumentId> = changes.iter().map(|change| &change.id).collect();
    let stored = current.documents.iter().filter(|(_, current)| current.is_stored);
    let kept = stored.filter(|(id, _)| !changed.contains(id));
    let kept = kept.map(|(id, current)| (id, &current.document));
    let written = changes.iter().filter_map(|change| Some((&change.id, &change.after.as_ref()?.0)));
    let left: BTreeMap<&DocumentId, &ConfigDocument> = kept.chain(written).collect();
    let mut referrers: Vec<Vec<String>> = vec![Vec::new(); deleted.len()];
    for (id, document) in &left {
        let references = references(id, document);
        for (change, found) in deleted.iter().zip(&mut referrers) {
            let refers = |reference: &(&str, String)| {
                reference.0 == change.id.kind.kind() && reference.1 == change.id.name
            };
            if references.iter().any(refers) && leads_to(tenant(id, document), &change.id, &left) {
                found.push(described(id));
            }
        }
    }
    let in_use = deleted.into_iter().zip(referrers).filter(|(_, referrers)| !referrers.is_empty());
    let errors = in_use.map(|(change, referrers)| {
        let message = format!("{} is in use by {}.", change.id.described(), referrers.join(", "));
        PlanError::new(&change.id, fault::conflict(message))
    });
    errors.collect()
}

/// Whether the name of a deleted document means that document where another one refers to it: a tenant refers to its own
/// documents first. A deleted document of a tenant that the default tenant has as well is replaced by that.
fn leads_to(referrer: &str, deleted: &DocumentId, left: &BTreeMap<&DocumentId, &ConfigDocument>) -> bool {
    let exists = |tenant: &str| left.contains_key(&DocumentId::new(deleted.kind, tenant, &deleted.name));
    match deleted.tenant() {
        None => !exists(referrer),
        Some(tenant) => referrer == tenant && !exists(DEFAULT_TENANT),
    }
}

/// The tenant whose documents the references of a document lead to first. Keys belong to the default tenant, and see what
/// their own tenant sees.
fn tenant<'a>(id: &'a DocumentId, document: &'a ConfigDocument) -> &'a str {
    match document {
        ConfigDocument::AuthKey(key) => key.tenant_id.as_deref().unwrap_or(DEFAULT_TENANT),
        _ => &id.tenant,
    }
}

fn is_override(app: &App, change: &PlannedChange) -> bool {
    let DocumentId { kind, name, .. } = &change.id;
    change.id.tenant().is_none()
        && match kind {
            ConfigKind::Provider => app.refresher.configured_source(name).is_some(),
            kind => app.refresher.is_configured(kind.kind(), name),
        }
}

fn references(id: &DocumentId, document: &ConfigDocument) -> Vec<(&'static str, String)> {
    let tenant = id.tenant().map(|tenant| (ConfigKind::Tenant.kind(), tenant.to_owned()));
    let mut references = members_referring(document);
    references.extend(tenant);
    references
}

fn members_referring(document: &ConfigDocument) -> Vec<(&'static str, String)> {
    match document {
        ConfigDocument::Pool(pool) => pool.references(),
        ConfigDocument::Combo(combo) => combo.references(),
        ConfigDocument::Alias(alias) => alias.references(),
        ConfigDocument::AuthKey(key) => key.references(),
        ConfigDocument::Workflow(workflow) => activation_of(workflow).references(),
        ConfigDocument::Settings(_)
        | ConfigDocument::Tenant(_)
        | ConfigDocument::Provider(_)
        | ConfigDocument::ModelOverride(_)
        | ConfigDocument::ModelPrice(_)
        | ConfigDocument::Guardrail(_)
        | ConfigDocument::BudgetSettings(_)
        | ConfigDocument::Budget(_) => Vec::new(),
    }
}

fn described(id: &DocumentId) -> String {
    let name = &id.name;
    let described = match id.kind {
        ConfigKind::Workflow => format!("the workflow in force for '{name}'"),
        kind => format!("{}/{name}", kind.kind()),
    };
    match id.tenant() {
        Some(tenant) => format!("{described} of the tenant '{tenant}'"),
        None => described,
    }
}
