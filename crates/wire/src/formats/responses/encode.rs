//! Encodes a canonical prompt as a Responses API request.

mod settings;
mod tools;
mod turns;

use bytes::Bytes;
use domain::call::Format;
use domain::canon::{Dropped, Field, Prompt, Role};
use serde_json::{Map, Value};

use crate::codec::{Encoded, Target};
use crate::formats::SHARED;
use crate::vendors::Rules;

/// The tool that emulates a schema for models without schema support.
const SCHEMA_TOOL: &str = "json_output";

pub fn encode(prompt: &Prompt, target: &Target<'_>) -> Encoded {
    let mut encoder = Encoder {
        prompt,
        target,
        rules: (target.vendor.rules)(target.model),
        dropped: Dropped::default(),
        body: Map::new(),
        schema_tool: None,
    };
    encoder.set("model", target.model.into());
    encoder.conversation();
    encoder.output();
    tools::write(&mut encoder);
    encoder.sampling();
    encoder.reasoning();
    encoder.account();
    encoder.set("store", false.into());
    if target.stream {
        encoder.set("stream", true.into());
    }
    encoder.extra();
    let Encoder { body, dropped, schema_tool, .. } = encoder;
    Encoded { body: Bytes::from(Value::Object(body).to_string()), dropped, schema_tool }
}

struct Encoder<'a> {
    prompt: &'a Prompt,
    target: &'a Target<'a>,
    rules: Rules,
    dropped: Dropped,
    body: Map<String, Value>,
    schema_tool: Option<String>,
}

impl Encoder<'_> {
    fn set(&mut self, name: &str, value: Value) {
        self.body.insert(name.to_owned(), value);
    }

    fn drop(&mut self, field: Field) {
        self.dropped.field(field, self.prompt.format);
    }

    /// Whether the client uses this format too, so that its values are forwarded as written.
    fn native(&self) -> bool {
        self.prompt.format == Format::Responses
    }

    fn conversation(&mut self) {
        let turns = &self.prompt.turns;
        let lifted = turns.first().filter(|turn| turn.role == Role::System);
        let lifted = lifted.filter(|turn| turn.parts.iter().all(|part| part.as_text().is_some()));
        if let Some(turn) = lifted {
            self.set("instructions", turn.joined_text().into());
            if turn.parts.iter().any(|part| part.cache.is_some()) {
                self.drop(Field::CacheControl);
            }
        }
        let rest = &turns[usize::from(lifted.is_some())..];
        let input = turns::write(self, rest);
        self.set("input", Value::Array(input));
    }

    fn extra(&mut self) {
        let shared = self.prompt.format == Format::Chat;
        for (name, value) in &self.prompt.extra {
            if self.native() || (shared && SHARED.contains(&name.as_str())) {
                self.set(name, value.clone());
            } else {
                self.dropped.name(name.as_str());
            }
        }
    }
}
