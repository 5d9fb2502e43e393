//! Roo Code: a settings file to import.

use serde_json::json;

use crate::connection::Connection;
use crate::place::ConfigPlace;
use crate::tool::{Api, Configuration, Content, MODEL, RenderedFile, Tool};

const IMPORT: ConfigPlace =
    ConfigPlace { variable: None, directory: "Documents", file: "roo-code-settings.json" };

pub static TOOL: Tool = Tool {
    id: "roo",
    name: "Roo Code",
    description: "Coding agent for VS Code; it uses /v1/chat/completions.",
    docs_url: Some("https://docs.roocode.com/features/settings-management"),
    api: Api::ChatCompletions,
    can_apply: false,
    model_fields: &[MODEL],
    notes: &["Save the file and import it in Roo Code: settings, About, Import."],
    needs_model: false,
    places: &[IMPORT],
    render,
};

fn render(connection: &Connection) -> Configuration {
    let mut profile = json!({
        "apiProvider": "openai",
        "openAiBaseUrl": connection.v1(),
        "openAiApiKey": connection.key(),
        "id": "gatehouse",
    });
    if let Some(model) = connection.model() {
        profile["openAiModelId"] = model.into();
    }
    let profiles = json!({"currentApiConfigName": "gatehouse", "apiConfigs": {"gatehouse": profile}});
    let content = Content::Json(json!({"providerProfiles": profiles}));
    Configuration { files: vec![RenderedFile { place: IMPORT, content }], ..Configuration::default() }
}
