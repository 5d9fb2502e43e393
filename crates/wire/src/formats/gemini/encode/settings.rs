//! Encodes the generation config: limits, sampling, output format, thinking.

use domain::call::Format;
use domain::canon::{Effort, Field, OutputFormat, Reasoning};
use serde_json::{Map, Value, json};

use super::Encoder;
use crate::vendors::ThinkingStyle;

/// Maximum number of stop sequences.
const STOPS: usize = 5;

impl Encoder<'_> {
    pub(super) fn generation_config(&mut self, schema_as_tool: bool) {
        let mut config = Map::new();
        self.sampling(&mut config);
        if let Some(limit) = self.prompt.max_output {
            let most = self.target.max_output.unwrap_or(u64::MAX);
            config.insert("maxOutputTokens".into(), limit.min(most).into());
        }
        if !self.prompt.stop.is_empty() {
            let stops = &self.prompt.stop;
            config.insert("stopSequences".into(), json!(stops[..stops.len().min(STOPS)]));
            if stops.len() > STOPS {
                self.drop_field(Field::Stop);
            }
        }
        if !schema_as_tool {
            self.output(&mut config);
        }
        if let Some(reasoning) = &self.prompt.reasoning {
            let thinking = self.thinking(reasoning);
            if !thinking.is_empty() {
                config.insert("thinkingConfig".into(), thinking.into());
            }
        }
        if !config.is_empty() {
            self.body.insert("generationConfig".into(), config.into());
        }
    }

    fn sampling(&mut self, config: &mut Map<String, Value>) {
        let sampling = &self.prompt.sampling;
        let temperature = sampling.temperature.map(|value| value.min(self.rules.max_temperature));
        // Gemini's seed has 32 bits; a truncated seed would not reproduce the answer.
        let seed = sampling.seed.filter(|seed| i32::try_from(*seed).is_ok());
        let top_p = sampling.top_p.filter(|_| self.rules.temperature_with_top_p || temperature.is_none());
        let values = [
            ("temperature", Field::Temperature, sampling.temperature.is_some(), temperature.map(Value::from)),
            ("topP", Field::TopP, sampling.top_p.is_some(), top_p.map(Value::from)),
            ("topK", Field::TopK, sampling.top_k.is_some(), sampling.top_k.map(Value::from)),
            ("seed", Field::Seed, sampling.seed.is_some(), seed.map(Value::from)),
            (
                "presencePenalty",
                Field::PresencePenalty,
                sampling.presence_penalty.is_some(),
                sampling.presence_penalty.map(Value::from),
            ),
            (
                "frequencyPenalty",
                Field::FrequencyPenalty,
                sampling.frequency_penalty.is_some(),
                sampling.frequency_penalty.map(Value::from),
            ),
        ];
        for (name, field, asked, value) in values {
            match value.filter(|_| self.rules.sampling) {
                Some(value) => drop(config.insert(name.into(), value)),
                None if asked => self.drop_field(field),
                None => {}
            }
        }
    }

    fn output(&mut self, config: &mut Map<String, Value>) {
        match &self.prompt.output {
            None => {}
            Some(OutputFormat::Json) if !self.rules.schema_with_tools && self.has_tools() => {
                self.drop_field(Field::Output);
            }
            Some(output) => {
                config.insert("responseMimeType".into(), "application/json".into());
                if let OutputFormat::Schema { schema, .. } = output {
                    config.insert("responseJsonSchema".into(), schema.clone());
                }
            }
        }
    }

    fn thinking(&mut self, reasoning: &Reasoning) -> Map<String, Value> {
        let mut config = Map::new();
        match self.rules.thinking {
            ThinkingStyle::None => {
                if reasoning.enabled != Some(false) {
                    self.drop_field(Field::Reasoning);
                }
                return config;
            }
            ThinkingStyle::Effort | ThinkingStyle::Adaptive => {
                if let Some(level) = self.level(reasoning) {
                    config.insert("thinkingLevel".into(), level.as_str().into());
                }
            }
            ThinkingStyle::Budget => {
                if let Some(budget) = self.budget(reasoning) {
                    config.insert("thinkingBudget".into(), budget);
                }
            }
        }
        if let Some(shown) = self.shows_thoughts(reasoning) {
            config.insert("includeThoughts".into(), shown.into());
        }
        config
    }

    /// The closest thinking level the model supports, rounded up.
    fn level(&self, reasoning: &Reasoning) -> Option<Effort> {
        let wanted = if reasoning.enabled == Some(false) {
            Effort::Minimal
        } else {
            reasoning.effort.or(reasoning.budget.map(Effort::of_budget))?
        };
        let known = self.rules.efforts;
        known.iter().find(|effort| **effort >= wanted).or(known.last()).copied()
    }

    fn budget(&self, reasoning: &Reasoning) -> Option<Value> {
        let (least, most) = self.rules.thinking_budget;
        if reasoning.enabled == Some(false) {
            return Some(if self.rules.thinking_off.is_some() { 0 } else { least }.into());
        }
        if let Some(tokens) = reasoning.budget {
            return Some(tokens.clamp(least, most).into());
        }
        match reasoning.effort {
            Some(effort) if !reasoning.adaptive => Some(effort.budget().clamp(least, most).into()),
            _ => (reasoning.adaptive || reasoning.enabled == Some(true)).then(|| (-1).into()),
        }
    }

    /// Whether thoughts are included. Clients of other formats get them unless they opted out; Gemini clients have to
    /// opt in.
    fn shows_thoughts(&self, reasoning: &Reasoning) -> Option<bool> {
        let wanted = reasoning.summary.as_deref().map(|word| word != "none");
        match self.prompt.format {
            Format::Gemini => wanted,
            _ if reasoning.enabled == Some(false) => None,
            _ => wanted.unwrap_or(true).then_some(true),
        }
    }
}
