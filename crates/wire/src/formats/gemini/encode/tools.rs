//! Encodes tools and the tool choice.

use domain::call::Format;
use domain::canon::{self, Field, FunctionTool, Tool, ToolChoice};
use serde_json::{Map, Value, json};

use super::{Encoder, STAND_IN};
use crate::custom;
use crate::formats::gemini::names;

impl Encoder<'_> {
    pub(super) fn tools(&mut self, stand_in: Option<&Value>) {
        let mut declarations = Vec::new();
        let mut own = Vec::new();
        for tool in &self.prompt.tools {
            match tool {
                Tool::Function(function) => declarations.push(self.declaration(function)),
                Tool::Custom(tool) => declarations.push(self.declaration(&custom::as_function(tool))),
                Tool::Foreign(tool) if tool.format == Format::Gemini => own.push(tool.value.clone()),
                Tool::Foreign(tool) => self.dropped.name(tool.place.as_str()),
            }
        }
        if let Some(schema) = stand_in {
            declarations.push(json!({
                "name": STAND_IN,
                "description": "Gives the final answer. Its arguments are the whole answer.",
                "parametersJsonSchema": schema,
            }));
        }
        let declared = !declarations.is_empty();
        let functions = declared.then(|| json!({ "functionDeclarations": declarations }));
        let tools: Vec<Value> = functions.into_iter().chain(own).collect();
        if !tools.is_empty() {
            self.body.insert("tools".into(), tools.into());
        }
        if declared && let Some(calling) = self.calling(stand_in.is_some()) {
            self.body.insert("toolConfig".into(), json!({ "functionCallingConfig": calling }));
        }
    }

    fn declaration(&mut self, tool: &FunctionTool) -> Value {
        if tool.strict == Some(true) {
            self.drop_field(Field::Strict);
        }
        if tool.cache.is_some() {
            self.drop_field(Field::CacheControl);
        }
        let name = canon::flat_name(tool.namespace.as_deref(), &tool.name);
        let mut written = Map::new();
        written.insert("name".into(), names::sent(&name).into());
        if let Some(description) = &tool.description {
            written.insert("description".into(), description.as_str().into());
        }
        if let Some(parameters) = &tool.parameters {
            written.insert("parametersJsonSchema".into(), parameters.clone());
        }
        written.into()
    }

    fn calling(&self, stand_in: bool) -> Option<Value> {
        if stand_in {
            return Some(self.calling_for_answer());
        }
        Some(match self.prompt.tool_choice.as_ref()? {
            ToolChoice::Auto => json!({"mode": "AUTO"}),
            ToolChoice::None => json!({"mode": "NONE"}),
            ToolChoice::Required => json!({"mode": "ANY"}),
            ToolChoice::Named(name) => among("ANY", [name.as_str()]),
            ToolChoice::Among { names, required: true } => among("ANY", names.iter().map(String::as_str)),
            // AUTO accepts no names. VALIDATED does, and still lets the model answer with text.
            ToolChoice::Among { names, required: false } => {
                among("VALIDATED", names.iter().map(String::as_str))
            }
        })
    }

    /// Calling config if the answer itself is a call: some call is required, and the client's choice limits which ones.
    fn calling_for_answer(&self) -> Value {
        let own: Vec<String> = self.prompt.tools.iter().filter_map(Tool::flat_name).collect();
        let own = own.iter().map(String::as_str);
        match &self.prompt.tool_choice {
            None | Some(ToolChoice::Auto) => json!({"mode": "ANY"}),
            Some(ToolChoice::None) => among("ANY", [STAND_IN]),
            Some(ToolChoice::Required) => among("ANY", own),
            Some(ToolChoice::Named(name)) => among("ANY", [name.as_str()]),
            Some(ToolChoice::Among { names, required }) => {
                let answer = (!required).then_some(STAND_IN);
                among("ANY", names.iter().map(String::as_str).chain(answer))
            }
        }
    }
}

fn among<'a>(mode: &str, allowed: impl IntoIterator<Item = &'a str>) -> Value {
    let allowed: Vec<Value> = allowed.into_iter().map(|name| names::sent(name).into()).collect();
    json!({"mode": mode, "allowedFunctionNames": allowed})
}
