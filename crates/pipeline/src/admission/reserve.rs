//! Reservations: the expected cost of a call, journaled before it is sent, and its maximum cost, held against budgets.

mod worst_cost;

use catalog::Incurs;
use domain::call::{Format, Surface};
use domain::money::Cost;
use domain::usage::{Tokens, Usage};
use serde_json::Value;

use crate::accounting::reservation::Reservation;
use crate::budgets::{Prefix, ReportedPrefixes};
use crate::call::receive::{Call, OUTPUT_LIMITS};
use crate::routing::resolve::Plan;
use crate::routing::routes::Lane;

pub use worst_cost::WorstCost;

/// Output tokens assumed when neither the client nor the catalogue limits them.
pub const ASSUMED_OUTPUT: u64 = 4096;
/// Input tokens assumed for content that a call only refers to, if the model's context window is unknown.
pub const ASSUMED_WINDOW: u64 = 200_000;
/// The most tokens that an image is counted as.
const LARGEST_PICTURE: u64 = 16_384;

/// The reservation for the most expensive target of the plan.
pub fn reserve(plan: &Plan, call: &Call) -> Reservation {
    let input = catalog::estimate_tokens_from_bytes(call.request.body.len() as u64);
    let reservations = plan.lanes.iter().map(|lane| {
        let tokens = Tokens { input, output: output(lane, call), ..Tokens::default() };
        let cost = lane.price().map(|price| catalog::cost(price, &tokens));
        Reservation { usage: Usage { tokens, estimated: true, ..Usage::default() }, cost, bound: None }
    });
    let dearest = reservations.max_by_key(|reservation| reservation.cost.map(Cost::total));
    let bound = match call.surface {
        Surface::Embeddings | Surface::EmbedContent { .. } | Surface::Rerank => Some(0),
        _ => asked(call).and_then(|_| plan.lanes.iter().map(|lane| output(lane, call)).max()),
    };
    Reservation { bound, ..dearest.unwrap_or_default() }
}

/// The most output tokens of all answers together.
fn output(lane: &Lane, call: &Call) -> u64 {
    longest_output(lane, asked(call), has_reasoning(call)).saturating_mul(answers(call))
}

/// The most output tokens of one answer from a target, for a request with this output limit.
fn longest_output(lane: &Lane, bound: Option<u64>, reasoning: bool) -> u64 {
    let known = lane.facts.as_ref().and_then(|facts| facts.max_output_tokens);
    let each = match bound {
        Some(bound) if reasoning => bound.saturating_add(SHORTEST_THOUGHT),
        Some(bound) => bound.max(SHORTEST_ANSWER),
        None => ASSUMED_OUTPUT,
    };
    known.map_or(each, |known| each.min(known))
}

fn has_reasoning(call: &Call) -> bool {
    REASONING.iter().any(|name| call.has(name))
}

/// The reasoning budget that the request sets, in tokens.
pub fn thinking_budget(call: &Call) -> Option<u64> {
    let parsed = |name: &str| serde_json::from_slice::<Value>(value(call, name)?).ok();
    let of_messages = parsed("thinking").and_then(|thinking| thinking["budget_tokens"].as_u64());
    let of_generate = || {
        let config = parsed("generationConfig").or_else(|| parsed("generation_config"))?;
        config["thinkingConfig"]["thinkingBudget"].as_u64()
    };
    of_messages.or_else(of_generate)
}

fn mentions(body: &[u8], text: &str) -> bool {
    memchr::memmem::find(body, text.as_bytes()).is_some()
}

/// The rates that a request can incur, according to its body.
fn incurs(body: &[u8], refers: bool) -> Incurs {
    if refers || hides_names(body) || NAMED.iter().any(|text| mentions(body, text)) {
        return Incurs::ALL;
    }
    let cache_write = mentions(body, "cache_control");
    Incurs {
        cache_write,
        cache_write_1h: cache_write && mentions(body, "ttl"),
        audio: mentions(body, "audio"),
    }
}

/// The input tokens of a continued conversation: the number that the provider reported for the earlier turns, plus a
/// bound on the new ones by their bytes. None if the provider's own tools read further input, which may differ each
/// time.
fn reported_input(lane: &Lane, call: &Call, prefixes: &ReportedPrefixes) -> Option<u64> {
    let body = &call.request.body;
    if refers(call) || NAMED.iter().any(|text| mentions(body, text)) {
        return None;
    }
    let Prefix { tokens, rest } = prefixes.find((&lane.target.instance, &lane.target.model), body)?;
    Some(tokens.saturating_add(most_input(lane, rest, false)))
}

/// The largest body that is tokenized; for longer ones that takes too long, and their bytes are the bound.
const LONGEST_COUNTED: usize = 256 * 1024;

