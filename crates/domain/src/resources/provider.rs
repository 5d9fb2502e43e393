//! Provider instances: type, address and credentials of an upstream.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Resource;
use crate::fault::{self, Fault};
use crate::secret::{self, Secret};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provider {
    pub name: String,
    #[serde(rename = "type")]
    pub provider_type: String,
    #[serde(default, serialize_with = "secret::expose")]
    pub api_key: Option<Secret>,
    /// Empty means the default of the provider type.
    #[serde(default)]
    pub base_url: String,
    #[serde(default)]
    pub api_version: String,
    /// Models configured by the operator; discovery adds to them.
    #[serde(default)]
    pub models: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(default = "enabled")]
    pub enabled: bool,
    /// Lower wins when several instances serve the same bare model id.
    #[serde(default)]
    pub priority: i64,
    #[serde(default, skip_serializing_if = "Resilience::is_usual")]
    pub resilience: Resilience,
}

/// Resilience settings of this instance that override the global ones; times in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Resilience {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_timeout_ms: Option<u64>,
    /// For streams: time until the first event of any kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_timeout_ms: Option<u64>,
    /// For streams: time between events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout_ms: Option<u64>,
    /// For responses that do not stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// Consecutive failures that open the circuit breaker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaker_failures: Option<u32>,
    /// Time that the circuit breaker stays open before a probe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaker_open_ms: Option<u64>,
    /// Overrides the global setting for offering HTTP/2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http2: Option<bool>,
}

const HOUR_MS: u64 = 3_600_000;

impl Resilience {
    fn validate(&self) -> Result<(), Fault> {
        let times = [
            ("connect_timeout_ms", self.connect_timeout_ms),
            ("first_byte_timeout_ms", self.first_byte_timeout_ms),
            ("idle_timeout_ms", self.idle_timeout_ms),
            ("total_timeout_ms", self.total_timeout_ms),
            ("breaker_open_ms", self.breaker_open_ms),
        ];
        for (name, time) in times {
            if time.is_some_and(|time| !(1..=HOUR_MS).contains(&time)) {
                return Err(out_of_bounds(name, "1 to 3600000 milliseconds"));
            }
        }
        if self.max_retries.is_some_and(|retries| retries > 10) {
            return Err(out_of_bounds("max_retries", "0 to 10"));
        }
        if self.breaker_failures.is_some_and(|failures| !(1..=100).contains(&failures)) {
            return Err(out_of_bounds("breaker_failures", "1 to 100"));
        }
        Ok(())
    }
}

pub(super) fn is_header_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

pub(super) fn is_header_value(value: &str) -> bool {
    value.trim() == value && value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
}

/// The endpoint path that a base URL wrongly ends with, and the URL without it.
fn endpoint_suffix(base_url: &str) -> Option<(&'static str, &str)> {
    const ENDPOINTS: [&str; 6] =
        ["/chat/completions", "/completions", "/responses", "/messages", "/embeddings", "/rerank"];
    let path = base_url.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    ENDPOINTS.into_iter().find_map(|ending| Some((ending, path.strip_suffix(ending)?)))
}

/// Masks a header value: shows that there is one, and the last four characters if it is long enough.
pub fn masked_header(value: &str) -> String {
    format!("***{}", Secret::new(value).last4().unwrap_or_default())
}

fn out_of_bounds(name: &str, bounds: &str) -> Fault {
    let param = format!("resilience.{name}");
    let message = format!("'{param}' must be {bounds}.");
    fault::invalid_parameter(param, message)
}

impl Resilience {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

fn enabled() -> bool {
    true
}

/// The origin of the configuration of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProviderSource {
    Config,
    Env,
    Admin,
    /// The built-in demo, present when nothing else is configured.
    Default,
}

impl Resource for Provider {
    const KIND: &'static str = "provider";
    // Headers set by the operator may contain credentials.
    const SECRETS: &'static [&'static str] = &["api_key", "headers"];

    fn name(&self) -> &str {
        &self.name
    }

    fn validate(&self) -> Result<(), Fault> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if self.name.is_empty() || self.name.len() > 100 || !self.name.chars().all(fits) {
            return Err(fault::invalid_parameter(
                "name",
                "A provider's name has 1 to 100 letters, digits, '-', '_' or '.': it stands before the slash in 'provider/model'.",
            ));
        }
        let is_id = |model: &String| {
            !model.trim().is_empty() && model.len() <= 300 && !model.chars().any(char::is_control)
        };
        if let Some(place) = self.models.iter().position(|model| !is_id(model)) {
            let message = "A model id has 1 to 300 characters, on one line.";
            return Err(fault::invalid_parameter(format!("models[{place}]"), message));
        }
        if let Some((ending, base)) = endpoint_suffix(&self.base_url) {
            // The URL may contain a password.
            let hint = if base.contains('@') { String::new() } else { format!(": use '{base}'") };
            let message = format!("'base_url' ends in '{ending}', which the gateway appends itself{hint}.");
            return Err(fault::invalid_parameter("base_url", message));
        }
        if self.api_key.as_ref().is_some_and(|key| !is_header_value(key.reveal())) {
            let message =
                "A key is sent as a header: visible ASCII characters, no line break, no blank at its ends.";
            return Err(fault::invalid_parameter("api_key", message));
        }
        let sendable = |(name, value): &(&String, &String)| is_header_name(name) && is_header_value(value);
        if let Some((name, _)) = self.headers.iter().find(|header| !sendable(header)) {
            let name: String = name.chars().take(100).collect();
            return Err(fault::invalid_parameter(
                format!("headers.{name}"),
                "This cannot be sent as an HTTP header.",
            ));
        }
        self.resilience.validate()
    }
}
