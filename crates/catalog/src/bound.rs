//! The most that so many tokens can cost, whatever buckets and tiers they turn out to fall into.

use domain::model::Price;
use domain::money::{Nanos, Rate};

use crate::price::all_at;

pub fn bound(price: &Price, input: u64, output: u64) -> Nanos {
    let reached = |above: u64| above < input;
    let tiers = price.tiers.iter().filter(|tier| reached(tier.above_tokens));
    let tier_inputs = tiers.clone().flat_map(|tier| [Some(tier.input), tier.cache_read]);
    let inputs =
        [Some(price.input), price.cache_read, price.cache_write_5m, price.cache_write_1h, price.audio_input];
    let outputs = [Some(price.output), price.reasoning, price.audio_output];
    // Each half of a cost is rounded by itself.
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
            prop_assert!(cost <= bound(&price, tokens.total_input(), tokens.total_output()));
        }
    }
}
