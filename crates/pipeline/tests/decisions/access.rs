//! Tests of overrides and provider limits on deployments.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::resources::model_override::ModelOverride;
use domain::resources::provider::Resilience;
use domain::user_path::UserPath;
use pipeline::routing::routes::{Limits, Routes};
use serde_json::{Value, json};

use crate::snapshots::{compile, compile_with, place};

fn overrides(list: &[(&str, Value)]) -> BTreeMap<String, ModelOverride> {
    let read = |(selector, body): &(&str, Value)| {
        let mut body = body.clone();
        body["selector"] = json!(selector);
        ((*selector).to_owned(), serde_json::from_value(body).unwrap())
    };
    list.iter().map(read).collect()
}

fn routes_with(list: &[(&str, Value)]) -> Routes {
    let places = [
        place("openai", "openai", Some(&["gpt-5", "gpt-5-mini"])),
        place("openai-eu", "openai", Some(&["gpt-5"])),
        place("router", "openrouter", Some(&["openai/gpt-5"])),
        place("lab", "vllm", None),
    ];
    compile_with(&places, &overrides(list))
}

#[track_caller]
fn permits(routes: &Routes, (instance, model): (&str, &str), path: &str, default: bool) -> bool {
    let deployment = routes.instances[instance].deployment(model).unwrap();
    deployment.permits(&UserPath::parse(path).unwrap(), default)
}

