//! An object of a client's body, with its path: members are taken one by one and typed, and faults name their path.

use domain::canon::CacheMark;
use domain::fault::{self, Fault};
use serde_json::{Map, Value};

/// The members that were not taken yet. Null counts as absent, as in the official clients.
pub struct Members {
    /// Path of the object; empty for the body itself.
    path: String,
    map: Map<String, Value>,
}

/// The fault for a value of another type or outside the allowed ones.
pub fn wrong(path: impl Into<String>, expected: &str) -> Fault {
    let path = path.into();
    let message = format!("'{path}' must be {expected}.");
    fault::invalid_parameter(path, message)
}

/// The elements of an array at this path.
pub fn elements(value: Value, path: &str) -> Result<Vec<Value>, Fault> {
    match value {
        Value::Array(elements) => Ok(elements),
        _ => Err(wrong(path, "an array")),
    }
}

impl Members {
    /// The members of the body itself.
    pub fn top(map: Map<String, Value>) -> Self {
        Self { path: String::new(), map }
    }

    pub fn of(value: Value, path: impl Into<String>) -> Result<Self, Fault> {
        let path = path.into();
        match value {
            Value::Object(map) => Ok(Self { path, map }),
            _ => Err(wrong(path, "an object")),
        }
    }

    /// The path of a member.
    pub fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// The path of the object.
    pub fn own_path(&self) -> &str {
        &self.path
    }

    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.map.shift_remove(name).filter(|value| !value.is_null())
    }

    /// Puts a taken member back.
    pub fn put(&mut self, name: &str, value: Value) {
        self.map.insert(name.to_owned(), value);
    }

    pub fn peek(&self, name: &str) -> Option<&Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    pub fn peek_string(&self, name: &str) -> Option<&str> {
        self.map.get(name)?.as_str()
    }

    pub fn required(&mut self, name: &str) -> Result<Value, Fault> {
        self.take(name).ok_or_else(|| self.missing(name))
    }

    pub fn string(&mut self, name: &str) -> Result<Option<String>, Fault> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong(self.path(name), "a string")),
        }
    }

    pub fn required_string(&mut self, name: &str) -> Result<String, Fault> {
        self.string(name)?.ok_or_else(|| self.missing(name))
    }

    pub fn boolean(&mut self, name: &str) -> Result<Option<bool>, Fault> {
        self.typed(name, "true or false", Value::as_bool)
    }

    pub fn number(&mut self, name: &str) -> Result<Option<f64>, Fault> {
        self.typed(name, "a number", Value::as_f64)
    }

    /// A number from 0 to 1.
    pub fn share(&mut self, name: &str) -> Result<Option<f64>, Fault> {
        let share = |value: &Value| value.as_f64().filter(|share| (0.0..=1.0).contains(share));
        self.typed(name, "a number from 0 to 1", share)
    }

    pub fn integer(&mut self, name: &str) -> Result<Option<i64>, Fault> {
        self.typed(name, "a whole number", Value::as_i64)
    }

    pub fn count(&mut self, name: &str) -> Result<Option<u64>, Fault> {
        self.typed(name, "a whole number, 0 or above", Value::as_u64)
    }

    pub fn positive(&mut self, name: &str) -> Result<Option<u64>, Fault> {
        let positive = |value: &Value| value.as_u64().filter(|number| *number > 0);
        self.typed(name, "a whole number above 0", positive)
    }

    pub fn array(&mut self, name: &str) -> Result<Option<Vec<Value>>, Fault> {
        self.take(name).map(|value| elements(value, &self.path(name))).transpose()
    }

    pub fn object(&mut self, name: &str) -> Result<Option<Self>, Fault> {
        self.take(name).map(|value| Self::of(value, self.path(name))).transpose()
    }

    pub fn required_object(&mut self, name: &str) -> Result<Self, Fault> {
        self.object(name)?.ok_or_else(|| self.missing(name))
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
        self.fault(name, "is missing.")
    }

    /// The fault for a value that is not one of those allowed.
    pub fn unknown(&self, name: &str, found: &str, allowed: &str) -> Fault {
        let shown: String = found.chars().take(64).collect();
        self.fault(name, &format!("is '{shown}'; allowed are {allowed}."))
    }

    /// The fault for a member; `message` continues the sentence that begins with its path.
    pub fn fault(&self, name: &str, message: &str) -> Fault {
        let path = self.path(name);
        let message = format!("'{path}' {message}");
        fault::invalid_parameter(path, message)
    }

    /// The members that were not taken, without nulls.
    pub fn rest(mut self) -> Map<String, Value> {
        self.map.retain(|_, value| !value.is_null());
        self.map
    }

    /// Stores the members that were not taken by their path.
    pub fn store_rest(self, extra: &mut Map<String, Value>) {
        let Self { path, map } = self;
        for (name, value) in map.into_iter().filter(|(_, value)| !value.is_null()) {
            let name = if path.is_empty() { name } else { format!("{path}.{name}") };
            extra.insert(name, value);
        }
    }

    pub fn into_value(self) -> Value {
        Value::Object(self.map)
    }

    pub fn into_path(self) -> String {
        self.path
    }

    fn typed<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        let Some(value) = self.take(name) else { return Ok(None) };
        read(&value).map(Some).ok_or_else(|| wrong(self.path(name), expected))
    }
}
