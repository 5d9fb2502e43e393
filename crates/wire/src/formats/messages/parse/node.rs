//! An object of the client's body with its path; known members are taken one by one.

use domain::fault::{self, Fault};
use serde_json::{Map, Value};

pub(super) struct Node {
    path: String,
    members: Map<String, Value>,
}

pub(super) fn wrong(path: impl Into<String>, expected: &str) -> Fault {
    let path = path.into();
    let message = format!("'{path}' must be {expected}.");
    fault::invalid_parameter(path, message)
}

pub(super) fn elements(value: Value, path: &str) -> Result<Vec<Value>, Fault> {
    match value {
        Value::Array(elements) => Ok(elements),
        _ => Err(wrong(path, "an array")),
    }
}

impl Node {
    pub(super) fn top(members: Map<String, Value>) -> Self {
        Self { path: String::new(), members }
    }

    pub(super) fn open(value: Value, path: impl Into<String>) -> Result<Self, Fault> {
        let path = path.into();
        match value {
            Value::Object(members) => Ok(Self { path, members }),
            _ => Err(wrong(path, "an object")),
        }
    }

    /// The path of a member.
    pub(super) fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Takes a member. Null counts as absent, as in the official clients.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.members.shift_remove(name).filter(|value| !value.is_null())
    }

    pub(super) fn required(&mut self, name: &str) -> Result<Value, Fault> {
        self.take(name).ok_or_else(|| {
            let path = self.at(name);
            fault::invalid_parameter(path.clone(), format!("'{path}' is required."))
        })
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, Fault> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong(self.at(name), "a string")),
        }
    }

    pub(super) fn required_text(&mut self, name: &str) -> Result<String, Fault> {
        match self.required(name)? {
            Value::String(text) => Ok(text),
            _ => Err(wrong(self.at(name), "a string")),
        }
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<Option<bool>, Fault> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(wrong(self.at(name), "true or false")),
        }
    }

    pub(super) fn count(&mut self, name: &str) -> Result<Option<u64>, Fault> {
        let Some(value) = self.take(name) else { return Ok(None) };
        value.as_u64().map(Some).ok_or_else(|| wrong(self.at(name), "a whole number, 0 or above"))
    }

    /// A number from 0 to 1.
    pub(super) fn share(&mut self, name: &str) -> Result<Option<f64>, Fault> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let share = value.as_f64().filter(|share| (0.0..=1.0).contains(share));
        share.map(Some).ok_or_else(|| wrong(self.at(name), "a number from 0 to 1"))
    }

    pub(super) fn object(&mut self, name: &str) -> Result<Option<Self>, Fault> {
        self.take(name).map(|value| Self::open(value, self.at(name))).transpose()
    }

    pub(super) fn peek_text(&self, name: &str) -> Option<&str> {
        self.members.get(name)?.as_str()
    }

    /// The type of a block's source.
    pub(super) fn peek_source(&self) -> Option<&str> {
        self.members.get("source")?.get("type")?.as_str()
    }

    /// Puts a taken member back.
    pub(super) fn put(&mut self, name: &str, value: Value) {
        self.members.insert(name.to_owned(), value);
    }

    pub(super) fn into_value(self) -> Value {
        Value::Object(self.members)
    }

    /// Stores the remaining members by their path: restored for Anthropic, recorded as dropped for other formats.
    pub(super) fn rest(self, extra: &mut Map<String, Value>) {
        let Self { path, members } = self;
        for (name, value) in members.into_iter().filter(|(_, value)| !value.is_null()) {
            let name = if path.is_empty() { name } else { format!("{path}.{name}") };
            extra.insert(name, value);
        }
    }
}