#[test]
fn overrides_restrict_models_by_user_path() {
    let off = || json!({"enabled": false});
    let (gpt, eu) = (("openai", "gpt-5"), ("openai-eu", "gpt-5"));
    type Case<'a> = (&'a [(&'a str, Value)], (&'a str, &'a str), &'a str, [bool; 2]);
    // The last two values: with models enabled by default, and without.
    let table: &[Case<'_>] = &[
        (&[], gpt, "/", [true, false]),
        (&[("openai/gpt-5", off())], gpt, "/", [false, false]),
        (&[("openai/gpt-5", json!({}))], gpt, "/", [true, true]),
        (&[("openai/gpt-5", off())], ("openai", "gpt-5-mini"), "/", [true, false]),
        (&[("openai/gpt", off())], gpt, "/", [true, false]),
        // An override for the type, unless the instance has one of its own.
        (&[("openai/gpt-5", off())], eu, "/", [false, false]),
        (&[("openai/gpt-5", off()), ("openai-eu/gpt-5", json!({}))], eu, "/", [true, true]),
        (&[("openai/gpt-5", off()), ("openai-eu/gpt-5", json!({}))], gpt, "/", [false, false]),
        (&[("openai-eu/gpt-5", off())], gpt, "/", [true, false]),
        // A rule for the type applies to all its instances, even if one of them has the type's name.
        (&[("openai/gpt-5", json!({}))], eu, "/", [true, true]),
        (&[("openai/gpt-5", json!({"user_paths": ["/a"]}))], eu, "/b", [false, false]),
        (&[("openai/gpt-5", json!({"user_paths": ["/a"]}))], eu, "/a", [true, true]),
        // Every model of an instance, a model at every instance; the first match applies.
        (&[("openai-eu/*", off())], eu, "/", [false, false]),
        (&[("openai-eu/*", off())], gpt, "/", [true, false]),
        (&[("openai/*", off())], eu, "/", [false, false]),
        (&[("openai-eu/*", off()), ("openai/gpt-5", json!({}))], eu, "/", [true, true]),
        (&[("openai/*", off()), ("openai-eu/*", json!({}))], eu, "/", [true, true]),
        (&[("*/gpt-5", off())], eu, "/", [false, false]),
        (&[("*/gpt-5", off())], ("openai", "gpt-5-mini"), "/", [true, false]),
        (&[("*/gpt-5", off()), ("openai-eu/*", json!({}))], eu, "/", [true, true]),
        (&[("*/gpt-5", off()), ("openai/gpt-5", json!({}))], eu, "/", [true, true]),
        (&[("*/openai/gpt-5", off())], ("router", "openai/gpt-5"), "/", [false, false]),
        (&[("lab/*", off())], ("lab", "secret"), "/", [false, false]),
        (&[("*/secret", json!({}))], ("lab", "secret"), "/", [true, true]),
        // Subtrees.
        (&[("openai/gpt-5", json!({"user_paths": ["/a", "/b/c"]}))], gpt, "/a/x", [true, true]),
        (&[("openai/gpt-5", json!({"user_paths": ["/a", "/b/c"]}))], gpt, "/b", [false, false]),
        (&[("openai/gpt-5", json!({"user_paths": ["/a", "/b/c"]}))], gpt, "/ab", [false, false]),
        (&[("openai/gpt-5", json!({"user_paths": []}))], gpt, "/z", [true, true]),
        (&[("openai/gpt-5", json!({"enabled": false, "user_paths": ["/a"]}))], gpt, "/a", [false, false]),
        (&[("openai/gpt-5", json!({"user_paths": ["/a/../b"]}))], gpt, "/", [false, false]),
        // Ids with slashes, and unlisted models.
        (&[("router/openai/gpt-5", off())], ("router", "openai/gpt-5"), "/", [false, false]),
        (&[("openrouter/openai/gpt-5", off())], ("router", "openai/gpt-5"), "/", [false, false]),
        (&[("openai/gpt-5", off())], ("router", "openai/gpt-5"), "/", [true, false]),
        (&[("lab/secret", off())], ("lab", "secret"), "/", [false, false]),
        (&[("lab/secret", off())], ("lab", "other"), "/", [true, false]),
    ];
    for (list, deployment, path, expected) in table {
        let routes = routes_with(list);
        let found = [true, false].map(|default| permits(&routes, *deployment, path, default));
        assert_eq!(found, *expected, "{list:?} {deployment:?} {path}");
    }
}

#[test]
fn a_forwarded_call_is_judged_by_the_same_override() {
    let routes = routes_with(&[("lab/secret", json!({"enabled": false}))]);
    let deployment = routes.instances["lab"].passthrough_deployment("secret");
    assert!(!deployment.permits(&UserPath::root(), true));
}

#[test]
fn facts_and_overrides_are_on_the_deployment() {
    let body = json!({"metadata": {"display_name": "Five", "context_window": 1000, "max_output_tokens": 10,
        "capabilities": {"vision": false, "smell": true}}});
    let routes = routes_with(&[("openai/gpt-5", body)]);
    let plain = compile(&[place("openai", "openai", Some(&["gpt-5"]))]);
    let (before, deployment) = (
        plain.instances["openai"].deployment("gpt-5").unwrap(),
        routes.instances["openai"].deployment("gpt-5").unwrap(),
    );
    assert!(before.access.is_none() && before.facts.as_ref().unwrap().abilities.vision);
    let facts = deployment.facts.as_ref().unwrap();
    assert_eq!((facts.context_window, facts.max_output_tokens), (Some(1000), Some(10)));
    assert!(!facts.abilities.vision && facts.abilities.tools);
    assert_eq!(deployment.price(), before.price());
    let access = deployment.access.as_ref().unwrap();
    assert_eq!((access.display_name.as_deref(), &*access.override_selector), (Some("Five"), "openai/gpt-5"));
    assert_eq!(access.extra_capabilities, BTreeMap::from([("smell".to_owned(), true)]));
}

#[test]
fn limits_of_an_instance_are_its_own() {
    let mut hasty = place("hasty", "openai", None);
    hasty.provider.resilience = Resilience {
        first_byte_timeout_ms: Some(100),
        idle_timeout_ms: Some(200),
        total_timeout_ms: Some(300),
        max_retries: Some(0),
        ..Resilience::default()
    };
    let routes = compile(&[hasty, place("calm", "openai", None)]);
    let ms = |ms| Some(Duration::from_millis(ms));
    let expected =
        Limits { first_byte: ms(100), idle: ms(200), total: ms(300), retries: Some(0), ..Limits::default() };
    assert_eq!(routes.instances["hasty"].core.limits, expected);
    assert_eq!(routes.instances["calm"].core.limits, Limits::default());
}
