//! The worst-case cost of one attempt at a call, as a function of its output limit.

use std::sync::Arc;

use catalog::Incurs;
use domain::money::Nanos;

use super::cache_writes::CacheWrites;
use super::{InputSize, counted_input, longest_output, reported_input};
use crate::budgets::ReportedPrefixes;
use crate::call::receive::Call;
use crate::policy::PromptCacheMode;
use crate::routing::resolve::Plan;
use crate::routing::routes::Deployment;

pub struct WorstCost {
    targets: Vec<TargetInput>,
    /// The provider may read further input, so that no count of the bytes is a bound.
    has_more_input: bool,
    /// The rates that the request itself can incur.
    incurs: Incurs,
    answers: u64,
    reasoning: bool,
    generates: bool,
    asked: Option<u64>,
}

/// A target with a price, and the most input tokens that it can bill.
struct TargetInput {
    deployment: Arc<Deployment>,
    input: u64,
    cache_writes: CacheWrites,
}

impl WorstCost {
    pub fn new(plan: &Plan, call: &Call, prompt_cache: PromptCacheMode) -> Self {
        let shape = call.shape();
        let size = InputSize::of(shape.content, shape.stored_context);
        let priced = plan.deployments.iter().filter(|deployment| deployment.price().is_some());
        let target = |deployment: &Arc<Deployment>| TargetInput {
            deployment: deployment.clone(),
            input: size.most_tokens(deployment),
            cache_writes: match size.has_more {
                // Nothing is known about the input, nor about breakpoints in it.
                true => CacheWrites::AsRequested,
                false => CacheWrites::at(deployment, call, prompt_cache),
            },
        };
        Self {
            targets: priced.map(target).collect(),
            has_more_input: size.has_more,
            incurs: size.incurs(shape.content),
            answers: shape.choices,
            reasoning: shape.reasoning,
            generates: shape.generates,
            asked: shape.max_output,
        }
    }

    /// The output limit of the request; without one, the largest that every target accepts. None if the call has no
    /// output to limit, or no target's maximum is known.
    pub fn bound(&self, plan: &Plan) -> Option<u64> {
        if !self.generates {
            return None;
        }
        let known = |deployment: &Arc<Deployment>| {
            deployment.facts.as_ref().and_then(|facts| facts.max_output_tokens)
        };
        self.asked.or_else(|| plan.deployments.iter().filter_map(known).min())
    }

    /// The maximum cost of a request with this output limit; none if no target has a price.
    pub fn at(&self, bound: Option<u64>) -> Option<Nanos> {
        let costs = self.targets.iter().filter_map(|TargetInput { deployment, input, cache_writes }| {
            let output = longest_output(deployment, bound, self.reasoning).saturating_mul(self.answers);
            let incurs = cache_writes.incurred(self.incurs, *input);
            Some(catalog::bound(deployment.price()?, *input, output, incurs))
        });
        costs.max()
    }

    /// The largest output limit, from `least` to `most`, at which the call costs no more than `room`.
    pub fn largest_within(&self, room: Nanos, min: u64, max: u64) -> Option<u64> {
        let fits = |bound: u64| self.at(Some(bound)).is_some_and(|cost| cost <= room);
        if min > max || !fits(min) {
            return None;
        }
        // Binary search: the maximum cost grows with the limit.
        let (mut low, mut high) = (min, max);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if fits(middle) { low = middle } else { high = middle - 1 }
        }
        Some(low)
    }

    /// Counts the input more exactly than by its bytes, which takes longer: from what a provider reported for the same
    /// conversation, or with the model's tokenizer. Returns true if the bound changed. Nothing is counted if the
    /// provider's own tools or stored objects add input, which may differ each time.
    pub fn tighten(&mut self, call: &Call, prefixes: &ReportedPrefixes) -> bool {
        if self.has_more_input {
            return false;
        }
        let mut changed = false;
        for TargetInput { deployment, input, .. } in &mut self.targets {
            let reported = reported_input(deployment, &call.request.body, prefixes);
            let counted =
                if reported.is_some() { reported } else { counted_input(deployment, &call.request.body) };
            if let Some(counted) = counted.filter(|counted| *counted < *input) {
                (*input, changed) = (counted, true);
            }
        }
        changed
    }
}
