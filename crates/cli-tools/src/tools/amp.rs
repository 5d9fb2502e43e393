//! Amp: the address of its server, which the gateway stands in for only in part.

use serde_json::json;

use crate::connection::Connection;
use crate::place::ConfigPlace;
use crate::tool::{Api, Configuration, Content, RenderedFile, Tool};

const SETTINGS: ConfigPlace =
    ConfigPlace { variable: Some("XDG_CONFIG_HOME"), directory: ".config", file: "amp/settings.json" };

pub static TOOL: Tool = Tool {
    id: "amp",
    name: "Amp",
    description: "Coding agent for the terminal and editors.",
    docs_url: Some("https://ampcode.com/manual"),
    api: Api::ChatCompletions,
    can_apply: false,
    model_fields: &[],
    notes: &[
        "Amp has a service of its own for threads and login, and selects the models itself. Its settings name one address for the service and the models, so that it needs a proxy that serves both.",
    ],
    needs_model: false,
    places: &[SETTINGS],
    render,
};

fn render(connection: &Connection) -> Configuration {
    let content = Content::Json(json!({"amp.url": connection.root()}));
    let env = vec![("AMP_URL", connection.root().to_owned()), ("AMP_API_KEY", connection.key().to_owned())];
    Configuration { files: vec![RenderedFile { place: SETTINGS, content }], env, commands: Vec::new() }
}
