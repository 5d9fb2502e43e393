//! Tools a model may call.

use serde_json::Value;

use super::CacheMark;
use crate::call::Format;

#[derive(Clone, Debug, PartialEq)]
pub enum Tool {
    Function(FunctionTool),
    Custom(CustomTool),
    /// A tool that the provider runs itself, such as web search, or that exists in one format only.
    Foreign(ForeignTool),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FunctionTool {
    pub name: String,
    /// Prefixed to the name for targets without namespaces.
    pub namespace: Option<String>,
    pub description: Option<String>,
    /// JSON Schema; absent for tools without parameters.
    pub parameters: Option<Value>,
    pub strict: Option<bool>,
    pub cache: Option<CacheMark>,
}

/// A tool that takes free text, optionally constrained by a grammar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CustomTool {
    pub name: String,
    pub namespace: Option<String>,
    pub description: Option<String>,
    /// The grammar, unchanged.
    pub format: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ForeignTool {
    pub format: Format,
    /// Position in the client's body, reported when the tool has to be left out: `tools[2]`.
    pub place: String,
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ToolChoice {
    Auto,
    None,
    /// The model must call a tool.
    Required,
    Named(String),
    /// Restricts the choice to these flat names; with `required`, one of them must be called.
    Among {
        names: Vec<String>,
        required: bool,
    },
}

impl Tool {
    /// The name it is called by; `None` for tools that the provider runs itself.
    pub fn flat_name(&self) -> Option<String> {
        let (namespace, name) = match self {
            Self::Function(tool) => (&tool.namespace, &tool.name),
            Self::Custom(tool) => (&tool.namespace, &tool.name),
            Self::Foreign(_) => return None,
        };
        Some(flat_name(namespace.as_deref(), name))
    }
}

/// A name prefixed with its namespace, separated by underscores.
pub fn flat_name(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        None | Some("") => name.to_owned(),
        Some(namespace) if namespace.ends_with('_') => format!("{namespace}{name}"),
        Some(namespace) => format!("{namespace}__{name}"),
    }
}
