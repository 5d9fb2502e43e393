//! Encodes a prompt of any format as a Gemini request.

mod parts;
mod settings;
mod tools;
mod turns;

use domain::call::Format;
use domain::canon::{Dropped, Field, OutputFormat, Prompt, Tool};
use serde_json::{Map, Value};

use crate::codec::{Encoded, Target};
use crate::vendors::Rules;

/// The tool whose input is the answer, for models that do not accept the schema directly.
const STAND_IN: &str = "json_output";

pub fn encode(prompt: &Prompt, target: &Target<'_>) -> Encoded {
    let mut encoder = Encoder {
        prompt,
        target,
        rules: (target.vendor.rules)(target.model),
        dropped: Dropped::default(),
        body: Map::new(),
    };
    let stand_in = encoder.stand_in();
    encoder.contents();
    encoder.tools(stand_in);
    encoder.generation_config(stand_in.is_some());
    encoder.rest();
    let Encoder { dropped, body, .. } = encoder;
    Encoded {
        body: Value::Object(body).to_string().into(),
        dropped,
        schema_tool: stand_in.map(|_| STAND_IN.to_owned()),
    }
}

struct Encoder<'a> {
    prompt: &'a Prompt,
    target: &'a Target<'a>,
    rules: Rules,
    dropped: Dropped,
    body: Map<String, Value>,
}

impl<'a> Encoder<'a> {
    /// The schema that has to be sent as a tool's parameters.
    fn stand_in(&self) -> Option<&'a Value> {
        let Some(OutputFormat::Schema { schema, .. }) = &self.prompt.output else { return None };
        let native = self.rules.native_schema && (self.rules.schema_with_tools || !self.has_tools());
        (!native).then_some(schema)
    }

    fn has_tools(&self) -> bool {
        self.prompt.tools.iter().any(|tool| match tool {
            Tool::Function(_) | Tool::Custom(_) => true,
            Tool::Foreign(tool) => tool.format == Format::Gemini,
        })
    }

    fn drop_field(&mut self, field: Field) {
        self.dropped.field(field, self.prompt.format);
    }

    /// Drops fields that Gemini does not have, and members that only the client's format has.
    fn rest(&mut self) {
        let prompt = self.prompt;
        let missing = [
            (prompt.verbosity.is_some(), Field::Verbosity),
            (prompt.user.is_some(), Field::User),
            (prompt.metadata.is_some(), Field::Metadata),
            (prompt.service_tier.is_some(), Field::ServiceTier),
            (prompt.choices > 1, Field::Choices),
            (prompt.parallel_tools == Some(false), Field::ParallelTools),
        ];
        for (_, field) in missing.into_iter().filter(|(there, _)| *there) {
            self.drop_field(field);
        }
        for (name, value) in &prompt.extra {
            if prompt.format == Format::Gemini {
                put(&mut self.body, name, value.clone());
            } else {
                self.dropped.name(name.as_str());
            }
        }
    }
}

/// Inserts a value by its path: members of the configs are nested, everything else is at the top level.
fn put(body: &mut Map<String, Value>, path: &str, value: Value) {
    let nested = path
        .split_once('.')
        .filter(|(head, _)| matches!(*head, "generationConfig" | "toolConfig" | "functionCallingConfig"));
    let Some((head, rest)) = nested else {
        body.insert(path.to_owned(), value);
        return;
    };
    let inner = body.entry(head).or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(inner) = inner {
        put(inner, rest, value);
    }
}
