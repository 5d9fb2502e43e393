//! What providers consumed whose answers were lost, or died in the middle of a stream: each at its own price.

use std::sync::Arc;

use domain::canon::Reply;
use domain::fault::Fault;
use domain::money::{Cost, Nanos};
use domain::receipt::{self, CostSource, Receipt};
use domain::usage::{Tokens, Usage};

use super::Ticket;
use crate::dispatch::Loss;
use crate::estimate;
use crate::reserve::Reservation;
use crate::snapshot::routes::Lane;

#[derive(Clone, Debug, Default)]
pub struct Earlier {
    pub tokens: Tokens,
    pub cost: Option<Cost>,
    source: CostSource,
    reported: Option<Nanos>,
    /// Some part has no price.
    unpriced: bool,
    /// A part of it is of an answer that nobody got.
    lost: bool,
    /// Bytes of the answer that the next provider is shown.
    pub shown: u64,
}

/// An attempt that cost something and gave nothing. It is counted when the account is closed.
#[derive(Clone)]
pub struct Lost {
    pub lane: Arc<Lane>,
    pub usage: Option<Usage>,
    content_bytes: u64,
    /// Bytes of the answer so far that it was shown.
    shown: u64,
}

impl Lost {
    /// What it told, and what it did not.
    pub fn consumed(&self, prompt: &[u8], bound: Option<u64>) -> Usage {
        let estimate = self.estimate(prompt, bound);
        let Some(mut told) = self.usage.clone() else { return estimate };
        told.fill(|| estimate.tokens.input, estimate.tokens.output);
        told
    }

    /// By its bytes: whoever is answered by another is not kept waiting until what was lost is counted. No answer is
    /// longer than the call allows, or the model makes them, whatever was sent instead.
    fn estimate(&self, prompt: &[u8], bound: Option<u64>) -> Usage {
        const LONGEST: u64 = 32_768;
        let facts = self.lane.facts.as_ref();
        let longest = bound.or(facts.and_then(|facts| facts.max_output_tokens)).unwrap_or(LONGEST);
        let input = catalog::estimate_tokens_from_bytes(prompt.len() as u64 + self.shown);
        let output = estimate::output(self.content_bytes, Some(longest));
        let tokens = Tokens { input, output, ..Tokens::default() };
        Usage { tokens, estimated: true, ..Usage::default() }
    }
}

impl Earlier {
    pub fn lose(&mut self, lane: &Lane, usage: &Usage) {
        self.lost = true;
        self.add(Some(lane), usage);
    }

    pub fn add(&mut self, lane: Option<&Lane>, usage: &Usage) {
        let (cost, source) = price(lane, usage);
        self.tokens += usage.tokens;
        self.reported = sum(self.reported, usage.reported_cost);
        self.unpriced |= cost.is_none() && usage.tokens.total() > 0;
        self.cost = sum(self.cost, cost);
        if source != CostSource::None {
            self.source = source;
        }
    }

    /// The whole of the call, once its last part is priced.
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
        let marks = [
            (receipt.resumed > 0, receipt::RESUMED),
            (self.lost, receipt::LOST),
            (self.unpriced && receipt.cost.is_some(), "a part has no price"),
        ];
        let marks = marks.iter().filter(|(holds, _)| *holds).map(|(_, mark)| *mark);
        let caveats: Vec<&str> = last.caveat.as_deref().into_iter().chain(marks).collect();
        last.caveat = (!caveats.is_empty()).then(|| caveats.join("; "));
    }
}

pub fn price(lane: Option<&Lane>, usage: &Usage) -> (Option<Cost>, CostSource) {
    let priced = lane.and_then(|lane| lane.charge(usage));
    match (usage.reported_cost, priced) {
        (Some(total), _) => (Some(Cost { input: Nanos::ZERO, output: total }), CostSource::ProviderReported),
        (None, Some(cost)) => (Some(cost), CostSource::ModelPricing),
        (None, None) => (None, CostSource::None),
    }
}

/// What is unknown adds nothing to what is known.
fn sum<T: std::ops::Add<Output = T>>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}

