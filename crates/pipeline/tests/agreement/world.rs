//! A random configuration: instances, pools, combos, aliases, overrides, keys, settings, health.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use domain::access::AccessLists;
use domain::clock::Timestamp;
use domain::principal::KeyFacts;
use domain::resources::alias::Alias;
use domain::resources::auth_key;
use domain::resources::combo::Combo;
use domain::resources::guardrail::Guardrail;
use domain::resources::model_override::ModelOverride;
use domain::resources::pool::Pool;
use domain::resources::provider::{Provider, ProviderSource};
use domain::resources::workflow::{
    GuardrailStep, RoutingOptions, Workflow, WorkflowActivation, WorkflowFeatures, WorkflowPayload,
    WorkflowScope,
};
use domain::scope::{Action, Scope};
use domain::secret::Secret;
use domain::strategy::Strategy;
use domain::user_path::UserPath;
use egress::Trust;
use pipeline::gateway::Gateway;
use pipeline::guardrails::CompiledGuardrail;
use pipeline::policy::{
    CachePolicy, Fallback, FallbackMode, Policy, PromptCacheMode, Retries, SemanticMode, SemanticPolicy,
};
use pipeline::routing::health::Admission;
use pipeline::routing::inventory::{Listing, Model};
use pipeline::routing::names::{Names, PreviousNames};
use pipeline::routing::routes::{self, Routes};
use pipeline::snapshot::Snapshot;
use pipeline::snapshot::guardrails::Guardrails;
use pipeline::snapshot::keys::Keys;
use pipeline::snapshot::workflows::Workflows;
use serde_json::json;

use crate::ground::{Ground, NOW, TICK};
use crate::luck::Luck;

pub const MASTER: &str = "the-master-key";
pub const KEY: &str = "the-managed-key";
pub const KEY_ID: &str = "key_1";
/// A header that every instance sends, so that the upstream's log shows which one was called.
pub const INSTANCE: &str = "x-instance";

const NAMES: [&str; 6] = ["a", "b", "c", "openai", "anthropic", "groq"];
const TYPES: [&str; 10] = [
    "openai",
    "openai",
    "anthropic",
    "gemini",
    "groq",
    "ollama",
    "azure",
    "jina",
    "openai_compatible",
    "demo",
];
/// The upstream's behaviour depends on the name of the model.
pub const MODELS: [&str; 18] = [
    "text",
    "long-3",
    "reasoning",
    "gpt-4o",
    "gpt-4o-mini",
    "claude-sonnet-4-5",
    "openai/text",
    "error-500",
    "error-503",
    "error-529",
    "error-429-7",
    "error-404",
    "error-400",
    "unauthorized",
    "html",
    "bad-json",
    "error-in-stream",
    "empty-body",
];
const PATHS: [&str; 4] = ["/team", "/team/one", "/other", "/"];

pub struct World {
    pub gateway: Arc<Gateway>,
    /// The selectors that a request could name.
    pub selectors: Vec<String>,
    pub instances: Vec<String>,
    /// Calls in flight elsewhere.
    _under_way: Vec<Admission>,
}

pub fn draw(luck: &mut Luck, ground: &Ground) -> World {
    let mut providers = Vec::new();
    let mut listings = HashMap::new();
    for name in luck.mixed(&NAMES.map(str::to_owned), 2) {
        let provider = instance(luck, &name, ground);
        if luck.percent(70) {
            let model = |id: &&str| Model { id: (*id).to_owned(), created: None, owned_by: None };
            let models = luck.some(&MODELS, 65).iter().map(model).collect();
            listings.insert(name, Listing { known: true, models, ..Listing::default() });
        }
        providers.push((provider, ProviderSource::Env));
    }
    let instances: Vec<String> = providers.iter().map(|(provider, _)| provider.name.clone()).collect();
    let mut selectors = simple(luck, &instances, &listings);
    let names = names(luck, &instances, &mut selectors);
    let overrides = overrides(luck, &instances);
    let gateway = ground.gateway(policy(luck, &selectors));
    let ground = routes::CompileInputs {
        listings: &listings,
        overrides: &overrides,
        prices: Arc::default(),
        egress: &ground.egress,
        trust: &|_| Trust::Operator,
        metrics: &gateway.metrics,
        health: &gateway.target_health,
        owner: &|_| None,
    };
    let mut routes = routes::compile(&providers, &ground);
    routes.names = names;
    let guardrails = Guardrails::new(GUARDRAILS.clone());
    let workflows = workflows(luck, &instances, &guardrails);
    let under_way = health(luck, &routes);
    let mut keys = Keys::default();
    let pools: Vec<String> = routes.names.pools.keys().cloned().collect();
    keys.apply([(KEY_ID.to_owned(), vec![key(luck, &instances, &pools)])]);
    gateway.snapshot.store(Arc::new(Snapshot {
        revision: 1,
        compiled_at: Default::default(),
        master: auth_key::digest(MASTER),
        keys,
        identities: Default::default(),
        routes: Arc::new(routes),
        guardrails: Arc::new(guardrails),
        workflows: Arc::new(workflows),
        document_errors: Default::default(),
        tenant_views: Default::default(),
    }));
    World { gateway, selectors, instances, _under_way: under_way }
}

