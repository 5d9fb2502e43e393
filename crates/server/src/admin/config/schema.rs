//! The JSON Schema of configuration files, from the same types as the bodies of the admin API.

use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::document::{TenantDocument, WorkflowDocument};
use super::key_document::KeyDocument;
use super::kind::ConfigKind;
use super::secret_references::OWN_DOCUMENTS;
use crate::admin::aliases::AliasBody;
use crate::admin::budgets::AmountBody;
use crate::admin::budgets::settings::SettingsBody;
use crate::admin::combos::ComboBody;
use crate::admin::guardrails::GuardrailBody;
use crate::admin::model_overrides::OverrideBody;
use crate::admin::pools::PoolBody;
use crate::admin::providers::ProviderBody;
use domain::resources::model_price::ModelPrice;

/// The schema of a file with any number of sections. `settings` are the names and descriptions of settings.
pub fn schema(settings: &[(&str, &str)]) -> Value {
    let mut definitions = Map::new();
    let mut properties = Map::new();
    for kind in ConfigKind::ALL {
        let document = match kind {
            ConfigKind::Settings => setting_schema(settings),
            ConfigKind::Tenant => definition::<TenantDocument>(&mut definitions),
            ConfigKind::Provider => definition::<ProviderBody>(&mut definitions),
            ConfigKind::Pool => definition::<PoolBody>(&mut definitions),
            ConfigKind::Combo => definition::<ComboBody>(&mut definitions),
            ConfigKind::Alias => definition::<AliasBody>(&mut definitions),
            ConfigKind::ModelOverride => definition::<OverrideBody>(&mut definitions),
            ConfigKind::ModelPrice => definition::<ModelPrice>(&mut definitions),
            ConfigKind::Guardrail => definition::<GuardrailBody>(&mut definitions),
            ConfigKind::Workflow => definition::<WorkflowDocument>(&mut definitions),
            ConfigKind::BudgetSettings => definition::<SettingsBody>(&mut definitions),
            ConfigKind::Budget => definition::<AmountBody>(&mut definitions),
            ConfigKind::AuthKey => definition::<KeyDocument>(&mut definitions),
        };
        let section = match kind.single() {
            Some(_) => document,
            None => json!({"type": ["object", "null"], "additionalProperties": document}),
        };
        properties.insert(kind.section().to_owned(), section);
    }
    let own: Map<String, Value> = ConfigKind::ALL
        .into_iter()
        .filter(|kind| kind.is_of_tenant())
        .map(|kind| (kind.section().to_owned(), properties[kind.section()].clone()))
        .collect();
    // Beside the members of the tenant: its own documents, in the same sections.
    definitions[TENANT]["properties"][OWN_DOCUMENTS] =
        json!({"type": ["object", "null"], "properties": own, "additionalProperties": false});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Gatehouse configuration",
        "description": "Documents by section and name, as `gatehouse export` writes them.",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "$defs": definitions,
    })
}

/// The name of the schema of a tenant.
const TENANT: &str = "TenantDocument";

/// Adds the schema of a type and of the types that it uses; returns a reference to it.
fn definition<T: ToSchema>(definitions: &mut Map<String, Value>) -> Value {
    let mut schemas = vec![(T::name().into_owned(), T::schema())];
    T::schemas(&mut schemas);
    for (name, schema) in schemas {
        let mut value = serde_json::to_value(schema).unwrap_or_default();
        localize(&mut value);
        definitions.insert(name, value);
    }
    json!({"$ref": format!("#/$defs/{}", T::name())})
}

/// Points references to the definitions of this schema instead of those of the OpenAPI document.
fn localize(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref") {
                *reference = reference.replace("#/components/schemas/", "#/$defs/");
            }
            members.values_mut().for_each(localize);
        }
        Value::Array(items) => items.iter_mut().for_each(localize),
        _ => {}
    }
}

fn setting_schema(settings: &[(&str, &str)]) -> Value {
    let value = json!(["string", "number", "boolean", "array"]);
    let property =
        |(name, about): &(&str, &str)| ((*name).to_owned(), json!({"type": value, "description": about}));
    let properties: Map<String, Value> = settings.iter().map(property).collect();
    json!({"type": ["object", "null"], "properties": properties, "additionalProperties": false})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_has_a_schema_whose_references_exist() {
        let schema = schema(&[("log.level", "Level.")]);
        for kind in ConfigKind::ALL {
            assert!(schema["properties"][kind.section()].is_object(), "{}", kind.section());
        }
        let text = schema.to_string();
        for reference in text.split("#/$defs/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(schema["$defs"][name].is_object(), "{name}");
        }
        assert!(!text.contains("#/components/"));
        assert_eq!(schema["$defs"]["AliasBody"]["additionalProperties"], false);
    }
}
