//! Facts about a request that decide what it may cost and which targets can serve it.

mod any_format;
mod content;
mod names;
mod output_limit;
mod quoted_names;
#[cfg(test)]
mod tests;

use crate::codec::Request;
use crate::json::Object;

pub use any_format::prompt_count;
pub use content::Content;
pub use names::{CHOICES_IN_CONFIG, GENERATION_CONFIGS, OUTPUT_LIMITS_IN_CONFIG, PROMPT};
pub use output_limit::set_top_level;

/// Output tokens assumed when neither the request nor the catalogue limits them.
pub const ASSUMED_OUTPUT: u64 = 4096;

/// The shape of a request. A provider may read members that another format defines, so that every fact is read under
/// the names of all formats: an upper bound on the cost must not depend on which of them the provider knows.
#[derive(Clone, Debug)]
pub struct RequestShape<'a> {
    /// The output limit of one answer in tokens; the largest, if the request sets several.
    pub max_output: Option<u64>,
    /// The number of answers to generate, including those that are discarded.
    pub choices: u64,
    /// Whether the operation generates an output that can be limited, unlike embeddings and reranking.
    pub generates: bool,
    /// Whether the request has settings for reasoning, which may have a token budget of its own.
    pub reasoning: bool,
    pub tools: bool,
    /// Whether the request refers to earlier turns, a template or a cache that the provider stores.
    pub stored_context: bool,
    /// Whether the request depends on state or work at one provider, so that no other can continue its answer.
    pub bound_to_provider: bool,
    /// Facts that need a search of the whole body; searched when they are read.
    pub content: Content<'a>,
}

impl<'a> RequestShape<'a> {
    /// The shape by the members that have the same meaning on every surface. Each name is looked at once, because a
    /// hostile body has thousands of them.
    pub fn of(request: &'a Request) -> Self {
        let Request { body, object, max_output, choices, .. } = request;
        let mut shape = Self {
            max_output: *max_output,
            choices: *choices,
            generates: true,
            reasoning: false,
            tools: false,
            stored_context: false,
            bound_to_provider: false,
            content: Content::of(body),
        };
        for (name, member) in object.named(body) {
            shape.read_member(&name, &body[member.value.clone()]);
        }
        shape
    }

    fn read_member(&mut self, name: &[u8], value: &[u8]) {
        let is_one_of = |names: &[&str]| names.iter().any(|known| known.as_bytes() == name);
        if is_one_of(&names::OUTPUT_LIMITS) {
            self.max_output = self.max_output.max(whole_number(value));
        }
        if is_one_of(&["best_of"]) {
            self.choices = self.choices.max(whole_number(value).unwrap_or(1));
        }
        self.reasoning |= is_one_of(&names::REASONING);
        self.tools |= is_one_of(&["tools"]);
        self.stored_context |= is_one_of(&names::STORED_CONTEXT);
        self.bound_to_provider |= is_one_of(&names::BOUND_TO_PROVIDER);
    }

    /// The shape of a body whose format is unknown; `None` if it is not JSON.
    pub fn of_any_format(body: &'a [u8]) -> Option<Self> {
        any_format::shape(body)
    }
}

/// The reasoning budget that a request sets, in tokens.
pub fn reasoning_budget(request: &Request) -> Option<u64> {
    let budget = |path: &&[&str]| number_at(&request.body, &request.object, path);
    names::REASONING_BUDGETS.iter().filter_map(budget).max()
}

/// The number that a path of member names leads to.
fn number_at(body: &[u8], object: &Object, path: &[&str]) -> Option<u64> {
    whole_number(&body[object.value_at(body, path)?])
}

/// Reads a positive number. Fractions and exponents are rounded up, because a provider may accept them.
fn whole_number(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    text.parse().ok().or_else(|| {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0)?;
        Some(number.ceil() as u64)
    })
}
