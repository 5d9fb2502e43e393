//! The body of a plan: changes of single documents, or whole files.

use std::collections::BTreeSet;

use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use serde::Deserialize;
use serde_json::{Map, Value};
use store::DEFAULT_TENANT;
use utoipa::ToSchema;

use super::super::current::CurrentConfig;
use super::super::document::{Members, normal_name};
use super::super::kind::{ConfigKind, DocumentId};
use super::super::secret_references::OWN_DOCUMENTS;
use crate::admin::explain::replay::DocumentChange;
use crate::admin::settings;
use crate::body;

const MAX_DOCUMENTS: usize = 10_000;
/// The most bytes of all guardrails together: their patterns are compiled, which takes much longer than reading them.
const MAX_GUARDRAIL_BYTES: usize = 1 << 20;

#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanRequest {
    /// Changes of single documents, as in `/explain/replay`: absent members keep their value, null deletes a document.
    #[serde(default)]
    #[schema(value_type = Vec<DocumentChange>)]
    pub changes: Vec<Value>,
    /// Whole documents by section and name, as `/config/export` writes them, with references replaced by their values
    /// and `$${` by `${`, as `gatehouse apply` does. Nothing is replaced here: a reference in a secret is refused.
    /// Absent members have their defaults; absent secrets are kept.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub documents: Option<Map<String, Value>>,
    /// Delete stored documents that are not in `documents`. Default: false
    #[serde(default)]
    pub prune: bool,
    /// Judge so many audited calls, 1 to 1000, from the newest on, by both configurations. Only in a plan.
    #[serde(default)]
    pub replay: Option<i64>,
}

/// A document of a request; without members, it is deleted.
pub struct WantedDocument {
    pub id: DocumentId,
    pub members: Option<Members>,
}

/// The documents that a request asks for.
pub fn documents(
    request: PlanRequest,
    current: &CurrentConfig,
    now: Timestamp,
) -> Result<Vec<WantedDocument>, Fault> {
    let mut wanted = Vec::new();
    let member = if request.documents.is_some() { "documents" } else { "changes" };
    match request.documents {
        Some(_) if !request.changes.is_empty() => {
            let message = "Send 'changes' or 'documents', not both.";
            return Err(fault::invalid_parameter("changes", message));
        }
        None if request.prune => {
            let message = "'prune' needs 'documents': what is not among them is deleted.";
            return Err(fault::invalid_parameter("prune", message));
        }
        Some(sections) => {
            for (section, value) in sections {
                add_section(DEFAULT_TENANT, &section, value, &mut wanted)?;
            }
        }
        None => {
            for (index, change) in request.changes.into_iter().enumerate() {
                let change = self::change(change, current, now);
                wanted.push(change.map_err(|fault| in_member(fault, &format!("changes[{index}]")))?);
            }
        }
    }
    let mut named = BTreeSet::new();
    if let Some(twice) = wanted.iter().map(|wanted| &wanted.id).find(|id| !named.insert(*id)) {
        let message = format!("The {} {} is in the request twice.", twice.kind.kind(), twice.described());
        return Err(fault::invalid_parameter(member, message));
    }
    if wanted.len() > MAX_DOCUMENTS {
        let message = format!("A plan has at most {MAX_DOCUMENTS} documents.");
        return Err(fault::invalid_parameter(member, message));
    }
    let guardrails = wanted.iter().filter(|wanted| wanted.id.kind == ConfigKind::Guardrail);
    let members = guardrails.filter_map(|wanted| wanted.members.as_ref()).flatten();
    if members.map(|(_, value)| value.to_string().len()).sum::<usize>() > MAX_GUARDRAIL_BYTES {
        let message = format!("The guardrails of a plan have at most {MAX_GUARDRAIL_BYTES} bytes.");
        return Err(fault::invalid_parameter(member, message));
    }
    Ok(wanted)
}

fn in_member(fault: Fault, place: &str) -> Fault {
    let param = fault.param.as_ref().map_or_else(|| place.to_owned(), |param| format!("{place}.{param}"));
    fault.param(param)
}

