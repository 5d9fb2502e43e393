//! One change of a plan, with the members that differ.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::document::{ConfigDocument, Members};
use super::kind::DocumentId;
use super::secret_references::{SecretSettings, masked};

/// A document that differs from the configuration in force.
pub struct PlannedChange {
    pub id: DocumentId,
    /// Members in force, secrets included; `None` if the document is new.
    pub before: Option<Members>,
    /// The new document; `None` if it is deleted.
    pub after: Option<(ConfigDocument, Members)>,
}

/// A change, as it is shown.
#[derive(Serialize, ToSchema)]
pub struct PlannedChangeView {
    pub kind: &'static str,
    pub name: String,
    /// The tenant that the document belongs to; absent for the default tenant
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// create, update or delete
    pub action: &'static str,
    /// The members that differ; secrets are masked, also where they differ
    pub fields: Vec<FieldChange>,
}

#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct FieldChange {
    /// The name of the member, with a dot before nested ones
    pub field: String,
    /// Null if it is new
    pub before: Option<Value>,
    /// Null if it is removed
    pub after: Option<Value>,
}

impl PlannedChange {
    pub fn view(&self, settings: &SecretSettings) -> PlannedChangeView {
        let action = match (&self.before, &self.after) {
            (None, _) => "create",
            (Some(_), Some(_)) => "update",
            (Some(_), None) => "delete",
        };
        let empty = Members::new();
        let before = self.before.as_ref().unwrap_or(&empty);
        let after = self.after.as_ref().map_or(&empty, |(_, members)| members);
        let kind = self.id.kind;
        let shown = (masked(kind, settings, before), masked(kind, settings, after));
        let mut fields = Vec::new();
        differences("", (before, after), (&shown.0, &shown.1), &mut fields);
        PlannedChangeView {
            kind: kind.kind(),
            name: self.id.name.clone(),
            tenant_id: self.id.tenant().map(str::to_owned),
            action,
            fields,
        }
    }
}

/// Collects the members that differ. Nested objects are compared member by member.
fn differences(
    prefix: &str,
    (before, after): (&Members, &Members),
    (shown_before, shown_after): (&Members, &Members),
    found: &mut Vec<FieldChange>,
) {
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let (old, new) = (before.get(name), after.get(name));
        if old == new {
            continue;
        }
        let field = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        let (old_shown, new_shown) = (shown_before.get(name), shown_after.get(name));
        match (old, new, old_shown, new_shown) {
            (
                Some(Value::Object(old)),
                Some(Value::Object(new)),
                Some(Value::Object(old_shown)),
                Some(Value::Object(new_shown)),
            ) => differences(&field, (old, new), (old_shown, new_shown), found),
            _ => found.push(FieldChange { field, before: old_shown.cloned(), after: new_shown.cloned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admin::config::kind::ConfigKind;

    fn change(before: Value, after: Value) -> Vec<FieldChange> {
        let members = |value: Value| serde_json::from_value::<Members>(value).unwrap();
        let document: domain::resources::alias::Alias =
            serde_json::from_value(json!({"name": "a", "target": "b"})).unwrap();
        let change = PlannedChange {
            id: DocumentId::of_default(ConfigKind::Provider, "lab"),
            before: Some(members(before)),
            after: Some((ConfigDocument::Alias(document), members(after))),
        };
        change.view(&SecretSettings::default()).fields
    }

    #[test]
    fn members_that_differ_are_shown_without_secrets() {
        let found = change(
            json!({"type": "openai", "api_key": "sk-old", "resilience": {"max_retries": 1}, "models": ["a"]}),
            json!({"type": "openai", "api_key": "sk-new", "resilience": {"max_retries": 2}, "priority": 3}),
        );
        let field = |name: &str, before: Value, after: Value| FieldChange {
            field: name.to_owned(),
            before: (!before.is_null()).then_some(before),
            after: (!after.is_null()).then_some(after),
        };
        assert_eq!(
            found,
            [
                field("api_key", json!("***"), json!("***")),
                field("models", json!(["a"]), Value::Null),
                field("priority", Value::Null, json!(3)),
                field("resilience.max_retries", json!(1), json!(2)),
            ]
        );
    }
}
