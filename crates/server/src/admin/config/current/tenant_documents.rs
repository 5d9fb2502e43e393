//! The documents that tenants have themselves.

use std::collections::BTreeMap;

use domain::resources::Resource;
use domain::resources::alias::Alias;
use domain::resources::combo::Combo;
use domain::resources::guardrail::Guardrail;
use domain::resources::model_override::ModelOverride;
use domain::resources::model_price::ModelPrice;
use domain::resources::pool::Pool;
use domain::resources::provider::Provider;
use domain::resources::workflow::{Workflow, WorkflowActivation};
use store::{DEFAULT_TENANT, RawDocument};

use super::{CurrentConfig, CurrentDocument};
use crate::App;
use crate::admin::config::document::ConfigDocument;
use crate::admin::config::kind::{ConfigKind, DocumentId};
use crate::fault::Problem;

/// Adds the documents of all tenants; those that cannot be read are left out and logged.
pub(super) async fn add(current: &mut CurrentConfig, app: &App) -> Result<(), Problem> {
    let stored = app.refresher.store().documents().of_all_tenants().await?;
    let mut versions: BTreeMap<String, Workflow> = BTreeMap::new();
    for version in app.refresher.effective::<Workflow>(DEFAULT_TENANT).await? {
        versions.insert(version.value.id.clone(), version.value);
    }
    for raw in stored.iter().filter(|raw| raw.kind == Workflow::KIND) {
        versions.extend(read::<Workflow>(raw).map(|version| (version.id.clone(), version)));
    }
    for raw in &stored {
        if let Some((kind, document)) = document(raw, &versions) {
            let id = DocumentId::new(kind, &raw.tenant, &raw.name);
            current.documents.insert(id, CurrentDocument { document, is_stored: true });
        }
    }
    Ok(())
}

fn document(
    raw: &RawDocument,
    versions: &BTreeMap<String, Workflow>,
) -> Option<(ConfigKind, ConfigDocument)> {
    Some(match raw.kind.as_str() {
        Provider::KIND => (ConfigKind::Provider, ConfigDocument::Provider(Box::new(read(raw)?))),
        Pool::KIND => (ConfigKind::Pool, ConfigDocument::Pool(read(raw)?)),
        Combo::KIND => (ConfigKind::Combo, ConfigDocument::Combo(read(raw)?)),
        Alias::KIND => (ConfigKind::Alias, ConfigDocument::Alias(read(raw)?)),
        ModelOverride::KIND => (ConfigKind::ModelOverride, ConfigDocument::ModelOverride(read(raw)?)),
        ModelPrice::KIND => (ConfigKind::ModelPrice, ConfigDocument::ModelPrice(Box::new(read(raw)?))),
        Guardrail::KIND => (ConfigKind::Guardrail, ConfigDocument::Guardrail(Box::new(read(raw)?))),
        WorkflowActivation::KIND => {
            let active = read::<WorkflowActivation>(raw)?.active?;
            (ConfigKind::Workflow, ConfigDocument::Workflow(Box::new(versions.get(&active)?.clone())))
        }
        _ => return None,
    })
}

fn read<T: Resource>(raw: &RawDocument) -> Option<T> {
    match store::decode::<T>(raw) {
        Ok(stored) => Some(stored.value),
        Err(error) => {
            let RawDocument { tenant, kind, name, .. } = raw;
            tracing::error!(tenant, kind, name, error, "unreadable document skipped");
            None
        }
    }
}
