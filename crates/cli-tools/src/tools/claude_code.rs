//! Claude Code: variables in the `env` of its settings.

use serde_json::{Map, Value, json};

use crate::connection::Connection;
use crate::place::ConfigPlace;
use crate::tool::{Api, Configuration, Content, MODEL, ModelField, RenderedFile, Tool};

const SETTINGS: ConfigPlace =
    ConfigPlace { variable: Some("CLAUDE_CONFIG_DIR"), directory: ".claude", file: "settings.json" };

pub static TOOL: Tool = Tool {
    id: "claude-code",
    name: "Claude Code",
    description: "Anthropic's coding agent for the terminal; it uses /v1/messages.",
    docs_url: Some("https://docs.claude.com/en/docs/claude-code/llm-gateway"),
    api: Api::Messages,
    can_apply: true,
    model_fields: &[
        MODEL,
        ModelField { name: "opus", description: "The model behind the name opus" },
        ModelField { name: "sonnet", description: "The model behind the name sonnet" },
        ModelField {
            name: "haiku",
            description: "The model behind the name haiku and for background work; by default `model`",
        },
    ],
    notes: &["ANTHROPIC_API_KEY in the environment takes precedence in some versions: unset it."],
    needs_model: false,
    places: &[SETTINGS],
    render,
};

fn render(connection: &Connection) -> Configuration {
    let models = [
        ("ANTHROPIC_MODEL", connection.model()),
        ("ANTHROPIC_DEFAULT_OPUS_MODEL", connection.override_of("opus")),
        ("ANTHROPIC_DEFAULT_SONNET_MODEL", connection.override_of("sonnet")),
        ("ANTHROPIC_DEFAULT_HAIKU_MODEL", connection.override_of("haiku").or(connection.model())),
    ];
    let models = models.into_iter().filter_map(|(name, model)| Some((name, model?.to_owned())));
    let access = [
        ("ANTHROPIC_BASE_URL", connection.root().to_owned()),
        ("ANTHROPIC_AUTH_TOKEN", connection.key().to_owned()),
    ];
    let env: Vec<(&'static str, String)> = access.into_iter().chain(models).collect();
    let members: Map<String, Value> =
        env.iter().map(|(name, value)| ((*name).to_owned(), value.clone().into())).collect();
    let content = Content::Json(json!({"env": members}));
    let commands = vec!["claude".to_owned()];
    Configuration { files: vec![RenderedFile { place: SETTINGS, content }], env, commands }
}
