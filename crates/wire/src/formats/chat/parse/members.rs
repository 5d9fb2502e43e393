//! Members of a JSON object in a client's body: taken one by one, typed, null as absent, faults with the path.

use domain::canon::CacheMark;
use domain::fault::{self, Fault};
use serde_json::{Map, Value};

pub struct Members {
    /// Path of the object; empty for the body itself.
    path: String,
    map: Map<String, Value>,
}

impl Members {
    pub fn of(value: Value, path: impl Into<String>) -> Result<Self, Fault> {
        let path = path.into();
        match value {
            Value::Object(map) => Ok(Self { path, map }),
            _ => Err(wrong(&path, "an object")),
        }
    }

    pub fn path(&self, name: &str) -> String {
        match self.path.is_empty() {
            true => name.to_owned(),
            false => format!("{}.{name}", self.path),
        }
    }

    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.map.shift_remove(name).filter(|value| !value.is_null())
    }

    pub fn peek(&self, name: &str) -> Option<&Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    pub fn string(&mut self, name: &str) -> Result<Option<String>, Fault> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong(&self.path(name), "a string")),
        }
    }

    pub fn required_string(&mut self, name: &str) -> Result<String, Fault> {
        self.string(name)?.ok_or_else(|| self.missing(name))
    }

    pub fn boolean(&mut self, name: &str) -> Result<Option<bool>, Fault> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(_) => Err(wrong(&self.path(name), "true or false")),
        }
    }

    pub fn number(&mut self, name: &str) -> Result<Option<f64>, Fault> {
        let Some(value) = self.take(name) else { return Ok(None) };
        value.as_f64().map(Some).ok_or_else(|| wrong(&self.path(name), "a number"))
    }

    pub fn integer(&mut self, name: &str) -> Result<Option<i64>, Fault> {
        let Some(value) = self.take(name) else { return Ok(None) };
        value.as_i64().map(Some).ok_or_else(|| wrong(&self.path(name), "a whole number"))
    }

    pub fn positive(&mut self, name: &str) -> Result<Option<u64>, Fault> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let number = value.as_u64().filter(|number| *number > 0);
        number.map(Some).ok_or_else(|| wrong(&self.path(name), "a whole number above 0"))
    }

    pub fn object(&mut self, name: &str) -> Result<Option<Self>, Fault> {
        let path = self.path(name);
        self.take(name).map(|value| Self::of(value, path)).transpose()
    }

    pub fn required_object(&mut self, name: &str) -> Result<Self, Fault> {
        self.object(name)?.ok_or_else(|| self.missing(name))
    }

    pub fn array(&mut self, name: &str) -> Result<Option<Vec<Value>>, Fault> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(values)) => Ok(Some(values)),
            Some(_) => Err(wrong(&self.path(name), "an array")),
        }
    }

    /// Takes Anthropic's `cache_control` from a part or tool; clients of other formats send it too.
    pub fn cache_mark(&mut self) -> Option<CacheMark> {
        let mark = self.take("cache_control")?;
        match mark["ttl"].as_str() {
            Some("1h") => Some(CacheMark::OneHour),
            _ => Some(CacheMark::FiveMinutes),
        }
    }

    pub fn missing(&self, name: &str) -> Fault {
        let path = self.path(name);
        fault::invalid_parameter(&path, format!("'{path}' is missing."))
    }

    /// The fault for a value that is not one of those allowed.
    pub fn unknown(&self, name: &str, found: &str, allowed: &str) -> Fault {
        let path = self.path(name);
        let shown: String = found.chars().take(64).collect();
        fault::invalid_parameter(&path, format!("'{path}' is '{shown}'; allowed are {allowed}."))
    }

    /// The members that were not taken, without nulls.
    pub fn rest(mut self) -> Map<String, Value> {
        self.map.retain(|_, value| !value.is_null());
        self.map
    }
}

pub fn wrong(path: &str, expected: &str) -> Fault {
    fault::invalid_parameter(path, format!("'{path}' must be {expected}."))
}
