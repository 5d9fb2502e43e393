//! Model prices: validation, and merging with a base price.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn read(body: Value) -> ModelPrice {
    let mut body = body;
    body["selector"] = json!("openai/gpt-5");
    serde_json::from_value(body).unwrap()
}

#[test]
fn invalid_prices_are_rejected_with_their_field() {
    for (body, param) in [
        (json!({}), "input_per_mtok"),
        (json!({"input_per_mtok": -1}), "input_per_mtok"),
        (json!({"per_image": 1_000_001}), "per_image"),
        (json!({"per_character_input": 0.000_000_000_5}), "per_character_input"),
        (json!({"tiers": [{"above_tokens": 5}]}), "tiers[0].input_per_mtok"),
        (
            json!({"tiers": [{"above_tokens": 5, "input_per_mtok": 1}, {"above_tokens": 5, "input_per_mtok": 2}]}),
            "tiers[1].above_tokens",
        ),
        (
            json!({"tiers": [{"above_tokens": 5, "cached_input_per_mtok": -0.5}]}),
            "tiers[0].cached_input_per_mtok",
        ),
    ] {
        let fault = read(body.clone()).validate().unwrap_err();
        assert_eq!((fault.status, fault.param.as_deref()), (400, Some(param)), "{body}");
    }
    for selector in ["gpt-5", "openai/*", "openai//x", "a b/c", ""] {
        let price = ModelPrice { selector: selector.into(), ..read(json!({"per_request": 1})) };
        assert_eq!(price.validate().unwrap_err().param.as_deref(), Some("selector"), "{selector}");
    }
    for body in [json!({"input_per_mtok": 0}), json!({"tiers": []}), json!({"per_request": 0.000_000_001})] {
        read(body).validate().unwrap();
    }
    assert!(serde_json::from_value::<ModelPrice>(json!({"currency": "EUR"})).is_err());
}

fn base() -> Price {
    Price {
        input: Rate(1_000),
        output: Rate(2_000),
        cache_read: Some(Rate(100)),
        tiers: vec![Tier { above_tokens: 9, input: Rate(5_000), output: Rate(6_000), cache_read: None }],
        ..Price::default()
    }
}

#[test]
fn only_named_fields_are_replaced() {
    let own = read(json!({"output_per_mtok": 0.000_007, "per_request": 0.5}));
    let expected = Price { output: Rate(7_000), per_request: Some(500_000_000), ..base() };
    assert_eq!(own.over(Some(&base())), Some(expected));
    assert_eq!(read(json!({"tiers": []})).over(Some(&base())), Some(Price { tiers: vec![], ..base() }));
    let own = read(
        json!({"input_per_mtok": 0.000_003, "tiers": [{"above_tokens": 7, "output_per_mtok": 0.000_004}]}),
    );
    let tiers = vec![Tier { above_tokens: 7, input: Rate(3_000), output: Rate(4_000), cache_read: None }];
    assert_eq!(own.over(Some(&base())), Some(Price { input: Rate(3_000), tiers, ..base() }));
}

#[test]
fn a_price_without_a_base_must_be_complete() {
    for (body, complete) in [
        (json!({"input_per_mtok": 1}), false),
        (json!({"output_per_mtok": 1, "cached_input_per_mtok": 1}), false),
        (json!({"tiers": [{"above_tokens": 1, "input_per_mtok": 1}]}), false),
        (json!({"input_per_mtok": 1, "output_per_mtok": 0}), true),
        (json!({"per_image": 0.04}), true),
        (json!({"per_second_input": 0.0001}), true),
    ] {
        assert_eq!(read(body.clone()).over(None).is_some(), complete, "{body}");
    }
}

proptest! {
    #[test]
    fn a_shown_price_reads_back(
        rates in proptest::array::uniform10(0i64..1_000_000_000_000), flat in proptest::array::uniform4(0i64..1_000_000_000_000),
        tier in (0u64..1_000_000, 0i64..1_000_000_000, 0i64..1_000_000_000),
    ) {
        let some = |index: usize| Some(Rate(rates[index]));
        let price = Price {
            input: Rate(rates[0]), output: Rate(rates[1]), cache_read: some(2), cache_write_5m: some(3), cache_write_1h: some(4),
            reasoning: some(5), audio_input: some(6), audio_output: some(7), batch_input: some(8), batch_output: some(9),
            per_request: Some(flat[0]), per_image: Some(flat[1]), per_second_input: Some(flat[2]), per_character_input: Some(flat[3]),
            tiers: vec![Tier { above_tokens: tier.0, input: Rate(tier.1), output: Rate(tier.2), cache_read: None }],
        };
        let shown = ModelPrice { selector: "a/b".into(), ..ModelPrice::from(&price) };
        let text = serde_json::to_string(&shown).unwrap();
        let read: ModelPrice = serde_json::from_str(&text).unwrap();
        read.validate().unwrap();
        prop_assert_eq!(read.over(None), Some(price));
    }
}
