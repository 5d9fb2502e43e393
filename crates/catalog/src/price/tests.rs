//! Cost: the fallbacks by example, the arithmetic by property.

use domain::model::Tier;
use proptest::prelude::*;

use super::*;

fn usd(value: f64) -> Rate {
    Rate::from_usd_per_mtok(value).unwrap()
}

fn plain() -> Price {
    Price { input: usd(3.0), output: usd(15.0), ..Price::default() }
}

const MILLION: u64 = 1_000_000;

#[track_caller]
fn check(price: &Price, tokens: Tokens, input: f64, output: f64) {
    let expected = Cost { input: Nanos::from_usd(input).unwrap(), output: Nanos::from_usd(output).unwrap() };
    assert_eq!(cost(price, &tokens), expected);
}

#[test]
fn absent_rates_fall_back() {
    let every_input = Tokens {
        cache_read: MILLION,
        cache_write_5m: MILLION,
        cache_write_1h: MILLION,
        audio_input: MILLION,
        ..Tokens::default()
    };
    check(&plain(), every_input, 12.0, 0.0);
    let every_output = Tokens { reasoning: MILLION, audio_output: MILLION, ..Tokens::default() };
    check(&plain(), every_output, 0.0, 30.0);
    let short_write_only = Price { cache_write_5m: Some(usd(3.75)), ..plain() };
    check(&short_write_only, Tokens { cache_write_1h: MILLION, ..Tokens::default() }, 3.75, 0.0);
}

#[test]
fn named_rates_are_used() {
    let price = Price {
        cache_read: Some(usd(0.3)),
        cache_write_5m: Some(usd(3.75)),
        cache_write_1h: Some(usd(6.0)),
        reasoning: Some(usd(20.0)),
        audio_input: Some(usd(40.0)),
        audio_output: Some(usd(80.0)),
        per_request: Some(5_000_000),
        ..plain()
    };
    let one_of_each = Tokens {
        input: MILLION,
        cache_read: MILLION,
        cache_write_5m: MILLION,
        cache_write_1h: MILLION,
        audio_input: MILLION,
        output: MILLION,
        reasoning: MILLION,
        audio_output: MILLION,
    };
    check(&price, one_of_each, 3.0 + 0.3 + 3.75 + 6.0 + 40.0 + 0.005, 15.0 + 20.0 + 80.0);
}

#[test]
fn the_highest_tier_that_is_exceeded_replaces_the_rates() {
    let tier = |above_tokens, input, output| Tier {
        above_tokens,
        input: usd(input),
        output: usd(output),
        cache_read: None,
    };
    let price = Price { tiers: vec![tier(200_000, 6.0, 22.5), tier(500_000, 12.0, 45.0)], ..plain() };
    let tokens = |input| Tokens { input, output: MILLION, ..Tokens::default() };
    check(&price, tokens(200_000), 0.6, 15.0);
    check(&price, tokens(200_001), 1.200_006, 22.5);
    check(&price, tokens(MILLION), 12.0, 45.0);
    let cached = Tokens { cache_read: 200_000, input: 1, ..Tokens::default() };
    check(&price, cached, 1.200_006, 0.0);
}

#[test]
fn a_tier_without_a_cache_rate_keeps_the_base_one() {
    let tiers = vec![Tier { above_tokens: 10, input: usd(6.0), output: usd(22.5), cache_read: None }];
    let price = Price { cache_read: Some(usd(0.3)), tiers, ..plain() };
    check(&price, Tokens { cache_read: MILLION, ..Tokens::default() }, 0.3, 0.0);
}

prop_compose! {
    fn rate()(nanos in 0i64..200_000_000_000) -> Rate { Rate(nanos) }
}

prop_compose! {
    fn price()(
        input in rate(), output in rate(),
        cache_read in proptest::option::of(rate()), cache_write_5m in proptest::option::of(rate()),
        cache_write_1h in proptest::option::of(rate()), reasoning in proptest::option::of(rate()),
        audio_input in proptest::option::of(rate()), audio_output in proptest::option::of(rate()),
    ) -> Price {
        Price { input, output, cache_read, cache_write_5m, cache_write_1h, reasoning, audio_input, audio_output, ..Price::default() }
    }
}

prop_compose! {
    fn tokens()(counts in proptest::array::uniform8(0u64..3_000_000)) -> Tokens {
        let [input, cache_read, cache_write_5m, cache_write_1h, audio_input, output, reasoning, audio_output] = counts;
        Tokens { input, cache_read, cache_write_5m, cache_write_1h, audio_input, output, reasoning, audio_output }
    }
}

/// Each bucket alone, so that a sum over them can be compared with the whole.
fn buckets(tokens: &Tokens) -> [Tokens; 8] {
    let none = Tokens::default();
    [
        Tokens { input: tokens.input, ..none },
        Tokens { cache_read: tokens.cache_read, ..none },
        Tokens { cache_write_5m: tokens.cache_write_5m, ..none },
        Tokens { cache_write_1h: tokens.cache_write_1h, ..none },
        Tokens { audio_input: tokens.audio_input, ..none },
        Tokens { output: tokens.output, ..none },
        Tokens { reasoning: tokens.reasoning, ..none },
        Tokens { audio_output: tokens.audio_output, ..none },
    ]
}

proptest! {
    #[test]
    fn the_whole_is_the_sum_of_its_buckets(price in price(), tokens in tokens()) {
        let whole = cost(&price, &tokens).total().0;
        let parts: i64 = buckets(&tokens).iter().map(|bucket| cost(&price, bucket).total().0).sum();
        // Each of eight parts and each of two halves rounds by at most half a nano.
        prop_assert!((whole - parts).abs() <= 5, "{whole} against {parts}");
    }

    #[test]
    fn more_tokens_never_cost_less(price in price(), tokens in tokens(), more in tokens()) {
        let larger = Tokens {
            input: tokens.input + more.input,
            cache_read: tokens.cache_read + more.cache_read,
            cache_write_5m: tokens.cache_write_5m + more.cache_write_5m,
            cache_write_1h: tokens.cache_write_1h + more.cache_write_1h,
            audio_input: tokens.audio_input + more.audio_input,
            output: tokens.output + more.output,
            reasoning: tokens.reasoning + more.reasoning,
            audio_output: tokens.audio_output + more.audio_output,
        };
        let (less, more) = (cost(&price, &tokens), cost(&price, &larger));
        prop_assert!(less.input <= more.input && less.output <= more.output);
    }

    #[test]
    fn nothing_used_costs_the_flat_price_only(price in price(), flat in proptest::option::of(0i64..1_000_000_000)) {
        let price = Price { per_request: flat, ..price };
        prop_assert_eq!(cost(&price, &Tokens::default()).total(), Nanos(flat.unwrap_or(0)));
    }
}
