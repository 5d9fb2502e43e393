//! Encodes limits, sampling, reasoning effort and labels, adapted to what the model accepts.

use domain::call::Format;
use domain::canon::{Effort, Field, Reasoning};
use serde_json::json;

use super::Encoder;
use crate::vendors::ThinkingStyle;

/// OpenAI's maximum length of `user`.
const USER_LIMIT: usize = 64;
const LEAST_TEMPERATURE: f64 = 0.01;

impl Encoder<'_> {
    pub(super) fn settings(&mut self) {
        self.limit();
        self.temperature();
        self.sampling();
        self.stop();
        self.reasoning();
        self.labels();
        if self.prompt.choices > 1 {
            self.set("n", self.prompt.choices);
        }
    }

    fn limit(&mut self) {
        let Some(mut limit) = self.prompt.max_output else { return };
        // Clients set limits for the model they know; a limit above this model's maximum would be rejected.
        if let Some(most) = self.target.max_output.filter(|_| !self.is_native()) {
            limit = limit.min(most);
        }
        let renamed = (self.target.vendor.quirks.completion_tokens_rename)(self.target.model);
        self.set(if renamed { "max_completion_tokens" } else { "max_tokens" }, limit);
    }

    fn temperature(&mut self) {
        let Some(wanted) = self.prompt.sampling.temperature else { return };
        if !self.rules.sampling {
            // The default value needs no parameter.
            if wanted != 1.0 {
                self.drop_field(Field::Temperature);
            }
            return;
        }
        let least =
            if self.target.vendor.quirks.min_temperature_above_zero { LEAST_TEMPERATURE } else { 0.0 };
        self.set("temperature", wanted.clamp(least, self.rules.max_temperature));
    }

    fn sampling(&mut self) {
        let sampling = &self.prompt.sampling;
        let top_p = sampling.top_p.filter(|top_p| self.rules.sampling || *top_p != 1.0);
        let both = self.rules.temperature_with_top_p || sampling.temperature.is_none();
        match top_p {
            Some(_) if !self.rules.sampling || !both => self.drop_field(Field::TopP),
            top_p => self.set_if_some("top_p", top_p),
        }
        let penalties = [
            ("presence_penalty", sampling.presence_penalty, Field::PresencePenalty),
            ("frequency_penalty", sampling.frequency_penalty, Field::FrequencyPenalty),
        ];
        for (name, value, field) in penalties {
            match value {
                Some(value) if !self.rules.penalties && value != 0.0 => self.drop_field(field),
                Some(_) if !self.rules.penalties => {}
                value => self.set_if_some(name, value),
            }
        }
        match sampling.top_k {
            Some(_) if !self.target.vendor.quirks.top_k && !self.is_native() => self.drop_field(Field::TopK),
            top_k => self.set_if_some("top_k", top_k),
        }
        self.set_if_some("seed", sampling.seed);
    }

    fn stop(&mut self) {
        let most = match self.is_native() && self.rules.stops > 0 {
            true => usize::MAX,
            false => self.rules.stops,
        };
        let stop = &self.prompt.stop;
        if stop.len() > most {
            self.drop_field(Field::Stop);
        }
        match &stop[..stop.len().min(most)] {
            [] => {}
            some => self.set("stop", json!(some)),
        }
    }

    fn reasoning(&mut self) {
        match &self.prompt.verbosity {
            Some(_) if !self.rules.verbosity && !self.is_native() => self.drop_field(Field::Verbosity),
            verbosity => self.set_if_some("verbosity", verbosity.clone()),
        }
        let Some(reasoning) = &self.prompt.reasoning else { return };
        let Some(wanted) = wanted(reasoning) else { return };
        if self.rules.thinking != ThinkingStyle::Effort {
            // A model without reasoning control needs no request to disable it.
            if wanted != RequestedEffort::None {
                self.drop_field(Field::Reasoning);
            }
            return;
        }
        self.set_if_some("reasoning_effort", word(wanted, self.rules.effort_words));
    }

    fn labels(&mut self) {
        let prompt = self.prompt;
        if let Some(user) = &prompt.user {
            match user.len() > USER_LIMIT && !self.is_native() {
                true => self.drop_field(Field::User),
                false => self.set("user", user.as_str()),
            }
        }
        // Metadata and service tiers have the same meaning in both OpenAI formats and another or none elsewhere.
        let kindred = matches!(prompt.format, Format::Chat | Format::Responses);
        match &prompt.metadata {
            Some(_) if !kindred => self.drop_field(Field::Metadata),
            metadata => self.set_if_some("metadata", metadata.clone()),
        }
        match prompt.service_tier.as_deref() {
            Some("auto") if !kindred => {}
            Some(_) if !kindred => self.drop_field(Field::ServiceTier),
            tier => self.set_if_some("service_tier", tier),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RequestedEffort {
    None,
    Some(Effort),
}

/// The requested effort; `None` if it is left to the model.
fn wanted(reasoning: &Reasoning) -> Option<RequestedEffort> {
    if reasoning.enabled == Some(false) {
        return Some(RequestedEffort::None);
    }
    let effort = reasoning.effort.or_else(|| match reasoning.budget {
        Some(0) | None => None,
        Some(budget) => Some(Effort::of_budget(budget)),
    });
    effort.map(RequestedEffort::Some)
}

/// The closest effort name the model supports: not above the requested effort, if there is one.
fn word(wanted: RequestedEffort, known: &[&'static str]) -> Option<&'static str> {
    let rank = |word: &str| Effort::parse(word).map_or(0, |effort| 1 + effort as u8);
    let thinks = || known.iter().copied().filter(|word| *word != "none");
    match wanted {
        RequestedEffort::None => known.first().copied(),
        RequestedEffort::Some(effort) => {
            thinks().rfind(|word| rank(word) <= 1 + effort as u8).or_else(|| thinks().next())
        }
    }
}