fn instance(luck: &mut Luck, name: &str, ground: &Ground) -> Provider {
    let provider_type = luck.one(&TYPES);
    let host = if luck.percent(88) {
        format!("http://{}", ground.upstream.address())
    } else {
        ground.closed.clone()
    };
    let base_url = match provider_type {
        _ if luck.percent(4) => "nonsense://nowhere".to_owned(),
        "gemini" => format!("{host}/v1beta"),
        "azure" => host,
        "ollama" => format!("{host}/ollama/v1"),
        _ => format!("{host}/v1"),
    };
    let models = if luck.percent(40) { luck.some(&MODELS.map(str::to_owned), 40) } else { Vec::new() };
    Provider {
        name: name.to_owned(),
        provider_type: provider_type.to_owned(),
        api_key: Some(Secret::new("sk-upstream-secret-7890".to_owned())),
        base_url,
        api_version: String::new(),
        models,
        headers: BTreeMap::from([(INSTANCE.to_owned(), name.to_owned())]),
        enabled: luck.percent(94),
        priority: luck.between(0, 2) as i64,
        resilience: Default::default(),
    }
}

/// Bare ids, models of instances and types, and selectors that lead nowhere.
fn simple(luck: &mut Luck, instances: &[String], listings: &HashMap<String, Listing>) -> Vec<String> {
    let mut selectors: Vec<String> = luck.some(&MODELS, 30).iter().map(|model| (*model).to_owned()).collect();
    for instance in instances {
        let listed = listings.get(instance).map(|listing| &listing.models[..]).unwrap_or_default();
        selectors.extend(luck.some(listed, 20).iter().map(|model| format!("{instance}/{}", model.id)));
        selectors.push(format!("{instance}/{}", luck.one(&MODELS)));
    }
    selectors.push(format!("{}/{}", luck.one(&TYPES), luck.one(&MODELS)));
    selectors.push("demo-chat".to_owned());
    if luck.percent(20) {
        selectors.push("nowhere/at-all".to_owned());
    }
    selectors
}

fn weights(luck: &mut Luck, of: &[String]) -> BTreeMap<String, f64> {
    let weighted = luck.some(of, 50);
    weighted.into_iter().map(|name| (name, luck.between(0, 30) as f64 / 10.0)).collect()
}

fn strategy(luck: &mut Luck) -> Strategy {
    Strategy::ALL[luck.between(0, Strategy::ALL.len() as u64 - 1) as usize]
}

fn names(luck: &mut Luck, instances: &[String], selectors: &mut Vec<String>) -> Names {
    let mut pools = Vec::new();
    for name in luck.some(&["pool-x", "pool-y"], 80) {
        let members = luck.mixed(instances, 2);
        let weights = weights(luck, &members);
        let (strategy, health_aware) = (strategy(luck), luck.percent(70));
        pools.push(Pool {
            name: name.to_owned(),
            description: String::new(),
            members,
            strategy,
            weights,
            health_aware,
        });
        selectors.push(name.to_owned());
        selectors.push(format!("{name}/{}", luck.one(&MODELS)));
    }
    let direct = selectors.clone();
    let mut aliases = Vec::new();
    let mut alias = |luck: &mut Luck, name: &str, of: &[String]| {
        let target = luck.name(of);
        aliases.push(Alias { name: name.to_owned(), target, description: String::new() });
    };
    alias(luck, "nick", &direct);
    selectors.push("nick".to_owned());
    let mut combos = Vec::new();
    for name in luck.some(&["combo-x", "combo/y"], 80) {
        let members = luck.mixed(selectors, 2);
        let weights = weights(luck, &members);
        combos.push(Combo {
            name: name.to_owned(),
            description: String::new(),
            selectors: members,
            strategy: strategy(luck),
            weights,
        });
    }
    // A combo holds no combos: its members were drawn before these names are added.
    selectors.extend(combos.iter().map(|combo| combo.name.clone()));
    alias(luck, "nick/name", selectors);
    selectors.push("nick/name".to_owned());
    Names::compile(pools, combos, aliases, &PreviousNames::of_default(&Names::default()))
}

