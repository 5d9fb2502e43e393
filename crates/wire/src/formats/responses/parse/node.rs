//! An object of a client's body; members are taken one by one, typed, and faults name their path.

use domain::fault::{self, Fault};
use serde_json::{Map, Value};

pub struct Node {
    members: Map<String, Value>,
    /// The object's path; empty at the top level.
    pub place: String,
}

impl Node {
    pub fn root(members: Map<String, Value>) -> Self {
        Self { members, place: String::new() }
    }

    pub fn new(value: Value, place: impl Into<String>) -> Result<Self, Fault> {
        let place = place.into();
        match value {
            Value::Object(members) => Ok(Self { members, place }),
            _ => Err(wrong(&place, "an object")),
        }
    }

    pub fn path(&self, name: &str) -> String {
        if self.place.is_empty() { name.to_owned() } else { format!("{}.{name}", self.place) }
    }

    pub fn fault(&self, name: &str, message: &str) -> Fault {
        let path = self.path(name);
        let message = format!("'{path}' {message}");
        fault::invalid_parameter(path, message)
    }

    /// Takes a member; null counts as absent.
    pub fn any(&mut self, name: &str) -> Option<Value> {
        self.members.shift_remove(name).filter(|value| !value.is_null())
    }

    /// Puts a taken member back.
    pub fn keep(&mut self, name: &str, value: Value) {
        self.members.insert(name.to_owned(), value);
    }

    pub fn peek(&self, name: &str) -> Option<&str> {
        self.members.get(name)?.as_str()
    }

    pub fn has(&self, name: &str) -> bool {
        self.members.get(name).is_some_and(|value| !value.is_null())
    }

    pub fn string(&mut self, name: &str) -> Result<Option<String>, Fault> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong(&self.path(name), "a string")),
        }
    }

    pub fn needed(&mut self, name: &str) -> Result<String, Fault> {
        self.string(name)?.ok_or_else(|| self.fault(name, "is missing: it must be a string."))
    }

    pub fn boolean(&mut self, name: &str) -> Result<Option<bool>, Fault> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(wrong(&self.path(name), "true or false")),
        }
    }

    pub fn number(&mut self, name: &str) -> Result<Option<f64>, Fault> {
        match self.any(name) {
            None => Ok(None),
            Some(value) => value.as_f64().map(Some).ok_or_else(|| wrong(&self.path(name), "a number")),
        }
    }

    pub fn array(&mut self, name: &str) -> Result<Option<Vec<Value>>, Fault> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::Array(values)) => Ok(Some(values)),
            Some(_) => Err(wrong(&self.path(name), "an array")),
        }
    }

    pub fn object(&mut self, name: &str) -> Result<Option<Self>, Fault> {
        let path = self.path(name);
        self.any(name).map(|value| Self::new(value, path)).transpose()
    }

    /// The remaining members, without these.
    pub fn rest(mut self, except: &[&str]) -> Map<String, Value> {
        self.members.retain(|name, value| !value.is_null() && !except.contains(&name.as_str()));
        self.members
    }
}

pub fn wrong(path: &str, expected: &str) -> Fault {
    fault::invalid_parameter(path, format!("'{path}' must be {expected}."))
}
