//! Encodes a canonical request for Anthropic, adapted to the model generation; unsupported parameters are recorded as
//! dropped.

mod cache;
mod ids;
mod leftovers;
mod parts;
mod schema;
mod settings;
mod thinking;
mod tools;
mod turns;

use bytes::Bytes;
use domain::call::Format;
use domain::canon::{Content, Dropped, Field, Media, MediaSource, Part, Prompt};
use domain::fault::{self, Fault};
use serde_json::{Map, Value};

use super::breakpoints;
use crate::codec::{Encoded, PromptCacheMode, Target};
use crate::embedded;
use crate::vendors::Rules;
use ids::Ids;
use leftovers::Leftovers;

/// Maximum size of an image, in base64 characters.
const IMAGE_LIMIT: usize = 5 << 20;

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
            Format::Gemini => "contents",
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
    if target.prompt_cache != PromptCacheMode::Off && cache::keep_four(&mut body) {
        encoder.drop(Field::CacheControl);
    }
    let bytes = serde_json::to_vec(&body).map_err(|_| fault::internal_error())?;
    let schema_tool = stand_in.map(|_| tools::STAND_IN.to_owned());
    Ok(Encoded { body: with_breakpoints(bytes, prompt, target), dropped: encoder.dropped, schema_tool })
}

/// Adds or removes breakpoints. A client that sets its own gets no others, even if its parts with breakpoints are not
/// sent.
fn with_breakpoints(body: Vec<u8>, prompt: &Prompt, target: &Target<'_>) -> Bytes {
    match target.prompt_cache {
        PromptCacheMode::Auto if cache::is_marked(prompt) => body.into(),
        _ => breakpoints::edited(body.into(), target),
    }
}

fn check_image(part: &Part, client: Format) -> Result<(), Fault> {
    match &part.content {
        Content::Image(Media { source: MediaSource::Data(data), .. }) => {
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

    /// Whether the schema is sent natively. Native schemas are closed, and closing a map with free keys would change
    /// its meaning.
    fn takes_schema(&self, schema: &Value) -> bool {
        self.rules.native_schema && (self.own() || !schema::is_open(schema))
    }
}
