//! Reservations of passthrough calls: the charge after a crash, and the maximum cost of a call.

use std::sync::Arc;

use domain::money::Nanos;
use domain::usage::{Tokens, Usage};
use serde_json::Value;

use super::endpoint::Purpose;
use super::upload::Sent;
use crate::accounting::reservation::Reservation;
use crate::admission::reserve::{self, ASSUMED_OUTPUT, ASSUMED_WINDOW};
use crate::routing::routes::{Instance, Lane};

/// The charge that applies if the process crashes during the call.
pub(super) fn reservation(lane: &Lane, sent: &Sent, purpose: Purpose) -> Reservation {
    if purpose.draws {
        let usage = Usage { images: sent.answers(), estimated: true, ..Usage::default() };
        return Reservation { cost: lane.charge(&usage), usage, ..Reservation::default() };
    }
    if !purpose.infers {
        return Reservation::default();
    }
    let input = catalog::estimate_tokens_from_bytes(sent.bytes());
    let tokens = Tokens { input, output: ASSUMED_OUTPUT, ..Tokens::default() };
    let cost = lane.price().map(|price| catalog::cost(price, &tokens));
    Reservation { usage: Usage { tokens, estimated: true, ..Usage::default() }, cost, bound: None }
}

/// The maximum cost of the call; none without a price. The request may limit its output under a name that is not known
/// here, so the model's own limit is used. Of several named models the most expensive counts; a call that names none
/// may use any model of the instance.
pub(super) fn worst(
    instance: &Instance,
    named: &[Arc<Lane>],
    size: &RequestSize,
    purpose: Purpose,
) -> Option<Nanos> {
    if named.is_empty() {
        return instance.lanes.values().filter_map(|lane| most(lane, size, purpose)).max();
    }
    named.iter().filter_map(|lane| most(lane, size, purpose)).max()
}

fn most(lane: &Lane, size: &RequestSize, purpose: Purpose) -> Option<Nanos> {
    let price = lane.price()?;
    let facts = lane.facts.as_ref();
    let known = facts.and_then(|facts| facts.max_output_tokens);
    let output = known.unwrap_or(size.output.max(ASSUMED_OUTPUT)).saturating_mul(size.choices);
    let input = match &size.body {
        Some(body) => reserve::most_input(lane, body, size.refers),
        None => facts.and_then(|facts| facts.context_window).unwrap_or(ASSUMED_WINDOW),
    };
    let images = if purpose.draws { size.choices } else { 0 };
    let pictures =
        Nanos(price.per_image.unwrap_or(0).saturating_mul(i64::try_from(images).unwrap_or(i64::MAX)));
    Some(catalog::bound(price, input, output, catalog::Incurs::ALL) + pictures)
}

/// The members of a request body that determine its maximum cost.
pub(super) struct RequestSize {
    /// The complete body; none if it was too long or could not be read.
    body: Option<Vec<u8>>,
    /// The body refers to input that the provider stores.
    refers: bool,
    /// The largest limit on output tokens in the body; 0 without one.
    output: u64,
    /// The number of answers requested.
    choices: u64,
}

impl RequestSize {
    /// Reads a body. If it is missing or not JSON, the worst case is assumed, with `most` answers.
    pub(super) fn of(body: Option<Vec<u8>>, most: u64) -> Self {
        let unread = Self { body: None, refers: true, output: 0, choices: most };
        let Some(body) = body else { return unread };
        if body.is_empty() {
            return Self { body: Some(body), refers: false, output: 0, choices: 1 };
        }
        let Ok(value) = serde_json::from_slice::<Value>(&body) else { return unread };
        let configs = ["generationConfig", "generation_config"].map(|name| member(&value, name));
        let places = || configs.into_iter().flatten().chain([&value]);
        let largest = |names: &[&str]| {
            let found = places().flat_map(|place| names.iter().filter_map(|name| member(place, name)));
            found.filter_map(Value::as_u64).max()
        };
        let answers = largest(&["n", "best_of", "num_generations", "candidateCount", "candidate_count"]);
        let several = |prompt: &&Value| prompt.is_string() || prompt.is_array();
        let prompts = value["prompt"].as_array().map_or(1, |list| list.iter().filter(several).count());
        let output =
            largest(&["max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"]);
        let kept = reserve::KEPT_ELSEWHERE.iter().any(|name| !value[*name].is_null());
        Self {
            refers: kept || value["prompt"].is_object(),
            output: output.unwrap_or(0),
            choices: answers.unwrap_or(1).max(1).saturating_mul(prompts.max(1) as u64),
            body: Some(body),
        }
    }
}

/// A member by its name, ignoring case as some servers do; an exact match is preferred.
fn member<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let object = value.as_object()?;
    object
        .get(name)
        .or_else(|| object.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value))
}
