//! Where models live: provider instances compiled from configuration, documents and the inventory.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use domain::access::{AccessLists, Verdict};
use domain::call::Target;
use domain::model::{ModelFacts, Price};
use domain::resources::provider::{Provider, Source};
use domain::usage::Usage;
use egress::{Destination, Egress, Trust};
use http::{HeaderMap, HeaderName, HeaderValue};
use wire::vendors::{self, Credential, Vendor};

use crate::inventory::Listing;
use crate::metrics::{Live, Metrics};

/// A provider instance, ready to be called.
pub struct Instance {
    pub provider: Provider,
    pub source: Source,
    pub vendor: &'static Vendor,
    /// Or the reason why it cannot be dialled.
    pub destination: Result<Arc<Destination>, String>,
    /// Where to ask for models, if the vendor can be asked: an address and a path below it.
    pub discovery: Result<Option<(Arc<Destination>, String)>, String>,
    /// Credential and fixed headers, ready to be cloned.
    pub headers: HeaderMap,
    pub lanes: BTreeMap<Arc<str>, Arc<Lane>>,
    /// The provider itself or the operator said which models there are: others do not exist.
    pub authoritative: bool,
    core: Arc<Core>,
}

/// The part of an instance that its lanes need.
pub struct Core {
    pub vendor: &'static Vendor,
    pub destination: Result<Arc<Destination>, String>,
    pub headers: HeaderMap,
    pub chat_path: String,
    /// Some instance is named like this one's type.
    type_is_taken: bool,
    other: Arc<Live>,
}

/// One model at one instance, with everything about it that is the same for each call.
pub struct Lane {
    pub target: Target,
    pub instance: Arc<Core>,
    pub facts: Option<&'static ModelFacts>,
    pub provider_header: HeaderValue,
    pub model_header: HeaderValue,
    pub live: Arc<Live>,
    pub created: Option<i64>,
    pub owned_by: Option<String>,
}

impl Lane {
    pub fn price(&self) -> Option<&Price> {
        self.facts?.price.as_ref()
    }

    pub fn judge(&self, lists: &AccessLists) -> Verdict {
        let target = &self.target;
        lists.judge(&target.instance, &target.provider_type, self.instance.type_is_taken, &target.model)
    }

    /// Decimal USD, without an exponent.
    pub fn cost_header(&self, usage: &Usage) -> Option<HeaderValue> {
        let priced = || self.price().map(|price| catalog::cost(price, &usage.tokens).total());
        let nanos = usage.reported_cost.or_else(priced)?;
        HeaderValue::from_str(&format!("{}.{:09}", nanos.0 / 1_000_000_000, nanos.0 % 1_000_000_000)).ok()
    }
}

impl Instance {
    pub fn name(&self) -> &str {
        &self.provider.name
    }

    /// The lane for a model; unlisted models pass only while nobody has said which ones there are.
    pub fn lane(&self, model: &str) -> Option<Arc<Lane>> {
        if let Some(lane) = self.lanes.get(model) {
            return Some(lane.clone());
        }
        let open = !self.authoritative && !model.is_empty() && model.len() <= 300;
        open.then(|| Arc::new(lane(&self.provider, &self.core, model, self.core.other.clone())))
    }
}

#[derive(Default)]
pub struct Routes {
    pub instances: BTreeMap<String, Arc<Instance>>,
    /// In order of priority, then name.
    by_type: HashMap<String, Vec<Arc<Instance>>>,
    by_model: HashMap<Arc<str>, Vec<Arc<Lane>>>,
    /// Instances whose models nobody has listed yet.
    unlisted: Vec<Arc<Instance>>,
}

impl Routes {
    /// An instance of that name, else the enabled instances of that type.
    pub fn instances_named(&self, name: &str) -> Vec<Arc<Instance>> {
        match self.instances.get(name) {
            Some(instance) if instance.provider.enabled => vec![instance.clone()],
            Some(_) => Vec::new(),
            None => self.by_type.get(name).cloned().unwrap_or_default(),
        }
    }

