//! Where models live: provider instances compiled from configuration, documents and the inventory.

mod access;
mod compile;
mod facts;
mod limits;
pub mod prices;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use catalog::Billable;
use domain::access::{AccessLists, Verdict};
use domain::call::{Surface, Target};
use domain::model::{Mode, ModelFacts, Price};
use domain::money::Cost;
use domain::receipt::Attempt;
use domain::resources::provider::{Provider, Source};
use domain::usage::{Tokens, Usage};
use domain::user_path::UserPath;
use egress::{Destination, Headers};
use http::HeaderValue;
use wire::vendors::{self, Vendor};

use super::names::Names;
use crate::audit::Scrubber;
use crate::choose::Candidate;
use crate::gateway::Policy;
use crate::health::Health;
use crate::metrics::Live;

pub use access::Access;
use access::Overrides;
pub use compile::{Ground, compile};
pub use facts::adjusted;
pub use limits::Limits;
use prices::{Prices, Tariff, Whose};

/// A provider instance, ready to be called.
pub struct Instance {
    pub provider: Provider,
    pub source: Source,
    pub core: Arc<Core>,
    /// Where to ask for models, if the vendor can be asked: an address and a path below it.
    pub discovery: Result<Option<(Arc<Destination>, String)>, String>,
    pub lanes: BTreeMap<Arc<str>, Arc<Lane>>,
    /// The provider itself or the operator said which models there are: others do not exist.
    pub authoritative: bool,
}

/// The part of an instance that its lanes need.
pub struct Core {
    pub vendor: &'static Vendor,
    /// Or the reason why it cannot be dialled.
    pub destination: Result<Arc<Destination>, String>,
    /// Credential and fixed headers, ready to be sent, for whole answers and for streams.
    pub headers: Headers,
    pub stream_headers: Headers,
    /// The query `api-version`, where the vendor wants one.
    pub api_version: Option<String>,
    pub limits: Limits,
    overrides: Overrides,
    prices: Arc<Prices>,
    /// Some instance is named like this one's type.
    type_is_taken: bool,
    other: Arc<Live>,
}

/// One model at one instance, with everything about it that is the same for each call.
pub struct Lane {
    pub target: Target,
    pub instance: Arc<Core>,
    /// The catalogue's, or those with an override's laid over them. Their price is the one in force.
    pub facts: Option<Cow<'static, ModelFacts>>,
    /// The operator's own price, where there is one.
    pub tariff: Option<Arc<Tariff>>,
    /// What an override says; without one, the setting decides.
    pub access: Option<Arc<Access>>,
    pub provider_header: HeaderValue,
    pub model_header: HeaderValue,
    pub live: Arc<Live>,
    pub health: Arc<Health>,
    pub created: Option<i64>,
    pub owned_by: Option<String>,
}

impl Core {
    /// Where an operation on a model is served, below the base URL.
    pub fn path(&self, surface: Surface, stream: bool, model: &str) -> Option<String> {
        self.vendor.paths.surface(surface, stream).map(|template| self.fill(template, model))
    }

