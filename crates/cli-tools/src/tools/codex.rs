//! Codex: a provider in its TOML configuration.

use serde_json::json;

use crate::connection::Connection;
use crate::place::ConfigPlace;
use crate::tool::{Api, Configuration, Content, MODEL, RenderedFile, Tool};

const CONFIG: ConfigPlace =
    ConfigPlace { variable: Some("CODEX_HOME"), directory: ".codex", file: "config.toml" };

pub static TOOL: Tool = Tool {
    id: "codex",
    name: "Codex",
    description: "OpenAI's coding agent for the terminal; it uses /v1/responses.",
    docs_url: Some("https://developers.openai.com/codex/config-reference"),
    api: Api::Responses,
    can_apply: true,
    model_fields: &[MODEL],
    notes: &[
        "The key is stored in the file. To keep it out, replace experimental_bearer_token by env_key and export the variable.",
    ],
    needs_model: false,
    places: &[CONFIG],
    render,
};

fn render(connection: &Connection) -> Configuration {
    let mut members = json!({});
    if let Some(model) = connection.model() {
        members["model"] = model.into();
    }
    members["model_provider"] = "gatehouse".into();
    members["model_providers"] = json!({"gatehouse": {
        "name": "Gatehouse",
        "base_url": connection.v1(),
        "wire_api": "responses",
        "experimental_bearer_token": connection.key(),
    }});
    let files = vec![RenderedFile { place: CONFIG, content: Content::Toml(members) }];
    Configuration { files, env: Vec::new(), commands: vec!["codex".to_owned()] }
}
