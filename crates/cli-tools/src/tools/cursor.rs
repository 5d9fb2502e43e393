//! Cursor: values for its settings page, which no file sets.

use crate::connection::Connection;
use crate::place::ConfigPlace;
use crate::tool::{Api, Configuration, Content, MODEL, RenderedFile, Tool};

const PAGE: ConfigPlace = ConfigPlace { variable: None, directory: "", file: "Cursor Settings, Models" };

pub static TOOL: Tool = Tool {
    id: "cursor",
    name: "Cursor",
    description: "Code editor with an agent; it uses /v1/chat/completions.",
    docs_url: Some("https://cursor.com/docs/settings/api-keys"),
    api: Api::ChatCompletions,
    can_apply: false,
    model_fields: &[MODEL],
    notes: &[
        "Enter the values in Cursor Settings, Models; no file sets them.",
        "Cursor's servers make the calls, so the gateway must be reachable from the internet with https.",
    ],
    needs_model: false,
    places: &[],
    render,
};

fn render(connection: &Connection) -> Configuration {
    let mut text =
        format!("OpenAI API Key: {}\nOverride OpenAI Base URL: {}\n", connection.key(), connection.v1());
    connection.named_models().iter().for_each(|model| text.push_str(&format!("Add custom model: {model}\n")));
    let content = Content::Text { language: "text", text };
    let files = vec![RenderedFile { place: PAGE, content }];
    Configuration { files, ..Configuration::default() }
}
