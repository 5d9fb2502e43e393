//! Cost: fallback rates by example, arithmetic by property.

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
fn savings_of_a_prompt_cache_count_reads_and_the_surcharge_of_writes() {
    let price = Price {
        cache_read: Some(usd(0.3)),
        cache_write_5m: Some(usd(3.75)),
        cache_write_1h: Some(usd(6.0)),
        ..plain()
    };
    let saved = |tokens: Tokens| prompt_cache_savings(&price, &tokens);
    let dollars = |value: f64| Some(Nanos::from_usd(value).unwrap());
    assert_eq!(saved(Tokens { input: MILLION, output: MILLION, ..Tokens::default() }), None);
    assert_eq!(saved(Tokens { cache_read: MILLION, ..Tokens::default() }), dollars(2.7));
    assert_eq!(saved(Tokens { cache_write_5m: MILLION, ..Tokens::default() }), Some(Nanos(-750_000_000)));
    assert_eq!(saved(Tokens { cache_write_1h: MILLION, ..Tokens::default() }), Some(Nanos(-3_000_000_000)));
    let all = Tokens { cache_read: 2 * MILLION, cache_write_5m: MILLION, input: 7, ..Tokens::default() };
    assert_eq!(saved(all), dollars(5.4 - 0.75));
    assert_eq!(
        prompt_cache_savings(&plain(), &all),
        Some(Nanos(0)),
        "without rates of its own it saves nothing"
    );
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

/// A price with every kind of rate; the expected figures in the tests are calculated by hand.
fn every_kind() -> Price {
    let tier = Tier { above_tokens: 100_000, input: usd(4.0), output: usd(20.0), cache_read: Some(usd(0.4)) };
    Price {
        input: usd(2.0),
        output: usd(10.0),
        cache_read: Some(usd(0.2)),
        cache_write_5m: Some(usd(2.5)),
        cache_write_1h: Some(usd(5.0)),
        reasoning: Some(usd(12.0)),
        audio_input: Some(usd(32.0)),
        audio_output: Some(usd(64.0)),
        batch_input: Some(usd(1.0)),
        batch_output: Some(usd(5.0)),
        per_request: Some(1_000_000),
        per_image: Some(40_000_000),
        per_second_input: Some(100_000),
        per_character_input: Some(15_000),
        tiers: vec![tier],
    }
}

#[track_caller]
fn check_of(price: &Price, billable: Billable, input: i64, output: i64) {
    assert_eq!(
        cost_of(price, &billable),
        Cost { input: Nanos(input), output: Nanos(output) },
        "{billable:?}"
    );
}

#[test]
fn both_cost_functions_agree_on_tokens() {
    let tokens = Tokens { input: 1_000, cache_read: 500, output: 200, reasoning: 50, ..Tokens::default() };
    let billable = Billable { tokens, ..Billable::default() };
    assert_eq!(cost_of(&every_kind(), &billable), cost(&every_kind(), &tokens));
}

#[test]
fn hand_computed_figures() {
    let price = every_kind();
    let tokens = Tokens {
        input: 10_000,
        cache_read: 40_000,
        cache_write_5m: 4_000,
        cache_write_1h: 2_000,
        audio_input: 1_000,
        output: 3_000,
        reasoning: 2_000,
        audio_output: 500,
    };
    // 0.02 + 0.008 + 0.01 + 0.01 + 0.032 + 0.001 flat; 0.03 + 0.024 + 0.032.
    let whole = Billable { tokens, ..Billable::default() };
    check_of(&price, whole, 81_000_000, 86_000_000);
    // 57,000 input at 1 and the flat price; 5,500 output at 5.
    check_of(&price, Billable { batch: true, ..whole }, 58_000_000, 27_500_000);
    // Above the tier: 0.4 + 0.016 + 0.01 + 0.01 + 0.032 + 0.001; 0.06 + 0.024 + 0.032.
    let long = Billable { tokens: Tokens { input: 100_000, ..tokens }, ..Billable::default() };
    check_of(&price, long, 469_000_000, 116_000_000);
    // The batch rate replaces the tier.
    check_of(&price, Billable { batch: true, ..long }, 148_000_000, 27_500_000);
}

#[test]
fn images_audio_and_characters_are_priced_by_their_own_unit() {
    let price = every_kind();
    check_of(&price, Billable { images: 3, ..Billable::default() }, 1_000_000, 120_000_000);
    let sound = Billable { input_sound: Duration::from_millis(90_500), ..Billable::default() };
    check_of(&price, sound, 1_000_000 + 9_050_000, 0);
    let speech = Billable { input_characters: 2_000, ..Billable::default() };
    check_of(&price, speech, 1_000_000 + 30_000_000, 0);
    let absurd = Billable { images: u64::MAX, input_sound: Duration::MAX, ..Billable::default() };
    assert_eq!(cost_of(&price, &absurd).output, Nanos(i64::MAX));
}

#[test]
fn a_batch_without_its_own_rate_costs_the_same() {
    let price = Price { batch_input: None, batch_output: Some(usd(5.0)), ..every_kind() };
    let tokens = Tokens { input: MILLION / 10, output: MILLION, reasoning: MILLION, ..Tokens::default() };
    check_of(&price, Billable { tokens, batch: true, ..Billable::default() }, 201_000_000, 10_000_000_000);
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

/// One `Tokens` per bucket, so that the sum of their costs can be compared with the cost of the whole.
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
        // Each of the eight parts and each of the two halves is rounded by at most half a nano-dollar.
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
