//! opencode: a provider in its JSON configuration.

use serde_json::{Map, Value, json};

use crate::connection::Connection;
use crate::place::ConfigPlace;
use crate::tool::{Api, Configuration, Content, MODEL, ModelField, RenderedFile, Tool};

const CONFIG: ConfigPlace =
    ConfigPlace { variable: Some("XDG_CONFIG_HOME"), directory: ".config", file: "opencode/opencode.json" };

pub static TOOL: Tool = Tool {
    id: "opencode",
    name: "opencode",
    description: "Open-source coding agent for the terminal; it uses /v1/chat/completions.",
    docs_url: Some("https://opencode.ai/docs/providers/"),
    api: Api::ChatCompletions,
    can_apply: true,
    model_fields: &[
        MODEL,
        ModelField { name: "small_model", description: "The model for titles and summaries" },
    ],
    notes: &["It offers only the models that are listed: give `models`, or at least `model`."],
    needs_model: false,
    places: &[CONFIG],
    render,
};

fn render(connection: &Connection) -> Configuration {
    let content = Content::Json(members("https://opencode.ai/config.json", connection));
    let commands = vec!["opencode".to_owned()];
    Configuration { files: vec![RenderedFile { place: CONFIG, content }], env: Vec::new(), commands }
}

/// The members of the configuration, which forks of opencode read, too.
pub(super) fn members(schema: &str, connection: &Connection) -> Value {
    let models: Map<String, Value> = connection
        .named_models()
        .into_iter()
        .map(|model| (model.to_owned(), json!({"name": model})))
        .collect();
    let mut members = json!({"$schema": schema});
    if let Some(model) = connection.model() {
        members["model"] = format!("gatehouse/{model}").into();
    }
    if let Some(model) = connection.override_of("small_model").or(connection.model()) {
        members["small_model"] = format!("gatehouse/{model}").into();
    }
    members["provider"] = json!({"gatehouse": {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Gatehouse",
        "options": {"baseURL": connection.v1(), "apiKey": connection.key()},
        "models": models,
    }});
    members
}
