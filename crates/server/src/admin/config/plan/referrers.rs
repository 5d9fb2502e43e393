//! Documents that refer to those that a plan deletes.

use std::collections::BTreeSet;

use domain::fault;
use domain::resources::Resource as _;

use super::super::current::CurrentConfig;
use super::super::document::ConfigDocument;
use super::super::kind::ConfigKind;
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
    let changed: BTreeSet<(ConfigKind, &str)> =
        changes.iter().map(|change| (change.kind, &*change.name)).collect();
    let stored = current.documents.iter().filter(|(_, current)| current.is_stored);
    let kept = stored.filter(|((kind, name), _)| !changed.contains(&(*kind, &**name)));
    let kept = kept.map(|((kind, name), current)| (*kind, &**name, &current.document));
    let written = changes.iter().filter_map(|change| {
        let (document, _) = change.after.as_ref()?;
        Some((change.kind, &*change.name, document))
    });
    let mut referrers: Vec<Vec<String>> = vec![Vec::new(); deleted.len()];
    for (kind, name, document) in kept.chain(written) {
        let references = references(document);
        for (change, found) in deleted.iter().zip(&mut referrers) {
            let refers =
                |reference: &(&str, String)| reference.0 == change.kind.kind() && reference.1 == change.name;
            if references.iter().any(refers) {
                found.push(described(kind, name));
            }
        }
    }
    let in_use = deleted.into_iter().zip(referrers).filter(|(_, referrers)| !referrers.is_empty());
    let errors = in_use.map(|(change, referrers)| {
        let message = format!("'{}' is in use by {}.", change.name, referrers.join(", "));
        PlanError::new(change.kind, &change.name, fault::conflict(message))
    });
    errors.collect()
}

fn is_override(app: &App, change: &PlannedChange) -> bool {
    match change.kind {
        ConfigKind::Provider => app.refresher.configured_source(&change.name).is_some(),
        kind => app.refresher.is_configured(kind.kind(), &change.name),
    }
}

fn references(document: &ConfigDocument) -> Vec<(&'static str, String)> {
    match document {
        ConfigDocument::Pool(pool) => pool.references(),
        ConfigDocument::Combo(combo) => combo.references(),
        ConfigDocument::Alias(alias) => alias.references(),
        ConfigDocument::AuthKey(key) => key.references(),
        ConfigDocument::Workflow(workflow) => activation_of(workflow).references(),
        ConfigDocument::Settings(_)
        | ConfigDocument::Provider(_)
        | ConfigDocument::ModelOverride(_)
        | ConfigDocument::ModelPrice(_)
        | ConfigDocument::Guardrail(_)
        | ConfigDocument::BudgetSettings(_)
        | ConfigDocument::Budget(_) => Vec::new(),
    }
}

fn described(kind: ConfigKind, name: &str) -> String {
    match kind {
        ConfigKind::Workflow => format!("the workflow in force for '{name}'"),
        kind => format!("{}/{name}", kind.kind()),
    }
}
