//! What providers consumed that died in the middle of a stream, each at its own price.

use domain::money::{Cost, Nanos};
use domain::receipt::{CostSource, Receipt};
use domain::usage::{Tokens, Usage};

use crate::snapshot::routes::Lane;

#[derive(Clone, Debug, Default)]
pub struct Earlier {
    pub tokens: Tokens,
    pub cost: Option<Cost>,
    source: CostSource,
    reported: Option<Nanos>,
    /// Some part has no price.
    unpriced: bool,
    /// Bytes of the answer that the next provider is shown.
    pub shown: u64,
}

impl Earlier {
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
        if receipt.resumed == 0 {
            return;
        }
        let mut caveats: Vec<&str> = last.caveat.as_deref().into_iter().collect();
        caveats.push("resumed");
        if self.unpriced && receipt.cost.is_some() {
            caveats.push("a part has no price");
        }
        last.caveat = Some(caveats.join("; "));
    }
}

pub fn price(lane: Option<&Lane>, usage: &Usage) -> (Option<Cost>, CostSource) {
    let priced = lane.and_then(Lane::price).map(|price| catalog::cost(price, &usage.tokens));
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
}
