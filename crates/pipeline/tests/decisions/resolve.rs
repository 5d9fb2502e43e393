//! Tests of the resolution from a call to its plan.

use std::sync::Arc;
use std::time::Duration;

use domain::access::{AccessLists, Verdict};
use domain::fault::Fault;
use domain::principal::{KeyFacts, Principal};
use domain::user_path::UserPath;
use pipeline::call::receive;
use pipeline::policy::Policy;
use pipeline::routing::choose::{SelectionContext, SelectionMode};
use pipeline::routing::resolve::access::Access;
use pipeline::routing::resolve::{Plan, resolve};
use pipeline::snapshot::Snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::authenticate::arrival;
use crate::snapshots::{ListedInstance, compile, key, place, with_routes};

fn planned(snapshot: &Snapshot, principal: &Principal, body: &Value) -> Result<Plan, Fault> {
    let arrival = arrival(None);
    let call = receive::parse_here(body.to_string().into(), &arrival)?;
    let (policy, root) = (Policy::default(), UserPath::root());
    let access = Access {
        routes: &snapshot.routes,
        principal,
        user_path: &root,
        enabled_by_default: true,
        unpriced_denied: false,
        by_name: false,
    };
    let resolved = resolve(&call.asking(access, &arrival, &policy)?, &mut ())?;
    let selection = SelectionContext {
        now: Duration::ZERO,
        seed: 1,
        input_tokens: 1,
        output_tokens: 1,
        mode: SelectionMode::Live,
        warm: None,
    };
    Ok(resolved.plan(|| selection))
}

fn plan(
    snapshot: &Snapshot,
    principal: &Principal,
    model: &str,
    hint: Option<&str>,
) -> Result<Vec<String>, Fault> {
    let mut body = json!({"model": model, "messages": [{"role": "user", "content": "hi"}]});
    if let Some(hint) = hint {
        body["provider"] = Value::from(hint);
    }
    Ok(planned(snapshot, principal, &body)?
        .deployments
        .iter()
        .map(|deployment| deployment.target.selector())
        .collect())
}

type Expected<'a> = Result<&'a [&'a str], (u16, &'a str)>;

#[track_caller]
fn check(
    snapshot: &Snapshot,
    principal: &Principal,
    (model, hint): (&str, Option<&str>),
    expected: Expected<'_>,
) {
    let found = plan(snapshot, principal, model, hint);
    match (&found, expected) {
        (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{model} {hint:?}"),
        (Err(fault), Err(expected)) => {
            assert_eq!((fault.status, fault.code.as_str()), expected, "{model} {hint:?}")
        }
        (found, expected) => panic!("{model} {hint:?}: {found:?} instead of {expected:?}"),
    }
}

/// A snapshot in which every instance has listed its models.
fn listed() -> Snapshot {
    with_routes(compile(&[
        place("openai", "openai", Some(&["gpt-5", "gpt-5-mini"])),
        place("openai-eu", "openai", Some(&["gpt-5"])).priority(-1),
        place("router", "openrouter", Some(&["openai/gpt-5", "openai/o9", "meta-llama/llama-3"])),
        place("fast", "groq", Some(&["llama-3"])),
        place("off", "groq", Some(&["llama-4"])).disabled(),
    ]))
}

#[test]
fn selectors_lead_where_they_say() {
    let snapshot = listed();
    let check = |selector: (&str, Option<&str>), expected: Expected<'_>| {
        check(&snapshot, &Principal::Master, selector, expected)
    };
    check(("openai/gpt-5", None), Ok(&["openai/gpt-5"]));
    check(("groq/llama-3", None), Ok(&["fast/llama-3"]));
    check(("openrouter/openai/gpt-5", None), Ok(&["router/openai/gpt-5"]));
    check(("router/meta-llama/llama-3", None), Ok(&["router/meta-llama/llama-3"]));
    // A whole id that contains a slash.
    check(("meta-llama/llama-3", None), Ok(&["router/meta-llama/llama-3"]));
    check(("openai/o9", None), Ok(&["router/openai/o9"]));
    // A bare id: the lower priority number first, then the name.
    check(("gpt-5", None), Ok(&["openai-eu/gpt-5", "openai/gpt-5"]));
    check(("gpt-5-mini", None), Ok(&["openai/gpt-5-mini"]));
    check((" gpt-5-mini ", None), Ok(&["openai/gpt-5-mini"]));

    check(("gpt-5", Some("openai")), Ok(&["openai/gpt-5"]));
    check(("openai/gpt-5", Some("openai")), Ok(&["openai/gpt-5"]));
    check(("openai/gpt-5", Some("router")), Ok(&["router/openai/gpt-5"]));
    check(("llama-3", Some("groq")), Ok(&["fast/llama-3"]));
    check(("gpt-5", Some("fast")), Err((404, "model_not_found")));
    check(("gpt-5", Some("nowhere")), Err((404, "provider_not_found")));
    check(("llama-4", Some("off")), Err((404, "provider_not_found")));

    for nobody in
        ["gpt-6", "openai/gpt-6", "nowhere/gpt-5", "off/llama-4", "llama-4", "openai/", "/gpt-5", "/"]
    {
        check((nobody, None), Err((404, "model_not_found")));
    }
    check(("", None), Err((400, "model_required")));
    check(("  ", None), Err((400, "model_required")));
}

