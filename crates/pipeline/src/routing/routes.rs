//! Routes to models: provider instances compiled from configuration, documents and the inventory.

mod access;
mod compile;
mod facts;
mod instance_request;
mod limits;
pub mod prices;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use catalog::Billable;
use domain::access::{AccessLists, Verdict};
use domain::call::{Surface, Target};
use domain::fault::FaultCode;
use domain::model::{Mode, ModelFacts, Price};
use domain::money::{Cost, Nanos};
use domain::receipt::Attempt;
use domain::resources::provider::{Provider, ProviderSource};
use domain::usage::{Tokens, Usage};
use domain::user_path::UserPath;
use egress::Destination;
use http::{HeaderMap, HeaderValue};
use wire::codec;
use wire::vendors::{self, Vendor};

use super::client_credential::ClientCredential;
use super::names::Names;
use crate::policy::PromptCacheMode;
use crate::routing::choose::Candidate;
use crate::routing::health::{Health, InstanceHealth};
use crate::services::audit::Scrubber;
use crate::services::metrics::TargetMetrics;

pub use access::Access;
use access::Overrides;
pub use compile::{CompileInputs, compile};
pub use facts::adjusted;
use instance_request::InstanceHeaders;
pub use instance_request::{Accept, InstanceRequest};
pub use limits::Limits;
use prices::{PriceKey, Prices, Tariff};

/// A provider instance, ready to be called.
pub struct Instance {
    pub provider: Provider,
    /// The tenant that the provider belongs to; `None` for the default tenant.
    pub tenant: Option<Arc<str>>,
    pub source: ProviderSource,
    pub core: Arc<InstanceConfig>,
    /// Address and path of the model list, if the vendor has one.
    pub discovery: Result<Option<(Arc<Destination>, String)>, String>,
    pub deployments: BTreeMap<Arc<str>, Arc<Deployment>>,
    /// The provider or the operator has listed the models; others do not exist.
    pub authoritative: bool,
}

/// The part of an instance that its deployments share.
pub struct InstanceConfig {
    pub vendor: &'static Vendor,
    /// The address, or the reason it cannot be used.
    pub destination: Result<Arc<Destination>, String>,
    headers: InstanceHeaders,
    /// The `api-version` query parameter, if the vendor requires one.
    pub api_version: Option<String>,
    pub limits: Limits,
    overrides: Overrides,
    prices: Arc<Prices>,
    /// An instance has the name of this one's type.
    type_is_taken: bool,
    /// The metrics that all unlisted models share.
    unlisted_metrics: Arc<TargetMetrics>,
    health: Arc<InstanceHealth>,
}

/// One model at one instance, with all data about it that is the same for every call.
pub struct Deployment {
    pub target: Target,
    pub instance: Arc<InstanceConfig>,
    /// Facts from the catalogue with overrides applied. Their price is the one in force.
    pub facts: Option<Cow<'static, ModelFacts>>,
    /// The operator's own price, if set.
    pub tariff: Option<Arc<Tariff>>,
    /// The override of the model; without one, the default setting applies.
    pub access: Option<Arc<Access>>,
    /// The response headers that do not differ from call to call, once `call::response_headers` has made them.
    pub answer_headers: Arc<OnceLock<HeaderMap>>,
    pub metrics: Arc<TargetMetrics>,
    pub health: Arc<Health>,
    pub created: Option<i64>,
    pub owned_by: Option<String>,
    /// The client's own credential, which calls to this target are made with.
    pub client_credential: Option<Arc<ClientCredential>>,
}

impl InstanceConfig {
    /// The path of an operation on a model, below the base URL.
    pub fn path(&self, surface: Surface, stream: bool, model: &str) -> Option<String> {
        self.vendor.paths.surface(surface, stream).map(|template| self.fill(template, model))
    }

    /// Whether a client's own credential may be sent to this instance.
    pub fn takes(&self, credential: &ClientCredential) -> bool {
        let destination = self.destination.as_ref();
        destination.is_ok_and(|to| credential.is_for(self.vendor.name, &to.origin(), self.vendor.base_url))
    }

    /// Fills in the model and the API version in a path template.
    pub fn fill(&self, template: &str, model: &str) -> String {
        // Most templates have no placeholder, and a byte is found faster than a text.
        let placeholder = if template.contains('{') { template.split_once("{model}") } else { None };
        let mut path = match placeholder {
            None => template.to_owned(),
            Some((before, after)) => format!("{before}{}{after}", encoded(model)),
        };
        if let Some(version) = &self.api_version {
            path.push(if path.contains('?') { '&' } else { '?' });
            path.push_str("api-version=");
            path.push_str(version);
        }
        path
    }
}

