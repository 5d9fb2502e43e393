//! Encodes limits, output format, sampling, reasoning and labels, adapted to what the model accepts.

use domain::call::Format;
use domain::canon::{Effort, Field, OutputFormat, Reasoning};
use serde_json::{Map, Value, json};

use super::{Encoder, SCHEMA_TOOL};
use crate::vendors::ThinkingStyle;

/// The API's minimum output limit.
const MIN_OUTPUT: u64 = 16;
/// The API's maximum length of `user`.
const USER_LIMIT: usize = 64;

impl Encoder<'_> {
    pub(super) fn output(&mut self) {
        if let Some(limit) = self.prompt.max_output {
            self.set("max_output_tokens", limit.max(MIN_OUTPUT).into());
        }
        let mut text = Map::new();
        match &self.prompt.output {
            None => {}
            Some(OutputFormat::Json) => {
                text.insert("format".to_owned(), json!({"type": "json_object"}));
            }
            Some(OutputFormat::Schema { .. }) if !self.rules.native_schema => {
                self.schema_tool = Some(SCHEMA_TOOL.to_owned());
            }
            Some(OutputFormat::Schema { name, description, schema, strict }) => {
                let name = if name.is_empty() { "output" } else { name };
                let mut format = json!({"type": "json_schema", "name": name});
                if let Some(description) = description {
                    format["description"] = description.as_str().into();
                }
                format["schema"] = schema.clone();
                if let Some(strict) = strict {
                    format["strict"] = (*strict).into();
                }
                text.insert("format".to_owned(), format);
            }
        }
        match &self.prompt.verbosity {
            Some(_) if !self.rules.verbosity && !self.native() => self.drop(Field::Verbosity),
            Some(verbosity) => drop(text.insert("verbosity".to_owned(), verbosity.as_str().into())),
            None => {}
        }
        if !text.is_empty() {
            self.set("text", Value::Object(text));
        }
    }

    pub(super) fn sampling(&mut self) {
        let sampling = &self.prompt.sampling;
        let both = sampling.temperature.is_some() && sampling.top_p.is_some();
        if let Some(temperature) = sampling.temperature {
            if self.rules.sampling {
                self.set("temperature", temperature.min(self.rules.max_temperature).into());
            } else {
                self.drop(Field::Temperature);
            }
        }
        if let Some(top_p) = sampling.top_p {
            if self.rules.sampling && (self.rules.temperature_with_top_p || !both) {
                self.set("top_p", top_p.into());
            } else {
                self.drop(Field::TopP);
            }
        }
        let unsaid = [
            (sampling.top_k.is_some(), Field::TopK),
            (sampling.seed.is_some(), Field::Seed),
            (sampling.presence_penalty.is_some(), Field::PresencePenalty),
            (sampling.frequency_penalty.is_some(), Field::FrequencyPenalty),
            (!self.prompt.stop.is_empty(), Field::Stop),
            (self.prompt.choices > 1, Field::Choices),
        ];
        unsaid.into_iter().filter(|(given, _)| *given).for_each(|(_, field)| self.drop(field));
    }

    pub(super) fn reasoning(&mut self) {
        let thinks = self.rules.thinking != ThinkingStyle::None;
        if thinks {
            self.set("include", json!(["reasoning.encrypted_content"]));
        }
        let Some(reasoning) = &self.prompt.reasoning else { return };
        if !thinks && !self.native() {
            if reasoning.enabled != Some(false) {
                self.drop(Field::Reasoning);
            }
            return;
        }
        let mut written = Map::new();
        if let Some(effort) = effort(reasoning, self.prompt.format) {
            written.insert("effort".to_owned(), effort.into());
        }
        if let Some(summary) = summary(reasoning, self.prompt.format) {
            written.insert("summary".to_owned(), summary.into());
        }
        if !written.is_empty() {
            self.set("reasoning", Value::Object(written));
        }
    }

    pub(super) fn account(&mut self) {
        if let Some(user) = &self.prompt.user {
            if user.len() <= USER_LIMIT || self.native() {
                self.set("user", user.as_str().into());
            } else {
                self.drop(Field::User);
            }
        }
        if let Some(metadata) = &self.prompt.metadata {
            let labels = metadata.as_object().is_some_and(|labels| labels.values().all(Value::is_string));
            if labels || self.native() {
                self.set("metadata", metadata.clone());
            } else {
                self.drop(Field::Metadata);
            }
        }
        if let Some(tier) = &self.prompt.service_tier {
            let shared = matches!(self.prompt.format, Format::Chat | Format::Responses) || tier == "auto";
            if shared {
                self.set("service_tier", tier.as_str().into());
            } else {
                self.drop(Field::ServiceTier);
            }
        }
    }
}

/// The effort. Values of OpenAI clients are forwarded; those of other formats are clamped to the range every model
/// supports.
fn effort(reasoning: &Reasoning, client: Format) -> Option<&'static str> {
    let own_words = matches!(client, Format::Chat | Format::Responses);
    if reasoning.enabled == Some(false) {
        return own_words.then_some("none");
    }
    let effort = reasoning.effort.or_else(|| reasoning.budget.map(Effort::of_budget))?;
    Some(if own_words { effort } else { effort.clamp(Effort::Low, Effort::High) }.as_str())
}

/// The reasoning summary, requested only if the client wants it, because some accounts are not allowed to.
fn summary(reasoning: &Reasoning, client: Format) -> Option<&str> {
    match reasoning.summary.as_deref() {
        Some("none") => None,
        Some(word) if client == Format::Responses => Some(word),
        Some(word @ ("auto" | "concise" | "detailed")) => Some(word),
        Some(_) => Some("auto"),
        None => (client == Format::Messages && reasoning.enabled == Some(true)).then_some("auto"),
    }
}
