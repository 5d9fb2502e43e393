//! DeepSeek-TUI: key, address and model in its TOML configuration.

use serde_json::json;

use crate::connection::Connection;
use crate::place::ConfigPlace;
use crate::tool::{Api, Configuration, Content, MODEL, RenderedFile, Tool};

const CONFIG: ConfigPlace = ConfigPlace { variable: None, directory: ".deepseek", file: "config.toml" };

pub static TOOL: Tool = Tool {
    id: "deepseek-tui",
    name: "DeepSeek-TUI",
    description: "Coding agent for the terminal; it uses /v1/chat/completions.",
    docs_url: Some("https://github.com/Hmbown/DeepSeek-TUI"),
    api: Api::ChatCompletions,
    can_apply: false,
    model_fields: &[MODEL],
    notes: &[],
    needs_model: false,
    places: &[CONFIG],
    render,
};

fn render(connection: &Connection) -> Configuration {
    let mut members = json!({"api_key": connection.key(), "base_url": connection.v1()});
    let mut env =
        vec![("DEEPSEEK_API_KEY", connection.key().to_owned()), ("DEEPSEEK_BASE_URL", connection.v1())];
    if let Some(model) = connection.model() {
        members["default_text_model"] = model.into();
        env.push(("DEEPSEEK_MODEL", model.to_owned()));
    }
    let files = vec![RenderedFile { place: CONFIG, content: Content::Toml(members) }];
    Configuration { files, env, commands: vec!["deepseek".to_owned()] }
}
