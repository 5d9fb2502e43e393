//! Resources of gatehouse.yaml: documents that are in force unless the admin API overrides them.

use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use domain::resources::Resource as _;
use domain::resources::auth_key::AuthKey;
use domain::resources::budget::Budget;
use domain::resources::workflow::{Workflow, WorkflowActivation};
use pipeline::refresh::ConfiguredDocument;
use serde_json::{Map, Value};
use store::StoreError;

use super::document::ConfigDocument;
use super::kind::ConfigKind;
use crate::admin::workflows;

/// The resources of the file. Budgets are apart, because they are merged with those of `BUDGETS`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileResources {
    pub documents: Vec<ConfiguredDocument>,
    pub budgets: Vec<Budget>,
}

impl FileResources {
    /// The sections that may stand below `resources`, and whether their members are those of a single document.
    pub fn sections() -> impl Iterator<Item = (&'static str, bool)> {
        let kinds = ConfigKind::ALL.into_iter().filter(|kind| is_of_file(*kind));
        kinds.map(|kind| (kind.section(), kind.single().is_some()))
    }

    /// Adds a document. The name of a single one is ignored.
    pub fn add(&mut self, section: &str, name: &str, members: Map<String, Value>) -> Result<(), Fault> {
        let kind = ConfigKind::of_section(section)?;
        if !is_of_file(kind) {
            let message =
                format!("'{section}' do not stand below 'resources': they have sections of their own.");
            return Err(fault::invalid_parameter(section, message));
        }
        let name = kind.single().unwrap_or(name);
        // A key that is deactivated in the file has always been.
        let document = ConfigDocument::read(kind, name, members, None, Timestamp(0))?;
        if let ConfigDocument::AuthKey(key) = &document {
            self.check_digests(key)?;
        }
        self.push(document, name).map_err(|_| fault::internal_error())
    }

    /// Refuses a key with a value that another key of the file has.
    fn check_digests(&self, key: &AuthKey) -> Result<(), Fault> {
        let keys = self.documents.iter().filter(|document| document.kind == AuthKey::KIND);
        for known in keys.filter_map(|document| serde_json::from_str::<AuthKey>(&document.body).ok()) {
            if known.digests().any(|digest| key.digests().any(|own| own == digest)) {
                let message = format!("The key '{}' has the same value, now or before a rotation.", known.id);
                return Err(fault::invalid_parameter("digest", message));
            }
        }
        Ok(())
    }

    fn push(&mut self, document: ConfigDocument, name: &str) -> Result<(), StoreError> {
        let configured = match document {
            ConfigDocument::Budget(budget) => {
                self.budgets.push(*budget);
                return Ok(());
            }
            ConfigDocument::Workflow(workflow) => {
                let workflow =
                    Workflow { id: format!("file {name}"), created_by: "file".into(), ..*workflow };
                let mut activation = WorkflowActivation {
                    scope: workflow.scope.key(),
                    versions: 0,
                    active: None,
                    guardrails: Vec::new(),
                };
                workflows::activation::set_active(&mut activation, &workflow);
                self.documents.push(ConfiguredDocument::new(&activation)?);
                ConfiguredDocument::new(&workflow)?
            }
            ConfigDocument::Pool(pool) => ConfiguredDocument::new(&pool)?,
            ConfigDocument::Combo(combo) => ConfiguredDocument::new(&combo)?,
            ConfigDocument::Alias(alias) => ConfiguredDocument::new(&alias)?,
            ConfigDocument::ModelOverride(document) => ConfiguredDocument::new(&document)?,
            ConfigDocument::ModelPrice(price) => ConfiguredDocument::new(&*price)?,
            ConfigDocument::Guardrail(guardrail) => ConfiguredDocument::new(&*guardrail)?,
            ConfigDocument::BudgetSettings(settings) => ConfiguredDocument::new(&*settings)?,
            ConfigDocument::AuthKey(key) => ConfiguredDocument::new(&*key)?,
            ConfigDocument::Settings(_) | ConfigDocument::Tenant(_) | ConfigDocument::Provider(_) => {
                return Ok(());
            }
        };
        self.documents.push(configured);
        Ok(())
    }
}

/// Settings and providers have sections of their own in the file; tenants are in storage only.
fn is_of_file(kind: ConfigKind) -> bool {
    !matches!(kind, ConfigKind::Settings | ConfigKind::Tenant | ConfigKind::Provider)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn members(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn documents_are_read_as_the_admin_api_reads_them() {
        let mut resources = FileResources::default();
        resources.add("aliases", "fast", members(json!({"target": "openai/gpt-4o-mini"}))).unwrap();
        resources.add("budgets", "/team|daily", members(json!({"amount": 5, "on_tight": "refuse"}))).unwrap();
        resources.add("workflows", "path=/team", members(json!({"name": "Team"}))).unwrap();
        let kinds: Vec<_> =
            resources.documents.iter().map(|document| (document.kind, &*document.name)).collect();
        let expected =
            [("alias", "fast"), ("workflow_activation", "path=/team"), ("workflow", "file path=/team")];
        assert_eq!(kinds, expected);
        assert_eq!(resources.budgets.len(), 1);
    }

    #[test]
    fn faults_name_the_member() {
        let mut resources = FileResources::default();
        for (section, name, value, param) in [
            ("aliases", "fast", json!({"tagret": "x"}), "tagret"),
            ("aliasse", "fast", json!({}), "aliasse"),
            ("providers", "a", json!({}), "providers"),
            ("budgets", "/team", json!({"amount": 1}), "name"),
            ("auth_keys", "ci", json!({"name": "CI"}), "digest"),
            ("auth_keys", "ci", json!({"name": "CI", "digest": "12"}), "digest"),
            ("workflows", "pathe=/team", json!({"name": "x"}), "name"),
        ] {
            let fault = resources.add(section, name, members(value)).unwrap_err();
            assert_eq!(fault.param.as_deref(), Some(param), "{section}/{name}: {fault}");
        }
        assert_eq!(resources, FileResources::default());
    }

    #[test]
    fn two_keys_do_not_have_the_same_value() {
        let mut resources = FileResources::default();
        let raw = "gk_a_value_of_two_keys";
        resources.add("auth_keys", "one", members(json!({"name": "One", "value": raw}))).unwrap();
        let previous = json!({
            "digest": domain::resources::auth_key::hex_digest(raw), "redacted_value": "gk_…",
            "valid_until": "2999-01-01T00:00:00Z",
        });
        for key in [
            json!({"name": "Two", "value": raw}),
            json!({"name": "Two", "value": "gk_another_value_of_the_key", "previous": [previous]}),
        ] {
            let fault = resources.add("auth_keys", "two", members(key)).unwrap_err();
            assert_eq!(fault.param.as_deref(), Some("digest"), "{fault}");
        }
        assert_eq!(resources.documents.len(), 1);
    }
}