/// An instance that has not listed its models may be asked for any model, but not under the name of another instance.
#[test]
fn an_unlisted_instance_gets_the_benefit_of_the_doubt() {
    let snapshot = with_routes(compile(&[
        place("local", "openai_compatible", None),
        place("openai", "openai", Some(&["gpt-5"])),
        place("off", "groq", Some(&["llama-4"])).disabled(),
    ]));
    let check =
        |model: &str, expected: Expected<'_>| check(&snapshot, &Principal::Master, (model, None), expected);
    check("local/anything", Ok(&["local/anything"]));
    check("anything", Ok(&["local/anything"]));
    check("some-maker/some-model", Ok(&["local/some-maker/some-model"]));
    check("gpt-5", Ok(&["openai/gpt-5"]));
    for theirs in ["openai/gpt-6", "off/llama-4", "off/anything", "groq/llama-4"] {
        check(theirs, Err((404, "model_not_found")));
    }
    let two =
        with_routes(compile(&[place("a", "openai_compatible", None), place("b", "openai_compatible", None)]));
    let unclear = plan(&two, &Principal::Master, "anything", None).unwrap_err();
    assert_eq!(unclear.status, 404, "with two such instances nobody knows which");
}

#[test]
fn the_nearest_names_are_offered() {
    let fault = plan(&listed(), &Principal::Master, "openai/gpt-5-mimi", None).unwrap_err();
    assert!(fault.message.contains("'openai/gpt-5-mini'"), "{fault}");
}

fn limited(lists: AccessLists) -> Principal {
    Principal::Key(Arc::new(KeyFacts { lists, ..key("limited") }))
}

fn list(names: &[&str]) -> Option<Vec<String>> {
    Some(names.iter().map(|name| (*name).to_owned()).collect())
}

#[test]
fn lists_are_judged_on_every_target() {
    let snapshot = listed();
    let check = |lists: AccessLists, model: &str, expected: Expected<'_>| {
        check(&snapshot, &limited(lists), (model, None), expected);
    };
    let nobody = AccessLists::default();
    let only_eu = AccessLists { allowed_providers: list(&["openai-eu"]), ..nobody.clone() };
    check(only_eu.clone(), "gpt-5", Ok(&["openai-eu/gpt-5"]));
    check(only_eu.clone(), "openai/gpt-5", Err((403, "key_provider_access_denied")));
    check(only_eu, "gpt-6", Err((404, "model_not_found")));
    let by_type = AccessLists { allowed_models: list(&["groq/*"]), ..nobody.clone() };
    check(by_type.clone(), "llama-3", Ok(&["fast/llama-3"]));
    check(by_type, "gpt-5", Err((403, "key_model_access_denied")));
    // The name of an instance allows that instance, not every instance of the type with the same name; a denial covers
    // both.
    let by_name = AccessLists { allowed_models: list(&["openai/*"]), ..nobody.clone() };
    check(by_name, "gpt-5", Ok(&["openai/gpt-5"]));
    let deny_type = AccessLists { denied_models: vec!["openai/*".into()], ..nobody.clone() };
    check(deny_type, "gpt-5", Err((403, "key_model_access_denied")));
    let deny = AccessLists { denied_models: vec!["openai-eu/*".into()], ..nobody.clone() };
    check(deny, "gpt-5", Ok(&["openai/gpt-5"]));
    let nothing = AccessLists { allowed_models: Some(vec![]), ..nobody };
    check(nothing, "gpt-5", Err((403, "key_model_access_denied")));
}

const NAMES: [&str; 4] = ["openai", "groq", "a", "b"];
const TYPES: [&str; 3] = ["openai", "groq", "openai_compatible"];
const MODELS: [&str; 4] = ["m", "n", "openai/m", "a/n"];

fn some_place() -> impl Strategy<Value = ListedInstance> {
    let models = proptest::option::of(proptest::sample::subsequence(MODELS.to_vec(), 0..=4));
    (0..4usize, 0..3usize, models, any::<bool>(), -1..2i64).prop_map(
        |(name, kind, models, enabled, priority)| {
            let mut place = place(NAMES[name], TYPES[kind], models.as_deref()).priority(priority);
            place.provider.enabled = enabled;
            place
        },
    )
}

fn some_lists() -> impl Strategy<Value = AccessLists> {
    let patterns = || {
        proptest::collection::vec(
            proptest::sample::select(vec!["*", "openai", "a/*", "m", "openai/m", "groq"]),
            0..3,
        )
    };
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
    (proptest::option::of(patterns()), proptest::option::of(patterns()), patterns()).prop_map(
        move |(providers, models, denied)| AccessLists {
            allowed_providers: providers.map(owned),
            allowed_models: models.map(owned),
            denied_models: owned(denied),
        },
    )
}

proptest! {
    /// No configuration and no selector leads to a target that is disabled or that the key's lists deny.
    #[test]
    fn a_plan_keeps_every_rule(
        places in proptest::collection::vec(some_place(), 1..4),
        lists in some_lists(),
        model in proptest::sample::select(vec!["m", "n", "openai/m", "a/n", "a/openai/m", "groq/m", "b/x", "x", "c/x"]),
    ) {
        let snapshot = with_routes(compile(&places));
        let principal = limited(lists.clone());
        match planned(&snapshot, &principal, &json!({"model": model, "messages": [1]})) {
            Err(fault) => prop_assert!([403, 404].contains(&fault.status)),
            Ok(plan) => {
                prop_assert!(!plan.deployments.is_empty());
                for deployment in &plan.deployments {
                    let target = &deployment.target;
                    prop_assert!(snapshot.routes.instances[&*target.instance].provider.enabled);
                    prop_assert_eq!(deployment.judge(&lists, false), Verdict::Allowed);
                    prop_assert!(model.ends_with(&*target.model));
                }
                // The name of an instance leads to that instance, or to one that lists the whole text as a model.
                if let Some((prefix, _)) = model.split_once('/')
                    && snapshot.routes.instances.contains_key(prefix)
                {
                    prop_assert!(plan.deployments.iter().all(|deployment| &*deployment.target.instance == prefix || &*deployment.target.model == model));
                }
            }
        }
    }
}
