//! `reasoning_details`: entries with reasoning text and the opaque state that the provider needs back.

use domain::call::Format;
use domain::canon::{Opaque, Origin, Thinking};
use serde_json::{Map, Value, json};

const TEXT: &str = "reasoning.text";
const SUMMARY: &str = "reasoning.summary";
const ENCRYPTED: &str = "reasoning.encrypted";

/// One parsed entry.
#[derive(Debug)]
pub struct Detail {
    pub text: String,
    /// Id of a tool call the entry belongs to, or a name that only the provider knows.
    pub id: Option<String>,
    state: Option<String>,
    encrypted: bool,
    /// The entry without its text.
    entry: Map<String, Value>,
}

impl Detail {
    pub fn read(mut entry: Map<String, Value>) -> Self {
        let words = ["text", "summary"].map(|name| entry.shift_remove(name));
        let text = words.into_iter().flatten().find_map(|word| word.as_str().map(str::to_owned));
        let string = |name: &str| entry.get(name)?.as_str().filter(|it| !it.is_empty()).map(str::to_owned);
        let data = string("data");
        Self {
            text: text.unwrap_or_default(),
            id: string("id"),
            encrypted: data.is_some(),
            state: data.or_else(|| string("signature")),
            entry,
        }
    }

    /// Whether this is a signed text entry, whose text may be given outside the entry.
    pub fn is_text(&self) -> bool {
        !self.encrypted && self.state.is_some()
    }

    /// The opaque state of a tool call made by `model`.
    pub fn opaque_of_call(&self, model: &str) -> Option<Opaque> {
        self.opaque(model, &["id"], false)
    }

    /// The opaque state of a reasoning block; `has_text` if the block has readable text.
    pub fn opaque_of_thought(&self, model: &str, has_text: bool) -> Option<Opaque> {
        let mut opaque = self.opaque(model, &[], self.encrypted && has_text)?;
        opaque.whole |= opaque.origin.format == Format::Chat && self.encrypted && !has_text;
        Some(opaque)
    }

    /// The bare state, or the entry as JSON if it has members besides the `known` ones or must be kept `entire`.
    fn opaque(&self, model: &str, known: &[&str], entire: bool) -> Option<Opaque> {
        let state = self.state.as_deref()?;
        if let Some(sealed) = Opaque::unseal(state) {
            return Some(sealed);
        }
        let plain = ["type", "signature", "data", "index"];
        let special = self.entry.keys().any(|name| !plain.contains(&&**name) && !known.contains(&&**name));
        let data = match special || entire {
            true => Value::Object(self.entry.clone()).to_string(),
            false => state.to_owned(),
        };
        let origin = Origin { format: Format::Chat, model: model.to_owned() };
        Some(Opaque { origin, data, whole: false, text: None })
    }
}

/// A thinking block with the text stored in its state, or else with the echoed text.
pub fn thought(text: String, mut opaque: Option<Opaque>) -> Thinking {
    let vouched = opaque.as_mut().and_then(|opaque| opaque.text.take());
    Thinking { text: vouched.unwrap_or(text), opaque }
}

/// Renders a thinking block for the client. State of another format is sealed, because the client cannot read it.
pub fn for_client(text: &str, opaque: Option<&Opaque>) -> Vec<Map<String, Value>> {
    let Some(opaque) = opaque else { return vec![plain(text)] };
    if opaque.origin.format == Format::Chat {
        return for_provider(text, opaque);
    }
    vec![sealed(text, &opaque.seal(), opaque.whole)]
}

/// Renders a thinking block for the model that produced it.
pub fn for_provider(text: &str, opaque: &Opaque) -> Vec<Map<String, Value>> {
    match serde_json::from_str(&opaque.data) {
        Ok(Value::Object(mut entry)) => {
            let kind = entry.get("type").and_then(Value::as_str).unwrap_or(TEXT);
            let member = match kind {
                ENCRYPTED if text.is_empty() => return vec![entry],
                ENCRYPTED => {
                    let summary = json!({"type": SUMMARY, "summary": text});
                    return summary.as_object().cloned().into_iter().chain([entry]).collect();
                }
                SUMMARY => "summary",
                _ => "text",
            };
            entry.insert(member.to_owned(), text.into());
            vec![entry]
        }
        _ => vec![sealed(text, &opaque.data, opaque.whole)],
    }
}

/// The opaque state of a tool call, under the call's id.
pub fn of_call(id: &str, opaque: &Opaque, provider: bool) -> Map<String, Value> {
    let mut entries = if provider { for_provider("", opaque) } else { for_client("", Some(opaque)) };
    let mut entry = entries.pop().unwrap_or_default();
    // An entry with only a signature would be read as a thinking block without text.
    if let Some(signature) = entry.shift_remove("signature") {
        entry.insert("type".into(), ENCRYPTED.into());
        entry.insert("data".into(), signature);
        entry.shift_remove("text");
    }
    entry.insert("id".into(), id.into());
    entry
}

fn plain(text: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), TEXT.into()), ("text".to_owned(), text.into())])
}

fn sealed(text: &str, state: &str, whole: bool) -> Map<String, Value> {
    if whole && text.is_empty() {
        return Map::from_iter([("type".to_owned(), ENCRYPTED.into()), ("data".to_owned(), state.into())]);
    }
    let mut entry = plain(text);
    entry.insert("signature".into(), state.into());
    entry
}
