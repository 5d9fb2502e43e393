//! Cost of a call, in integer arithmetic; input and output are each rounded once.

use std::time::Duration;

use domain::model::Price;
use domain::money::{Cost, Nanos, Rate, Sum};
use domain::usage::Tokens;

/// The quantities of a call that can have a price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Billable {
    pub tokens: Tokens,
    /// Generated images.
    pub images: u64,
    /// Duration of the audio input.
    pub input_sound: Duration,
    /// Characters of the text input for speech synthesis.
    pub input_characters: u64,
    /// True if the call was part of a batch.
    pub batch: bool,
}

/// The cost of tokens, which is all that most calls consume.
///
/// Buckets without a rate of their own fall back: a cache read, a five-minute cache write and audio to the plain rate
/// of their side, a one-hour cache write to the five-minute rate, reasoning to output. A flat price per request counts
/// as input.
pub fn cost(price: &Price, tokens: &Tokens) -> Cost {
    let rates = rates_in_force(price, tokens.total_input());
    let (input, output) = (input(price, tokens, &rates), output(price, tokens, &rates));
    Cost { input: input.total(), output: output.total() }
}

/// The cost that the prompt cache of the provider saved: that of the same input without a cache, less the actual one. It
/// is below zero if the surcharge of cache writes is more than cache reads saved; `None` if the cache was not used.
///
/// A difference of two costs, each rounded as it is charged, so that savings and costs add up exactly.
pub fn prompt_cache_savings(price: &Price, tokens: &Tokens) -> Option<Nanos> {
    let cached = tokens.cache_read.saturating_add(tokens.cache_write());
    if cached == 0 {
        return None;
    }
    let input = tokens.input.saturating_add(cached);
    let uncached = Tokens { input, cache_read: 0, cache_write_5m: 0, cache_write_1h: 0, ..*tokens };
    let (without, actual) = (cost(price, &uncached).input, cost(price, tokens).input);
    Some(Nanos(without.0.saturating_sub(actual.0)))
}

/// The cost of all billable quantities: audio and characters count as input, images as output.
///
/// In a batch, the batch input rate replaces every input rate, tiers and cache included, and the batch output rate
/// every output rate. A side without a batch rate costs the same as outside of a batch.
pub fn cost_of(price: &Price, billable: &Billable) -> Cost {
    let Billable { tokens, images, input_sound, input_characters, batch } = billable;
    let rates = rates_in_force(price, tokens.total_input());
    let mut input = match price.batch_input.filter(|_| *batch) {
        Some(rate) => flat(price, tokens.total_input(), rate),
        None => input(price, tokens, &rates),
    };
    let micros = u64::try_from(input_sound.as_micros()).unwrap_or(u64::MAX);
    // Microseconds at a price per second scale like tokens at a price per million.
    input.add(micros, Rate(price.per_second_input.unwrap_or_default()));
    input.add_units(*input_characters, Nanos(price.per_character_input.unwrap_or_default()));

    let mut output = match price.batch_output.filter(|_| *batch) {
        Some(rate) => all_at(tokens.total_output(), rate),
        None => output(price, tokens, &rates),
    };
    output.add_units(*images, Nanos(price.per_image.unwrap_or_default()));
    Cost { input: input.total(), output: output.total() }
}

fn input(price: &Price, tokens: &Tokens, rates: &Rates) -> Sum {
    let mut sum = flat(price, tokens.input, rates.input);
    sum.add(tokens.cache_read, rates.cache_read);
    let cache_write_5m = price.cache_write_5m.unwrap_or(rates.input);
    sum.add(tokens.cache_write_5m, cache_write_5m);
    sum.add(tokens.cache_write_1h, price.cache_write_1h.unwrap_or(cache_write_5m));
    sum.add(tokens.audio_input, price.audio_input.unwrap_or(rates.input));
    sum
}

fn output(price: &Price, tokens: &Tokens, rates: &Rates) -> Sum {
    let mut sum = all_at(tokens.output, rates.output);
    sum.add(tokens.reasoning, price.reasoning.unwrap_or(rates.output));
    sum.add(tokens.audio_output, price.audio_output.unwrap_or(rates.output));
    sum
}

/// Tokens at one rate, plus the flat price per request.
fn flat(price: &Price, tokens: u64, rate: Rate) -> Sum {
    let mut sum = all_at(tokens, rate);
    sum.add_nanos(Nanos(price.per_request.unwrap_or_default()));
    sum
}

pub(crate) fn all_at(tokens: u64, rate: Rate) -> Sum {
    let mut sum = Sum::default();
    sum.add(tokens, rate);
    sum
}

struct Rates {
    input: Rate,
    output: Rate,
    cache_read: Rate,
}

/// The rates of the tier that applies. A tier without a cache rate keeps the base cache rate.
fn rates_in_force(price: &Price, total_input: u64) -> Rates {
    let tier = price
        .tiers
        .iter()
        .filter(|tier| tier.above_tokens < total_input)
        .max_by_key(|tier| tier.above_tokens);
    match tier {
        Some(tier) => Rates {
            input: tier.input,
            output: tier.output,
            cache_read: tier.cache_read.or(price.cache_read).unwrap_or(tier.input),
        },
        None => Rates {
            input: price.input,
            output: price.output,
            cache_read: price.cache_read.unwrap_or(price.input),
        },
    }
}

#[cfg(test)]
mod tests;
