//! Encodes a canonical request for Anthropic, adapted to the model generation; unsupported parameters are recorded as
//! dropped.

mod block;
mod cache;
mod conversation;
mod ids;
mod leftovers;
mod schema;
mod thinking;
mod tools;

use bytes::Bytes;
use domain::call::Format;
use domain::canon::{Content, Dropped, Field, Media, OutputFormat, Part, Prompt, Source};
use domain::fault::{self, Fault};
use serde_json::{Map, Value, json};

use crate::codec::{Encoded, Target};
use crate::embedded;
use crate::vendors::Rules;
use ids::Ids;
use leftovers::Leftovers;
use thinking::Plan;

/// Maximum size of an image, in base64 characters.
const IMAGE_LIMIT: usize = 5 << 20;

/// Maximum length of a user id.
const USER_LIMIT: usize = 256;

struct Encoder<'a> {
    prompt: &'a Prompt,
    target: &'a Target<'a>,
    rules: Rules,
    dropped: Dropped,
    ids: Ids,
    leftovers: Leftovers<'a>,
}

pub fn encode(prompt: &Prompt, target: &Target<'_>) -> Result<Encoded, Fault> {
    prompt.turns.iter().flat_map(|turn| &turn.parts).try_for_each(|part| check_image(part, prompt.format))?;
    let mut encoder = Encoder {
        prompt,
        target,
        rules: (target.vendor.rules)(target.model),
        dropped: Dropped::default(),
        ids: Ids::default(),
        leftovers: Leftovers::of(prompt),
    };
    let mut body = Map::new();
    body.insert("model".into(), target.model.into());
    let conversation = encoder.conversation();
    if conversation.messages.is_empty() {
        let field = match prompt.format {
            Format::Chat | Format::Messages => "messages",
            Format::Responses => "input",
            Format::Generate => "contents",
        };
        return Err(fault::invalid_parameter(field, "The conversation has no message to answer."));
    }
    let stand_in = encoder.stand_in();
    let plan = encoder.plan(stand_in.is_some() || conversation.bars_thinking);
    body.insert("max_tokens".into(), plan.max_tokens.into());
    if !conversation.system.is_empty() {
        body.insert("system".into(), Value::Array(conversation.system));
    }
    body.insert("messages".into(), Value::Array(conversation.messages));
    encoder.tools(&mut body, stand_in.as_ref(), plan.on);
    encoder.sampling(&mut body, plan.on);
    encoder.output(&mut body, &plan);
    encoder.rest(&mut body);
    if target.stream {
        body.insert("stream".into(), true.into());
    }
    if cache::keep_four(&mut body) {
        encoder.drop(Field::CacheControl);
    }
    let bytes = serde_json::to_vec(&body).map_err(|_| fault::internal_error())?;
    let schema_tool = stand_in.map(|_| tools::STAND_IN.to_owned());
    Ok(Encoded { body: Bytes::from(bytes), dropped: encoder.dropped, schema_tool })
}

fn check_image(part: &Part, client: Format) -> Result<(), Fault> {
    match &part.content {
        Content::Image(Media { source: Source::Data(data), .. }) => {
            embedded::check_limit(data, IMAGE_LIMIT, &part.place.0, client)
        }
        Content::ToolResult(result) => result.parts.iter().try_for_each(|part| check_image(part, client)),
        _ => Ok(()),
    }
}

