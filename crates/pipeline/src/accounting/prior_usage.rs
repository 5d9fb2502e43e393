//! Usage of failed attempts and interrupted streams of a call, each at its own price.

use std::sync::Arc;

use domain::canon::Reply;
use domain::caveat::Caveat;
use domain::fault::Fault;
use domain::money::{Cost, Nanos};
use domain::receipt::{CostSource, Receipt};
use domain::usage::{Tokens, Usage};
use tokio_util::task::TaskTracker;

use super::pricing;
use super::receipt_builder::ReceiptBuilder;
use crate::accounting::estimate;
use crate::accounting::loss::Loss;
use crate::accounting::reservation::Reservation;
use crate::routing::routes::Deployment;

#[derive(Clone, Debug, Default)]
pub struct PriorUsage {
    pub tokens: Tokens,
    pub cost: Option<Cost>,
    source: CostSource,
    reported: Option<Nanos>,
    /// Part of the usage has no price.
    unpriced: bool,
    /// Part of the usage belongs to a lost answer.
    lost: bool,
    /// Bytes of the partial answer that are sent to the next provider.
    pub shown: u64,
}

/// Usage of an attempt that incurred cost without a result. Priced when the call is settled.
#[derive(Clone)]
pub struct FailedAttemptUsage {
    pub deployment: Arc<Deployment>,
    pub usage: Option<Usage>,
    content_bytes: u64,
    /// Bytes of the partial answer that were sent to it.
    shown: u64,
}

impl FailedAttemptUsage {
    /// The reported usage, with missing fields estimated.
    pub fn consumed(&self, prompt: &[u8], bound: Option<u64>) -> Usage {
        let estimate = self.estimate(prompt, bound);
        let Some(mut told) = self.usage.clone() else { return estimate };
        told.fill(|| estimate.tokens.input, estimate.tokens.output);
        told
    }

    /// Estimates usage from bytes, because counting tokens would delay the answer of another target. The output is
    /// limited to what the call or the model allows.
    fn estimate(&self, prompt: &[u8], bound: Option<u64>) -> Usage {
        const LONGEST: u64 = 32_768;
        let facts = self.deployment.facts.as_ref();
        let longest = bound.or(facts.and_then(|facts| facts.max_output_tokens)).unwrap_or(LONGEST);
        let input = catalog::estimate_tokens_from_bytes(prompt.len() as u64 + self.shown);
        let output = estimate::output(self.content_bytes, Some(longest));
        let tokens = Tokens { input, output, ..Tokens::default() };
        Usage { tokens, estimated: true, ..Usage::default() }
    }
}

impl PriorUsage {
    pub fn lose(&mut self, deployment: &Deployment, usage: &Usage) {
        self.lost = true;
        self.add(Some(deployment), usage);
    }

    pub fn add(&mut self, deployment: Option<&Deployment>, usage: &Usage) {
        let (cost, source) = pricing::price_usage(deployment, usage);
        self.tokens += usage.tokens;
        self.reported = sum(self.reported, usage.reported_cost);
        self.unpriced |= cost.is_none() && usage.tokens.total() > 0;
        self.cost = sum(self.cost, cost);
        if source != CostSource::None {
            self.source = source;
        }
    }

    /// Adds this usage to the receipt, after its last part was priced.
    pub fn complete(mut self, receipt: &mut Receipt) {
        let last = &mut receipt.usage;
        self.unpriced |= receipt.cost.is_none() && last.tokens.total() > 0;
        last.tokens += self.tokens;
        last.estimated = true;
        last.reported_cost = sum(self.reported, last.reported_cost);
        receipt.cost = sum(self.cost, receipt.cost);
        if receipt.cost_source == CostSource::None {
            receipt.cost_source = self.source;
        }
        for (applies, caveat) in [
            (receipt.resumed > 0, Caveat::Resumed),
            (self.lost, Caveat::AnswerLost),
            (self.unpriced && receipt.cost.is_some(), Caveat::PartlyUnpriced),
        ] {
            if applies {
                caveat.add_to(&mut last.caveat);
            }
        }
    }
}

/// Adds two values; an unknown one counts as zero.
fn sum<T: std::ops::Add<Output = T>>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}

/// Accounting of a call that is continued by another provider.
impl ReceiptBuilder {
    /// Records the error of the last attempt, which had started to answer.
    pub fn broke(&mut self, fault: &Fault) {
        self.edit(|receipt| {
            if let Some(attempt) = receipt.attempts.last_mut() {
                attempt.error = Some(fault.code.clone());
            }
        });
    }

