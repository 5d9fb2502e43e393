//! Settings that were changed through the admin API. One document for the whole installation.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::Resource;
use crate::fault::{self, Fault};

/// The name of the only document.
pub const NAME: &str = "settings";

/// Values by the name of the setting in YAML, each as it would be written there. The names and values are checked by
/// the executable, which has the table of settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SettingValues {
    pub values: BTreeMap<String, String>,
    /// The values of secret settings.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "or_none")]
    pub secrets: BTreeMap<String, String>,
}

/// Null is an empty map: secrets are null after the encryption key was lost and sealed values were cleared.
fn or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl SettingValues {
    /// The value of a setting.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).or_else(|| self.secrets.get(name)).map(String::as_str)
    }

    /// Sets a value; `None` removes it.
    pub fn set(&mut self, name: &str, secret: bool, value: Option<String>) {
        self.values.remove(name);
        self.secrets.remove(name);
        if let Some(value) = value {
            let values = if secret { &mut self.secrets } else { &mut self.values };
            values.insert(name.to_owned(), value);
        }
    }

    /// The names of all settings that have a value here.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().chain(self.secrets.keys()).map(String::as_str)
    }
}

/// The most bytes of all values together.
const MAX_BYTES: usize = 256 << 10;

impl Resource for SettingValues {
    const KIND: &'static str = "settings";
    const SECRETS: &'static [&'static str] = &["secrets"];

    fn name(&self) -> &str {
        NAME
    }

    fn validate(&self) -> Result<(), Fault> {
        let bytes: usize =
            self.values.iter().chain(&self.secrets).map(|(name, value)| name.len() + value.len()).sum();
        if bytes > MAX_BYTES {
            let message = format!("The stored settings have at most {MAX_BYTES} bytes.");
            return Err(Fault { param: None, ..fault::invalid_parameter("", message) });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_stored_as_secret_or_not_and_never_as_both() {
        let mut values = SettingValues::default();
        values.set("proxy.http", false, Some("a".to_owned()));
        values.set("proxy.http", true, Some("b".to_owned()));
        assert_eq!((values.get("proxy.http"), values.values.len()), (Some("b"), 0));
        assert_eq!(values.names().collect::<Vec<_>>(), ["proxy.http"]);
        values.set("proxy.http", true, None);
        assert_eq!(values, SettingValues::default());
    }

    #[test]
    fn cleared_secrets_leave_the_other_values() {
        let read: SettingValues =
            serde_json::from_str(r#"{"values": {"log.level": "debug"}, "secrets": null}"#).unwrap();
        assert_eq!((read.get("log.level"), read.secrets.len()), (Some("debug"), 0));
    }
}
