//! Cline: a command that stores the provider, or values for its settings page.

use crate::connection::Connection;
use crate::tool::{Api, Configuration, MODEL, Tool};

pub static TOOL: Tool = Tool {
    id: "cline",
    name: "Cline",
    description: "Coding agent for VS Code and the terminal; it uses /v1/chat/completions.",
    docs_url: Some("https://docs.cline.bot/provider-config/openai-compatible"),
    api: Api::ChatCompletions,
    can_apply: false,
    model_fields: &[MODEL],
    notes: &[
        "In VS Code: settings, API Provider \"OpenAI Compatible\", then Base URL, API Key and Model ID of the command.",
    ],
    needs_model: false,
    places: &[],
    render,
};

fn render(connection: &Connection) -> Configuration {
    let model = connection.model().map(|model| format!(" --modelid '{model}'")).unwrap_or_default();
    let command = format!(
        "cline auth --provider openai --apikey '{}' --baseurl '{}'{model}",
        connection.key(),
        connection.v1()
    );
    Configuration { commands: vec![command], ..Configuration::default() }
}
