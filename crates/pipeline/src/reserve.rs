//! Station: what a call is expected to cost, noted before it leaves, and what it may cost at worst, held by budgets.

use domain::call::{Format, Surface};
use domain::money::{Cost, Nanos};
use domain::usage::{Tokens, Usage};

use crate::limit::TokenDemand;
use crate::receive::Call;
use crate::resolve::Plan;
use crate::snapshot::routes::Lane;

/// Output assumed when neither the client nor the catalogue bounds it.
pub const ASSUMED_OUTPUT: u64 = 4096;
/// Input assumed of what a call refers to and does not hold, where the model's window is not known.
pub const ASSUMED_WINDOW: u64 = 200_000;
/// No picture is counted as more tokens than this.
const LARGEST_PICTURE: u64 = 16_384;

/// What the call is charged if nothing more is ever heard of it.
#[derive(Clone, Debug, Default)]
pub struct Reservation {
    pub usage: Usage,
    pub cost: Option<Cost>,
    /// The longest answer that the call allows, if it says; at any target.
    pub bound: Option<u64>,
}

impl Reservation {
    /// What the call asks of its key's token limits.
    pub fn token_demand(&self, lane: &Lane) -> TokenDemand {
        let (model, prompt) = (lane.target.model.clone(), self.usage.tokens.input);
        TokenDemand { model, prompt, max_output: self.bound }
    }
}

/// The dearest target of the plan.
pub fn reserve(plan: &Plan, call: &Call) -> Reservation {
    let input = catalog::estimate_tokens_from_bytes(call.request.body.len() as u64);
    let reservations = plan.lanes.iter().map(|lane| {
        let tokens = Tokens { input, output: output(lane, call), ..Tokens::default() };
        let cost = lane.price().map(|price| catalog::cost(price, &tokens));
        Reservation { usage: Usage { tokens, estimated: true, ..Usage::default() }, cost, bound: None }
    });
    let dearest = reservations.max_by_key(|reservation| reservation.cost.map(Cost::total));
    let bound = match call.surface {
        Surface::Embeddings | Surface::Rerank => Some(0),
        _ => asked(call).and_then(|_| plan.lanes.iter().map(|lane| output(lane, call)).max()),
    };
    Reservation { bound, ..dearest.unwrap_or_default() }
}

/// What one attempt can cost at most, at the dearest target; none when no target has a price. No more is ever billed to a
/// request that bounds its output.
pub fn worst(plan: &Plan, call: &Call) -> Option<Nanos> {
    let bounds = plan.lanes.iter().filter_map(|lane| {
        let input = most_input(lane, &call.request.body, refers(call));
        Some(catalog::bound(lane.price()?, input, output(lane, call)))
    });
    bounds.max()
}

/// The most that all answers together may be.
fn output(lane: &Lane, call: &Call) -> u64 {
    let known = lane.facts.as_ref().and_then(|facts| facts.max_output_tokens);
    let each = match asked(call) {
        Some(asked) if REASONING.iter().any(|name| call.has(name)) => asked.saturating_add(SHORTEST_THOUGHT),
        Some(asked) => asked.max(SHORTEST_ANSWER),
        None => ASSUMED_OUTPUT,
    };
    known.map_or(each, |known| each.min(known)).saturating_mul(choices(call))
}

/// The longest answer that the client allows.
fn asked(call: &Call) -> Option<u64> {
    BOUNDS.iter().filter_map(|name| number(call, name)).chain(call.request.max_output).max()
}

/// Which of several bounds goes up is for the provider's dialect to say: the largest counts.
const BOUNDS: [&str; 3] = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
const REASONING: [&str; 4] = ["reasoning_effort", "reasoning", "thinking", "generationConfig"];
/// Where thoughts have a budget of their own, a short answer is allowed this much more.
const SHORTEST_THOUGHT: u64 = 1024;
/// Some providers allow no shorter one, and translation asks them for this.
const SHORTEST_ANSWER: u64 = 16;

/// How many answers are made, shown or not.
fn choices(call: &Call) -> u64 {
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

/// Several texts, or several lists of tokens; a list of tokens is one.
fn prompts(call: &Call) -> u64 {
    let Some(text) = value(call, "prompt").filter(|text| text.starts_with(b"[")) else { return 1 };
    let mut several = 0;
    // The scanner has accepted the body before: this cannot fail.
    let _ = wire::json::visit_array(text, 0..text.len(), |prompt| {
        several += u64::from(matches!(text[prompt.start], b'"' | b'['));
    });
    several.max(1)
}

/// What was said before, or a template, that the provider keeps.
fn refers(call: &Call) -> bool {
    let template = call.surface == Surface::Converse(Format::Responses) && call.has("prompt");
    template || KEPT_ELSEWHERE.iter().any(|name| call.has(name))
}

pub const KEPT_ELSEWHERE: [&str; 5] =
    ["previous_response_id", "conversation", "cachedContent", "cached_content", "mcp_servers"];

/// Names of what is not in the body, or is read by the provider's own tools while it answers.
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

/// No token is shorter than a byte; what is only named by the call may fill the model's window.
pub fn most_input(lane: &Lane, body: &[u8], refers: bool) -> u64 {
    let window = lane.facts.as_ref().and_then(|facts| facts.context_window);
    let count = |text: &str| memchr::memmem::find_iter(body, text.as_bytes()).count() as u64;
    if refers || NAMED.iter().any(|text| count(text) > 0) || hides_names(body) {
        return window.unwrap_or(ASSUMED_WINDOW).max(body.len() as u64);
    }
    let pictures: u64 = PICTURES.iter().map(|text| count(text)).sum();
    let most = (body.len() as u64).saturating_add(pictures.saturating_mul(LARGEST_PICTURE));
    window.map_or(most, |window| most.min(window))
}

/// A letter that is written as an escape, as nobody does who has nothing to hide.
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
