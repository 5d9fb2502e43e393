//! Reservations: the expected cost of a call, journaled before it is sent, and its maximum cost, held against budgets.

mod cache_writes;
mod worst_cost;

use catalog::Incurs;
use domain::money::Cost;
use domain::usage::{Tokens, Usage};
use wire::codec::shape::{ASSUMED_OUTPUT, Content, RequestShape};

use crate::accounting::reservation::Reservation;
use crate::budgets::{Prefix, ReportedPrefixes};
use crate::call::receive::Call;
use crate::routing::resolve::Plan;
use crate::routing::routes::Deployment;

pub use worst_cost::WorstCost;

/// Input tokens assumed for content that a call only refers to, if the model's context window is unknown.
pub const ASSUMED_WINDOW: u64 = 200_000;
/// The most tokens that an image is counted as.
const MAX_IMAGE_TOKENS: u64 = 16_384;
/// Output allowed beyond the request's limit if reasoning is requested, which may have a budget of its own.
const MIN_REASONING_TOKENS: u64 = 1024;
/// The smallest output limit that some providers accept; translation raises smaller ones to it.
const MIN_OUTPUT_TOKENS: u64 = 16;

/// The reservation for the most expensive target of the plan.
pub fn reserve(plan: &Plan, call: &Call) -> Reservation {
    let shape = call.shape();
    let input = catalog::estimate_tokens_from_bytes(call.request.body.len() as u64);
    let reservations = plan.deployments.iter().map(|deployment| {
        let tokens = Tokens { input, output: output(deployment, &shape), ..Tokens::default() };
        let cost = deployment.price().map(|price| catalog::cost(price, &tokens));
        Reservation { usage: Usage { tokens, estimated: true, ..Usage::default() }, cost, bound: None }
    });
    let most_expensive = reservations.max_by_key(|reservation| reservation.cost.map(Cost::total));
    let bound = match (shape.generates, shape.max_output) {
        (false, _) => Some(0),
        (true, None) => None,
        (true, Some(_)) => plan.deployments.iter().map(|deployment| output(deployment, &shape)).max(),
    };
    Reservation { bound, ..most_expensive.unwrap_or_default() }
}

/// The most output tokens of all answers together.
fn output(deployment: &Deployment, shape: &RequestShape<'_>) -> u64 {
    longest_output(deployment, shape.max_output, shape.reasoning).saturating_mul(shape.choices)
}

/// The most output tokens of one answer from a target, for a request with this output limit.
fn longest_output(deployment: &Deployment, bound: Option<u64>, reasoning: bool) -> u64 {
    let known = deployment.facts.as_ref().and_then(|facts| facts.max_output_tokens);
    let each = match bound {
        Some(bound) if reasoning => bound.saturating_add(MIN_REASONING_TOKENS),
        Some(bound) => bound.max(MIN_OUTPUT_TOKENS),
        None => ASSUMED_OUTPUT,
    };
    known.map_or(each, |known| each.min(known))
}

/// The size of an input, as far as its bytes show it.
#[derive(Clone, Copy, Debug)]
pub struct InputSize {
    bytes: u64,
    images: u64,
    /// The provider may read further input, which the bytes only refer to.
    has_more: bool,
}

impl InputSize {
    /// Searches the content; `stored_context` is whether the request refers to context that the provider stores.
    pub fn of(content: Content<'_>, stored_context: bool) -> Self {
        let images = if stored_context { None } else { content.images_of_whole_input() };
        Self { bytes: content.bytes().len() as u64, images: images.unwrap_or(0), has_more: images.is_none() }
    }

    /// The most input tokens at a target. A token has at least one byte; input that the bytes only refer to may fill
    /// the context window.
    pub fn most_tokens(&self, deployment: &Deployment) -> u64 {
        let window = deployment.facts.as_ref().and_then(|facts| facts.context_window);
        if self.has_more {
            return window.unwrap_or(ASSUMED_WINDOW).max(self.bytes);
        }
        let max = self.bytes.saturating_add(self.images.saturating_mul(MAX_IMAGE_TOKENS));
        window.map_or(max, |window| max.min(window))
    }

    /// The rates that the request can incur.
    fn incurs(&self, content: Content<'_>) -> Incurs {
        if self.has_more {
            return Incurs::ALL;
        }
        let cache_write = content.cache_write();
        Incurs {
            cache_write,
            cache_write_1h: cache_write && content.cache_lifetime(),
            audio: content.audio(),
        }
    }
}

/// The input tokens of a continued conversation: the number that the provider reported for the earlier turns, plus a
/// bound on the new ones by their bytes.
fn reported_input(deployment: &Deployment, body: &[u8], prefixes: &ReportedPrefixes) -> Option<u64> {
    let Prefix { tokens, rest } =
        prefixes.find((&deployment.target.instance, &deployment.target.model), body)?;
    Some(tokens.saturating_add(InputSize::of(Content::of(rest), false).most_tokens(deployment)))
}

/// The largest body that is tokenized; for longer ones that takes too long, and their bytes are the bound.
const LONGEST_COUNTED: usize = 256 * 1024;

/// The input tokens counted with the model's own tokenizer: those of the whole body, which contains every part of the
/// prompt, and a sixteenth more for what the provider adds. None where that is no bound: images and audio.
fn counted_input(deployment: &Deployment, body: &[u8]) -> Option<u64> {
    let (target, content) = (&deployment.target, Content::of(body));
    let known = catalog::has_public_vocabulary(&target.provider_type, &target.model);
    if !known || body.len() > LONGEST_COUNTED || content.has_images() || content.audio() {
        return None;
    }
    let count = catalog::count_tokens(&target.model, std::str::from_utf8(body).ok()?);
    Some(count + count / 16 + 64)
}
