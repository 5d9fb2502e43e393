//! Plans the thinking settings and an output limit that leaves room for them.

use domain::call::Format;
use domain::canon::{Effort, Field, Reasoning};
use serde_json::{Map, Value};

use super::Encoder;
use crate::codec::shape::ASSUMED_OUTPUT;
use crate::vendors::ThinkingStyle;

/// Anthropic's minimum thinking budget.
const LEAST_BUDGET: u64 = 1024;

#[derive(Default)]
pub(super) struct Plan {
    pub(super) thinking: Option<Map<String, Value>>,
    pub(super) effort: Option<Effort>,
    /// Whether thinking is enabled.
    pub(super) on: bool,
    pub(super) max_tokens: u64,
}

enum ThinkingMode {
    Unset,
    Off,
    On,
}

impl Encoder<'_> {
    /// Plans thinking and output limit. `barred`: something in the request rules out a thinking budget.
    pub(super) fn plan(&mut self, barred: bool) -> Plan {
        let mut plan = Plan { max_tokens: self.max_tokens(), ..Plan::default() };
        let Some(reasoning) = &self.prompt.reasoning else { return plan };
        match thinking_mode(reasoning, self.prompt.format) {
            ThinkingMode::Unset => {}
            ThinkingMode::Off => self.switch_off(&mut plan),
            ThinkingMode::On => match self.rules.thinking {
                ThinkingStyle::Adaptive => {
                    plan.on = true;
                    plan.thinking = Some(self.with_display(kind("adaptive"), reasoning));
                    plan.effort = reasoning.effort.or(reasoning.budget.map(Effort::of_budget));
                }
                ThinkingStyle::Budget if !barred => self.spend(reasoning, &mut plan),
                _ => self.drop(Field::Reasoning),
            },
        }
        if self.own() && plan.effort.is_none() {
            plan.effort = reasoning.effort;
        }
        if let Some(effort) = plan.effort {
            let off = plan.thinking.is_some() && !plan.on;
            plan.effort = self.rules.nearest_effort(if off { effort.min(Effort::High) } else { effort });
            if plan.effort.is_none() {
                self.dropped.name("output_config.effort");
            }
        }
        plan
    }

    /// The client's limit, or the model's maximum.
    fn max_tokens(&self) -> u64 {
        let most = self.target.max_output;
        match self.prompt.max_output {
            Some(asked) if self.own() => asked,
            Some(asked) => asked.min(most.unwrap_or(asked)),
            None => most.unwrap_or(ASSUMED_OUTPUT),
        }
    }

    fn switch_off(&mut self, plan: &mut Plan) {
        match (self.rules.thinking, self.rules.thinking_off) {
            (ThinkingStyle::None | ThinkingStyle::Effort, _) => {}
            (_, Some(word)) => plan.thinking = Some(kind(word)),
            (_, None) => self.drop(Field::Reasoning),
        }
    }

    /// Sets a thinking budget, which must be below the output limit.
    fn spend(&mut self, reasoning: &Reasoning, plan: &mut Plan) {
        let wanted = reasoning.budget.or(reasoning.effort.map(Effort::budget));
        let wanted = wanted.unwrap_or(Effort::Medium.budget()).max(LEAST_BUDGET);
        let limited = self.prompt.max_output.is_some() || self.target.max_output.is_some();
        let limit = plan.max_tokens;
        let (budget, max_tokens) = if !limited {
            (wanted, wanted + ASSUMED_OUTPUT)
        } else if limit > wanted {
            (wanted, limit)
        } else if limit >= 2 * LEAST_BUDGET {
            (limit - LEAST_BUDGET, limit)
        } else {
            // The limit is meant for the answer, so the minimum budget is added to it.
            (LEAST_BUDGET, limit + LEAST_BUDGET)
        };
        if self.target.max_output.is_some_and(|most| max_tokens > most.max(limit)) {
            return self.drop(Field::Reasoning);
        }
        let mut thinking = kind("enabled");
        thinking.insert("budget_tokens".into(), budget.into());
        if self.own() {
            thinking = self.with_display(thinking, reasoning);
        }
        (plan.thinking, plan.on, plan.max_tokens) = (Some(thinking), true, max_tokens);
    }

    /// Sets `display`. Newer models hide their thinking by default; chat clients have no option for it and show what
    /// they get.
    fn with_display(&self, mut thinking: Map<String, Value>, reasoning: &Reasoning) -> Map<String, Value> {
        let display = match reasoning.summary.as_deref() {
            Some("none") => Some("omitted"),
            Some("auto" | "concise" | "detailed") => Some("summarized"),
            Some(other) if self.own() => Some(other),
            Some(_) => Some("summarized"),
            None => (self.prompt.format == Format::Chat).then_some("summarized"),
        };
        if let Some(display) = display {
            thinking.insert("display".into(), display.into());
        }
        thinking
    }
}

/// Whether thinking is requested. Anthropic's own clients may set an effort without requesting thinking; for other
/// clients the effort is the request.
fn thinking_mode(reasoning: &Reasoning, client: Format) -> ThinkingMode {
    let steered = reasoning.effort.is_some() && client != Format::Messages;
    match reasoning.enabled {
        Some(false) => ThinkingMode::Off,
        Some(true) => ThinkingMode::On,
        None if reasoning.adaptive || reasoning.budget.is_some() || steered => ThinkingMode::On,
        None => ThinkingMode::Unset,
    }
}

fn kind(word: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), word.into())])
}