/// The input tokens counted with the model's own tokenizer: those of the whole body, which contains every part of the
/// prompt, and a sixteenth more for what the provider adds. None where that is no bound: images, files and input that
/// the provider stores.
fn counted_input(lane: &Lane, call: &Call) -> Option<u64> {
    let body = &call.request.body;
    let target = &lane.target;
    let known = catalog::has_public_vocabulary(&target.provider_type, &target.model);
    if !known || body.len() > LONGEST_COUNTED || refers(call) || hides_names(body) {
        return None;
    }
    if NAMED.iter().chain(&PICTURES).any(|text| mentions(body, text)) || mentions(body, "audio") {
        return None;
    }
    let count = catalog::count_tokens(&target.model, std::str::from_utf8(body).ok()?);
    Some(count + count / 16 + 64)
}

/// The output limit that the request sets; the largest, if it sets several, because the provider's API format decides which
/// one is sent.
pub fn asked(call: &Call) -> Option<u64> {
    OUTPUT_LIMITS.iter().filter_map(|name| number(call, name)).chain(call.request.max_output).max()
}

const REASONING: [&str; 4] = ["reasoning_effort", "reasoning", "thinking", "generationConfig"];
/// Output allowed beyond the request's limit if reasoning is requested, which may have a budget of its own.
const SHORTEST_THOUGHT: u64 = 1024;
/// The smallest output limit that some providers accept; translation raises smaller ones to it.
const SHORTEST_ANSWER: u64 = 16;

/// The number of answers generated, including those that `best_of` discards.
fn answers(call: &Call) -> u64 {
    let asked = number(call, "best_of").unwrap_or(1).max(call.request.choices);
    let prompts = if call.surface == Surface::Completions { prompts(call) } else { 1 };
    asked.saturating_mul(prompts)
}

fn value<'a>(call: &'a Call, name: &str) -> Option<&'a [u8]> {
    let request = &call.request;
    request.object.value(&request.body, name).map(|range| &request.body[range])
}

fn number(call: &Call, name: &str) -> Option<u64> {
    serde_json::from_slice(value(call, name)?).ok()
}

/// The number of prompts: several strings or several token lists count each; a single token list counts once.
fn prompts(call: &Call) -> u64 {
    let Some(text) = value(call, "prompt").filter(|text| text.starts_with(b"[")) else { return 1 };
    let mut several = 0;
    // The scanner accepted the body before, so this cannot fail.
    let _ = wire::json::visit_array(text, 0..text.len(), |prompt| {
        several += u64::from(matches!(text[prompt.start], b'"' | b'['));
    });
    several.max(1)
}

/// Whether the request refers to earlier turns or a template that the provider stores.
fn refers(call: &Call) -> bool {
    let template = call.surface == Surface::Converse(Format::Responses) && call.has("prompt");
    template || KEPT_ELSEWHERE.iter().any(|name| call.has(name))
}

pub const KEPT_ELSEWHERE: [&str; 5] =
    ["previous_response_id", "conversation", "cachedContent", "cached_content", "mcp_servers"];

/// Names of input that is not in the body, or that the provider's own tools read while it answers.
const NAMED: [&str; 25] = [
    "\"file_id\"",
    "\"file_url\"",
    "\"file_data\"",
    "\"fileData\"",
    "\"document\"",
    "\"file\"",
    "\"file_search",
    "\"fileSearch",
    "\"web_search",
    "\"webSearch",
    "\"web_fetch",
    "\"mcp\"",
    "\"mcp_toolset\"",
    "\"code_interpreter",
    "\"code_execution",
    "\"codeExecution",
    "\"computer_",
    "\"google_search",
    "\"googleSearch",
    "\"google_maps",
    "\"googleMaps",
    "\"url_context",
    "\"urlContext",
    "\"search_parameters\"",
    "\"plugins\"",
];
const PICTURES: [&str; 5] =
    ["\"image_url\"", "\"input_image\"", "\"image\"", "\"inlineData\"", "\"inline_data\""];

/// The maximum input tokens of a body. A token has at least one byte; input that the body only refers to may fill the
/// context window.
pub fn most_input(lane: &Lane, body: &[u8], refers: bool) -> u64 {
    let window = lane.facts.as_ref().and_then(|facts| facts.context_window);
    let count = |text: &str| memchr::memmem::find_iter(body, text.as_bytes()).count() as u64;
    if refers || NAMED.iter().any(|text| mentions(body, text)) || hides_names(body) {
        return window.unwrap_or(ASSUMED_WINDOW).max(body.len() as u64);
    }
    let pictures: u64 = PICTURES.iter().map(|text| count(text)).sum();
    let most = (body.len() as u64).saturating_add(pictures.saturating_mul(LARGEST_PICTURE));
    window.map_or(most, |window| most.min(window))
}

/// Whether a letter, digit or underscore is written as a `\u00XX` escape. That could hide a name from the substring
/// searches above, and no ordinary encoder does it.
fn hides_names(body: &[u8]) -> bool {
    memchr::memmem::find_iter(body, b"\\u00").any(|at| {
        let code = body.get(at + 4..at + 6).and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        code.is_some_and(|code| code.is_ascii_alphanumeric() || code == b'_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_letters_are_seen_and_other_escapes_are_not() {
        assert!(hides_names(br#"{"\u0069mage_url":1}"#));
        assert!(hides_names(br#"{"file\u005fid":1}"#));
        assert!(!hides_names(br#"{"a":"\u003cb\u003e \u00e9 \u0022 \u00"}"#));
    }
}