impl Encoder<'_> {
    fn drop(&mut self, field: Field) {
        self.dropped.field(field, self.prompt.format);
    }

    /// Whether the client uses this format too, so that its members are forwarded as written.
    fn own(&self) -> bool {
        self.prompt.format == Format::Messages
    }

    fn sampling(&mut self, body: &mut Map<String, Value>, thinking: bool) {
        let sampling = &self.prompt.sampling;
        let takes = self.rules.sampling;
        let mut both = self.rules.temperature_with_top_p;
        match sampling.temperature {
            // 1.0 is the default of every generation.
            Some(temperature) if !takes || thinking => {
                if temperature != 1.0 {
                    self.drop(Field::Temperature);
                }
                both = true;
            }
            Some(temperature) => {
                body.insert("temperature".into(), json!(temperature.min(self.rules.max_temperature)));
            }
            None => both = true,
        }
        match sampling.top_p {
            Some(top_p) if takes && both && (!thinking || top_p >= 0.95) => {
                body.insert("top_p".into(), json!(top_p));
            }
            Some(1.0) | None => {}
            Some(_) => self.drop(Field::TopP),
        }
        match sampling.top_k {
            Some(top_k) if takes && !thinking => {
                body.insert("top_k".into(), top_k.into());
            }
            Some(_) => self.drop(Field::TopK),
            None => {}
        }
        if sampling.seed.is_some() {
            self.drop(Field::Seed);
        }
        for (penalty, field) in [
            (sampling.presence_penalty, Field::PresencePenalty),
            (sampling.frequency_penalty, Field::FrequencyPenalty),
        ] {
            if penalty.is_some_and(|penalty| penalty != 0.0) {
                self.drop(field);
            }
        }
    }

    /// Writes thinking, effort and output format.
    fn output(&mut self, body: &mut Map<String, Value>, plan: &Plan) {
        if let Some(thinking) = &plan.thinking {
            let mut thinking = thinking.clone();
            self.leftovers.restore("thinking", &mut thinking);
            body.insert("thinking".into(), Value::Object(thinking));
        }
        let mut config = Map::new();
        if let Some(effort) = plan.effort {
            config.insert("effort".into(), effort.as_str().into());
        }
        match &self.prompt.output {
            Some(OutputFormat::Schema { schema, .. }) if self.takes_schema(schema) => {
                let schema = if self.own() { schema.clone() } else { schema::adapt(schema) };
                config.insert("format".into(), json!({"type": "json_schema", "schema": schema}));
            }
            // The format has no JSON mode, so an instruction asks the model for JSON.
            Some(OutputFormat::Json) => {
                self.drop(Field::Output);
                let asked =
                    json!({"type": "text", "text": "Answer with one JSON object alone, without a fence."});
                match body.get_mut("system") {
                    Some(Value::Array(system)) => system.push(asked),
                    _ => drop(body.insert("system".into(), json!([asked]))),
                }
            }
            _ => {}
        }
        self.leftovers.restore("output_config", &mut config);
        if !config.is_empty() {
            body.insert("output_config".into(), Value::Object(config));
        }
    }

    /// Whether the schema is sent natively. Native schemas are closed, and closing a map with free keys would change
    /// its meaning.
    fn takes_schema(&self, schema: &Value) -> bool {
        self.rules.native_schema && (self.own() || !schema::is_open(schema))
    }

    fn rest(&mut self, body: &mut Map<String, Value>) {
        let prompt = self.prompt;
        let stop: Vec<&String> = prompt.stop.iter().filter(|stop| !stop.trim().is_empty()).collect();
        if stop.len() < prompt.stop.len() {
            self.drop(Field::Stop);
        }
        if !stop.is_empty() {
            body.insert("stop_sequences".into(), json!(stop));
        }
        self.metadata(body);
        match prompt.service_tier.as_deref() {
            Some("auto") => {
                body.insert("service_tier".into(), "auto".into());
            }
            Some("default") => {
                body.insert("service_tier".into(), "standard_only".into());
            }
            Some(_) => self.drop(Field::ServiceTier),
            None => {}
        }
        if prompt.verbosity.is_some() {
            self.drop(Field::Verbosity);
        }
        if prompt.choices != 1 {
            self.drop(Field::Choices);
        }
        for (name, value) in &prompt.extra {
            match self.own() {
                true if Leftovers::is_nested(name) => {}
                true => {
                    body.insert(name.clone(), value.clone());
                }
                false => self.dropped.name(name),
            }
        }
    }

    fn metadata(&mut self, body: &mut Map<String, Value>) {
        let mut metadata = Map::new();
        match &self.prompt.user {
            Some(user) if self.own() || user.chars().count() <= USER_LIMIT => {
                metadata.insert("user_id".into(), user.as_str().into());
            }
            Some(_) => self.drop(Field::User),
            None => {}
        }
        if self.prompt.metadata.is_some() {
            self.drop(Field::Metadata);
        }
        self.leftovers.restore("metadata", &mut metadata);
        if !metadata.is_empty() {
            body.insert("metadata".into(), Value::Object(metadata));
        }
    }
}
