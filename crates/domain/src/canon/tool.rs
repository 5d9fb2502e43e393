//! Tools a model may call.

use serde_json::Value;

use super::CacheMark;
use crate::call::Format;

#[derive(Clone, Debug, PartialEq)]
pub enum Tool {
    Function(FunctionTool),
    Custom(CustomTool),
    /// One the provider runs itself (web search and the like), or one only that format knows.
    Foreign(ForeignTool),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FunctionTool {
    pub name: String,
    /// Put in front of the name for targets that know no namespaces.
    pub namespace: Option<String>,
    pub description: Option<String>,
    /// JSON Schema; absent when the tool takes nothing.
    pub parameters: Option<Value>,
    pub strict: Option<bool>,
    pub cache: Option<CacheMark>,
}

/// Takes free text, perhaps bound by a grammar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CustomTool {
    pub name: String,
    pub namespace: Option<String>,
    pub description: Option<String>,
    /// The grammar, as written.
    pub format: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ForeignTool {
    pub format: Format,
    /// What to call it where it has to be left out: `tools[2]`.
    pub place: String,
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ToolChoice {
    Auto,
    None,
    /// Some tool must be called.
    Required,
    Named(String),
    /// Only these, by flat name; `required` when one of them must be called.
    Among {
        names: Vec<String>,
        required: bool,
    },
}

impl Tool {
    /// The name it is called by; none for what the provider runs itself.
    pub fn flat_name(&self) -> Option<String> {
        let (namespace, name) = match self {
            Self::Function(tool) => (&tool.namespace, &tool.name),
            Self::Custom(tool) => (&tool.namespace, &tool.name),
            Self::Foreign(_) => return None,
        };
        Some(flat_name(namespace.as_deref(), name))
    }
}

/// A name with its namespace in front, the seam visible.
pub fn flat_name(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        None | Some("") => name.to_owned(),
        Some(namespace) if namespace.ends_with('_') => format!("{namespace}{name}"),
        Some(namespace) => format!("{namespace}__{name}"),
    }
}
