//! The resource of exported spans, and the parser for OpenTelemetry's environment variables.

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::attributes::text;

const SERVICE_NAME: &str = "service.name";
const DEFAULT_SERVICE: &str = "gatehouse";

/// `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_SERVICE_NAME`, which takes precedence over the attribute `service.name`.
#[derive(Clone, Debug, Default)]
pub struct Resource {
    pub service_name: Option<String>,
    pub attributes: Vec<(String, String)>,
}

impl Resource {
    pub(super) fn to_json(&self) -> Value {
        let named = |key: &str| self.attributes.iter().any(|(name, _)| name == key);
        let service = self.service_name.as_deref().or((!named(SERVICE_NAME)).then_some(DEFAULT_SERVICE));
        let mut attributes: Vec<Value> = service.map(|name| text(SERVICE_NAME, name)).into_iter().collect();
        if !named("service.version") {
            attributes.push(text("service.version", env!("CARGO_PKG_VERSION")));
        }
        let others = self.attributes.iter().filter(|(name, _)| service.is_none() || name != SERVICE_NAME);
        attributes.extend(others.map(|(name, value)| text(name, value)));
        json!({ "attributes": attributes })
    }
}

/// Parses `key=value,key2=value2` with percent-encoding; none if a part has no key or no `=`.
pub fn parse_list(list: &str) -> Option<Vec<(String, String)>> {
    let parts = list.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (key, value) = part.split_once('=')?;
            let (key, value) = (decode(key.trim())?, decode(value.trim())?);
            (!key.is_empty()).then_some((key, value))
        })
        .collect()
}

/// Parses `OTEL_EXPORTER_OTLP_HEADERS`; none if a name or value is not a valid header.
pub fn parse_headers(list: &str) -> Option<HeaderMap> {
    parse_list(list)?
        .into_iter()
        .map(|(name, value)| {
            let mut value = HeaderValue::try_from(value).ok()?;
            value.set_sensitive(true);
            Some((HeaderName::try_from(name.to_ascii_lowercase()).ok()?, value))
        })
        .collect()
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escape = (first == b'%').then(|| after.get(..2)).flatten();
        let escaped =
            escape.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        match escaped {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(resource: &Resource, key: &str) -> Vec<String> {
        let json = resource.to_json();
        let all = json["attributes"].as_array().unwrap();
        let of_key = all.iter().filter(|entry| entry["key"] == key);
        of_key.map(|entry| entry["value"]["stringValue"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn lists_are_read_as_opentelemetry_writes_them() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            parse_list("deployment.environment=prod, team=a%20b,empty="),
            Some(vec![pair("deployment.environment", "prod"), pair("team", "a b"), pair("empty", "")])
        );
        assert_eq!(parse_list(""), Some(Vec::new()));
        for wrong in ["prod", "=x", "a=1,b"] {
            assert_eq!(parse_list(wrong), None, "{wrong}");
        }
        let headers = parse_headers("Authorization=Basic%20abc==,x-scope=1").unwrap();
        assert_eq!(headers["authorization"], "Basic abc==");
        assert!(parse_headers("bad name=1").is_none() && parse_headers("a=x%0Ay").is_none());
    }

    #[test]
    fn the_service_name_has_one_winner() {
        let attributes = parse_list("service.name=from-list,team=a").unwrap();
        let listed = Resource { service_name: None, attributes: attributes.clone() };
        assert_eq!(attribute(&listed, SERVICE_NAME), ["from-list"]);
        let named = Resource { service_name: Some("own".into()), attributes };
        assert_eq!(attribute(&named, SERVICE_NAME), ["own"]);
        assert_eq!(attribute(&named, "team"), ["a"]);
        assert_eq!(attribute(&Resource::default(), SERVICE_NAME), [DEFAULT_SERVICE]);
        assert_eq!(attribute(&Resource::default(), "service.version").len(), 1);
    }
}
