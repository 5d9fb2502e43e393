//! Station: what the call may cost at worst, noted before it leaves: after a crash it is what the call is charged.

use domain::money::Cost;
use domain::usage::{Tokens, Usage};

use crate::receive::Call;
use crate::resolve::Plan;

/// Output assumed when neither the client nor the catalogue bounds it.
const ASSUMED_OUTPUT: u64 = 4096;

#[derive(Clone, Debug, Default)]
pub struct Reservation {
    pub usage: Usage,
    pub cost: Option<Cost>,
}

/// The dearest target of the plan.
pub fn reserve(plan: &Plan, call: &Call) -> Reservation {
    let input = catalog::estimate_tokens_from_bytes(call.request.body.len() as u64);
    let reservations = plan.lanes.iter().map(|lane| {
        let known = lane
            .facts
            .as_ref()
            .and_then(|facts| facts.max_output_tokens)
            .unwrap_or(ASSUMED_OUTPUT)
            .min(ASSUMED_OUTPUT);
        let output = call.request.max_output.unwrap_or(known).saturating_mul(call.request.choices);
        let tokens = Tokens { input, output, ..Tokens::default() };
        let cost = lane.price().map(|price| catalog::cost(price, &tokens));
        Reservation { usage: Usage { tokens, estimated: true, ..Usage::default() }, cost }
    });
    reservations.max_by_key(|reservation| reservation.cost.map(Cost::total)).unwrap_or_default()
}