fn overrides(luck: &mut Luck, instances: &[String]) -> BTreeMap<String, ModelOverride> {
    let mut overrides = BTreeMap::new();
    for _ in 0..luck.between(0, 3) {
        let place = if luck.percent(70) { luck.name(instances) } else { luck.one(&TYPES).to_owned() };
        let selector = format!("{place}/{}", luck.one(&MODELS));
        let mut found = ModelOverride {
            selector: selector.clone(),
            enabled: luck.percent(60),
            user_paths: luck.some(&PATHS.map(str::to_owned), 25),
            metadata: Default::default(),
        };
        found.metadata.max_output_tokens = luck.percent(40).then_some(64);
        overrides.insert(selector, found);
    }
    overrides
}

fn policy(luck: &mut Luck, selectors: &[String]) -> Policy {
    use PromptCacheMode::{Auto, Manual, Off};
    let mode = [
        FallbackMode::Off,
        FallbackMode::Manual,
        FallbackMode::Manual,
        FallbackMode::Auto,
        FallbackMode::Auto,
    ][luck.between(0, 4) as usize];
    let rules = (0..luck.between(0, 2)).map(|_| (luck.name(selectors), luck.mixed(selectors, 1))).collect();
    Policy {
        fallback: Fallback { mode, rules },
        retries: Retries { max: 0, ..Retries::default() },
        strict_translation: luck.percent(10),
        resume_streams: luck.percent(20),
        models_enabled_by_default: luck.percent(95),
        cache: CachePolicy {
            enabled: luck.percent(50),
            semantic: SemanticPolicy {
                enabled: luck.percent(50),
                mode: if luck.percent(70) { SemanticMode::Serve } else { SemanticMode::Shadow },
                // Re-checks would send calls of their own while others are compared.
                recheck: 0.0,
                embedding_timeout: Duration::from_secs(10),
                ..SemanticPolicy::default()
            },
            ..CachePolicy::default()
        },
        prompt_cache: *luck.one(&[&Auto, &Auto, &Manual, &Off]),
        ..Policy::default()
    }
}

/// Guardrails of all types; the texts of calls match some of them. Compiled once.
static GUARDRAILS: LazyLock<BTreeMap<String, Arc<CompiledGuardrail>>> = LazyLock::new(|| {
    let documents = json!([
        {"name": "injection", "type": "prompt_injection", "config": {"action": "block"}},
        {"name": "instructions", "type": "system_prompt", "config": {"mode": "decorator", "content": "Obey."}},
        {"name": "length", "type": "length_limit", "config": {"max_chars": 500}},
        {"name": "personal", "type": "pii_redact", "config": {"reversible": true}},
        {"name": "sea", "type": "regex_block", "config": {"patterns": ["sea"]}},
        {"name": "you", "type": "regex_block", "config": {"patterns": ["you"], "action": "sanitize"}},
    ]);
    let documents: Vec<Guardrail> = serde_json::from_value(documents).unwrap();
    let compiled = documents.into_iter().map(|document| {
        (document.name.clone(), Arc::new(CompiledGuardrail::compile(document).ok().unwrap()))
    });
    compiled.collect()
});

