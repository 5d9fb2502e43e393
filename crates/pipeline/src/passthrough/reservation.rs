//! Reservations of passthrough calls: the charge after a crash, and the maximum cost of a call.

use std::sync::Arc;

use domain::money::Nanos;
use domain::usage::{Tokens, Usage};
use wire::codec::shape::{ASSUMED_OUTPUT, Content, RequestShape};

use super::endpoint::Purpose;
use super::upload::Sent;
use crate::accounting::reservation::Reservation;
use crate::admission::reserve::{ASSUMED_WINDOW, InputSize};
use crate::routing::routes::{Deployment, Instance};

/// The charge that applies if the process crashes during the call.
pub(super) fn reservation(deployment: &Deployment, sent: &Sent, purpose: Purpose) -> Reservation {
    if purpose.draws {
        let usage = Usage { images: sent.answers(), estimated: true, ..Usage::default() };
        return Reservation { cost: deployment.charge(&usage), usage, ..Reservation::default() };
    }
    if !purpose.infers {
        return Reservation::default();
    }
    let input = catalog::estimate_tokens_from_bytes(sent.bytes());
    let tokens = Tokens { input, output: ASSUMED_OUTPUT, ..Tokens::default() };
    let cost = deployment.price().map(|price| catalog::cost(price, &tokens));
    Reservation { usage: Usage { tokens, estimated: true, ..Usage::default() }, cost, bound: None }
}

/// The maximum cost of the call; none without a price. The request may limit its output under a name that is not known
/// here, so the model's own limit is used. Of several named models the most expensive counts; a call that names none
/// may use any model of the instance.
pub(super) fn worst(
    instance: &Instance,
    named: &[Arc<Deployment>],
    size: &RequestSize,
    purpose: Purpose,
) -> Option<Nanos> {
    if named.is_empty() {
        return instance
            .deployments
            .values()
            .filter_map(|deployment| worst_cost(deployment, size, purpose))
            .max();
    }
    named.iter().filter_map(|deployment| worst_cost(deployment, size, purpose)).max()
}

fn worst_cost(deployment: &Deployment, size: &RequestSize, purpose: Purpose) -> Option<Nanos> {
    let price = deployment.price()?;
    let facts = deployment.facts.as_ref();
    let known = facts.and_then(|facts| facts.max_output_tokens);
    let output = known.unwrap_or(size.output.max(ASSUMED_OUTPUT)).saturating_mul(size.choices);
    let input = match &size.input {
        Some(input) => input.most_tokens(deployment),
        None => facts.and_then(|facts| facts.context_window).unwrap_or(ASSUMED_WINDOW),
    };
    let images = if purpose.draws { size.choices } else { 0 };
    let pictures =
        Nanos(price.per_image.unwrap_or(0).saturating_mul(i64::try_from(images).unwrap_or(i64::MAX)));
    Some(catalog::bound(price, input, output, catalog::Incurs::ALL) + pictures)
}

/// The facts about a request body that determine its maximum cost.
pub(super) struct RequestSize {
    /// None if the body was too long or could not be read.
    input: Option<InputSize>,
    /// The largest limit on output tokens in the body; 0 without one.
    output: u64,
    /// The number of answers requested.
    choices: u64,
}

impl RequestSize {
    /// Reads a body. If it is missing or not JSON, the worst case is assumed, with `most` answers.
    pub(super) fn of(body: Option<&[u8]>, max: u64) -> Self {
        let unread = Self { input: None, output: 0, choices: max };
        let Some(body) = body else { return unread };
        if body.is_empty() {
            return Self { input: Some(InputSize::of(Content::of(body), false)), output: 0, choices: 1 };
        }
        let Some(shape) = RequestShape::of_any_format(body) else { return unread };
        let input = InputSize::of(shape.content, shape.stored_context);
        Self { input: Some(input), output: shape.max_output.unwrap_or(0), choices: shape.choices }
    }
}
