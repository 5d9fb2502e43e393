//! How the model is told to think, and the limit of its answer, which must leave room for that.

use domain::call::Format;
use domain::canon::{Effort, Field, Reasoning};
use serde_json::{Map, Value};

use super::Encoder;
use crate::vendors::ThinkingStyle;

/// Anthropic takes no smaller budget.
const LEAST_BUDGET: u64 = 1024;
/// Where neither the client nor the catalogue names a limit.
const DEFAULT_ANSWER: u64 = 4096;

#[derive(Default)]
pub(super) struct Plan {
    pub(super) thinking: Option<Map<String, Value>>,
    pub(super) effort: Option<Effort>,
    /// The client gets thinking it asked for.
    pub(super) on: bool,
    pub(super) max_tokens: u64,
}

enum Wish {
    Nothing,
    Off,
    On,
}

impl Encoder<'_> {
    /// `barred`: something in this request makes a counted budget impossible.
    pub(super) fn plan(&mut self, barred: bool) -> Plan {
        let mut plan = Plan { max_tokens: self.max_tokens(), ..Plan::default() };
        let Some(reasoning) = &self.prompt.reasoning else { return plan };
        match wish(reasoning, self.prompt.format) {
            Wish::Nothing => {}
            Wish::Off => self.switch_off(&mut plan),
            Wish::On => match self.rules.thinking {
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

    /// The client's own limit, or what the model can say.
    fn max_tokens(&self) -> u64 {
        let most = self.target.max_output;
        match self.prompt.max_output {
            Some(asked) if self.own() => asked,
            Some(asked) => asked.min(most.unwrap_or(asked)),
            None => most.unwrap_or(DEFAULT_ANSWER),
        }
    }

    fn switch_off(&mut self, plan: &mut Plan) {
        match (self.rules.thinking, self.rules.thinking_off) {
            (ThinkingStyle::None | ThinkingStyle::Effort, _) => {}
            (_, Some(word)) => plan.thinking = Some(kind(word)),
            (_, None) => self.drop(Field::Reasoning),
        }
    }

    /// A counted budget: the answer's limit must be above it.
    fn spend(&mut self, reasoning: &Reasoning, plan: &mut Plan) {
        let wanted = reasoning.budget.or(reasoning.effort.map(Effort::budget));
        let wanted = wanted.unwrap_or(Effort::Medium.budget()).max(LEAST_BUDGET);
        let limited = self.prompt.max_output.is_some() || self.target.max_output.is_some();
        let limit = plan.max_tokens;
        let (budget, max_tokens) = if !limited {
            (wanted, wanted + DEFAULT_ANSWER)
        } else if limit > wanted {
            (wanted, limit)
        } else if limit >= 2 * LEAST_BUDGET {
            (limit - LEAST_BUDGET, limit)
        } else {
            // The answer is to be short, which says nothing about the thoughts before it.
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

    /// Newer models keep their thoughts to themselves unless asked; chat clients cannot ask, and show what they get.
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

/// Anthropic's own clients may name an effort without asking for thinking; elsewhere the effort is the request.
fn wish(reasoning: &Reasoning, client: Format) -> Wish {
    let steered = reasoning.effort.is_some() && client != Format::Messages;
    match reasoning.enabled {
        Some(false) => Wish::Off,
        Some(true) => Wish::On,
        None if reasoning.adaptive || reasoning.budget.is_some() || steered => Wish::On,
        None => Wish::Nothing,
    }
}

fn kind(word: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), word.into())])
}
