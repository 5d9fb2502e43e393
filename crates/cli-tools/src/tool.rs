//! A tool: its description, and the function that renders its configuration for a connection.

use serde_json::Value;

use crate::connection::Connection;
use crate::place::ConfigPlace;

/// A coding agent or command-line tool that can use the gateway.
#[derive(Debug)]
pub struct Tool {
    pub id: &'static str,
    pub name: &'static str,
    pub description: &'static str,
    pub docs_url: Option<&'static str>,
    /// The API that it calls.
    pub api: Api,
    /// Whether its files can be written; otherwise they are shown to be copied.
    pub can_apply: bool,
    pub model_fields: &'static [ModelField],
    pub notes: &'static [&'static str],
    /// Whether it cannot be used without a default model: its own is rarely one of the gateway.
    pub needs_model: bool,
    /// The files that it reads, the main one first.
    pub places: &'static [ConfigPlace],
    pub(crate) render: fn(&Connection) -> Configuration,
}

/// An API of the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    ChatCompletions,
    Responses,
    Messages,
    Gemini,
}

/// A model that a tool uses for one purpose.
#[derive(Debug)]
pub struct ModelField {
    pub name: &'static str,
    pub description: &'static str,
}

impl Tool {
    /// The configuration of this tool for a connection, with the key in plain text.
    pub fn configure(&self, connection: &Connection) -> Configuration {
        (self.render)(connection)
    }

    /// The names of the models for single purposes.
    pub fn override_names(&self) -> Vec<&'static str> {
        self.model_fields.iter().map(|field| field.name).filter(|name| *name != MODEL.name).collect()
    }
}

/// The default model, which nearly every tool has.
pub const MODEL: ModelField = ModelField { name: "model", description: "The default model" };

/// The rendered configuration of a tool.
#[derive(Debug, Default)]
pub struct Configuration {
    pub files: Vec<RenderedFile>,
    /// Environment variables that have the same effect as the files, or complete them.
    pub env: Vec<(&'static str, String)>,
    /// Commands that have the same effect as the files.
    pub commands: Vec<String>,
}

#[derive(Debug)]
pub struct RenderedFile {
    pub place: ConfigPlace,
    pub content: Content,
}

/// The content of a file: members to merge into an existing file, or a complete text to copy.
#[derive(Debug)]
pub enum Content {
    /// JSON, with comments allowed.
    Json(Value),
    Toml(Value),
    /// `NAME=value` lines.
    Dotenv(Vec<(&'static str, String)>),
    /// A text of another language, which is shown and never written.
    Text {
        language: &'static str,
        text: String,
    },
}

impl Content {
    pub fn language(&self) -> &'static str {
        match self {
            Self::Json(_) => "json",
            Self::Toml(_) => "toml",
            Self::Dotenv(_) => "dotenv",
            Self::Text { language, .. } => language,
        }
    }
}
