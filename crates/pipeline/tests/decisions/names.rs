//! Tests of combos, aliases and pools: their resolution, fallbacks and access.

use std::sync::Arc;
use std::time::Duration;

use domain::principal::{KeyFacts, Principal};
use domain::resources::alias::Alias;
use domain::resources::combo::Combo;
use domain::resources::pool::Pool;
use domain::strategy::Strategy;
use domain::user_path::UserPath;
use pipeline::call::receive;
use pipeline::policy::{Fallback, FallbackMode, Policy};
use pipeline::routing::choose::{SelectionContext, SelectionMode};
use pipeline::routing::names::{Names, PreviousNames};
use pipeline::routing::resolve::access::Access;
use pipeline::routing::resolve::resolve;
use pipeline::snapshot::Snapshot;
use serde_json::json;

use crate::authenticate::arrival;
use crate::snapshots::{compile, key, place, with_routes};

fn pool(name: &str, members: &[&str]) -> Pool {
    Pool {
        name: name.into(),
        description: String::new(),
        members: members.iter().map(|&member| member.to_owned()).collect(),
        strategy: Strategy::PrimaryFallback,
        weights: Default::default(),
        health_aware: true,
    }
}

fn combo(name: &str, selectors: &[&str]) -> Combo {
    Combo {
        name: name.into(),
        description: String::new(),
        selectors: selectors.iter().map(|&selector| selector.to_owned()).collect(),
        strategy: Strategy::PrimaryFallback,
        weights: Default::default(),
    }
}

fn alias(name: &str, target: &str) -> Alias {
    Alias { name: name.into(), target: target.into(), description: String::new() }
}

/// Three enabled instances and one that is not, and names that could lead in circles.
fn snapshot() -> Snapshot {
    let mut routes = compile(&[
        place("east", "openai", Some(&["gpt-5", "gpt-4o"])),
        place("west", "openai", Some(&["gpt-5", "gpt-4o-mini"])).priority(1),
        place("lab", "groq", Some(&["llama-3", "gpt-5"])).priority(2),
        place("off", "groq", Some(&["llama-3"])).disabled(),
    ]);
    let pools = vec![pool("coast", &["west", "east", "off"]), pool("lone", &["lab"])];
    let combos = vec![
        combo("best", &["coast/gpt-5", "fast"]),
        combo("twice", &["east/gpt-5", "east/gpt-5"]),
        combo("inside", &["best", "lab/llama-3"]),
        combo("loop", &["again", "lab/llama-3"]),
        combo("half", &["nowhere/x", "lab/llama-3"]),
    ];
    let aliases = vec![
        alias("fast", "lab/llama-3"),
        alias("team/main", "best"),
        alias("again", "loop"),
        alias("chain", "fast"),
        alias("gpt-4o", "west/gpt-4o-mini"),
    ];
    routes.names = Names::compile(pools, combos, aliases, &PreviousNames::of_default(&Names::default()));
    with_routes(routes)
}

fn plan(principal: &Principal, fallback: Fallback, model: &str) -> Result<Vec<String>, u16> {
    let snapshot = snapshot();
    let arrival = arrival(None);
    let body = json!({"model": model, "messages": [{"role": "user", "content": "hi"}], "tools": []});
    let call = receive::parse_here(body.to_string().into(), &arrival).map_err(|fault| fault.status)?;
    let (policy, root) = (Policy { fallback, ..Policy::default() }, UserPath::root());
    let access = Access {
        routes: &snapshot.routes,
        principal,
        user_path: &root,
        enabled_by_default: true,
        unpriced_denied: false,
        by_name: false,
    };
    let asking = call.asking(access, &arrival, &policy).map_err(|fault| fault.status)?;
    let resolved = resolve(&asking, &mut ()).map_err(|fault| fault.status)?;
    let now = SelectionContext {
        now: Duration::ZERO,
        seed: 1,
        input_tokens: 1,
        output_tokens: 1,
        mode: SelectionMode::Live,
        warm: None,
    };
    Ok(resolved.plan(|| now).deployments.iter().map(|deployment| deployment.target.selector()).collect())
}

