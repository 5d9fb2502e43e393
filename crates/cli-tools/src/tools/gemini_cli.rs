//! Gemini CLI: the kind of login in its settings, and variables in its `.env` file.

use serde_json::json;

use crate::connection::Connection;
use crate::place::ConfigPlace;
use crate::tool::{Api, Configuration, Content, MODEL, RenderedFile, Tool};

const SETTINGS: ConfigPlace = ConfigPlace { variable: None, directory: ".gemini", file: "settings.json" };
const VARIABLES: ConfigPlace = ConfigPlace { variable: None, directory: ".gemini", file: ".env" };

pub static TOOL: Tool = Tool {
    id: "gemini-cli",
    name: "Gemini CLI",
    description: "Google's coding agent for the terminal; it uses /v1beta.",
    docs_url: Some("https://geminicli.com/docs/reference/configuration/"),
    api: Api::Gemini,
    can_apply: true,
    model_fields: &[MODEL],
    notes: &["A .env file in the project takes the place of ~/.gemini/.env."],
    needs_model: false,
    places: &[SETTINGS, VARIABLES],
    render,
};

fn render(connection: &Connection) -> Configuration {
    let members = json!({"security": {"auth": {"selectedType": "gemini-api-key"}}});
    let mut env = vec![
        ("GOOGLE_GEMINI_BASE_URL", connection.root().to_owned()),
        ("GEMINI_API_KEY", connection.key().to_owned()),
    ];
    env.extend(connection.model().map(|model| ("GEMINI_MODEL", model.to_owned())));
    let files = vec![
        RenderedFile { place: SETTINGS, content: Content::Json(members) },
        RenderedFile { place: VARIABLES, content: Content::Dotenv(env.clone()) },
    ];
    Configuration { files, env, commands: vec!["gemini".to_owned()] }
}
