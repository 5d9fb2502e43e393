//! Hand-made snapshots.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use domain::access::AccessLists;
use domain::clock::Timestamp;
use domain::principal::KeyFacts;
use domain::resources::auth_key;
use domain::resources::model_override::ModelOverride;
use domain::resources::provider::{Provider, ProviderSource};
use domain::scope::Scope;
use egress::{Egress, EgressConfig, Trust};
use pipeline::routing::inventory::{Listing, Model};
use pipeline::routing::routes::prices::Prices;
use pipeline::routing::routes::{self, CompileInputs, Routes};
use pipeline::snapshot::Snapshot;
use pipeline::snapshot::keys::Keys;
use testkit::SystemClock;
use tokio_util::task::TaskTracker;

pub const MASTER: &str = "the-master-key";
pub const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

pub fn key(raw: &str) -> KeyFacts {
    KeyFacts {
        rate_limits: Default::default(),
        id: format!("key_{raw}").into(),
        name: raw.into(),
        searchable: Default::default(),
        digest: auth_key::digest(raw),
        scopes: vec![Scope::Inference],
        user_path: None,
        tenant_id: None,
        lists: AccessLists::default(),
        provider_pool: None,
        expires_at: None,
        active: true,
    }
}

pub fn with_keys(facts: Vec<KeyFacts>) -> Snapshot {
    let mut keys = Keys::default();
    keys.apply(facts.into_iter().map(|facts| (facts.id.to_string(), vec![facts])));
    Snapshot { keys, ..with_routes(Routes::default()) }
}

pub fn with_routes(routes: Routes) -> Snapshot {
    Snapshot {
        revision: 1,
        compiled_at: Default::default(),
        master: auth_key::digest(MASTER),
        keys: Keys::default(),
        identities: Default::default(),
        routes: Arc::new(routes),
        guardrails: Default::default(),
        workflows: Default::default(),
        document_errors: Default::default(),
        tenant_views: Default::default(),
    }
}

/// An instance and the models that it lists; `None` if it has not been asked.
#[derive(Debug)]
pub struct ListedInstance {
    pub provider: Provider,
    pub listed: Option<Vec<&'static str>>,
}

pub fn place(name: &str, provider_type: &str, listed: Option<&[&'static str]>) -> ListedInstance {
    let provider = Provider {
        name: name.into(),
        provider_type: provider_type.into(),
        api_key: None,
        base_url: "https://upstream.example/v1".into(),
        api_version: String::new(),
        models: Vec::new(),
        headers: Default::default(),
        enabled: true,
        priority: 0,
        resilience: Default::default(),
    };
    ListedInstance { provider, listed: listed.map(<[_]>::to_vec) }
}

impl ListedInstance {
    pub fn priority(mut self, priority: i64) -> Self {
        self.provider.priority = priority;
        self
    }

    pub fn disabled(mut self) -> Self {
        self.provider.enabled = false;
        self
    }
}

pub fn compile(places: &[ListedInstance]) -> Routes {
    compile_with(places, &BTreeMap::new())
}

pub fn compile_with(places: &[ListedInstance], overrides: &BTreeMap<String, ModelOverride>) -> Routes {
    compile_at(places, overrides, Arc::default())
}

pub fn compile_at(
    places: &[ListedInstance],
    overrides: &BTreeMap<String, ModelOverride>,
    prices: Arc<Prices>,
) -> Routes {
    static EGRESS: LazyLock<Egress> = LazyLock::new(|| {
        Egress::new(EgressConfig::default(), Arc::new(SystemClock::new()), TaskTracker::new()).unwrap()
    });
    let providers: Vec<_> =
        places.iter().map(|place| (place.provider.clone(), ProviderSource::Env)).collect();
    let model = |id: &&str| Model { id: (*id).to_owned(), created: None, owned_by: None };
    let listings: HashMap<String, Listing> = places
        .iter()
        .filter_map(|place| Some((place.provider.name.clone(), place.listed.as_ref()?)))
        .map(|(name, models)| {
            (name, Listing { known: true, models: models.iter().map(model).collect(), ..Listing::default() })
        })
        .collect();
    let ground = CompileInputs {
        listings: &listings,
        overrides,
        prices,
        egress: &EGRESS,
        trust: &|_| Trust::Operator,
        metrics: &Default::default(),
        health: &Default::default(),
        owner: &|_| None,
    };
    routes::compile(&providers, &ground)
}