#[track_caller]
fn check(principal: &Principal, fallback: Fallback, model: &str, expected: Result<&[&str], u16>) {
    let found = plan(principal, fallback, model);
    let expected = expected.map(|names| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
    assert_eq!(found, expected, "{model}");
}

#[test]
fn names_come_before_models_and_lead_in_no_circle() {
    for (model, expected) in [
        ("best", Ok(&["west/gpt-5", "east/gpt-5", "lab/llama-3"][..])),
        ("team/main", Ok(&["west/gpt-5", "east/gpt-5", "lab/llama-3"])),
        ("fast", Ok(&["lab/llama-3"])),
        ("coast/gpt-5", Ok(&["west/gpt-5", "east/gpt-5"])),
        ("coast/gpt-4o", Ok(&["east/gpt-4o"])),
        ("coast/nothing", Err(404)),
        // No model is named, and the members have several.
        ("coast", Err(404)),
        // An alias takes precedence over a model of the same name, which is still available under its provider.
        ("gpt-4o", Ok(&["west/gpt-4o-mini"])),
        ("east/gpt-4o", Ok(&["east/gpt-4o"])),
        ("twice", Ok(&["east/gpt-5"])),
        // A combo in a combo and an alias of an alias are not resolved.
        ("inside", Ok(&["lab/llama-3"])),
        ("loop", Ok(&["lab/llama-3"])),
        ("chain", Err(404)),
        ("half", Ok(&["lab/llama-3"])),
        ("gpt-5", Ok(&["east/gpt-5", "west/gpt-5", "lab/gpt-5"])),
        ("openai/gpt-5", Ok(&["east/gpt-5", "west/gpt-5"])),
    ] {
        check(&Principal::Master, Fallback::default(), model, expected);
    }
}

#[test]
fn a_key_bound_to_a_pool_cannot_use_other_targets() {
    let bound =
        |pool: &str| Principal::Key(Arc::new(KeyFacts { provider_pool: Some(pool.into()), ..key("bound") }));
    for (pool, model, expected) in [
        ("coast", "gpt-5", Ok(&["west/gpt-5", "east/gpt-5"][..])),
        ("coast", "best", Ok(&["west/gpt-5", "east/gpt-5"])),
        ("coast", "east/gpt-5", Ok(&["east/gpt-5"])),
        ("coast", "lab/gpt-5", Err(403)),
        ("coast", "fast", Err(403)),
        ("lone", "best", Ok(&["lab/llama-3"])),
        ("lone", "coast/gpt-5", Err(403)),
        // A pool that does not exist denies every target.
        ("gone", "gpt-5", Err(403)),
    ] {
        check(&bound(pool), Fallback::default(), model, expected);
    }
}

#[test]
fn fallback_targets_follow_the_mode() {
    let rule = |from: &str, to: &[&str]| (from.to_owned(), to.iter().map(|&to| to.to_owned()).collect());
    let off = || Fallback { mode: FallbackMode::Off, rules: vec![rule("fast", &["east/gpt-5"])] };
    check(&Principal::Master, off(), "best", Ok(&["west/gpt-5"]));
    check(&Principal::Master, off(), "fast", Ok(&["lab/llama-3"]));
    let ruled = || Fallback {
        mode: FallbackMode::Manual,
        rules: vec![rule("lab/llama-3", &["best"]), rule("gpt-4o-mini", &["nowhere", "east/gpt-4o"])],
    };
    check(&Principal::Master, ruled(), "fast", Ok(&["lab/llama-3", "west/gpt-5", "east/gpt-5"]));
    check(&Principal::Master, ruled(), "west/gpt-4o-mini", Ok(&["west/gpt-4o-mini", "east/gpt-4o"]));
    let auto = || Fallback { mode: FallbackMode::Auto, rules: Vec::new() };
    check(&Principal::Master, auto(), "west/gpt-5", Ok(&["west/gpt-5", "east/gpt-5", "lab/gpt-5"]));
    // Models of the same family that support the requested tools.
    check(&Principal::Master, auto(), "east/gpt-4o", Ok(&["east/gpt-4o", "west/gpt-4o-mini"]));
    check(&Principal::Master, auto(), "lab/llama-3", Ok(&["lab/llama-3"]));
}
