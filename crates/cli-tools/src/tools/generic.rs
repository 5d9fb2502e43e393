//! Any other client: the variables that official SDKs read, and a first call.

use crate::connection::Connection;
use crate::tool::{Api, Configuration, MODEL, Tool};

pub static TOOL: Tool = Tool {
    id: "generic",
    name: "Other clients",
    description: "Any client of OpenAI's, Anthropic's or Gemini's API.",
    docs_url: None,
    api: Api::ChatCompletions,
    can_apply: false,
    model_fields: &[MODEL],
    notes: &["Official SDKs and most tools read these variables."],
    needs_model: false,
    places: &[],
    render,
};

fn render(connection: &Connection) -> Configuration {
    let (root, v1, key) = (connection.root(), connection.v1(), connection.key());
    let env = vec![
        ("OPENAI_BASE_URL", v1.clone()),
        ("OPENAI_API_KEY", key.to_owned()),
        ("ANTHROPIC_BASE_URL", root.to_owned()),
        ("ANTHROPIC_API_KEY", key.to_owned()),
        ("GOOGLE_GEMINI_BASE_URL", root.to_owned()),
        ("GEMINI_API_KEY", key.to_owned()),
    ];
    let commands = vec![format!("curl {v1}/models -H 'Authorization: Bearer {key}'")];
    Configuration { files: Vec::new(), env, commands }
}
