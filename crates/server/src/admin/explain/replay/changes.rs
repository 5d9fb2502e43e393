//! The changes of a replay: each is read and validated as the PUT of its document, then all are checked together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::capability::Capability;
use domain::fault::{self, Fault};
use domain::principal::Principal;
use domain::resources::Resource;
use domain::resources::alias::Alias;
use domain::resources::combo::Combo;
use domain::resources::guardrail::Guardrail;
use domain::resources::model_override::ModelOverride;
use domain::resources::model_price::ModelPrice;
use domain::resources::pool::Pool;
use domain::resources::provider::Provider;
use domain::resources::workflow::{Workflow, WorkflowActivation};
use pipeline::refresh::ProposedDocuments;
use pipeline::snapshot::Snapshot;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use store::DEFAULT_TENANT;
use utoipa::ToSchema;

use super::proposed_document::ProposedDocument;
use super::workflow_changes;
use crate::App;
use crate::admin::crud::Served;
use crate::admin::names::Names;
use crate::admin::{combos, providers};
use crate::body::{self, Patch};
use crate::fault::Problem;
use crate::nearest;
use crate::tenant_access::TenantAccess;

/// The kinds of documents that decide how calls are routed, priced and inspected.
const KINDS: [&str; 9] = [
    Alias::KIND,
    Combo::KIND,
    Guardrail::KIND,
    ModelOverride::KIND,
    ModelPrice::KIND,
    Pool::KIND,
    Provider::KIND,
    Workflow::KIND,
    WorkflowActivation::KIND,
];
const MAX_CHANGES: usize = 100;
/// The most bytes of all changes together: patterns are compiled, which takes much longer than reading them.
const MAX_BYTES: usize = 1 << 20;

/// A change of a document.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentChange {
    /// alias, combo, guardrail, model_override, model_price, pool, provider, workflow or workflow_activation
    pub kind: String,
    /// The name or selector of the document; of a workflow, the id of its version; of an activation, the key of its
    /// scope.
    pub name: String,
    /// The document as its PUT accepts it: absent members keep their value. Null deletes it.
    #[serde(deserialize_with = "nullable")]
    #[schema(value_type = Option<Object>)]
    pub document: Option<Map<String, Value>>,
    /// The tenant that the document belongs to; by default, the caller's.
    #[serde(default)]
    pub tenant_id: Option<String>,
}

/// Requires a member that may be null: nothing is deleted by a member that was forgotten.
pub fn nullable<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::deserialize(deserializer)
}

/// The documents that the changes result in, with their position in the request.
pub struct Proposal(Vec<ProposedChange>);

struct ProposedChange {
    position: ChangePosition,
    /// The tenant of the document; `None` for the default tenant.
    tenant: Option<String>,
    document: ProposedDocument,
}

/// The position of a change, by which errors name their field.
#[derive(Clone, Copy)]
struct ChangePosition {
    index: usize,
    /// Whether the document has its name as a member.
    has_name: bool,
}

impl ChangePosition {
    /// Names the member of a change that an error is about.
    fn in_change(self, fault: Fault) -> Fault {
        let param = match &fault.param {
            Some(param) => format!("changes[{}].{param}", self.index),
            None => format!("changes[{}]", self.index),
        };
        fault.param(param)
    }

    /// Names the member of a document that an error is about.
    fn in_document(self, fault: Fault) -> Fault {
        let param = match fault.param.as_deref() {
            Some("name" | "selector") if !self.has_name => "name".to_owned(),
            Some(param) => format!("document.{param}"),
            None => "document".to_owned(),
        };
        self.in_change(fault.param(param))
    }
}

