//! Encodes a prompt of any format as a chat completions request.

mod parts;
mod settings;
mod tools;
mod turns;

use domain::call::Format;
use domain::canon::{Dropped, Field, Prompt};
use serde_json::{Map, Value, json};

use crate::codec::{Encoded, Target};
use crate::formats::SHARED;
use crate::vendors::{Rules, StreamUsage};

/// The tool that emulates a JSON schema for models without schema support.
pub const SCHEMA_TOOL: &str = "json_output";

pub fn encode(prompt: &Prompt, target: &Target<'_>) -> Encoded {
    let rules = (target.vendor.rules)(target.model);
    let mut encoder = Encoder {
        prompt,
        target,
        rules,
        body: Map::new(),
        dropped: Dropped::default(),
        schema_tool: None,
        instruction: None,
    };
    encoder.set("model", target.model);
    encoder.set("messages", Value::Null);
    encoder.tools();
    let messages = encoder.messages();
    encoder.set("messages", messages);
    encoder.settings();
    encoder.extra();
    encoder.transport();
    for name in target.vendor.quirks.dropped {
        if encoder.body.shift_remove(*name).is_some() {
            encoder.dropped.name(*name);
        }
    }
    let body = serde_json::to_vec(&encoder.body).unwrap_or_default().into();
    Encoded { body, dropped: encoder.dropped, schema_tool: encoder.schema_tool }
}

struct Encoder<'a> {
    prompt: &'a Prompt,
    target: &'a Target<'a>,
    rules: Rules,
    body: Map<String, Value>,
    dropped: Dropped,
    schema_tool: Option<String>,
    /// Instruction about the form of the answer, for models that support neither schemas nor forced tool calls.
    instruction: Option<String>,
}

impl Encoder<'_> {
    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.body.insert(name.to_owned(), value.into());
    }

    fn set_if_some<T: Into<Value>>(&mut self, name: &str, value: Option<T>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    fn drop_field(&mut self, field: Field) {
        self.dropped.field(field, self.prompt.format);
    }

    /// Whether the client itself wrote chat completions, so that its members are forwarded as written.
    fn is_native(&self) -> bool {
        self.prompt.format == Format::Chat
    }

    /// Forwards members that only the client's format has, or records them as dropped.
    fn extra(&mut self) {
        let shared = self.prompt.format == Format::Responses && self.target.vendor.quirks.cache_keys;
        for (name, value) in &self.prompt.extra {
            match self.is_native() || (shared && SHARED.contains(&name.as_str())) {
                true => self.set(name, value.clone()),
                false => self.dropped.name(name.as_str()),
            }
        }
    }

    fn transport(&mut self) {
        let quirks = &self.target.vendor.quirks;
        if self.target.stream {
            self.set("stream", true);
            if quirks.stream_usage == StreamUsage::Option {
                self.set("stream_options", json!({"include_usage": true}));
            }
        }
        if quirks.usage_member {
            self.body.entry("usage").or_insert_with(|| json!({"include": true}));
        }
    }
}
