//! Request bodies of the admin API: strict JSON, with errors that name the field and suggest the nearest known one.

use std::sync::Arc;

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use domain::fault::{self, Fault};
use pipeline::services::body_work::LARGE_BODY;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::App;
use crate::fault::Problem;
use crate::nearest;

pub struct Strict<T>(pub T);

impl<T: DeserializeOwned + Send + 'static> FromRequest<Arc<App>> for Strict<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = pipeline::call::receive::receive(body, &parts.headers, &app.gateway).await?;
        Ok(Self(parse_bytes(app, bytes).await?))
    }
}

/// Extractor for an optional body: an empty one yields the default value.
pub struct OptionalBody<T>(pub T);

impl<T: DeserializeOwned + Default + Send + 'static> FromRequest<Arc<App>> for OptionalBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = pipeline::call::receive::receive(body, &parts.headers, &app.gateway).await?;
        Ok(Self(if bytes.is_empty() { T::default() } else { parse_bytes(app, bytes).await? }))
    }
}

/// The body of a PUT: absent members keep their stored value, null clears one.
#[derive(Clone)]
pub struct Patch(Map<String, Value>);

impl FromRequest<Arc<App>> for Patch {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = pipeline::call::receive::receive(body, &parts.headers, &app.gateway).await?;
        Ok(Self(parse_bytes(app, bytes).await?))
    }
}

impl From<Map<String, Value>> for Patch {
    fn from(members: Map<String, Value>) -> Self {
        Self(members)
    }
}

impl Patch {
    /// Merges the sent members into the stored document. Read-only members of the view are ignored.
    pub fn over<T: DeserializeOwned>(
        &self,
        stored: Option<&impl Serialize>,
        read_only: &[&str],
    ) -> Result<T, Fault> {
        read(Value::Object(self.merged(stored, read_only)?))
    }

    /// The body as it was sent, nulls included, without read-only members.
    pub fn strict<T: DeserializeOwned>(&self, read_only: &[&str]) -> Result<T, Fault> {
        let settable = self.0.iter().filter(|(name, _)| !read_only.contains(&name.as_str()));
        read(Value::Object(settable.map(|(name, value)| (name.clone(), value.clone())).collect()))
    }

    pub fn merged(
        &self,
        stored: Option<&impl Serialize>,
        read_only: &[&str],
    ) -> Result<Map<String, Value>, Fault> {
        let mut merged = match stored.map(serde_json::to_value) {
            Some(Ok(Value::Object(members))) => members,
            None => Map::new(),
            Some(_) => return Err(fault::internal_error()),
        };
        for (name, value) in self.0.iter().filter(|(name, _)| !read_only.contains(&name.as_str())) {
            match value {
                Value::Null => drop(merged.remove(name)),
                value => drop(merged.insert(name.clone(), value.clone())),
            }
        }
        Ok(merged)
    }

    /// A member as it was sent, null included.
    pub fn sent(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Renames the member `alias` to `name`, unless `name` was sent too.
    pub fn rename(&mut self, alias: &str, name: &str) {
        if let Some(value) = self.0.remove(alias) {
            self.0.entry(name).or_insert(value);
        }
    }

    /// Replaces the object member `name` by its own members; members that already exist at the top level win.
    pub fn flatten(&mut self, name: &str) {
        if let Some(Value::Object(members)) = self.0.remove(name) {
            for (name, value) in members {
                self.0.entry(name).or_insert(value);
            }
        }
    }
}

/// The body of a request that needs none.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmptyBody {}

/// Parses a body; a large one is parsed off the connection's thread.
async fn parse_bytes<T: DeserializeOwned + Send + 'static>(app: &App, bytes: Bytes) -> Result<T, Fault> {
    if bytes.len() < LARGE_BODY {
        return parse(&bytes);
    }
    let gateway = &app.gateway;
    gateway.body_work.run(&gateway.tasks, move || parse(&bytes)).await?
}

pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Fault> {
    // The scanner rejects input that serde accepts: duplicate keys, excessive nesting, millions of small values.
    wire::json::scan(bytes)?.check_elements()?;
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        describe(&path, &error.into_inner().to_string())
    })
}

/// Deserializes an already parsed JSON value.
pub fn read<T: DeserializeOwned>(value: Value) -> Result<T, Fault> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        describe(&path, &error.into_inner().to_string())
    })
}

