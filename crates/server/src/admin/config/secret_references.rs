//! Secrets in exported documents: references to variables, which the reader of the files replaces.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use domain::fault::{self, Fault};
use domain::resources::setting_values::SettingValues;
use serde_json::{Map, Value};

use super::document::Members;
use super::kind::{ConfigKind, DocumentId};
use crate::runtime_settings::SettingState;

/// The names of the settings whose values are secret, each with its variable.
#[derive(Default)]
pub struct SecretSettings(BTreeMap<String, String>);

impl SecretSettings {
    /// The secret settings of the table, and those that are stored as secrets: another version of the gateway may have
    /// stored settings that this one does not know.
    pub fn new(table: &[SettingState], stored: Option<&SettingValues>) -> Self {
        let stored = stored.into_iter().flat_map(|stored| stored.secrets.keys());
        let stored = stored.map(|name| (name.clone(), name.clone()));
        let known = table.iter().filter(|setting| setting.secret);
        let known = known.map(|setting| (setting.name.to_owned(), setting.env.to_owned()));
        Self(stored.chain(known).collect())
    }
}

/// A secret member of a document.
struct SecretMember<'a> {
    /// Its path in the document, e.g. `headers.x-team`.
    field: String,
    /// The name of its variable, before it is made unique.
    variable: String,
    value: &'a mut Value,
}

/// The secret members that a document has.
fn secret_members<'a>(
    kind: ConfigKind,
    name: &str,
    settings: &SecretSettings,
    members: &'a mut Members,
) -> Vec<SecretMember<'a>> {
    let mut found = Vec::new();
    for (member, value) in members.iter_mut() {
        let (field, variable) = match (kind, member.as_str()) {
            (ConfigKind::Provider, "api_key") => (member.clone(), format!("{name}_API_KEY")),
            (ConfigKind::Provider, "headers") => {
                found.extend(headers(member, name, value));
                continue;
            }
            (ConfigKind::Guardrail, "config") => {
                found.extend(guardrail_config(name, value));
                continue;
            }
            // Webhook URLs of chat services contain credentials.
            (ConfigKind::BudgetSettings, "webhook_url") => (member.clone(), "BUDGET_WEBHOOK_URL".to_owned()),
            (ConfigKind::BudgetSettings, "webhook_secret") => {
                (member.clone(), "BUDGET_WEBHOOK_SECRET".to_owned())
            }
            (ConfigKind::AuthKey, "value") => (member.clone(), format!("{name}_KEY")),
            (ConfigKind::Settings, _) => match settings.0.get(member) {
                Some(variable) => (member.clone(), variable.clone()),
                None => continue,
            },
            _ => continue,
        };
        found.push(SecretMember { field, variable, value });
    }
    found
}

/// The secrets of a guardrail's configuration: the address of a webhook, which may contain a token, and its headers.
fn guardrail_config<'a>(name: &str, config: &'a mut Value) -> Vec<SecretMember<'a>> {
    let Value::Object(config) = config else { return Vec::new() };
    let owner = format!("GUARDRAIL_{name}");
    let mut found = Vec::new();
    for (member, value) in config.iter_mut() {
        match member.as_str() {
            "url" => {
                let (field, variable) = ("config.url".to_owned(), format!("{owner}_URL"));
                found.push(SecretMember { field, variable, value });
            }
            "headers" => found.extend(headers("config.headers", &owner, value)),
            _ => {}
        }
    }
    found
}

fn headers<'a>(field: &str, owner: &str, headers: &'a mut Value) -> Vec<SecretMember<'a>> {
    let Value::Object(headers) = headers else { return Vec::new() };
    let secret = |(name, value): (&String, &'a mut Value)| SecretMember {
        field: format!("{field}.{name}"),
        variable: format!("{owner}_HEADER_{name}"),
        value,
    };
    headers.iter_mut().map(secret).collect()
}

/// Replaces secrets by references. Each secret has a variable of its own; its name depends on the document alone,
/// unless two documents would have the same.
pub struct SecretReferences<'a> {
    settings: &'a SecretSettings,
    used: BTreeSet<String>,
}