/// A model name encoded for a path. Slashes are kept, as in `publisher/model`.
fn encoded(model: &str) -> String {
    let mut path = String::with_capacity(model.len());
    for byte in model.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b':' | b'@' => {
                path.push(char::from(byte));
            }
            _ => path.push_str(&format!("%{byte:02X}")),
        }
    }
    path
}

impl Deployment {
    /// An attempt at this target, for the receipt.
    pub fn attempt(&self, status: u16, error: Option<FaultCode>, duration: Duration) -> Attempt {
        Attempt {
            provider_name: (*self.target.instance).to_owned(),
            model: (*self.target.model).to_owned(),
            status,
            error,
            duration_us: duration.as_micros() as u64,
        }
    }

    /// The target of an operation that neither streams nor generates output, such as counting tokens. Nothing is cached
    /// there.
    pub fn unstreamed_target(&self) -> codec::Target<'_> {
        let (model, vendor, prompt_cache) =
            (&self.target.model, self.instance.vendor, PromptCacheMode::Manual);
        codec::Target { model, stream: false, vendor, max_output: None, prompt_cache }
    }

    /// The same target, called with the client's own credential: for free, and without an effect on the health of the
    /// gateway's own account there.
    pub fn with_client_credential(&self, credential: &Arc<ClientCredential>) -> Arc<Self> {
        Arc::new(Self {
            target: self.target.clone(),
            instance: self.instance.clone(),
            facts: self.facts.clone(),
            tariff: None,
            access: self.access.clone(),
            answer_headers: self.answer_headers.clone(),
            metrics: self.metrics.clone(),
            health: Arc::default(),
            created: self.created,
            owned_by: self.owned_by.clone(),
            client_credential: Some(credential.clone()),
        })
    }

    pub fn price(&self) -> Option<&Price> {
        if self.client_credential.is_some() {
            return Some(LazyLock::force(&FREE));
        }
        self.facts.as_ref()?.price.as_ref()
    }

    /// The version of the operator's price; none for the catalogue's.
    pub fn pricing_version(&self) -> Option<&str> {
        self.price()?;
        self.tariff.as_ref().map(|tariff| &*tariff.version)
    }

    /// The cost of this usage, if the price is known.
    pub fn charge(&self, usage: &Usage) -> Option<Cost> {
        self.price().map(|price| charge(price, &usage.tokens, usage.images))
    }

    /// The cost that the prompt cache of the provider saved, if the price is known and it was used.
    pub fn prompt_cache_savings(&self, usage: &Usage) -> Option<Nanos> {
        catalog::prompt_cache_savings(self.price()?, &usage.tokens)
    }

    /// The mode from the catalogue, else guessed from the model's name.
    pub fn mode(&self) -> Mode {
        self.facts.as_ref().map_or_else(|| catalog::likely_mode(&self.target.model), |facts| facts.mode)
    }

    pub fn family(&self) -> Option<&'static str> {
        catalog::family(&self.target.model)
    }

    /// Whether the override, or else the default, permits this user path.
    pub fn permits(&self, path: &UserPath, default_enabled: bool) -> bool {
        self.access.as_ref().map_or(default_enabled, |access| access.permits(path))
    }

    /// Checks the key's access lists. `by_name`: the call uses the name of an alias, combo or pool that the lists
    /// allow.
    pub fn judge(&self, lists: &AccessLists, by_name: bool) -> Verdict {
        let (target, is_taken) = (&self.target, self.instance.type_is_taken);
        lists.judge(&target.instance, &target.provider_type, is_taken, &target.model, by_name)
    }

    /// The cost in US dollars as a decimal number without exponent.
    pub fn cost_header(&self, usage: &Usage) -> Option<HeaderValue> {
        let priced = || self.charge(usage).map(Cost::total);
        let reported = usage.reported_cost.filter(|_| self.client_credential.is_none());
        let nanos = reported.or_else(priced)?;
        HeaderValue::from_str(&nanos.decimal()).ok()
    }
}

/// The price of calls with the client's own credential.
static FREE: LazyLock<Price> = LazyLock::new(Price::default);

/// The prices of a model.
pub struct Pricing {
    pub effective: Option<Price>,
    pub base: Option<&'static Price>,
    pub tariff: Option<Arc<Tariff>>,
}