fn add_section(
    tenant: &str,
    section: &str,
    value: Value,
    wanted: &mut Vec<WantedDocument>,
) -> Result<(), Fault> {
    let parent = match tenant {
        DEFAULT_TENANT => "documents".to_owned(),
        tenant => format!("documents.tenants.{tenant}.documents"),
    };
    let place = format!("{parent}.{section}");
    let kind = ConfigKind::of_section(section).map_err(|fault| in_member(fault, &parent))?;
    if tenant != DEFAULT_TENANT {
        check_of_tenant(kind).map_err(|fault| fault.param(&*place))?;
    }
    let members = object(&place, value)?;
    if let Some(name) = kind.single() {
        let id = DocumentId::of_default(kind, name);
        wanted.push(WantedDocument { id, members: Some(members) });
        return Ok(());
    }
    for (name, document) in members {
        let mut members = object(&format!("{place}.{name}"), document)?;
        if kind == ConfigKind::Tenant
            && let Some(own) = members.remove(OWN_DOCUMENTS)
        {
            for (section, value) in object(&format!("{place}.{name}.{OWN_DOCUMENTS}"), own)? {
                add_section(&name, &section, value, wanted)?;
            }
        }
        let id = DocumentId::new(kind, tenant, &normal_name(kind, &name));
        wanted.push(WantedDocument { id, members: Some(members) });
    }
    Ok(())
}

/// Refuses kinds of which tenants have no documents themselves.
fn check_of_tenant(kind: ConfigKind) -> Result<(), Fault> {
    if kind.is_of_tenant() {
        return Ok(());
    }
    let message = format!(
        "A tenant has no '{}' of its own. Keys and budgets name their tenant; they stand beside 'tenants'.",
        kind.section()
    );
    Err(fault::invalid_parameter("tenant_id", message))
}

/// The members of an object; null is an empty one, as a section with all its lines commented out.
fn object(place: &str, value: Value) -> Result<Members, Fault> {
    match value {
        Value::Object(members) => Ok(members),
        Value::Null => Ok(Map::new()),
        _ => Err(fault::invalid_parameter(place, format!("'{place}' is an object."))),
    }
}

/// A change of a single document, over the one in force.
fn change(change: Value, current: &CurrentConfig, now: Timestamp) -> Result<WantedDocument, Fault> {
    let DocumentChange { kind, name, document, tenant_id } = body::read(change)?;
    let kind = ConfigKind::of_change(&kind)?;
    let tenant = tenant_id.unwrap_or_default();
    if tenant != DEFAULT_TENANT {
        check_of_tenant(kind)?;
    }
    let name = kind.single().map_or_else(|| normal_name(kind, &name), str::to_owned);
    let id = DocumentId::new(kind, &tenant, &name);
    let Some(document) = document else { return Ok(WantedDocument { id, members: None }) };
    let known = current.documents.get(&id);
    let mut members = known.map(|known| known.document.members(now)).unwrap_or_default();
    // Credentials are never sent to another address.
    let differs =
        |member: &&str| document.get(*member).is_some_and(|sent| members.get(*member) != Some(sent));
    let forgotten: Vec<&str> = match kind {
        ConfigKind::Provider if ["base_url", "type"].iter().any(differs) => vec!["api_key", "headers"],
        ConfigKind::Settings => {
            let changed = document.keys().map(String::as_str).filter(differs);
            changed.filter_map(settings::credential_of).collect()
        }
        _ => Vec::new(),
    };
    members.retain(|name, _| !forgotten.contains(&name.as_str()));
    for (name, value) in document {
        match value {
            Value::Null => match cleared(kind, &name) {
                Some(empty) => drop(members.insert(name, empty)),
                None => drop(members.remove(&name)),
            },
            value => drop(members.insert(name, value)),
        }
    }
    Ok(WantedDocument { id, members: Some(members) })
}

/// The value that clears a member which is kept when it is absent.
fn cleared(kind: ConfigKind, member: &str) -> Option<Value> {
    match (kind, member) {
        (ConfigKind::Provider, "api_key") => Some(Value::Null),
        (ConfigKind::Provider, "headers") => Some(Value::Object(Map::new())),
        (ConfigKind::AuthKey, "previous") => Some(Value::Array(Vec::new())),
        _ => None,
    }
}
