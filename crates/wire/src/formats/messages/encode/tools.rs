//! Encodes tools, tool choice, and the tool that emulates a JSON schema.

use domain::call::Format;
use domain::canon::{Field, FunctionTool, OutputFormat, Tool, ToolChoice};
use serde_json::{Map, Value, json};

use super::{Encoder, parts};
use crate::custom;

/// The tool whose input is the content of the answer.
pub(super) const STAND_IN: &str = "json_output";

impl Encoder<'_> {
    /// The schema tool, for models without schema support. It is not used if a specific tool is forced, because then
    /// there is no text.
    pub(super) fn stand_in(&self) -> Option<Value> {
        let Some(OutputFormat::Schema { schema, description, .. }) = &self.prompt.output else { return None };
        if self.takes_schema(schema) || matches!(self.prompt.tool_choice, Some(ToolChoice::Named(_))) {
            return None;
        }
        let description = description.as_deref().unwrap_or("Gives the final answer, as its input.");
        Some(
            json!({"name": STAND_IN, "description": description, "input_schema": object_schema(Some(schema))}),
        )
    }

    pub(super) fn tools(&mut self, body: &mut Map<String, Value>, stand_in: Option<&Value>, thinking: bool) {
        let prompt = self.prompt;
        let mut tools = Vec::with_capacity(prompt.tools.len() + 1);
        for (index, tool) in prompt.tools.iter().enumerate() {
            if self.is_among(tool) {
                tools.extend(self.tool(index, tool));
            }
        }
        let callable = !tools.is_empty() && !matches!(prompt.tool_choice, Some(ToolChoice::None));
        tools.extend(stand_in.cloned());
        if tools.is_empty() {
            return;
        }
        body.insert("tools".into(), Value::Array(tools));
        let choice = match stand_in {
            Some(_) if callable => Some(json!({"type": "any"})),
            Some(_) => Some(json!({"type": "tool", "name": STAND_IN, "disable_parallel_tool_use": true})),
            None => self.choice(thinking),
        };
        if let Some(choice) = self.with_parallel(choice) {
            body.insert("tool_choice".into(), choice);
        }
    }

    /// Whether the tool is offered. A choice among some tools is expressed by offering only those.
    fn is_among(&self, tool: &Tool) -> bool {
        match &self.prompt.tool_choice {
            Some(ToolChoice::Among { names, .. }) => {
                tool.flat_name().is_some_and(|name| names.contains(&name))
            }
            _ => true,
        }
    }

    fn tool(&mut self, index: usize, tool: &Tool) -> Option<Value> {
        let name = tool.flat_name().unwrap_or_default();
        match tool {
            Tool::Function(function) => Some(self.function(index, function, name)),
            Tool::Custom(custom) => Some(self.function(index, &custom::as_function(custom), name)),
            Tool::Foreign(foreign) if foreign.format == Format::Messages => Some(foreign.value.clone()),
            Tool::Foreign(foreign) => {
                self.dropped.name(&foreign.place);
                None
            }
        }
    }

    fn function(&mut self, index: usize, function: &FunctionTool, name: String) -> Value {
        let mut tool = Map::from_iter([("name".to_owned(), Value::String(name))]);
        if let Some(description) = &function.description {
            tool.insert("description".into(), description.as_str().into());
        }
        let parameters = object_schema(function.parameters.as_ref());
        match function.strict {
            // All strict tools of a request share one small grammar, which clients of other vendors exceed.
            Some(strict) if self.rules.native_schema && self.own() => {
                tool.insert("strict".into(), strict.into());
            }
            Some(true) => self.drop(Field::Strict),
            _ => {}
        }
        tool.insert("input_schema".into(), parameters);
        parts::mark(&mut tool, function.cache);
        self.leftovers.restore(&format!("tools[{index}]"), &mut tool);
        Value::Object(tool)
    }

    fn choice(&mut self, thinking: bool) -> Option<Value> {
        let choice = self.prompt.tool_choice.as_ref()?;
        let forced = match choice {
            ToolChoice::Auto | ToolChoice::Among { required: false, .. } => {
                return Some(json!({"type": "auto"}));
            }
            ToolChoice::None => return Some(json!({"type": "none"})),
            ToolChoice::Required | ToolChoice::Among { required: true, .. } => json!({"type": "any"}),
            ToolChoice::Named(name) => json!({"type": "tool", "name": name}),
        };
        if self.rules.forced_tools && !thinking {
            return Some(forced);
        }
        self.drop(Field::ToolChoice);
        Some(json!({"type": "auto"}))
    }

    fn with_parallel(&self, choice: Option<Value>) -> Option<Value> {
        let parallel = match self.prompt.parallel_tools {
            Some(parallel) if !parallel || (self.own() && choice.is_some()) => parallel,
            _ => return choice,
        };
        let mut choice = choice.unwrap_or_else(|| json!({"type": "auto"}));
        if choice["type"] != "none" {
            choice["disable_parallel_tool_use"] = (!parallel).into();
        }
        Some(choice)
    }
}

/// The input schema of a tool, which must be an object.
fn object_schema(schema: Option<&Value>) -> Value {
    match schema {
        Some(Value::Object(members)) if members.contains_key("type") => Value::Object(members.clone()),
        Some(Value::Object(members)) => {
            let mut typed = Map::from_iter([("type".to_owned(), "object".into())]);
            typed.extend(members.clone());
            Value::Object(typed)
        }
        _ => json!({"type": "object", "properties": {}}),
    }
}