    /// Moves the usage of an interrupted stream to the prior usage, so that another provider can continue. Cancel-safe:
    /// nothing is taken before the await, because the client may disconnect while tokens are counted.
    pub async fn carry_over(&mut self, so_far: &Reply, tasks: &TaskTracker) {
        let told = self.usage.clone();
        let counted = match told {
            Some(usage) if !usage.untold.input => usage,
            told => {
                let (prompt, bytes, bound) = (self.prompt.clone(), self.content_bytes, self.bound);
                let repeated = self.earlier.as_ref().map_or(0, |earlier| earlier.shown);
                let model = self
                    .deployment
                    .as_ref()
                    .map(|deployment| deployment.target.model.clone())
                    .unwrap_or_default();
                let count = move || estimate::rest(&model, &prompt, repeated, bytes, bound);
                let counted = tasks.spawn_blocking(count).await.unwrap_or_default();
                match told {
                    Some(mut told) => {
                        told.fill(|| counted.tokens.input, counted.tokens.output);
                        told
                    }
                    None => counted,
                }
            }
        };
        let earlier = self.earlier.get_or_insert_default();
        earlier.add(self.deployment.as_deref(), &counted);
        earlier.shown =
            so_far.parts.iter().filter_map(|part| part.as_text()).map(|text| text.len() as u64).sum();
        self.content_bytes = 0;
        self.billed += 1;
        // No more is consumed until another provider is called.
        (self.usage, self.left) = (None, false);
    }

    /// Records a failed attempt whose provider had started to answer.
    pub fn lose(&mut self, deployment: &Arc<Deployment>, loss: Loss) {
        let shown = self.earlier.as_ref().map_or(0, |earlier| earlier.shown);
        let Loss { usage, content_bytes } = loss;
        self.billed += 1;
        self.lost.push(FailedAttemptUsage { deployment: deployment.clone(), usage, content_bytes, shown });
    }

    pub fn record_resumption(&mut self, resumed: u32) {
        (self.usage, self.left) = (None, true);
        self.edit(|receipt| receipt.resumed = resumed);
    }

    pub fn resumed(&self) -> u32 {
        self.receipt().map_or(0, |receipt| receipt.resumed)
    }

    pub fn earlier_tokens(&self) -> Tokens {
        self.earlier.as_ref().map(|earlier| earlier.tokens).unwrap_or_default()
    }

    /// The reservation for the rest of the call plus the usage so far.
    pub fn reservation_with(&self, rest: &Reservation) -> Reservation {
        let mut whole = rest.clone();
        if let Some(earlier) = &self.earlier {
            whole.usage.tokens += earlier.tokens;
            whole.cost = whole.cost.map(|cost| cost + earlier.cost.unwrap_or_default());
        }
        whole
    }

    /// The charge after a crash. Lost attempts are not counted yet, so each is reserved like the new one.
    pub(super) fn reservation_beside_lost(&self, reservation: &Reservation) -> Reservation {
        let mut whole = reservation.clone();
        for _ in &self.lost {
            whole.usage.tokens += reservation.usage.tokens;
            whole.cost = sum(whole.cost, reservation.cost);
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, reported: Option<i64>) -> Usage {
        let tokens = Tokens { input, output: 1, ..Tokens::default() };
        Usage { tokens, reported_cost: reported.map(Nanos), ..Usage::default() }
    }

    #[test]
    fn parts_are_summed_and_marked() {
        let mut earlier = PriorUsage::default();
        earlier.add(None, &usage(10, Some(5)));
        earlier.add(None, &usage(20, None));
        let mut receipt = Receipt { usage: usage(3, Some(7)), resumed: 2, ..Receipt::default() };
        (receipt.cost, receipt.cost_source) = pricing::price_usage(None, &receipt.usage);
        earlier.complete(&mut receipt);
        assert_eq!((receipt.usage.tokens.input, receipt.usage.tokens.output), (33, 3));
        assert_eq!(receipt.total_cost(), Some(Nanos(12)));
        assert!(receipt.usage.estimated);
        assert_eq!(receipt.usage.caveat.as_deref(), Some("resumed; a part has no price"));
    }

    #[test]
    fn what_is_lost_is_marked_beside_what_was_said_before() {
        let lost = PriorUsage { lost: true, ..PriorUsage::default() };
        let mut receipt = Receipt { usage: usage(3, Some(7)), ..Receipt::default() };
        receipt.usage.caveat = Some("odd".into());
        lost.complete(&mut receipt);
        assert!(receipt.usage.estimated);
        assert_eq!(receipt.usage.caveat.as_deref(), Some("odd; an answer was lost"));
    }
}