impl Pricing {
    /// The cost of this usage, and the version of the price unless it is the catalogue's.
    pub fn charge(&self, tokens: &Tokens, images: u64) -> Option<(Cost, Option<&str>)> {
        let price = self.effective.as_ref()?;
        Some((charge(price, tokens, images), self.tariff.as_ref().map(|tariff| &*tariff.version)))
    }

    /// The cost that the prompt cache of the provider saved.
    pub fn prompt_cache_savings(&self, tokens: &Tokens) -> Option<Nanos> {
        catalog::prompt_cache_savings(self.effective.as_ref()?, tokens)
    }
}

/// The cost of this usage. Without a token or an image there is no charge, not even a flat one.
fn charge(price: &Price, tokens: &Tokens, images: u64) -> Cost {
    match (tokens.total(), images) {
        (0, 0) => Cost::default(),
        (_, 0) => catalog::cost(price, tokens),
        _ => catalog::cost_of(price, &Billable { tokens: *tokens, images, ..Billable::default() }),
    }
}

impl Candidate for Arc<Deployment> {
    fn health(&self) -> &Health {
        &self.health
    }

    fn cost(&self, input_tokens: u64, output_tokens: u64) -> Option<i64> {
        let tokens = Tokens { input: input_tokens, output: output_tokens, ..Tokens::default() };
        self.price().map(|price| catalog::cost(price, &tokens).total().0)
    }

    fn is_target(&self, target: &Target) -> bool {
        self.target == *target
    }

    fn saves_cached_input(&self) -> bool {
        self.price().is_none_or(|price| price.cache_read.is_some_and(|rate| rate < price.input))
    }
}

impl Instance {
    /// Whether the instance is enabled and can be called.
    pub fn is_usable(&self) -> bool {
        self.provider.enabled && (self.core.destination.is_ok() || self.core.vendor.answer.is_some())
    }

    pub fn name(&self) -> &str {
        &self.provider.name
    }

    /// The key of its live state.
    pub fn state_key(&self) -> Cow<'_, str> {
        state_key(self.tenant.as_deref(), self.name())
    }

    /// The deployment for a passthrough call, including unlisted models and calls without a model.
    pub fn passthrough_deployment(&self, model: &str) -> Arc<Deployment> {
        let unlisted = || Arc::new(compile::unlisted(&self.provider, &self.core, model));
        self.deployments.get(model).cloned().unwrap_or_else(unlisted)
    }

    /// Whether some of its models are denied to this user path.
    pub fn restricts(&self, path: &UserPath) -> bool {
        self.core.overrides.restrict(path)
    }

    /// The health of all listed models, and of unlisted ones that were called.
    pub fn health(&self) -> Vec<(String, Arc<Health>)> {
        let listed = self
            .deployments
            .values()
            .map(|deployment| (deployment.target.model.to_string(), deployment.health.clone()));
        let mut all: Vec<_> = listed.chain(self.core.health.unlisted_models()).collect();
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all
    }

    /// The default model: the first one configured, else the vendor's first, else the only one.
    pub fn own_model(&self) -> Option<Arc<Deployment>> {
        let named = self.provider.models.first().map(String::as_str);
        let first = named.or(self.core.vendor.models.first().copied());
        match first {
            Some(model) => self.deployment(model),
            None if self.deployments.len() == 1 => self.deployments.values().next().cloned(),
            None => None,
        }
    }

    /// The deployment for a model. Unlisted models are accepted only while the list of models is not known.
    pub fn deployment(&self, model: &str) -> Option<Arc<Deployment>> {
        if let Some(deployment) = self.deployments.get(model) {
            return Some(deployment.clone());
        }
        let open = !self.authoritative && !model.is_empty() && model.len() <= LONGEST_NAME;
        open.then(|| Arc::new(compile::unlisted(&self.provider, &self.core, model)))
    }
}

/// The key of the live state of a provider, which outlives the routes: health, metrics and the list of its models.
/// Providers of several tenants may have the same name; no name contains a slash.
pub fn state_key<'a>(tenant: Option<&str>, name: &'a str) -> Cow<'a, str> {
    match tenant {
        None => Cow::Borrowed(name),
        Some(tenant) => Cow::Owned(format!("{tenant}/{name}")),
    }
}

/// The longest name for which suggestions are searched.
const LONGEST_SLIP: usize = 80;

/// The longest accepted model name.
const LONGEST_NAME: usize = 300;

