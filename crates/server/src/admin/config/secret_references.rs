//! Secrets in exported documents: references to variables, which the reader of the files replaces.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::document::Members;
use super::kind::ConfigKind;
use crate::runtime_settings::SettingState;

/// Replaces secrets by references. Each secret has a variable of its own; its name depends on the document alone,
/// unless two documents would have the same.
pub struct SecretReferences<'a> {
    settings: &'a [SettingState],
    used: BTreeSet<String>,
}

impl<'a> SecretReferences<'a> {
    pub fn new(settings: &'a [SettingState]) -> Self {
        Self { settings, used: BTreeSet::new() }
    }

    /// The members as they are exported: secrets are references, and a text that looks like one is escaped.
    pub fn replace(&mut self, kind: ConfigKind, name: &str, mut members: Members) -> Members {
        members.values_mut().for_each(escape);
        match kind {
            ConfigKind::Provider => {
                self.secret(members.get_mut("api_key"), &format!("{name}_API_KEY"));
                self.headers(members.get_mut("headers"), name);
            }
            ConfigKind::Guardrail => {
                let headers = members.get_mut("config").and_then(|config| config.get_mut("headers"));
                self.headers(headers, &format!("GUARDRAIL_{name}"));
            }
            ConfigKind::BudgetSettings => {
                self.secret(members.get_mut("webhook_secret"), "BUDGET_WEBHOOK_SECRET");
            }
            ConfigKind::Settings => {
                for setting in self.settings.iter().filter(|setting| setting.secret) {
                    self.secret(members.get_mut(setting.name), setting.env);
                }
            }
            _ => {}
        }
        members
    }

    fn headers(&mut self, headers: Option<&mut Value>, owner: &str) {
        let Some(Value::Object(headers)) = headers else { return };
        for (name, value) in headers.iter_mut() {
            let variable = format!("{owner}_HEADER_{name}");
            self.secret(Some(value), &variable);
        }
    }

    fn secret(&mut self, value: Option<&mut Value>, variable: &str) {
        let Some(value @ Value::String(_)) = value else { return };
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
        *value = Value::from(format!("${{{name}}}"));
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

/// The members with secrets masked, for answers.
pub fn masked(kind: ConfigKind, settings: &[SettingState], members: &Members) -> Members {
    let mut members = members.clone();
    match kind {
        ConfigKind::Provider => {
            mask(members.get_mut("api_key"));
            mask_all(members.get_mut("headers"));
        }
        ConfigKind::Guardrail => {
            mask_all(members.get_mut("config").and_then(|config| config.get_mut("headers")));
        }
        ConfigKind::BudgetSettings => mask(members.get_mut("webhook_secret")),
        ConfigKind::Settings => {
            for setting in settings.iter().filter(|setting| setting.secret) {
                mask(members.get_mut(setting.name));
            }
        }
        _ => {}
    }
    members
}

fn mask(value: Option<&mut Value>) {
    if let Some(value) = value {
        *value = Value::from("***");
    }
}

fn mask_all(members: Option<&mut Value>) {
    if let Some(Value::Object(members)) = members {
        members.values_mut().for_each(|value| mask(Some(value)));
    }
}

/// The sections of a file, in order.
pub fn sections(documents: impl Iterator<Item = (ConfigKind, String, Members)>) -> Map<String, Value> {
    let mut sections = Map::new();
    for (kind, name, members) in documents {
        match kind.single() {
            Some(_) => _ = sections.insert(kind.section().to_owned(), Value::Object(members)),
            None => {
                let section = sections.entry(kind.section()).or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(section) = section {
                    section.insert(name, Value::Object(members));
                }
            }
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn members(value: Value) -> Members {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn every_secret_has_a_variable_of_its_own() {
        let mut references = SecretReferences::new(&[]);
        let provider =
            |key: &str| members(json!({"type": "openai", "api_key": key, "headers": {"x-team": "a"}}));
        let first = references.replace(ConfigKind::Provider, "my-lab", provider("sk-1"));
        let second = references.replace(ConfigKind::Provider, "my_lab", provider("sk-2"));
        assert_eq!(first["api_key"], "${MY_LAB_API_KEY}");
        assert_eq!(first["headers"]["x-team"], "${MY_LAB_HEADER_X_TEAM}");
        assert_eq!(second["api_key"], "${MY_LAB_API_KEY_2}");
        let keyless = references.replace(ConfigKind::Provider, "c", members(json!({"type": "ollama"})));
        assert_eq!(keyless, members(json!({"type": "ollama"})));
    }

    #[test]
    fn a_text_that_looks_like_a_reference_is_escaped() {
        let mut references = SecretReferences::new(&[]);
        let config =
            members(json!({"type": "system_prompt", "config": {"content": "Say ${HOME} and $${x}"}}));
        let exported = references.replace(ConfigKind::Guardrail, "g", config);
        assert_eq!(exported["config"]["content"], "Say $${HOME} and $$${x}");
    }
}
