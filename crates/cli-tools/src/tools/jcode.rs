//! jcode: variables of its OpenAI-compatible provider, in a file of its own.

use crate::connection::Connection;
use crate::place::ConfigPlace;
use crate::tool::{Api, Configuration, Content, MODEL, RenderedFile, Tool};

const VARIABLES: ConfigPlace = ConfigPlace {
    variable: Some("XDG_CONFIG_HOME"),
    directory: ".config",
    file: "jcode/openai-compatible.env",
};

pub static TOOL: Tool = Tool {
    id: "jcode",
    name: "jcode",
    description: "Coding agent for the terminal; it uses /v1/chat/completions.",
    docs_url: Some("https://github.com/1jehuang/jcode"),
    api: Api::ChatCompletions,
    can_apply: false,
    model_fields: &[MODEL],
    notes: &[],
    needs_model: false,
    places: &[VARIABLES],
    render,
};

fn render(connection: &Connection) -> Configuration {
    let mut env = vec![
        ("JCODE_OPENAI_COMPAT_API_BASE", connection.v1()),
        ("OPENAI_COMPAT_API_KEY", connection.key().to_owned()),
    ];
    env.extend(connection.model().map(|model| ("JCODE_OPENAI_COMPAT_DEFAULT_MODEL", model.to_owned())));
    let files = vec![RenderedFile { place: VARIABLES, content: Content::Dotenv(env.clone()) }];
    Configuration { files, env, commands: vec!["jcode --provider openai-compatible".to_owned()] }
}
