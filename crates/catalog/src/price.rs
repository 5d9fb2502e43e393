//! What a call costs: integers throughout, each half rounded once.

use domain::model::Price;
use domain::money::{Cost, Nanos, Rate, Sum};
use domain::usage::Tokens;

/// Buckets without a rate of their own fall back: a cache read, a short cache write and audio to their side's plain rate,
/// a long cache write to the short one's, reasoning to output. A flat price per request counts as input.
pub fn cost(price: &Price, tokens: &Tokens) -> Cost {
    let rates = rates_in_force(price, tokens.total_input());
    let mut input = Sum::default();
    input.add(tokens.input, rates.input);
    input.add(tokens.cache_read, rates.cache_read);
    let cache_write_5m = price.cache_write_5m.unwrap_or(rates.input);
    input.add(tokens.cache_write_5m, cache_write_5m);
    input.add(tokens.cache_write_1h, price.cache_write_1h.unwrap_or(cache_write_5m));
    input.add(tokens.audio_input, price.audio_input.unwrap_or(rates.input));
    if let Some(flat) = price.per_request {
        input.add_nanos(Nanos(flat));
    }

    let mut output = Sum::default();
    output.add(tokens.output, rates.output);
    output.add(tokens.reasoning, price.reasoning.unwrap_or(rates.output));
    output.add(tokens.audio_output, price.audio_output.unwrap_or(rates.output));
    Cost { input: input.total(), output: output.total() }
}

struct Rates {
    input: Rate,
    output: Rate,
    cache_read: Rate,
}

/// A tier that names no cache rate keeps the base one: it replaces only what it names.
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