    /// A path with the model and the version in their places.
    pub fn fill(&self, template: &str, model: &str) -> String {
        let mut path = match template.split_once("{model}") {
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

/// A model's name as a segment of a path; slashes in it stay, as `publisher/model` is written.
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

impl Lane {
    /// One try at this target.
    pub fn attempt(&self, status: u16, error: Option<String>, duration: Duration) -> Attempt {
        Attempt {
            provider_name: self.target.instance.to_string(),
            model: self.target.model.to_string(),
            status,
            error,
            duration_us: duration.as_micros() as u64,
        }
    }

    pub fn price(&self) -> Option<&Price> {
        self.facts.as_ref()?.price.as_ref()
    }

    /// Which price that is, when it is not the catalogue's.
    pub fn pricing_version(&self) -> Option<&str> {
        self.price()?;
        self.tariff.as_ref().map(|tariff| &*tariff.version)
    }

    /// What consuming so much costs here, if that is known.
    pub fn charge(&self, usage: &Usage) -> Option<Cost> {
        self.price().map(|price| charge(price, &usage.tokens, usage.images))
    }

    /// As the catalogue says, else as its name suggests.
    pub fn mode(&self) -> Mode {
        self.facts.as_ref().map_or_else(|| catalog::likely_mode(&self.target.model), |facts| facts.mode)
    }

    pub fn family(&self) -> Option<&'static str> {
        catalog::family(&self.target.model)
    }

    /// Whether an override, or else the setting, lets this part of the tree use it.
    pub fn permits(&self, path: &UserPath, default_enabled: bool) -> bool {
        self.access.as_ref().map_or(default_enabled, |access| access.permits(path))
    }

    pub fn first_event_timeout(&self, policy: &Policy) -> Duration {
        self.instance.limits.first_byte.unwrap_or(policy.first_event_timeout)
    }

    pub fn idle_timeout(&self, policy: &Policy) -> Duration {
        self.instance.limits.idle.unwrap_or(policy.stream_idle_timeout)
    }

    pub fn total_timeout(&self, policy: &Policy) -> Duration {
        self.instance.limits.total.unwrap_or(policy.request_timeout)
    }

    /// `by_name`: the call was made by the name of an alias, combo or pool that the lists allow.
    pub fn judge(&self, lists: &AccessLists, by_name: bool) -> Verdict {
        let (target, is_taken) = (&self.target, self.instance.type_is_taken);
        lists.judge(&target.instance, &target.provider_type, is_taken, &target.model, by_name)
    }

    /// Decimal USD, without an exponent.
    pub fn cost_header(&self, usage: &Usage) -> Option<HeaderValue> {
        let priced = || self.charge(usage).map(Cost::total);
        let nanos = usage.reported_cost.or_else(priced)?;
        HeaderValue::from_str(&format!("{}.{:09}", nanos.0 / 1_000_000_000, nanos.0 % 1_000_000_000)).ok()
    }
}

/// What is known of a model's price.
pub struct Pricing {
    pub effective: Option<Price>,
    pub base: Option<&'static Price>,
    pub tariff: Option<Arc<Tariff>>,
}

impl Pricing {
    /// What consuming so much costs, and by which price, when it is not the catalogue's.
    pub fn charge(&self, tokens: &Tokens, images: u64) -> Option<(Cost, Option<&str>)> {
        let price = self.effective.as_ref()?;
        Some((charge(price, tokens, images), self.tariff.as_ref().map(|tariff| &*tariff.version)))
    }
}

/// Providers do not bill what they did not do: without a token or a picture there is no charge, not even a flat one.
fn charge(price: &Price, tokens: &Tokens, images: u64) -> Cost {
    match (tokens.total(), images) {
        (0, 0) => Cost::default(),
        (_, 0) => catalog::cost(price, tokens),
        _ => catalog::cost_of(price, &Billable { tokens: *tokens, images, ..Billable::default() }),
    }
}

impl Candidate for Arc<Lane> {
    fn health(&self) -> &Health {
        &self.health
    }

    fn cost(&self, input_tokens: u64, output_tokens: u64) -> Option<i64> {
        let tokens = Tokens { input: input_tokens, output: output_tokens, ..Tokens::default() };
        self.price().map(|price| catalog::cost(price, &tokens).total().0)
    }
}

impl Instance {
    /// It can be called as it is configured.
    pub fn is_usable(&self) -> bool {
        self.provider.enabled && (self.core.destination.is_ok() || self.core.vendor.answer.is_some())
    }

    pub fn name(&self) -> &str {
        &self.provider.name
    }

    /// The lane for a call that is passed on unread: of a model that nobody lists, or of none.
    pub fn passing_lane(&self, model: &str) -> Arc<Lane> {
        let unlisted = || Arc::new(compile::unlisted(&self.provider, &self.core, model));
        self.lanes.get(model).cloned().unwrap_or_else(unlisted)
    }

    /// Some of its models are not for callers of this path.
    pub fn restricts(&self, path: &UserPath) -> bool {
        self.core.overrides.restrict(path)
    }

    /// Every model that was ever asked of it, or might be, and how it is doing.
    pub fn health(&self) -> Vec<(String, Arc<Health>)> {
        let listed = self.lanes.values().map(|lane| (lane.target.model.to_string(), lane.health.clone()));
        let mut all: Vec<_> = listed.chain(self.core.other.strangers()).collect();
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all
    }

    /// What it serves when nobody says which model: the first that its operator named, or the only one it has.
    pub fn own_model(&self) -> Option<Arc<Lane>> {
        let named = self.provider.models.first().map(String::as_str);
        let first = named.or(self.core.vendor.models.first().copied());
        match first {
            Some(model) => self.lane(model),
            None if self.lanes.len() == 1 => self.lanes.values().next().cloned(),
            None => None,
        }
    }

    /// The lane for a model; unlisted models pass only while nobody has said which ones there are.
    pub fn lane(&self, model: &str) -> Option<Arc<Lane>> {
        if let Some(lane) = self.lanes.get(model) {
            return Some(lane.clone());
        }
        let open = !self.authoritative && !model.is_empty() && model.len() <= LONGEST_NAME;
        open.then(|| Arc::new(compile::unlisted(&self.provider, &self.core, model)))
    }
}

/// The longest text that is taken for a name with a slip in it.
const LONGEST_SLIP: usize = 80;

/// The longest name of a model.
const LONGEST_NAME: usize = 300;

#[derive(Default)]
pub struct Routes {
    pub instances: BTreeMap<String, Arc<Instance>>,
    /// In order of priority, then name.
    by_type: HashMap<String, Vec<Arc<Instance>>>,
    by_model: HashMap<Arc<str>, Vec<Arc<Lane>>>,
    /// Instances whose models nobody has listed yet.
    unlisted: Vec<Arc<Instance>>,
    /// Pools, combos, aliases.
    pub names: Names,
    pub prices: Arc<Prices>,
    /// Knows the secrets of this configuration.
    pub scrubber: Scrubber,
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

    /// The name or the type of an instance, enabled or not.
    pub fn knows(&self, name: &str) -> bool {
        self.instances.contains_key(name)
            || self.instances.values().any(|instance| instance.provider.provider_type == name)
    }

    /// What a model costs at an instance, also where that is gone: the price in force, the catalogue's and the operator's.
    pub fn pricing(&self, instance: &str, provider_type: &str, model: &str) -> Pricing {
        let type_is_taken = self.instances.contains_key(provider_type);
        let tariff = self.prices.find(Whose { instance, provider_type, type_is_taken, model }).cloned();
        let base = prices::base(provider_type, model);
        let effective = match &tariff {
            Some(tariff) => tariff.price.over(base),
            None => base.cloned(),
        };
        Pricing { effective, base, tariff }
    }

    /// Everyone who lists this model id, in order of priority.
    pub fn listing(&self, model: &str) -> Vec<Arc<Lane>> {
        self.by_model.get(model).cloned().unwrap_or_default()
    }

    /// Everyone who serves this model id, in order of priority. Where nobody is known to, the one instance that
    /// has not said what it serves gets the benefit of the doubt.
    pub fn serving(&self, model: &str) -> Vec<Arc<Lane>> {
        if let Some(lanes) = self.by_model.get(model) {
            return lanes.clone();
        }
        // A model of the built-in kind is never somebody else's.
        let prefix = model.split_once('/').and_then(|(prefix, _)| vendors::find(prefix));
        let built_in = prefix.is_some_and(|vendor| vendor.answer.is_some());
        match self.unlisted.as_slice() {
            [instance] if !built_in => instance.lane(model).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Up to three known names that look like a name nobody knows.
    pub fn nearest(
        &self,
        model: &str,
        usable: &dyn Fn(&Lane) -> bool,
        usable_name: &dyn Fn(&str) -> bool,
    ) -> Vec<String> {
        // The distance costs the product of both lengths: long texts are no slips, and what differs much in length is not near.
        if model.len() > LONGEST_SLIP {
            return Vec::new();
        }
        let bare = model.rsplit('/').next().unwrap_or(model);
        let bound = bare.chars().count().max(4) / 2;
        let distance = |text: &str, name: &str| {
            let near = text.len().abs_diff(name.len()) <= bound;
            near.then(|| strsim::damerau_levenshtein(text, name)).filter(|distance| *distance <= bound)
        };
        let models = self.lanes().filter_map(|lane| {
            let distance = distance(bare, &lane.target.model)?;
            usable(lane).then(|| (distance, lane.target.selector()))
        });
        let names = self.names.all().filter_map(|name| {
            let distance = distance(model, name)?;
            usable_name(name).then(|| (distance, name.to_owned()))
        });
        let mut scored: Vec<(usize, String)> = models.chain(names).collect();
        scored.sort();
        scored.into_iter().take(3).map(|(_, name)| name).collect()
    }

    /// Every lane, those of preferred instances first.
    pub fn lanes_by_priority(&self) -> impl Iterator<Item = &Arc<Lane>> {
        let mut instances: Vec<_> =
            self.instances.values().filter(|instance| instance.provider.enabled).collect();
        instances.sort_by_key(|instance| instance.provider.priority);
        instances.into_iter().flat_map(|instance| instance.lanes.values())
    }

    pub fn lanes(&self) -> impl Iterator<Item = &Arc<Lane>> {
        self.instances
            .values()
            .filter(|instance| instance.provider.enabled)
            .flat_map(|instance| instance.lanes.values())
    }
}
