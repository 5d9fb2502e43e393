//! Continue: models in its YAML configuration.

use crate::connection::Connection;
use crate::place::ConfigPlace;
use crate::tool::{Api, Configuration, Content, MODEL, ModelField, RenderedFile, Tool};

const CONFIG: ConfigPlace = ConfigPlace { variable: None, directory: ".continue", file: "config.yaml" };

pub static TOOL: Tool = Tool {
    id: "continue",
    name: "Continue",
    description: "Coding agent for VS Code, JetBrains and the terminal; it uses /v1/chat/completions.",
    docs_url: Some("https://docs.continue.dev/reference"),
    api: Api::ChatCompletions,
    can_apply: false,
    model_fields: &[
        MODEL,
        ModelField { name: "autocomplete", description: "The model for completions while typing" },
    ],
    notes: &["Add the entries to `models` of an existing file."],
    needs_model: false,
    places: &[CONFIG],
    render,
};

fn render(connection: &Connection) -> Configuration {
    let mut text = "name: Gatehouse\nversion: 1.0.0\nschema: v1\nmodels:\n".to_owned();
    let autocomplete = connection.override_of("autocomplete");
    for model in connection.named_models() {
        let roles = if autocomplete == Some(model) { "autocomplete" } else { "chat, edit, apply" };
        text.push_str(&format!(
            "  - name: \"{model}\"\n    provider: openai\n    model: \"{model}\"\n    apiBase: \"{}\"\n    \
             apiKey: \"{}\"\n    roles: [{roles}]\n",
            connection.v1(),
            connection.key()
        ));
    }
    let content = Content::Text { language: "yaml", text };
    Configuration { files: vec![RenderedFile { place: CONFIG, content }], ..Configuration::default() }
}