fn workflows(luck: &mut Luck, instances: &[String], guardrails: &Guardrails) -> Workflows {
    let (mut versions, mut activations) = (BTreeMap::new(), BTreeMap::new());
    for _ in 0..luck.between(0, 3) {
        let provider = luck.percent(50).then(|| luck.name(instances));
        let scope = WorkflowScope {
            scope_model: provider.as_ref().filter(|_| luck.percent(50)).map(|_| luck.one(&MODELS).to_owned()),
            scope_provider_name: provider,
            scope_user_path: luck.percent(50).then(|| luck.one(&PATHS).to_owned()),
        };
        let strategy = luck.percent(50).then(|| strategy(luck));
        let features = WorkflowFeatures {
            fallback: luck.percent(50),
            cache: luck.percent(80),
            ..WorkflowFeatures::default()
        };
        let routing = Some(RoutingOptions { strategy, ..RoutingOptions::default() });
        let names: Vec<&str> = guardrails.names().collect();
        let steps = luck.some(&names, 25).into_iter();
        let steps = steps.map(|name| GuardrailStep { reference: name.to_owned(), step: 1 }).collect();
        let workflow_payload =
            WorkflowPayload { features, routing, guardrails: steps, ..WorkflowPayload::default() };
        let id = scope.key();
        let version = Workflow { id: id.clone(), scope, workflow_payload, ..Workflow::managed_default() };
        // A version that is in force and missing does not compile.
        if luck.percent(95) {
            versions.insert(id.clone(), version);
        }
        let activation = WorkflowActivation {
            scope: id.clone(),
            versions: 1,
            active: Some(id.clone()),
            guardrails: Vec::new(),
        };
        activations.insert(id, activation);
    }
    Workflows::link(&versions, &activations, guardrails, |_, _| {})
}

fn key(luck: &mut Luck, instances: &[String], pools: &[String]) -> KeyFacts {
    let patterns = |luck: &mut Luck| {
        let mut known = vec!["*".to_owned(), "text".to_owned(), "openai/*".to_owned(), "gpt-4o*".to_owned()];
        known.extend(instances.iter().map(|name| format!("{name}/*")));
        luck.mixed(&known, 1)
    };
    let mut scopes = if luck.percent(95) { vec![Scope::Inference] } else { Vec::new() };
    scopes.extend(luck.percent(30).then_some(Scope::Admin(None, Action::Write)));
    let lists = AccessLists {
        allowed_providers: luck.percent(20).then(|| luck.mixed(instances, 1)),
        allowed_models: luck.percent(20).then(|| patterns(luck)),
        denied_models: if luck.percent(15) { patterns(luck) } else { Vec::new() },
    };
    KeyFacts {
        rate_limits: Default::default(),
        id: KEY_ID.into(),
        name: "of the case".into(),
        searchable: Default::default(),
        digest: auth_key::digest(KEY),
        scopes,
        user_path: luck.percent(40).then(|| UserPath::parse(luck.one(&PATHS)).unwrap()),
        tenant_id: None,
        lists,
        provider_pool: (!pools.is_empty() && luck.percent(25)).then(|| luck.name(pools).into()),
        expires_at: luck.percent(2).then_some(Timestamp(NOW.micros() - 1)),
        active: luck.percent(98),
    }
}

/// Gives the targets a random history. Returns the calls in flight.
fn health(luck: &mut Luck, routes: &Routes) -> Vec<Admission> {
    let mut under_way = Vec::new();
    for instance in routes.instances.values() {
        let names = luck.some(&MODELS, 70);
        for deployment in names.iter().filter_map(|model| instance.deployment(model)) {
            let health = &deployment.health;
            let admitted = |at: Duration| health.admit(at).ok();
            for _ in 0..luck.between(0, 4) {
                let latency = Duration::from_millis(luck.between(1, 900));
                admitted(TICK - Duration::from_secs(200)).map(|call| call.succeeded(TICK, latency));
            }
            let failed_at = match luck.between(0, 13) {
                0 => Some(TICK - Duration::from_secs(luck.between(1, 20))),
                1 => Some(TICK - Duration::from_secs(luck.between(31, 90))),
                _ => None,
            };
            for at in failed_at.iter().flat_map(|at| [*at; 5]) {
                admitted(at).map(|call| call.failed(at, "upstream_error"));
            }
            if luck.percent(8) {
                let busy = luck.between(0, 1) == 1;
                health.cool_down(TICK, Duration::from_millis(luck.between(1, 60_000)), busy);
            }
            // Some of these hold the probe.
            let calls = luck.between(0, 2) * luck.between(0, 1);
            under_way.extend((0..calls).filter_map(|_| admitted(TICK)));
        }
    }
    under_way
}
