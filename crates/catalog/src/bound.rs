//! Upper bound on the cost of a number of tokens, for any split into billing buckets and any applicable tier.

use domain::model::Price;
use domain::money::{Nanos, Rate};

use crate::price::all_at;

/// The rates besides plain input and output that a request can incur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incurs {
    /// The request asks for its prompt to be written to the prompt cache.
    pub cache_write: bool,
    /// The request asks for the one-hour cache lifetime instead of five minutes.
    pub cache_write_1h: bool,
    pub audio: bool,
}

impl Incurs {
    /// Every rate, for requests about which nothing is known.
    pub const ALL: Self = Self { cache_write: true, cache_write_1h: true, audio: true };
}

pub fn bound(price: &Price, input: u64, output: u64, incurs: Incurs) -> Nanos {
    let reached = |above: u64| above < input;
    let tiers = price.tiers.iter().filter(|tier| reached(tier.above_tokens));
    let tier_inputs = tiers.clone().flat_map(|tier| [Some(tier.input), tier.cache_read]);
    let inputs = [
        Some(price.input),
        price.cache_read,
        price.cache_write_5m.filter(|_| incurs.cache_write),
        price.cache_write_1h.filter(|_| incurs.cache_write_1h),
        price.audio_input.filter(|_| incurs.audio),
    ];
    let outputs = [Some(price.output), price.reasoning, price.audio_output.filter(|_| incurs.audio)];
    // `cost` rounds input and output separately, so the bound does too.
    let input = all_at(input, dearest(inputs.into_iter().chain(tier_inputs)));
    let output = all_at(output, dearest(outputs.into_iter().chain(tiers.map(|tier| Some(tier.output)))));
    input.total() + output.total() + Nanos(price.per_request.unwrap_or(0))
}

fn dearest(rates: impl Iterator<Item = Option<Rate>>) -> Rate {
    rates.flatten().max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use domain::model::Tier;
    use domain::usage::Tokens;
    use proptest::prelude::*;

    use super::*;

    fn rate() -> impl Strategy<Value = Rate> {
        (0..20_000_000_000i64).prop_map(Rate)
    }

    proptest! {
        #[test]
        fn no_division_into_buckets_costs_more(
            input in rate(), output in rate(), optional in proptest::array::uniform6(proptest::option::of(rate())),
            tiers in proptest::collection::vec((0..200_000u64, rate(), rate(), proptest::option::of(rate())), 0..3),
            counts in proptest::array::uniform8(0..100_000u64), flat in proptest::option::of(0..1_000_000i64),
        ) {
            let [cache_read, cache_write_5m, cache_write_1h, reasoning, audio_input, audio_output] = optional;
            let tiers = tiers.into_iter().map(|(above_tokens, input, output, cache_read)| Tier { above_tokens, input, output, cache_read });
            let price = Price {
                input, output, cache_read, cache_write_5m, cache_write_1h, reasoning, audio_input, audio_output,
                per_request: flat, tiers: tiers.collect(), ..Price::default()
            };
            let [input, cache_read, cache_write_5m, cache_write_1h, audio_input, output, reasoning, audio_output] = counts;
            let tokens = Tokens { input, cache_read, cache_write_5m, cache_write_1h, audio_input, output, reasoning, audio_output };
            let cost = crate::cost(&price, &tokens).total();
            prop_assert!(cost <= bound(&price, tokens.total_input(), tokens.total_output(), Incurs::ALL));
            let plain = Tokens { cache_write_5m: 0, cache_write_1h: 0, audio_input: 0, audio_output: 0, ..tokens };
            let cost = crate::cost(&price, &plain).total();
            let incurs = Incurs { cache_write: false, cache_write_1h: false, audio: false };
            let tight = bound(&price, plain.total_input(), plain.total_output(), incurs);
            prop_assert!(cost <= tight && tight <= bound(&price, plain.total_input(), plain.total_output(), Incurs::ALL));
        }
    }
}
