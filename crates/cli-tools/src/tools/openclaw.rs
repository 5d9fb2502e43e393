//! OpenClaw: a provider in its JSON configuration.

use serde_json::{Value, json};

use crate::connection::Connection;
use crate::place::ConfigPlace;
use crate::tool::{Api, Configuration, Content, MODEL, RenderedFile, Tool};

const CONFIG: ConfigPlace = ConfigPlace { variable: None, directory: ".openclaw", file: "openclaw.json" };

pub static TOOL: Tool = Tool {
    id: "openclaw",
    name: "OpenClaw",
    description: "Personal assistant with chat channels; it uses /v1/chat/completions.",
    docs_url: Some("https://docs.openclaw.ai/concepts/model-providers"),
    api: Api::ChatCompletions,
    can_apply: false,
    model_fields: &[MODEL],
    notes: &["It offers only the models that are listed: give `models`, or at least `model`."],
    needs_model: false,
    places: &[CONFIG],
    render,
};

fn render(connection: &Connection) -> Configuration {
    let models: Vec<Value> =
        connection.named_models().into_iter().map(|model| json!({"id": model, "name": model})).collect();
    let provider = json!({
        "baseUrl": connection.v1(),
        "apiKey": connection.key(),
        "api": "openai-completions",
        "models": models,
    });
    let mut members = json!({"models": {"mode": "merge", "providers": {"gatehouse": provider}}});
    if let Some(model) = connection.model() {
        let model = format!("gatehouse/{model}");
        members["agents"] = json!({"defaults": {"model": {"primary": model}}});
    }
    let files = vec![RenderedFile { place: CONFIG, content: Content::Json(members) }];
    Configuration { files, env: Vec::new(), commands: vec!["openclaw gateway restart".to_owned()] }
}
