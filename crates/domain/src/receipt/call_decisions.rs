//! The decisions about an audited call: facts that only the audit log keeps.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Receipt;
use crate::money::Nanos;

/// Most targets that are recorded by name.
pub const MOST_TARGETS: usize = 8;

/// The decisions about a call, in the order in which they were made. Recorded only for calls in the audit log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallDecisions {
    /// The name of the key that made the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_name: Option<String>,
    /// The steps from the requested name to the targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<RouteStep>,
    /// The targets in the order to be tried, the first [`MOST_TARGETS`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// The number of all targets; 0 if the call was not resolved.
    #[serde(skip_serializing_if = "is_zero")]
    pub target_count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowVersion>,
    /// Time of the inspection of the request by guardrails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inspection_us: Option<u64>,
    /// The rate limits of the key at the end of the call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitCount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetReservation>,
    /// The status of the response cache; empty if it is off.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cache: String,
    /// The reason why no answer came from the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_reason: Option<String>,
    /// The times of the attempts, in the order of the receipt's attempts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<AttemptTiming>,
    /// The finish reason of the answer, as the provider wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
}

/// A step of the resolution of a model name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RouteStep {
    /// alias, combo, pool, key_pool, hint, forced, instance, type, whole_id, bare_model, refused, fallback_rule or
    /// fallback_auto
    pub kind: String,
    /// The name that the step resolved, or the provider instance that it refused.
    pub name: String,
}

/// The version of a workflow; its id is in the receipt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowVersion {
    pub name: String,
    pub version: u64,
}

/// The use of a rate limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitCount {
    /// requests_per_minute, requests_per_day, tokens_per_minute, tokens_per_day or max_parallel_requests
    pub scope: String,
    pub limit: u64,
    pub used: u64,
}

/// The amount that was held against budgets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetReservation {
    /// `None` if the model has no price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Nanos>,
    /// The budgets that it was held against, as they were afterwards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<BudgetBalance>,
    /// The requested output limit and the one used, if a budget lowered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clamped: Option<(u64, u64)>,
}

/// The amount that a budget had left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetBalance {
    pub user_path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// `daily`, `monthly` or the like.
    pub period: String,
    pub remaining: Nanos,
}

/// The times of an attempt beside its duration, which is that until the whole answer, or until the first content of a
/// stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AttemptTiming {
    /// Time until the head of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_us: Option<u64>,
    /// Time from the first content of a stream to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streamed_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The format that the request was translated to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub translated_to: Option<String>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The kinds of step by which a name is found. Inside a combo they concern its members, which the targets show.
const NAMES: [&str; 7] = ["combo", "alias", "pool", "instance", "type", "whole_id", "bare_model"];
/// Most steps that are recorded.
const MOST_STEPS: usize = 16;
/// Most characters of a name; requested names come from clients.
const LONGEST_NAME: usize = 300;

impl CallDecisions {
    /// Adds a step, unless it concerns a member of a combo or there are too many.
    pub fn add_step(steps: &mut Vec<RouteStep>, kind: &str, name: &str) {
        let in_combo = NAMES.contains(&kind) && steps.iter().any(|step| step.kind == "combo");
        if !in_combo && steps.len() < MOST_STEPS {
            let name = crate::text::clip(name, LONGEST_NAME).to_owned();
            steps.push(RouteStep { kind: kind.to_owned(), name });
        }
    }

    /// Records the time of the stream that the last attempt answered with: from the first byte sent to the client to
    /// the end of the call.
    pub fn close_stream(&mut self, receipt: Option<&Receipt>, elapsed: Duration) {
        let Some(receipt) = receipt.filter(|receipt| receipt.stream) else { return };
        let is_answered = receipt.attempts.last().is_some_and(|attempt| attempt.error.is_none());
        let first_byte = receipt.first_byte_us.map(Duration::from_micros);
        if let (true, Some(first_byte), Some(timing)) = (is_answered, first_byte, self.attempts.last_mut()) {
            let streamed = elapsed.saturating_sub(first_byte);
            timing.streamed_us = u64::try_from(streamed.as_micros()).ok();
        }
    }

    /// The timing of the last attempt.
    pub fn last_attempt(&mut self) -> Option<&mut AttemptTiming> {
        self.attempts.last_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_inside_a_combo_are_left_out() {
        let mut steps = Vec::new();
        let all = ["alias", "combo", "alias", "pool", "combo", "refused", "fallback_rule"];
        all.iter().for_each(|kind| CallDecisions::add_step(&mut steps, kind, "name"));
        let kinds: Vec<&str> = steps.iter().map(|step| &*step.kind).collect();
        assert_eq!(kinds, ["alias", "combo", "refused", "fallback_rule"]);
        (0..40).for_each(|_| CallDecisions::add_step(&mut steps, "refused", &"é".repeat(400)));
        assert_eq!(steps.len(), MOST_STEPS);
        assert_eq!(steps[15].name.chars().count(), LONGEST_NAME);
    }

    #[test]
    fn what_is_not_known_takes_no_room() {
        assert_eq!(serde_json::to_string(&CallDecisions::default()).unwrap(), "{}");
        let empty = CallDecisions { attempts: vec![AttemptTiming::default()], ..CallDecisions::default() };
        let text = serde_json::to_string(&empty).unwrap();
        assert_eq!(text, r#"{"attempts":[{}]}"#);
        assert_eq!(serde_json::from_str::<CallDecisions>(&text).unwrap(), empty);
    }
}