/// Translates a serde error into a fault that names the JSON field.
fn describe(path: &str, message: &str) -> Fault {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let message = message.split(" at line ").next().unwrap_or(message);
    match quoted.as_slice() {
        [unknown, known @ ..] if message.starts_with("unknown field") => {
            // An unknown field of a nested object is named by its path, which ends in the field's name.
            let place = if path.ends_with(unknown) { path } else { *unknown };
            let nearest = nearest::nearest(unknown, known.iter().copied());
            let mut fault = fault::unknown_parameter(place, nearest);
            if nearest.is_none() && !known.is_empty() {
                fault.message.push_str(&format!(" Known fields: {}.", known.join(", ")));
            }
            fault
        }
        [unknown, known @ ..] if message.starts_with("unknown variant") => {
            let hint = nearest::hint(unknown, known.iter().copied());
            let message = format!("'{path}' is one of {}, not '{unknown}'.{hint}", known.join(", "));
            fault::invalid_parameter(path, message)
        }
        [missing, ..] if message.starts_with("missing field") => {
            fault::invalid_parameter(*missing, format!("The field '{missing}' is missing."))
        }
        // The path of the whole value is `.`: no field to name.
        _ if path == "." => Fault { param: None, ..fault::invalid_parameter("", in_words(message)) },
        _ => fault::invalid_parameter(path, format!("'{path}': {}", in_words(message))),
    }
}

/// Rephrases a serde message in JSON terms instead of Rust types.
fn in_words(message: &str) -> String {
    let message = without_value(message);
    let (found, expected) = message.rsplit_once(", expected ").unwrap_or((&message, ""));
    let expected = match expected {
        "" => return format!("{found}."),
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or above",
        "i8" | "i16" | "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "a sequence" => "a list",
        "a map" => "an object",
        other if other.starts_with("struct ") => "an object",
        other => other,
    };
    format!("{found}, expected {expected}.")
}

/// Removes the value that serde quotes from the message: it may be a secret sent in the wrong field.
fn without_value(message: &str) -> String {
    match (message.find(" \"").or_else(|| message.find(" `")), message.rfind(", expected ")) {
        (Some(value), Some(expected)) if value < expected => {
            format!("{}{}", &message[..value], &message[expected..])
        }
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        #[expect(dead_code, reason = "only its name matters here")]
        name: String,
        #[serde(default)]
        #[expect(dead_code, reason = "only its name matters here")]
        limits: Vec<u32>,
    }

    #[track_caller]
    fn check(text: &str, code: &str, param: Option<&str>) -> Fault {
        let fault = parse::<Sample>(text.as_bytes()).unwrap_err();
        assert_eq!((fault.code.as_str(), fault.param.as_deref()), (code, param), "{fault}");
        fault
    }

    #[test]
    fn a_patch_keeps_absent_fields_and_clears_null_fields() {
        let stored = serde_json::json!({"name": "a", "limits": [1], "note": "x"});
        let patch = Patch(parse(br#"{"limits": [2], "note": null, "created_at": "then"}"#).unwrap());
        let merged = patch.merged(Some(&stored), &["created_at"]).unwrap();
        assert_eq!(Value::Object(merged), serde_json::json!({"name": "a", "limits": [2]}));
        let fault = patch.over::<Sample>(None::<&Value>, &["created_at"]).unwrap_err();
        assert_eq!(fault.param.as_deref(), Some("name"), "{fault}");
        let fault = patch.over::<Sample>(Some(&stored), &[]).unwrap_err();
        assert_eq!((fault.code.as_str(), fault.param.as_deref()), ("unknown_parameter", Some("created_at")));
    }

    #[test]
    fn faults_name_the_field() {
        let fault = check(r#"{"nmae": "x"}"#, "unknown_parameter", Some("nmae"));
        assert!(fault.message.contains("'name'"), "{fault}");
        let fault =
            check(r#"{"completely_different": 1}"#, "unknown_parameter", Some("completely_different"));
        assert!(fault.message.ends_with("Known fields: name, limits."), "{fault}");
        let fault = check("", "invalid_json", None);
        assert!(fault.message.starts_with("The request body is empty"), "{fault}");
        check(r#"{"name": 5}"#, "invalid_parameter", Some("name"));
        let fault = check(r#"{"name": "x", "limits": [1, -2]}"#, "invalid_parameter", Some("limits[1]"));
        assert!(fault.message.ends_with("expected a whole number, 0 or above."), "{fault}");
        let fault = check(r#"{"name": "x", "limits": "sk-secret"}"#, "invalid_parameter", Some("limits"));
        assert!(!fault.message.contains("secret") && fault.message.contains("expected"), "{fault}");
        check("{}", "invalid_parameter", Some("name"));
        check(r#"{"name": "x", "name": "y"}"#, "invalid_json", Some("name"));
        check("[]", "invalid_json", None);
        let many = format!("{{\"name\":\"x\",\"limits\":[{}1]}}", "1,".repeat(wire::json::ELEMENT_LIMIT));
        let fault = check(&many, "invalid_json", None);
        assert!(fault.message.contains(&wire::json::ELEMENT_LIMIT.to_string()), "{fault}");
    }
}