#[derive(Default)]
pub struct Routes {
    pub instances: BTreeMap<String, Arc<Instance>>,
    /// Enabled instances, in order of priority, then name.
    by_type: HashMap<String, Vec<Arc<Instance>>>,
    by_model: HashMap<Arc<str>, Vec<Arc<Deployment>>>,
    /// Instances whose list of models is not known.
    unlisted: Vec<Arc<Instance>>,
    /// Pools, combos and aliases.
    pub names: Names,
    pub prices: Arc<Prices>,
    /// Masks the secrets of this configuration.
    pub scrubber: Arc<Scrubber>,
}

impl Routes {
    /// The instance of that name if enabled, else the enabled instances of that type.
    pub fn instances_named(&self, name: &str) -> Vec<Arc<Instance>> {
        match self.instances.get(name) {
            Some(instance) if instance.provider.enabled => vec![instance.clone()],
            Some(_) => Vec::new(),
            None => self.by_type.get(name).cloned().unwrap_or_default(),
        }
    }

    /// Whether an instance, enabled or not, has this name or type.
    pub fn has_provider(&self, name: &str) -> bool {
        self.instances.contains_key(name)
            || self.instances.values().any(|instance| instance.provider.provider_type == name)
    }

    /// The prices of a model at an instance, which may no longer exist: the effective, the catalogue's and the
    /// operator's.
    pub fn pricing(&self, instance: &str, provider_type: &str, model: &str) -> Pricing {
        let type_is_taken = self.instances.contains_key(provider_type);
        let tariff = self.prices.find(PriceKey { instance, provider_type, type_is_taken, model }).cloned();
        let base = prices::base(provider_type, model);
        let effective = match &tariff {
            Some(tariff) => tariff.price.over(base),
            None => base.cloned(),
        };
        Pricing { effective, base, tariff }
    }

    /// The deployments that list this model id, in order of priority.
    pub fn listing(&self, model: &str) -> Vec<Arc<Deployment>> {
        self.by_model.get(model).cloned().unwrap_or_default()
    }

    /// The deployments that serve this model id, in order of priority. If none lists it and exactly one instance has an
    /// unknown list of models, that instance is tried.
    pub fn serving(&self, model: &str) -> Vec<Arc<Deployment>> {
        if let Some(deployments) = self.by_model.get(model) {
            return deployments.clone();
        }
        // A model of a built-in vendor is never sent to another provider.
        let prefix = model.split_once('/').and_then(|(prefix, _)| vendors::find(prefix));
        let built_in = prefix.is_some_and(|vendor| vendor.answer.is_some());
        match self.unlisted.as_slice() {
            [instance] if !built_in => instance.deployment(model).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Up to three usable names that are similar to an unknown one.
    pub fn nearest(
        &self,
        model: &str,
        usable: &dyn Fn(&Deployment) -> bool,
        usable_name: &dyn Fn(&str) -> bool,
    ) -> Vec<String> {
        // Edit distance costs the product of both lengths, so long texts and large differences in length are ruled out
        // first.
        if model.len() > LONGEST_SLIP {
            return Vec::new();
        }
        let bare = model.rsplit('/').next().unwrap_or(model);
        let bound = bare.chars().count().max(4) / 2;
        let distance = |text: &str, name: &str| {
            let near = text.len().abs_diff(name.len()) <= bound;
            near.then(|| strsim::damerau_levenshtein(text, name)).filter(|distance| *distance <= bound)
        };
        let models = self.deployments().filter_map(|deployment| {
            let distance = distance(bare, &deployment.target.model)?;
            usable(deployment).then(|| (distance, deployment.target.selector()))
        });
        let names = self.names.all().filter_map(|name| {
            let distance = distance(model, name)?;
            usable_name(name).then(|| (distance, name.to_owned()))
        });
        let mut scored: Vec<(usize, String)> = models.chain(names).collect();
        scored.sort();
        scored.into_iter().take(3).map(|(_, name)| name).collect()
    }

    /// All deployments of enabled instances, in order of priority.
    pub fn deployments_by_priority(&self) -> impl Iterator<Item = &Arc<Deployment>> {
        let mut instances: Vec<_> =
            self.instances.values().filter(|instance| instance.provider.enabled).collect();
        instances.sort_by_key(|instance| instance.provider.priority);
        instances.into_iter().flat_map(|instance| instance.deployments.values())
    }

    pub fn deployments(&self) -> impl Iterator<Item = &Arc<Deployment>> {
        self.instances
            .values()
            .filter(|instance| instance.provider.enabled)
            .flat_map(|instance| instance.deployments.values())
    }
}
