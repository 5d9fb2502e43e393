//! Kilo Code: its command-line tool reads the configuration of opencode.

use crate::connection::Connection;
use crate::place::ConfigPlace;
use crate::tool::{Api, Configuration, Content, MODEL, ModelField, RenderedFile, Tool};

const CONFIG: ConfigPlace =
    ConfigPlace { variable: Some("XDG_CONFIG_HOME"), directory: ".config", file: "kilo/kilo.jsonc" };

pub static TOOL: Tool = Tool {
    id: "kilo",
    name: "Kilo Code",
    description: "Coding agent for VS Code and the terminal; it uses /v1/chat/completions.",
    docs_url: Some("https://kilo.ai/docs/providers/openai-compatible"),
    api: Api::ChatCompletions,
    can_apply: false,
    model_fields: &[
        MODEL,
        ModelField { name: "small_model", description: "The model for titles and summaries" },
    ],
    notes: &[
        "In VS Code: settings, API Provider \"OpenAI Compatible\", then Base URL, API Key and Model of the file.",
        "It offers only the models that are listed: give `models`, or at least `model`.",
    ],
    needs_model: false,
    places: &[CONFIG],
    render,
};

fn render(connection: &Connection) -> Configuration {
    let members = super::opencode::members("https://kilo.ai/config.json", connection);
    let files = vec![RenderedFile { place: CONFIG, content: Content::Json(members) }];
    Configuration { files, env: Vec::new(), commands: vec!["kilo".to_owned()] }
}