/// Reads the changes. Each document is the result of its PUT, and has passed the checks that need no other document.
pub async fn read(
    access: &TenantAccess<'_>,
    asker: &Principal,
    changes: Vec<Value>,
) -> Result<Proposal, Problem> {
    if changes.len() > MAX_CHANGES {
        let message = format!("A replay has at most {MAX_CHANGES} changes.");
        return Err(fault::invalid_parameter("changes", message).into());
    }
    if changes.iter().map(|change| change.to_string().len()).sum::<usize>() > MAX_BYTES {
        let message = format!("The changes of a replay have at most {MAX_BYTES} bytes.");
        return Err(fault::invalid_parameter("changes", message).into());
    }
    let (mut documents, mut seen) = (Vec::with_capacity(changes.len()), BTreeSet::new());
    for (index, change) in changes.into_iter().enumerate() {
        let mut position = ChangePosition { index, has_name: false };
        let DocumentChange { kind, name, document, tenant_id } =
            body::read(change).map_err(|fault| position.in_change(fault))?;
        let kind = known_kind(&kind).map_err(|fault| position.in_change(fault))?;
        let tenant = tenant(access, asker, tenant_id).map_err(|fault| position.in_change(fault))?;
        let access = &TenantAccess::new(access.app, tenant.as_deref());
        if !seen.insert((tenant.clone(), kind, name.clone())) {
            let message = format!("The {kind} '{name}' is changed twice.");
            return Err(position.in_change(fault::invalid_parameter("name", message)).into());
        }
        let proposed = match document {
            None => delete(access, kind, &name).await?.map_err(|fault| position.in_change(fault)),
            Some(document) => {
                if kind == Workflow::KIND {
                    let is_new = workflow_changes::check_new(access, &name).await?;
                    is_new.map_err(|fault| position.in_change(fault))?;
                }
                position.has_name = document.contains_key("name") || document.contains_key("selector");
                let edited = edit(access, asker, kind, &name, document).await?;
                edited.map_err(|fault| position.in_document(fault))
            }
        };
        documents.push(ProposedChange { position, tenant: tenant.clone(), document: proposed? });
    }
    Ok(Proposal(documents))
}

/// The tenant of a change: the one that it names, else that of the request.
fn tenant(
    access: &TenantAccess<'_>,
    asker: &Principal,
    asked: Option<String>,
) -> Result<Option<String>, Fault> {
    let gateway = &access.app.gateway;
    let has_tenants = gateway.capabilities.has(Capability::Identity);
    let Some(asked) = asked.filter(|asked| has_tenants && !asked.is_empty()) else {
        return Ok(access.tenant().map(str::to_owned));
    };
    match asker.tenant() {
        Some(own) if **own != *asked => Err(fault::other_tenant_denied(own)),
        _ if !gateway.snapshot().identities.tenants.has(&asked) => Err(fault::unknown_tenant(&asked)),
        _ => Ok(Some(asked)),
    }
}

fn known_kind(kind: &str) -> Result<&'static str, Fault> {
    KINDS.into_iter().find(|known| *known == kind).ok_or_else(|| {
        let hint = nearest::hint(kind, KINDS);
        let message =
            format!("Changes of '{kind}' are not replayed.{hint} Known kinds: {}.", KINDS.join(", "));
        fault::invalid_parameter("kind", message)
    })
}

/// The document that a PUT with these members would store. The outer error is one of storage.
async fn edit(
    access: &TenantAccess<'_>,
    asker: &Principal,
    kind: &'static str,
    name: &str,
    document: Map<String, Value>,
) -> Result<Result<ProposedDocument, Fault>, Problem> {
    let patch = &Patch::from(document);
    Ok(match kind {
        Alias::KIND => edited::<Alias>(access, name, patch).await?.map(ProposedDocument::Alias),
        Combo::KIND => {
            combos::switched_on(access.app)?;
            edited::<Combo>(access, name, patch).await?.map(ProposedDocument::Combo)
        }
        Guardrail::KIND => {
            let guardrail = edited::<Guardrail>(access, name, patch).await?;
            guardrail.map(Box::new).map(ProposedDocument::Guardrail)
        }
        ModelOverride::KIND => {
            edited::<ModelOverride>(access, name, patch).await?.map(ProposedDocument::ModelOverride)
        }
        ModelPrice::KIND => {
            let price = edited::<ModelPrice>(access, name, patch).await?;
            price.map(Box::new).map(ProposedDocument::ModelPrice)
        }
        Pool::KIND => edited::<Pool>(access, name, patch).await?.map(ProposedDocument::Pool),
        Provider::KIND => edited_provider(access, name, patch).map(Box::new).map(ProposedDocument::Provider),
        Workflow::KIND => workflow_changes::new_version(asker, name, patch),
        _ => workflow_changes::activation(access, name, patch).await?,
    })
}

