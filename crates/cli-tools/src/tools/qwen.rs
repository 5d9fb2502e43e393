//! Qwen Code: the kind of provider in its settings, and variables in its `.env` file.

use serde_json::json;

use crate::connection::Connection;
use crate::place::ConfigPlace;
use crate::tool::{Api, Configuration, Content, MODEL, RenderedFile, Tool};

const SETTINGS: ConfigPlace = ConfigPlace { variable: None, directory: ".qwen", file: "settings.json" };
const VARIABLES: ConfigPlace = ConfigPlace { variable: None, directory: ".qwen", file: ".env" };

pub static TOOL: Tool = Tool {
    id: "qwen",
    name: "Qwen Code",
    description: "Alibaba's coding agent for the terminal; it uses /v1/chat/completions.",
    docs_url: Some("https://qwenlm.github.io/qwen-code-docs/en/users/configuration/settings/"),
    api: Api::ChatCompletions,
    can_apply: true,
    model_fields: &[MODEL],
    notes: &["A .env file in the project takes the place of ~/.qwen/.env."],
    needs_model: true,
    places: &[SETTINGS, VARIABLES],
    render,
};

fn render(connection: &Connection) -> Configuration {
    let mut members = json!({"security": {"auth": {"selectedType": "openai"}}});
    let mut env = vec![("OPENAI_BASE_URL", connection.v1()), ("OPENAI_API_KEY", connection.key().to_owned())];
    if let Some(model) = connection.model() {
        members["model"] = json!({"name": model});
        env.push(("OPENAI_MODEL", model.to_owned()));
    }
    let files = vec![
        RenderedFile { place: SETTINGS, content: Content::Json(members) },
        RenderedFile { place: VARIABLES, content: Content::Dotenv(env.clone()) },
    ];
    Configuration { files, env, commands: vec!["qwen".to_owned()] }
}
