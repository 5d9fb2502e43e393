//! The connection that a tool is configured with: address of the gateway, key and models.

use std::collections::BTreeMap;

use domain::secret::Secret;

/// The longest address, key or model name.
const MOST_CHARACTERS: usize = 1024;
const MOST_MODELS: usize = 1000;

/// Address, key and models, checked: all values are visible ASCII without quotes and backslashes, so that they mean the
/// same in JSON, TOML, `.env` files and shells.
#[derive(Clone, Debug)]
pub struct Connection {
    base_url: String,
    api_key: Secret,
    model: Option<String>,
    overrides: BTreeMap<String, String>,
    models: Vec<String>,
}

/// The field of a connection that is not valid, and the reason.
#[derive(Debug, PartialEq, Eq)]
pub struct InvalidConnection {
    pub field: String,
    pub reason: String,
}

impl Connection {
    /// A connection to the gateway at `base_url`, with or without a trailing `/v1`.
    pub fn new(base_url: &str, api_key: Secret) -> Result<Self, InvalidConnection> {
        let url = base_url.trim_end_matches('/');
        let url = url.strip_suffix("/v1").unwrap_or(url).trim_end_matches('/');
        let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        let is_plain =
            |host: &str| !host.is_empty() && !host.starts_with('/') && !host.contains(['@', '?', '#']);
        if !host.is_some_and(is_plain) || !is_safe(url) {
            return Err(invalid("base_url", "must be an http or https URL without user, query and fragment"));
        }
        if !is_safe(api_key.reveal()) {
            return Err(invalid("api_key", "must be visible ASCII characters, without spaces and quotes"));
        }
        let base_url = url.to_owned();
        Ok(Self { base_url, api_key, model: None, overrides: BTreeMap::new(), models: Vec::new() })
    }

    /// With the model that the tool uses by default.
    pub fn with_model(self, model: Option<String>) -> Result<Self, InvalidConnection> {
        if let Some(model) = &model {
            check_model("model", model)?;
        }
        Ok(Self { model, ..self })
    }

    /// With models for single purposes of the tool; `known` are the names of its purposes.
    pub fn with_overrides(
        self,
        overrides: BTreeMap<String, String>,
        known: &[&str],
    ) -> Result<Self, InvalidConnection> {
        for (field, model) in &overrides {
            if !known.contains(&field.as_str()) {
                let reason = match known {
                    [] => "does not exist: this tool has no models beside `model`".to_owned(),
                    _ => format!("does not exist: use {}", known.join(", ")),
                };
                return Err(InvalidConnection { field: format!("model_overrides.{field}"), reason });
            }
            check_model(&format!("model_overrides.{field}"), model)?;
        }
        Ok(Self { overrides, ..self })
    }

    /// With the models that the tool offers for selection.
    pub fn with_models(self, models: Vec<String>) -> Result<Self, InvalidConnection> {
        if models.len() > MOST_MODELS {
            return Err(invalid("models", "has too many entries: at most 1000"));
        }
        for (index, model) in models.iter().enumerate() {
            check_model(&format!("models[{index}]"), model)?;
        }
        Ok(Self { models, ..self })
    }

    /// The same connection with a mask in place of the key, for display.
    pub fn masked(&self) -> Self {
        let mask = format!("****{}", self.api_key.last4().unwrap_or_default());
        Self { api_key: Secret::new(mask), ..self.clone() }
    }

    /// The address of the gateway, without a path of an API.
    pub fn root(&self) -> &str {
        &self.base_url
    }

    /// The base URL for clients of OpenAI's API.
    pub fn v1(&self) -> String {
        format!("{}/v1", self.base_url)
    }

    pub fn key(&self) -> &str {
        self.api_key.reveal()
    }

    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The model for one purpose of the tool, if one is set for it.
    pub fn override_of(&self, field: &str) -> Option<&str> {
        self.overrides.get(field).map(String::as_str)
    }

    /// All models that are named, the default one first, each once.
    pub fn named_models(&self) -> Vec<&str> {
        let named = self.model.iter().chain(self.overrides.values()).chain(&self.models);
        let mut models: Vec<&str> = Vec::new();
        for model in named {
            if !models.contains(&model.as_str()) {
                models.push(model);
            }
        }
        models
    }
}

fn check_model(field: &str, model: &str) -> Result<(), InvalidConnection> {
    match is_safe(model) {
        true => Ok(()),
        false => Err(invalid(field, "must be visible ASCII characters, without spaces and quotes")),
    }
}

fn is_safe(text: &str) -> bool {
    let is_safe = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\'' | '\\' | '`' | '$');
    !text.is_empty() && text.len() <= MOST_CHARACTERS && text.chars().all(is_safe)
}

fn invalid(field: &str, reason: &str) -> InvalidConnection {
    InvalidConnection { field: field.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, key: &str, expected: Result<&str, &str>) {
        let connection = Connection::new(url, Secret::new(key));
        let found = connection.as_ref().map(Connection::root).map_err(|fault| fault.field.as_str());
        assert_eq!(found, expected, "{url}");
    }

    #[test]
    fn addresses_and_keys_are_checked() {
        check("http://127.0.0.1:8080", "gh-1", Ok("http://127.0.0.1:8080"));
        check("https://ai.example.com/base/v1/", "gh-1", Ok("https://ai.example.com/base"));
        check("ftp://host", "gh-1", Err("base_url"));
        check("https://", "gh-1", Err("base_url"));
        check("https://user:word@host", "gh-1", Err("base_url"));
        check("https://host?x=1", "gh-1", Err("base_url"));
        check("https://host/\"", "gh-1", Err("base_url"));
        check("https://host", "", Err("api_key"));
        check("https://host", "gh 1", Err("api_key"));
        check("https://host", "gh-$(x)", Err("api_key"));
        check("https://host", "gh-\n", Err("api_key"));
    }

    #[test]
    fn models_are_listed_once_with_the_default_first() {
        let overrides = BTreeMap::from([("haiku".to_owned(), "small".to_owned())]);
        let connection = Connection::new("http://host", Secret::new("gh-1")).unwrap();
        let connection = connection.with_model(Some("big".into())).unwrap();
        let connection = connection.with_overrides(overrides, &["haiku"]).unwrap();
        let connection = connection.with_models(vec!["big".into(), "other".into()]).unwrap();
        assert_eq!(connection.named_models(), ["big", "small", "other"]);
        let unknown = BTreeMap::from([("opus".to_owned(), "big".to_owned())]);
        let fault = connection.clone().with_overrides(unknown, &["haiku"]).unwrap_err();
        assert_eq!((&*fault.field, &*fault.reason), ("model_overrides.opus", "does not exist: use haiku"));
        assert_eq!(connection.with_models(vec!["a b".into()]).unwrap_err().field, "models[0]");
    }

    #[test]
    fn the_mask_hides_the_key() {
        let connection = Connection::new("http://host", Secret::new("gh-very-secret-1234")).unwrap();
        assert_eq!(connection.masked().key(), "****1234");
    }
}