/// The account of a call that another provider goes on with.
impl Ticket {
    /// The last attempt, which had begun well, came to this end.
    pub fn broke(&mut self, fault: &Fault) {
        self.edit(|receipt| {
            if let Some(attempt) = receipt.attempts.last_mut() {
                attempt.error = Some(fault.code.to_string());
            }
        });
    }

    /// Sets down what the provider consumed that has died, so that the account can go on with another. Nothing is
    /// taken away before it is set down: the client may leave while this waits.
    pub async fn carry_over(&mut self, so_far: &Reply) {
        let told = self.usage.clone();
        let counted = match told {
            Some(usage) if !usage.untold.input => usage,
            told => {
                let (prompt, bytes, bound) = (self.prompt.clone(), self.content_bytes, self.bound);
                let repeated = self.earlier.as_ref().map_or(0, |earlier| earlier.shown);
                let model = self.lane.as_ref().map(|lane| lane.target.model.clone()).unwrap_or_default();
                let count = move || estimate::rest(&model, &prompt, repeated, bytes, bound);
                let counted = self.gateway.tasks.spawn_blocking(count).await.unwrap_or_default();
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
        earlier.add(self.lane.as_deref(), &counted);
        earlier.shown =
            so_far.parts.iter().filter_map(|part| part.as_text()).map(|text| text.len() as u64).sum();
        self.content_bytes = 0;
        self.billed += 1;
        // Until somebody is asked to go on, nothing more is consumed.
        (self.usage, self.left) = (None, false);
    }

    /// An attempt came to nothing, and its provider had begun to answer.
    pub fn lose(&mut self, lane: &Arc<Lane>, loss: Loss) {
        let shown = self.earlier.as_ref().map_or(0, |earlier| earlier.shown);
        let Loss { usage, content_bytes } = loss;
        self.billed += 1;
        self.lost.push(Lost { lane: lane.clone(), usage, content_bytes, shown });
    }

    pub fn goes_on(&mut self, resumed: u32) {
        (self.usage, self.left) = (None, true);
        self.edit(|receipt| receipt.resumed = resumed);
    }

    pub fn resumed(&self) -> u32 {
        self.receipt.as_ref().map_or(0, |receipt| receipt.resumed)
    }

    pub fn earlier_tokens(&self) -> Tokens {
        self.earlier.as_ref().map(|earlier| earlier.tokens).unwrap_or_default()
    }

    /// What the rest may cost at worst, and what is spent already.
    pub fn reservation_with(&self, rest: &Reservation) -> Reservation {
        let mut whole = rest.clone();
        if let Some(earlier) = &self.earlier {
            whole.usage.tokens += earlier.tokens;
            whole.cost = whole.cost.map(|cost| cost + earlier.cost.unwrap_or_default());
        }
        whole
    }

    /// What is charged after a crash: what was lost is not counted yet, so each is taken for as much as another.
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
        let mut earlier = Earlier::default();
        earlier.add(None, &usage(10, Some(5)));
        earlier.add(None, &usage(20, None));
        let mut receipt = Receipt { usage: usage(3, Some(7)), resumed: 2, ..Receipt::default() };
        (receipt.cost, receipt.cost_source) = price(None, &receipt.usage);
        earlier.complete(&mut receipt);
        assert_eq!((receipt.usage.tokens.input, receipt.usage.tokens.output), (33, 3));
        assert_eq!(receipt.total_cost(), Some(Nanos(12)));
        assert!(receipt.usage.estimated);
        assert_eq!(receipt.usage.caveat.as_deref(), Some("resumed; a part has no price"));
    }

    #[test]
    fn what_is_lost_is_marked_beside_what_was_said_before() {
        let lost = Earlier { lost: true, ..Earlier::default() };
        let mut receipt = Receipt { usage: usage(3, Some(7)), ..Receipt::default() };
        receipt.usage.caveat = Some("odd".into());
        lost.complete(&mut receipt);
        assert!(receipt.usage.estimated);
        assert_eq!(receipt.usage.caveat.as_deref(), Some("odd; an answer was lost"));
    }
}
