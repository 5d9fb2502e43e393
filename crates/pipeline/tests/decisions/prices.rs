//! Tests of the operator's prices on deployments, and of models without a price.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::money::{Cost, Nanos, Rate};
use domain::principal::Principal;
use domain::resources::model_price::ModelPrice;
use domain::usage::{Tokens, Usage};
use domain::user_path::UserPath;
use pipeline::policy::Policy;
use pipeline::routing::resolve::access::{Access, Refusal};
use pipeline::routing::routes::Routes;
use pipeline::routing::routes::prices::Prices;
use serde_json::{Value, json};

use crate::snapshots::{compile_at, place, with_routes};

fn routes_with(list: &[(&str, Value)]) -> Routes {
    let places = [
        place("openai", "openai", Some(&["gpt-5"])),
        place("openai-eu", "openai", Some(&["gpt-5"])),
        place("lab", "vllm", None),
        place("yard", "vllm", Some(&["own"])),
        place("router", "openrouter", Some(&["openai/gpt-5"])),
    ];
    let read = |(revision, (selector, body)): (usize, &(&str, Value))| {
        let price: ModelPrice = serde_json::from_value(body.clone()).unwrap();
        ((*selector).to_owned(), (price, revision as i64))
    };
    let prices = list.iter().enumerate().map(read).collect();
    compile_at(&places, &BTreeMap::new(), Arc::new(Prices::new(prices)))
}

/// The input rate, and the version of the price.
fn found(routes: &Routes, instance: &str, model: &str) -> Option<(i64, Option<String>)> {
    let deployment = routes.instances[instance].deployment(model).unwrap();
    let version = deployment.pricing_version().map(str::to_owned);
    // The price without a deployment is the same.
    let pricing = routes.pricing(instance, &deployment.target.provider_type, model);
    assert_eq!(pricing.effective.as_ref(), deployment.price());
    Some((deployment.price()?.input.0, version))
}

#[test]
fn the_instances_own_price_wins_over_its_types() {
    let input = |usd: f64| json!({"input_per_mtok": usd, "output_per_mtok": 1.0});
    let usd = |usd: f64| Rate::from_usd_per_mtok(usd).unwrap().0;
    let plain = routes_with(&[]);
    let catalogued = found(&plain, "openai", "gpt-5").unwrap();
    assert_eq!(catalogued.1, None);
    assert_eq!((found(&plain, "lab", "own"), found(&plain, "yard", "own")), (None, None));

    let rev = |number: i64| Some(format!("rev-{number}"));
    let routes =
        routes_with(&[("vllm/own", input(2.0)), ("lab/own", input(3.0)), ("lab/unlisted", input(4.0))]);
    assert_eq!(found(&routes, "lab", "own"), Some((usd(3.0), rev(1))));
    assert_eq!(found(&routes, "yard", "own"), Some((usd(2.0), rev(0))));
    assert_eq!(found(&routes, "lab", "unlisted"), Some((usd(4.0), rev(2))), "a model that nobody lists");

    // If an instance has the name of its type, a price for that name applies to that instance.
    let routes = routes_with(&[("openai/gpt-5", input(7.0)), ("openrouter/openai/gpt-5", input(8.0))]);
    assert_eq!(found(&routes, "openai", "gpt-5"), Some((usd(7.0), rev(0))));
    assert_eq!(found(&routes, "openai-eu", "gpt-5"), Some(catalogued));
    assert_eq!(found(&routes, "router", "openai/gpt-5"), Some((usd(8.0), rev(1))));
}

#[test]
fn unnamed_price_fields_stay_and_incomplete_prices_are_none() {
    let plain = routes_with(&[]);
    let before = plain.instances["openai"].deployment("gpt-5").unwrap();
    let routes = routes_with(&[
        ("openai/gpt-5", json!({"output_per_mtok": 99})),
        ("lab/own", json!({"input_per_mtok": 1})),
    ]);
    let deployment = routes.instances["openai"].deployment("gpt-5").unwrap();
    let (was, is) = (before.price().unwrap(), deployment.price().unwrap());
    assert_eq!((is.input, is.cache_read), (was.input, was.cache_read));
    assert_eq!(is.output, Rate(99_000_000_000));
    let (facts, known) = (deployment.facts.as_ref().unwrap(), before.facts.as_ref().unwrap());
    assert_eq!((facts.context_window, facts.abilities), (known.context_window, known.abilities));
    assert_eq!(found(&routes, "lab", "own"), None);
    let half = routes.instances["lab"].deployment("own").unwrap();
    assert_eq!(half.pricing_version(), None);
}

#[test]
fn prices_of_removed_providers_are_kept() {
    let routes = routes_with(&[("gone/own", json!({"input_per_mtok": 2, "output_per_mtok": 0}))]);
    let tokens = Tokens { input: 1_000_000, output: 5, ..Tokens::default() };
    let pricing = routes.pricing("gone", "vllm", "own");
    assert_eq!(
        pricing.charge(&tokens, 0),
        Some((Cost { input: Nanos(2_000_000_000), output: Nanos(0) }, Some("rev-0")))
    );
    assert!(
        routes
            .pricing("gone", "openai", "gpt-5")
            .charge(&tokens, 0)
            .is_some_and(|(_, version)| version.is_none())
    );
    assert_eq!(routes.pricing("gone", "vllm", "other").charge(&tokens, 0), None);
}

#[test]
fn without_a_token_there_is_no_charge() {
    let routes = routes_with(&[("lab/own", json!({"per_request": 0.5}))]);
    let deployment = routes.instances["lab"].deployment("own").unwrap();
    assert_eq!(deployment.charge(&Usage::default()), Some(Cost::default()));
    let one = Usage { tokens: Tokens { output: 1, ..Tokens::default() }, ..Usage::default() };
    assert_eq!(deployment.charge(&one).map(Cost::total), Some(Nanos(500_000_000)));
}

#[test]
fn unpriced_models_are_refused_if_configured() {
    let snapshot = with_routes(routes_with(&[("yard/own", json!({"per_request": 0}))]));
    let (principal, root) = (Principal::Master, UserPath::root());
    for (denied, instance, model, expected) in [
        (false, "lab", "own", Ok(())),
        (true, "lab", "own", Err(Refusal::Unpriced)),
        (true, "yard", "own", Ok(())),
        (true, "openai", "gpt-5", Ok(())),
    ] {
        let policy = Policy { unpriced_denied: denied, ..Policy::default() };
        let access = Access::new(&policy, &snapshot.routes, &principal, &root);
        let deployment = snapshot.routes.instances[instance].deployment(model).unwrap();
        assert_eq!(access.judge(&deployment), expected, "{denied} {instance}/{model}");
    }
    let closed = Policy { unpriced_denied: true, models_enabled_by_default: false, ..Policy::default() };
    let deployment = snapshot.routes.instances["lab"].deployment("own").unwrap();
    assert_eq!(
        Access::new(&closed, &snapshot.routes, &principal, &root).judge(&deployment),
        Err(Refusal::Override)
    );
}
