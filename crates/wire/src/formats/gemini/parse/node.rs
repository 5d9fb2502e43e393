//! A JSON value with its path in the client's request, for use in faults.

use domain::fault::{self, Fault};
use serde_json::{Map, Value};

pub struct Node<'a> {
    pub value: &'a Value,
    pub path: String,
}

impl<'a> Node<'a> {
    pub fn root(value: &'a Value) -> Self {
        Self { value, path: String::new() }
    }

    /// A member by its camel-case name, which the client may have written in snake case; null counts as absent.
    pub fn get(&self, name: &str) -> Option<Node<'a>> {
        let members = self.value.as_object()?;
        let (key, value) = members
            .get_key_value(name)
            .or_else(|| members.get_key_value(&snake(name)))
            .filter(|(_, value)| !value.is_null())?;
        let path = if self.path.is_empty() { key.clone() } else { format!("{}.{key}", self.path) };
        Some(Node { value, path })
    }

    pub fn required(&self, name: &str) -> Result<Node<'a>, Fault> {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        self.get(name).ok_or_else(|| fault::invalid_parameter(path.clone(), format!("'{path}' is missing.")))
    }

    /// The members not in `known`, by their camel-case names.
    pub fn rest(&self, known: &[&str]) -> Vec<(String, &'a Value)> {
        let members = self.value.as_object().into_iter().flatten();
        let named = members.map(|(key, value)| (camel(key), value));
        named.filter(|(name, value)| !known.contains(&name.as_str()) && !value.is_null()).collect()
    }

    pub fn members(&self) -> Result<&'a Map<String, Value>, Fault> {
        self.value.as_object().ok_or_else(|| self.refuse("must be an object"))
    }

    /// A list; the API accepts a single object as a list of one.
    pub fn list(&self) -> Result<Vec<Node<'a>>, Fault> {
        match self.value {
            Value::Array(values) => {
                let place = |(at, value)| Node { value, path: format!("{}[{at}]", self.path) };
                Ok(values.iter().enumerate().map(place).collect())
            }
            Value::Object(_) => Ok(vec![Node { value: self.value, path: self.path.clone() }]),
            _ => Err(self.refuse("must be an array")),
        }
    }

    pub fn text(&self) -> Result<&'a str, Fault> {
        self.value.as_str().ok_or_else(|| self.refuse("must be a string"))
    }

    pub fn boolean(&self) -> Result<bool, Fault> {
        self.value.as_bool().ok_or_else(|| self.refuse("must be true or false"))
    }

    pub fn number(&self) -> Result<f64, Fault> {
        self.value.as_f64().ok_or_else(|| self.refuse("must be a number"))
    }

    /// An integer; clients also send it as a string or with a zero fraction.
    pub fn integer(&self) -> Result<i64, Fault> {
        let whole = |number: &f64| number.fract() == 0.0 && number.abs() < 9e15;
        let read = match self.value {
            Value::String(text) => text.parse().ok(),
            value => value.as_i64().or_else(|| value.as_f64().filter(whole).map(|number| number as i64)),
        };
        read.ok_or_else(|| self.refuse("must be a whole number"))
    }

    pub fn positive(&self) -> Result<u64, Fault> {
        let read = self.integer().ok().and_then(|number| u64::try_from(number).ok());
        read.filter(|number| *number > 0).ok_or_else(|| self.refuse("must be a whole number above 0"))
    }

    /// The fault for this path; `must` states the requirement.
    pub fn refuse(&self, must: &str) -> Fault {
        fault::invalid_parameter(self.path.clone(), format!("'{}' {must}.", self.path))
    }
}

fn snake(name: &str) -> String {
    let mut written = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            written.push('_');
        }
        written.push(letter.to_ascii_lowercase());
    }
    written
}

fn camel(name: &str) -> String {
    let mut written = String::with_capacity(name.len());
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        match letters.peek() {
            Some(next) if letter == '_' && next.is_ascii_lowercase() && !written.is_empty() => {
                written.push(next.to_ascii_uppercase());
                letters.next();
            }
            _ => written.push(letter),
        }
    }
    written
}