    /// Everyone who serves this model id, in order of priority. Where nobody is known to, the one instance that
    /// has not said what it serves gets the benefit of the doubt.
    pub fn serving(&self, model: &str) -> Vec<Arc<Lane>> {
        if let Some(lanes) = self.by_model.get(model) {
            return lanes.clone();
        }
        match self.unlisted.as_slice() {
            [instance] => instance.lane(model).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Up to three known names that look like a name nobody knows.
    pub fn nearest(&self, model: &str) -> Vec<String> {
        let bare = model.rsplit('/').next().unwrap_or(model);
        let lanes = self.instances.values().filter(|instance| instance.provider.enabled).flat_map(|i| i.lanes.values());
        let mut scored: Vec<(usize, String)> = lanes
            .map(|lane| (strsim::damerau_levenshtein(bare, &lane.target.model), lane.target.selector()))
            .filter(|(distance, _)| *distance <= bare.chars().count().max(4) / 2)
            .collect();
        scored.sort();
        scored.into_iter().take(3).map(|(_, name)| name).collect()
    }

    pub fn lanes(&self) -> impl Iterator<Item = &Arc<Lane>> {
        self.instances.values().filter(|instance| instance.provider.enabled).flat_map(|instance| instance.lanes.values())
    }
}

/// Compiles the routes; live state of targets that stay is carried over.
pub fn compile(
    providers: &[(Provider, Source)],
    listings: &HashMap<String, Listing>,
    egress: &Egress,
    trust: &dyn Fn(Source) -> Trust,
    metrics: &Metrics,
) -> Routes {
    let mut routes = Routes::default();
    for (provider, source) in providers {
        let Some(vendor) = vendors::find(&provider.provider_type) else { continue };
        let type_is_taken = providers.iter().any(|(other, _)| other.name == provider.provider_type);
        let listing = listings.get(&provider.name);
        let instance = Arc::new(instance(provider, *source, vendor, type_is_taken, listing, egress, trust, metrics));
        routes.instances.insert(provider.name.clone(), instance);
    }
    let mut enabled: Vec<_> = routes.instances.values().filter(|instance| instance.provider.enabled).cloned().collect();
    enabled.sort_by_key(|instance| (instance.provider.priority, instance.provider.name.clone()));
    for instance in enabled {
        for (model, lane) in &instance.lanes {
            routes.by_model.entry(model.clone()).or_default().push(lane.clone());
        }
        if !instance.authoritative && instance.destination.is_ok() {
            routes.unlisted.push(instance.clone());
        }
        routes.by_type.entry(instance.provider.provider_type.clone()).or_default().push(instance);
    }
    routes
}

fn instance(
    provider: &Provider,
    source: Source,
    vendor: &'static Vendor,
    type_is_taken: bool,
    listing: Option<&Listing>,
    egress: &Egress,
    trust: &dyn Fn(Source) -> Trust,
    metrics: &Metrics,
) -> Instance {
    let destination = destination(provider, vendor, egress, trust(source));
    let discovery = discovery(provider, vendor, egress, trust(source));
    let headers = headers(provider, vendor);
    let chat_path = match provider.api_version.as_str() {
        "" => vendor.chat_path.to_owned(),
        version => format!("{}?api-version={version}", vendor.chat_path),
    };
    let other = metrics.live(&provider.name, "other");
    let core = Arc::new(Core { vendor, destination: destination.clone(), headers: headers.clone(), chat_path, type_is_taken, other });
    let known = listing.is_some_and(|listing| listing.known);
    let mut lanes = BTreeMap::new();
    let mut add = |model: &str, created: Option<i64>, owned_by: Option<String>| {
        let live = metrics.live(&provider.name, model);
        let lane = Lane { created, owned_by, ..lane(provider, &core, model, live) };
        lanes.insert(lane.target.model.clone(), Arc::new(lane));
    };
    vendor.models.iter().for_each(|model| add(model, None, None));
    if !known && provider.models.is_empty() {
        catalog::models(vendor.name).for_each(|(model, _)| add(model, None, None));
    }
    provider.models.iter().for_each(|model| add(model, None, None));
    for model in listing.iter().flat_map(|listing| &listing.models) {
        add(&model.id, model.created, model.owned_by.clone());
    }
    let authoritative = known || !provider.models.is_empty() || vendor.answer.is_some();
    Instance { provider: provider.clone(), source, vendor, destination, discovery, headers, lanes, authoritative, core }
}

fn lane(provider: &Provider, core: &Arc<Core>, model: &str, live: Arc<Live>) -> Lane {
    let target = Target {
        instance: provider.name.as_str().into(),
        provider_type: provider.provider_type.as_str().into(),
        model: model.into(),
    };
    let header = |text: &str| HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static("unprintable"));
    Lane {
        provider_header: header(&target.instance),
        model_header: header(&target.selector()),
        facts: catalog::facts(&provider.provider_type, model),
        target,
        instance: core.clone(),
        live,
        created: None,
        owned_by: None,
    }
}

fn destination(provider: &Provider, vendor: &Vendor, egress: &Egress, trust: Trust) -> Result<Arc<Destination>, String> {
    if vendor.answer.is_some() {
        return Err("it is built in".into());
    }
    egress.destination(base_url(provider, vendor)?, trust).map_err(|error| error.reason().to_owned())
}

fn base_url<'a>(provider: &'a Provider, vendor: &Vendor) -> Result<&'a str, String> {
    match provider.base_url.as_str() {
        "" => vendor.base_url.ok_or_else(|| "its base_url is not set".into()),
        own => Ok(own),
    }
}

/// Some vendors list their models beside the API they are called by, so the address is made on its own.
fn discovery(
    provider: &Provider,
    vendor: &Vendor,
    egress: &Egress,
    trust: Trust,
) -> Result<Option<(Arc<Destination>, String)>, String> {
    if vendor.answer.is_some() {
        return Ok(None);
    }
    let Some(url) = vendor.discovery.url(base_url(provider, vendor)?) else { return Ok(None) };
    let after_scheme = url.find("://").map_or(0, |at| at + 3);
    let path_at = url[after_scheme..].find('/').map_or(url.len(), |at| after_scheme + at);
    let destination = egress.destination(&url[..path_at], trust).map_err(|error| error.reason().to_owned())?;
    Ok(Some((destination, url[path_at..].to_owned())))
}

fn headers(provider: &Provider, vendor: &Vendor) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(http::header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.insert(http::header::USER_AGENT, HeaderValue::from_static(concat!("gatehouse/", env!("CARGO_PKG_VERSION"))));
    let fixed = vendor.headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let own = provider.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
    for (name, value) in fixed.chain(own) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
    let Some(key) = &provider.api_key else { return headers };
    let (name, value) = match vendor.credential {
        Credential::None => return headers,
        Credential::Bearer | Credential::OptionalBearer => (http::header::AUTHORIZATION, format!("Bearer {}", key.reveal())),
        Credential::Header(name) => (HeaderName::from_static(name), key.reveal().to_owned()),
    };
    if let Ok(mut value) = HeaderValue::try_from(value) {
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    headers
}
