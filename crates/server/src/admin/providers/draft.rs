//! Request body of a provider: models may be comma-separated text, an absent key is kept.

use std::collections::BTreeMap;

use domain::fault::{self, Fault};
use domain::resources::Resource as _;
use domain::resources::provider::{Provider, Resilience, masked_header};
use domain::secret::Secret;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use utoipa::ToSchema;
use wire::vendors;

use crate::body::{self, Patch};

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderBody {
    /// Optional in a PUT.
    #[serde(default)]
    pub name: Option<String>,
    #[serde(rename = "type")]
    pub provider_type: String,
    /// Absent keeps the stored key, null clears it.
    #[serde(default, deserialize_with = "sent")]
    #[schema(value_type = Option<String>)]
    pub api_key: Option<Option<Secret>>,
    /// Empty for the default of the type.
    #[serde(default)]
    pub base_url: String,
    #[serde(default)]
    pub api_version: String,
    /// A list, or comma-separated text.
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    pub models: Models,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    pub enabled: Option<bool>,
    #[serde(default)]
    pub priority: i64,
    /// Overrides of the resilience settings; times in milliseconds.
    #[serde(default)]
    pub resilience: Resilience,
}

/// Distinguishes null from an absent field.
fn sent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Secret>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
#[serde(untagged)]
pub enum Models {
    List(Vec<String>),
    Text(String),
}

impl Default for Models {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Models {
    fn names(self) -> Vec<String> {
        match self {
            Self::List(names) => names,
            Self::Text(text) => {
                text.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
            }
        }
    }
}

/// Headers that carry credentials, which belong in `api_key`, where they are encrypted and never shown.
const CREDENTIALS: &[&str] =
    &["authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "proxy-authorization"];

/// Names that are taken by routes next to `/providers/{name}`.
const RESERVED: &[&str] = &["status", "test", "types"];

/// Replaces masked header values by the stored ones. Refused if the address or type has changed, so that a credential
/// is never sent to another address.
fn kept(
    mut headers: BTreeMap<String, String>,
    known: Option<&Provider>,
    moved: bool,
) -> Result<BTreeMap<String, String>, Fault> {
    for (name, value) in &mut headers {
        let stored = known.and_then(|known| known.headers.get(name));
        let Some(stored) = stored.filter(|stored| *value == masked_header(stored)) else { continue };
        if moved {
            let message = "The provider's address or type has changed: write the header's value again.";
            return Err(fault::invalid_parameter(format!("headers.{name}"), message));
        }
        value.clone_from(stored);
    }
    Ok(headers)
}

/// Read-only members of the view.
const READ_ONLY: [&str; 6] = ["source", "tenant_id", "overrides", "api_key_set", "api_key_last4", "health"];

impl ProviderBody {
    /// Merges the members of a PUT into the stored instance. A key that was not sent is left out; `provider` keeps it
    /// if the address is unchanged.
    pub fn over(stored: Option<&Provider>, patch: &Patch) -> Result<Self, Fault> {
        let shown = stored.map(|stored| Provider { api_key: None, ..stored.clone() });
        let mut merged = patch.merged(shown.as_ref(), &READ_ONLY)?;
        merged.remove("api_key");
        merged.extend(patch.sent("api_key").map(|key| ("api_key".to_owned(), key.clone())));
        let mut body: Self = body::read(Value::Object(merged))?;
        // Headers may contain credentials too: unsent ones are kept only if the address is unchanged.
        if stored.is_some_and(|stored| body.is_moved(stored)) && patch.sent("headers").is_none() {
            body.headers.clear();
        }
        Ok(body)
    }

    /// Whether this is another address than that of the stored instance.
    pub fn is_moved(&self, stored: &Provider) -> bool {
        stored.base_url != self.base_url || stored.provider_type != self.provider_type
    }

    pub fn provider(self, known: Option<&Provider>) -> Result<Provider, Fault> {
        let Some(vendor) = vendors::find(&self.provider_type) else {
            let hint = vendors::nearest(&self.provider_type)
                .map(|name| format!(" Did you mean '{name}'?"))
                .unwrap_or_default();
            let message = format!("There is no provider type '{}'.{hint}", self.provider_type);
            return Err(fault::invalid_parameter("type", message));
        };
        if let Some(name) =
            self.headers.keys().find(|name| CREDENTIALS.contains(&name.to_ascii_lowercase().as_str()))
        {
            return Err(fault::invalid_parameter(
                format!("headers.{name}"),
                "A credential belongs in 'api_key'.",
            ));
        }
        let moved = known.is_none_or(|known| self.is_moved(known));
        let api_key = match (self.api_key, known) {
            (Some(sent), _) => sent.filter(|key| !key.reveal().is_empty()),
            (None, Some(known)) if !moved => known.api_key.clone(),
            (None, _) => None,
        };
        let provider = Provider {
            name: self.name.unwrap_or_default(),
            provider_type: vendor.name.to_owned(),
            api_key,
            base_url: self.base_url.trim().to_owned(),
            api_version: self.api_version.trim().to_owned(),
            models: self.models.names(),
            headers: kept(self.headers, known, moved)?,
            enabled: self.enabled.unwrap_or(true),
            priority: self.priority,
            resilience: self.resilience,
        };
        provider.validate()?;
        if RESERVED.contains(&&*provider.name) {
            let message =
                format!("'{}' cannot be a provider's name: it is a page of its own.", provider.name);
            return Err(fault::invalid_parameter("name", message));
        }
        Ok(provider)
    }
}