async fn edited<T: Served>(
    access: &TenantAccess<'_>,
    name: &str,
    patch: &Patch,
) -> Result<Result<T, Fault>, Problem> {
    let known = access.collection::<T>().get_readable(name).await?;
    let known = known.or_else(|| access.configured_document(name));
    let value = T::edited(name, known.as_ref().map(|known| &known.value), patch);
    Ok(value.and_then(|value| value.validate().map(|()| value)))
}

fn edited_provider(access: &TenantAccess<'_>, name: &str, patch: &Patch) -> Result<Provider, Fault> {
    let provider = providers::edited(access, name, patch)?;
    providers::judge_address(access.app, &provider)?;
    Ok(provider)
}

/// The deletion of a stored document. Other documents may refer to it: the calls that would fail then are shown.
async fn delete(
    access: &TenantAccess<'_>,
    kind: &'static str,
    name: &str,
) -> Result<Result<ProposedDocument, Fault>, Problem> {
    if kind == Workflow::KIND {
        return workflow_changes::deactivation(access, name).await;
    }
    let stored = access.documents().find(kind, name).await?;
    let missing = || fault::not_found(format!("There is no stored {kind} '{name}'.")).param("name");
    Ok(stored.map(|_| ProposedDocument::Deleted { kind, name: name.to_owned() }).ok_or_else(missing))
}

impl Proposal {
    /// The configuration that the changes of `before` result in. Refuses documents that the configuration and the changes
    /// before them do not allow.
    pub async fn compile(&self, app: &App, before: &Snapshot) -> Result<Arc<Snapshot>, Problem> {
        let mut documents = ProposedDocuments::default();
        for ProposedChange { tenant, document, .. } in &self.0 {
            document.lay_over(tenant.as_deref().unwrap_or(DEFAULT_TENANT), &mut documents)?;
        }
        let after = Arc::new(app.refresher.propose(before, &documents).await?);
        let mut names_of_tenants: BTreeMap<Option<&str>, Names> = BTreeMap::new();
        for ProposedChange { position, tenant, document } in &self.0 {
            let tenant = tenant.as_deref();
            let seen = after.clone().seen_by(tenant);
            let mut names = match names_of_tenants.remove(&tenant) {
                Some(names) => names,
                None => Names::load(&TenantAccess::new(app, tenant)).await?,
            };
            names.routes = seen.routes.clone();
            document.check(&names, &seen).map_err(|fault| position.in_document(fault))?;
            document.name_in(&seen, &mut names);
            names_of_tenants.insert(tenant, names);
        }
        Ok(after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_their_field_from_the_top() {
        let position = |has_name| ChangePosition { index: 2, has_name };
        let of = |param: &str| fault::invalid_parameter(param, "wrong");
        for (fault, expected) in [
            (position(false).in_document(of("config.patterns")), "changes[2].document.config.patterns"),
            (position(false).in_document(Fault { param: None, ..of("") }), "changes[2].document"),
            (position(false).in_document(of("name")), "changes[2].name"),
            (position(true).in_document(of("name")), "changes[2].document.name"),
            (position(false).in_change(of("kind")), "changes[2].kind"),
        ] {
            assert_eq!(fault.param.as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_kind_that_is_not_replayed_is_refused_with_the_known_ones() {
        assert_eq!(known_kind("model_price"), Ok(ModelPrice::KIND));
        let fault = known_kind("budget").unwrap_err();
        assert_eq!(fault.param.as_deref(), Some("kind"));
        assert!(KINDS.iter().all(|kind| fault.message.contains(kind)), "{fault}");
    }
}
