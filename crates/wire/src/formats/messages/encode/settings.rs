//! Encodes sampling, thinking, output format and labels, adapted to what the model accepts.

use domain::canon::{Field, OutputFormat};
use serde_json::{Map, Value, json};

use super::leftovers::Leftovers;
use super::thinking::Plan;
use super::{Encoder, schema};

/// Maximum length of a user id.
const USER_LIMIT: usize = 256;

impl Encoder<'_> {
    pub(super) fn sampling(&mut self, body: &mut Map<String, Value>, thinking: bool) {
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
    pub(super) fn output(&mut self, body: &mut Map<String, Value>, plan: &Plan) {
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

    pub(super) fn rest(&mut self, body: &mut Map<String, Value>) {
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
