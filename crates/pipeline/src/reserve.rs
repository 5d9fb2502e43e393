//! Station: what a call is expected to cost, noted before it leaves, and what it may cost at worst, held by budgets.

use domain::money::{Cost, Nanos};
use domain::usage::{Tokens, Usage};

use crate::receive::Call;
use crate::resolve::Plan;
use crate::snapshot::routes::Lane;

/// Output assumed when neither the client nor the catalogue bounds it.
const ASSUMED_OUTPUT: u64 = 4096;
/// Input assumed of what a call refers to and does not hold, where the model's window is not known.
const ASSUMED_WINDOW: u64 = 200_000;
/// No picture is counted as more tokens than this.
const LARGEST_PICTURE: u64 = 16_384;

/// What the call is charged if nothing more is ever heard of it.
#[derive(Clone, Debug, Default)]
pub struct Reservation {
    pub usage: Usage,
    pub cost: Option<Cost>,
}

/// The dearest target of the plan.
pub fn reserve(plan: &Plan, call: &Call) -> Reservation {
    let input = catalog::estimate_tokens_from_bytes(call.request.body.len() as u64);
    let reservations = plan.lanes.iter().map(|lane| {
        let tokens = Tokens { input, output: output(lane, call), ..Tokens::default() };
        let cost = lane.price().map(|price| catalog::cost(price, &tokens));
        Reservation { usage: Usage { tokens, estimated: true, ..Usage::default() }, cost }
    });
    reservations.max_by_key(|reservation| reservation.cost.map(Cost::total)).unwrap_or_default()
}

/// What one attempt can cost at most, at the dearest target; none when no target has a price. No more is ever billed to a
/// request that bounds its output.
pub fn worst(plan: &Plan, call: &Call) -> Option<Nanos> {
    let bounds = plan.lanes.iter().filter_map(|lane| {
        let input = most_input(lane, call);
        Some(catalog::bound(lane.price()?, input, output(lane, call)))
    });
    bounds.max()
}

fn output(lane: &Lane, call: &Call) -> u64 {
    let known = lane.facts.as_ref().and_then(|facts| facts.max_output_tokens);
    let assumed = known.unwrap_or(ASSUMED_OUTPUT).min(ASSUMED_OUTPUT);
    call.request.max_output.unwrap_or(assumed).saturating_mul(call.request.choices)
}

/// No token is shorter than a byte; what is only named by the call may fill the model's window.
fn most_input(lane: &Lane, call: &Call) -> u64 {
    let body = &call.request.body;
    let window = lane.facts.as_ref().and_then(|facts| facts.context_window);
    let count = |text: &str| memchr::memmem::find_iter(body, text.as_bytes()).count() as u64;
    let elsewhere = ["\"file_id\"", "\"file_url\"", "\"file_data\"", "\"fileData\"", "\"document\"", "\"file\""];
    let refers = ["previous_response_id", "conversation"].iter().any(|name| call.has(name));
    if refers || elsewhere.iter().any(|text| count(text) > 0) {
        return window.unwrap_or(ASSUMED_WINDOW).max(body.len() as u64);
    }
    let pictures = ["\"image_url\"", "\"input_image\"", "\"image\"", "\"inlineData\"", "\"inline_data\""];
    let pictures: u64 = pictures.iter().map(|text| count(text)).sum();
    let most = (body.len() as u64).saturating_add(pictures.saturating_mul(LARGEST_PICTURE));
    window.map_or(most, |window| most.min(window))
}
