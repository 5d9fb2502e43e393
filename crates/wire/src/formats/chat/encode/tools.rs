//! Encodes tools, tool choice, tool calls and the output format.

use std::borrow::Cow;

use domain::call::Format;
use domain::canon::{
    self, CacheMark, CustomTool, Field, FunctionTool, OutputFormat, Tool, ToolCall, ToolChoice,
};
use serde_json::{Map, Value, json};

use super::{Encoder, SCHEMA_TOOL};
use crate::custom;
use crate::fingerprint::fingerprint;
use crate::vendors::CallIds;

impl Encoder<'_> {
    pub(super) fn tools(&mut self) {
        let stand_in = self.output();
        let prompt = self.prompt;
        let mut tools: Vec<Value> = Vec::with_capacity(prompt.tools.len());
        for tool in &prompt.tools {
            if self.is_chosen(tool) {
                tools.extend(self.tool(tool));
            }
        }
        let own = !tools.is_empty();
        let forced = stand_in.is_some();
        tools.extend(stand_in);
        if tools.is_empty() {
            if !matches!(prompt.tool_choice, None | Some(ToolChoice::Auto | ToolChoice::None)) {
                self.drop_field(Field::ToolChoice);
            }
            return;
        }
        self.set("tools", tools);
        match forced {
            // Other tools may be called before the schema tool, so any tool call is required instead of this one.
            true if own && prompt.tool_choice != Some(ToolChoice::None) => {
                self.set("tool_choice", "required")
            }
            true => self.set("tool_choice", named("function", SCHEMA_TOOL)),
            false => self.choice(),
        }
        match prompt.parallel_tools {
            Some(_) if !self.rules.parallel_tools && !self.is_native() => {
                self.drop_field(Field::ParallelTools);
            }
            parallel => self.set_if_some("parallel_tool_calls", parallel),
        }
    }

    /// Whether the tool is offered. A model without `allowed_tools` is offered only the tools the choice allows.
    fn is_chosen(&self, tool: &Tool) -> bool {
        match (&self.prompt.tool_choice, tool.flat_name()) {
            (Some(ToolChoice::Among { names, .. }), Some(name)) if !self.takes_allowed() => {
                names.contains(&name)
            }
            _ => true,
        }
    }

    fn takes_allowed(&self) -> bool {
        self.is_native() || self.rules.custom_tools
    }

    fn takes_custom(&self) -> bool {
        self.is_native() || self.rules.custom_tools
    }

    fn tool(&mut self, tool: &Tool) -> Option<Value> {
        match tool {
            Tool::Function(function) => Some(self.function(function)),
            Tool::Custom(custom) if self.takes_custom() => Some(custom_tool(custom)),
            Tool::Custom(custom) => Some(self.function(&custom::as_function(custom))),
            Tool::Foreign(foreign) if foreign.format == Format::Chat => Some(foreign.value.clone()),
            Tool::Foreign(foreign) => {
                self.dropped.name(&foreign.place);
                None
            }
        }
    }

    /// A tool call as part of an assistant message.
    pub(super) fn call(&self, call: &ToolCall) -> Value {
        let id = call_id(&call.id, self.target.vendor.quirks.call_ids);
        let name = call.name.as_str();
        if call.custom && self.takes_custom() {
            return json!({"id": id, "type": "custom", "custom": {"name": name, "input": call.arguments}});
        }
        let arguments = match call.custom {
            true => custom::wrap(&call.arguments),
            false if call.arguments.trim().is_empty() => "{}".to_owned(),
            false => call.arguments.clone(),
        };
        json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
    }

    fn function(&mut self, tool: &FunctionTool) -> Value {
        let mut function = Map::new();
        function.insert("name".into(), canon::flat_name(tool.namespace.as_deref(), &tool.name).into());
        if let Some(description) = &tool.description {
            function.insert("description".into(), description.as_str().into());
        }
        match &tool.parameters {
            Some(parameters) => drop(function.insert("parameters".into(), parameters.clone())),
            // Servers that compile schemas require one.
            None if !self.is_native() => {
                function.insert("parameters".into(), json!({"type": "object", "properties": {}}));
            }
            None => {}
        }
        if let Some(strict) = tool.strict {
            function.insert("strict".into(), strict.into());
        }
        let mut whole = json!({"type": "function", "function": function});
        self.cache_mark(tool.cache, &mut whole);
        whole
    }

    /// Writes a cache mark back for chat clients; for other clients it is dropped.
    pub(super) fn cache_mark(&mut self, mark: Option<CacheMark>, value: &mut Value) {
        let Some(mark) = mark else { return };
        if !self.is_native() {
            return self.drop_field(Field::CacheControl);
        }
        value["cache_control"] = match mark {
            CacheMark::FiveMinutes => json!({"type": "ephemeral"}),
            CacheMark::OneHour => json!({"type": "ephemeral", "ttl": "1h"}),
        };
    }

    fn choice(&mut self) {
        let choice: Value = match &self.prompt.tool_choice {
            None => return,
            Some(ToolChoice::Auto) => "auto".into(),
            Some(ToolChoice::None) => "none".into(),
            Some(_) if !self.rules.forced_tools && !self.is_native() => {
                return self.drop_field(Field::ToolChoice);
            }
            Some(ToolChoice::Required) => "required".into(),
            Some(ToolChoice::Named(name)) => self.named(name),
            Some(ToolChoice::Among { names, required }) => {
                let mode = if *required { "required" } else { "auto" };
                match self.takes_allowed() {
                    true => {
                        let tools: Vec<Value> = names.iter().map(|name| self.named(name)).collect();
                        json!({"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}})
                    }
                    false => mode.into(),
                }
            }
        };
        self.set("tool_choice", choice);
    }

    fn named(&self, name: &str) -> Value {
        let is_custom = |tool: &Tool| {
            matches!(tool, Tool::Custom(_)) && tool.flat_name().is_some_and(|flat| flat == name)
        };
        let custom = self.takes_custom() && self.prompt.tools.iter().any(is_custom);
        named(if custom { "custom" } else { "function" }, name)
    }

    /// Sets the output format. Returns the tool that emulates a schema if the model does not support schemas.
    fn output(&mut self) -> Option<Value> {
        let (name, description, schema, strict) = match &self.prompt.output {
            None => return None,
            Some(OutputFormat::Json) => {
                self.set("response_format", json!({"type": "json_object"}));
                return None;
            }
            Some(OutputFormat::Schema { name, description, schema, strict }) => {
                (name, description, schema, strict)
            }
        };
        if !self.rules.native_schema && !self.rules.forced_tools {
            self.set("response_format", json!({"type": "json_object"}));
            self.instruction = Some(format!("Answer with JSON alone, after this JSON Schema:\n{schema}"));
            return None;
        }
        if !self.rules.native_schema {
            self.schema_tool = Some(SCHEMA_TOOL.to_owned());
            let about =
                description.as_deref().unwrap_or("Gives the answer. Call it once, with the whole answer.");
            return Some(json!({"type": "function", "function": {
                "name": SCHEMA_TOOL, "description": about, "parameters": schema,
            }}));
        }
        let mut inner = Map::new();
        inner.insert("name".into(), schema_name(name).into());
        if let Some(description) = description {
            inner.insert("description".into(), description.as_str().into());
        }
        inner.insert("schema".into(), schema.clone());
        if let Some(strict) = strict {
            inner.insert("strict".into(), (*strict).into());
        }
        self.set("response_format", json!({"type": "json_schema", "json_schema": inner}));
        None
    }
}

fn named(kind: &str, name: &str) -> Value {
    json!({"type": kind, kind: {"name": name}})
}

fn custom_tool(tool: &CustomTool) -> Value {
    let mut custom = Map::new();
    custom.insert("name".into(), canon::flat_name(tool.namespace.as_deref(), &tool.name).into());
    if let Some(description) = &tool.description {
        custom.insert("description".into(), description.as_str().into());
    }
    if let Some(format) = &tool.format {
        custom.insert("format".into(), nested_grammar(format));
    }
    json!({"type": "custom", "custom": custom})
}

/// A grammar nested as chat completions requires.
fn nested_grammar(format: &Value) -> Value {
    match format.as_object() {
        Some(members) if members.contains_key("definition") => {
            let rest: Map<String, Value> = members
                .iter()
                .filter(|(name, _)| *name != "type")
                .map(|(n, v)| (n.clone(), v.clone()))
                .collect();
            json!({"type": "grammar", "grammar": rest})
        }
        _ => format.clone(),
    }
}

/// Restricts a schema name to letters, digits, `_` and `-`, with 1 to 64 characters.
fn schema_name(name: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
    let name: String = name.chars().map(fit).take(64).collect();
    if name.is_empty() { "answer".to_owned() } else { name }
}

/// A call id the vendor accepts: the original, or a deterministic replacement derived from it.
pub(super) fn call_id(id: &str, ids: CallIds) -> Cow<'_, str> {
    const LENGTH: usize = 9;
    let fits = match ids {
        CallIds::Any => true,
        CallIds::UpToForty => id.len() <= 40,
        CallIds::NineLettersOrDigits => {
            id.len() == LENGTH && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
        }
    };
    if fits {
        return Cow::Borrowed(id);
    }
    let mut rest = fingerprint(id.as_bytes());
    let digits = std::iter::repeat_with(|| {
        let digit = char::from_digit((rest % 36) as u32, 36).unwrap_or('0');
        rest /= 36;
        digit
    });
    Cow::Owned(digits.take(LENGTH).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_schemas_are_made_to_fit() {
        for (name, fit) in [("a b.c", "a_b_c"), ("", "answer"), ("ok-1_", "ok-1_"), ("ü", "_")] {
            assert_eq!(schema_name(name), fit);
        }
        assert_eq!(schema_name(&"x".repeat(80)).len(), 64);
    }
    #[test]
    fn ids_are_shortened_where_they_must_be_and_stay_apart() {
        assert_eq!(call_id("call_1", CallIds::Any), "call_1");
        let long = "x".repeat(41);
        assert_eq!(call_id(&long[1..], CallIds::UpToForty), &long[1..]);
        assert_eq!(call_id(&long, CallIds::UpToForty).len(), 9);
        assert_eq!(call_id("abcDEF123", CallIds::NineLettersOrDigits), "abcDEF123");
        let short = |id| call_id(id, CallIds::NineLettersOrDigits).into_owned();
        assert_ne!(short("call_1"), short("call_2"));
        assert_eq!(short("toolu_01"), short("toolu_01"));
        assert!(
            short("call_1").len() == 9 && short("call_1").bytes().all(|byte| byte.is_ascii_alphanumeric())
        );
    }
}