impl<'a> SecretReferences<'a> {
    pub fn new(settings: &'a SecretSettings) -> Self {
        Self { settings, used: BTreeSet::new() }
    }

    /// The members as they are exported: secrets are references, and a text that looks like one is escaped.
    pub fn replace(&mut self, kind: ConfigKind, name: &str, mut members: Members) -> Members {
        members.values_mut().for_each(escape);
        for secret in secret_members(kind, name, self.settings, &mut members) {
            if secret.value.is_string() {
                *secret.value = Value::from(format!("${{{}}}", self.variable(&secret.variable)));
            }
        }
        members
    }

    /// The name of a variable that no other secret has.
    fn variable(&mut self, variable: &str) -> String {
        let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let mut variable: String = variable.chars().map(word).collect();
        if variable.starts_with(|c: char| c.is_ascii_digit()) {
            variable.insert(0, '_');
        }
        let mut name = variable.clone();
        let mut number = 2;
        while !self.used.insert(name.clone()) {
            name = format!("{variable}_{number}");
            number += 1;
        }
        name
    }
}

/// Escapes what the reader of the files would take for a reference.
fn escape(value: &mut Value) {
    match value {
        Value::String(text) if text.contains("${") => *text = text.replace("${", "$${"),
        Value::Array(items) => items.iter_mut().for_each(escape),
        Value::Object(members) => members.values_mut().for_each(escape),
        _ => {}
    }
}

/// Shown in place of a secret.
const MASK: &str = "***";

/// The members with secrets masked, for answers.
pub fn masked(kind: ConfigKind, settings: &SecretSettings, members: &Members) -> Members {
    let mut members = members.clone();
    for secret in secret_members(kind, "", settings, &mut members) {
        *secret.value = Value::from(MASK);
    }
    members
}

/// Refuses secrets that are references or masks: whoever sends documents replaces them by their values before.
pub fn check_resolved(kind: ConfigKind, settings: &SecretSettings, members: &Members) -> Result<(), Fault> {
    let mut members = members.clone();
    for SecretMember { field, value, .. } in secret_members(kind, "", settings, &mut members) {
        let message = match value.as_str().unwrap_or_default() {
            MASK => format!("'{field}' is a mask, not a secret: send its value."),
            text if has_reference(text) => format!(
                "'{field}' is a reference to a variable. 'gatehouse apply' replaces it; the API needs the \
                 value."
            ),
            _ => continue,
        };
        return Err(fault::invalid_parameter(field, message));
    }
    Ok(())
}

/// Whether a text has a reference such as `${NAME}` or `${NAME:-default}`.
fn has_reference(text: &str) -> bool {
    text.split("${").skip(1).any(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        end > 0 && (rest[end..].starts_with('}') || (rest[end..].starts_with(":-") && rest.contains('}')))
    })
}

/// The member of a tenant that has its documents, by section and name.
pub const OWN_DOCUMENTS: &str = "documents";

/// The sections of a file, in order. Tenants come before the documents that they have.
pub fn sections(documents: impl Iterator<Item = (DocumentId, Members)>) -> Map<String, Value> {
    let mut sections = Map::new();
    for (id, members) in documents {
        add_document(&mut sections, id, members);
    }
    sections
}

fn add_document(sections: &mut Map<String, Value>, id: DocumentId, members: Members) -> Option<()> {
    let parent = match id.tenant() {
        None => sections,
        Some(tenant) => {
            let tenants = member(sections, ConfigKind::Tenant.section())?;
            member(member(tenants, tenant)?, OWN_DOCUMENTS)?
        }
    };
    let (parent, name) = match id.kind.single() {
        Some(_) => (parent, id.kind.section().to_owned()),
        None => (member(parent, id.kind.section())?, id.name),
    };
    parent.insert(name, Value::Object(members));
    Some(())
}

/// An object that is a member of another, created if it is missing.
fn member<'a>(object: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Map<String, Value>> {
    object.entry(name).or_insert_with(|| Value::Object(Map::new())).as_object_mut()
}
