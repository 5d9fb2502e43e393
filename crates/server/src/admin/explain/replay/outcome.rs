//! The outcome of a call under one configuration, as far as a replay compares it.

use std::collections::BTreeMap;

use domain::receipt::{GuardedSubject, GuardrailVerdict, Verdict};
use pipeline::explain::Explanation;
use serde::Serialize;
use utoipa::ToSchema;

/// The outcome of a call.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct CallOutcome {
    /// The selector that the call would be sent to; null if it would be refused.
    pub first: Option<String>,
    /// Selectors, each tried when those before it have failed.
    pub would_try: Vec<String>,
    /// The code of the error that the client would receive before anything is sent.
    pub error_code: Option<String>,
    /// The worst-case cost in US dollars; null if no target has a price, and if the call would be refused.
    pub estimated_cost: Option<f64>,
    /// The verdicts of guardrails on the request.
    pub guardrails: Vec<ReplayedVerdict>,
}

/// The verdict of a guardrail, without texts.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct ReplayedVerdict {
    pub name: String,
    pub subject: GuardedSubject,
    pub verdict: Verdict,
    /// The number of findings of each kind.
    pub kinds: BTreeMap<String, u64>,
}

impl From<Explanation> for CallOutcome {
    fn from(explanation: Explanation) -> Self {
        let Explanation { decision, estimated_cost, guardrails, .. } = explanation;
        let verdicts = guardrails.map(|guardrails| guardrails.request).unwrap_or_default();
        Self {
            first: decision.first,
            would_try: decision.would_try,
            error_code: decision.error.map(|refusal| refusal.code),
            estimated_cost: estimated_cost.and_then(|cost| cost.worst),
            guardrails: verdicts.into_iter().map(ReplayedVerdict::from).collect(),
        }
    }
}

impl From<GuardrailVerdict> for ReplayedVerdict {
    fn from(verdict: GuardrailVerdict) -> Self {
        let GuardrailVerdict { name, subject, verdict, kinds, .. } = verdict;
        Self { name, subject, verdict, kinds }
    }
}

impl CallOutcome {
    /// The parts that differ.
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let route = (&self.first, &self.would_try) != (&other.first, &other.would_try);
        let cost = self.estimated_cost != other.estimated_cost;
        let verdict = (&self.error_code, &self.guardrails) != (&other.error_code, &other.guardrails);
        let parts = [("route", route), ("cost", cost), ("verdict", verdict)];
        parts.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome() -> CallOutcome {
        CallOutcome {
            first: Some("a/m".to_owned()),
            would_try: vec!["a/m".to_owned(), "b/m".to_owned()],
            error_code: None,
            estimated_cost: Some(0.5),
            guardrails: Vec::new(),
        }
    }

    #[test]
    fn each_part_is_compared() {
        let verdict = ReplayedVerdict {
            name: "words".to_owned(),
            subject: GuardedSubject::Request,
            verdict: Verdict::Flag,
            kinds: BTreeMap::new(),
        };
        let changed: [(CallOutcome, &[&str]); 6] = [
            (outcome(), &[]),
            (CallOutcome { would_try: vec!["a/m".to_owned()], ..outcome() }, &["route"]),
            (CallOutcome { first: None, ..outcome() }, &["route"]),
            (CallOutcome { estimated_cost: None, ..outcome() }, &["cost"]),
            (CallOutcome { guardrails: vec![verdict], ..outcome() }, &["verdict"]),
            (
                CallOutcome { error_code: Some("x".to_owned()), estimated_cost: None, ..outcome() },
                &["cost", "verdict"],
            ),
        ];
        for (other, expected) in changed {
            assert_eq!(outcome().differences(&other), expected, "{other:?}");
        }
    }
}
