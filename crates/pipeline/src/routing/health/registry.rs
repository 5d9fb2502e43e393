//! The health of every target, by provider instance and model. It outlives the snapshots.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{BreakerRules, Health};

/// Number of unlisted models above which unused entries are evicted. Their names come from clients.
const MOST_UNLISTED: usize = 1000;

#[derive(Default)]
pub struct HealthRegistry(Mutex<HashMap<String, Arc<InstanceHealth>>>);

/// The health of the models of one provider instance.
#[derive(Default)]
pub struct InstanceHealth {
    listed: Mutex<HashMap<String, Arc<Health>>>,
    unlisted: Mutex<HashMap<String, Arc<Health>>>,
    /// Whether it belongs to routes that are not put in force.
    is_detached: bool,
}

impl HealthRegistry {
    /// The health of an instance's models, created on first use.
    pub fn instance(&self, provider: &str) -> Arc<InstanceHealth> {
        self.0.lock().entry(provider.to_owned()).or_default().clone()
    }

    /// Drops the health of an instance's models, after its address or credential changed.
    pub fn forget(&self, provider: &str) {
        self.0.lock().remove(provider);
    }

    /// A registry for routes that are compiled and not put in force. It shows the current health of the same targets;
    /// what it adds or forgets has no effect on this registry.
    pub fn detached(&self) -> Self {
        let instances = self.0.lock();
        let copies = instances.iter().map(|(name, health)| (name.clone(), Arc::new(health.detached())));
        Self(Mutex::new(copies.collect()))
    }
}

impl InstanceHealth {
    fn detached(&self) -> Self {
        Self {
            listed: Mutex::new(self.listed.lock().clone()),
            unlisted: Mutex::new(self.unlisted.lock().clone()),
            is_detached: true,
        }
    }

    /// Applies the rules of the circuit breaker to the health of a model. A detached registry shares that health with
    /// the routes in force, and leaves their rules.
    pub fn apply_rules(&self, health: &Health, rules: BreakerRules) {
        if !self.is_detached {
            health.settings(rules);
        }
    }

    /// The health of a listed model, created on first use. Their names come from inventories, so the set is bounded.
    pub fn listed(&self, model: &str) -> Arc<Health> {
        self.listed.lock().entry(model.to_owned()).or_default().clone()
    }

    /// The health of a model that the instance does not list.
    pub fn unlisted(&self, model: &str) -> Arc<Health> {
        let mut unlisted = self.unlisted.lock();
        if let Some(health) = unlisted.get(model) {
            return health.clone();
        }
        if unlisted.len() >= MOST_UNLISTED {
            // An entry that only the map holds is not in use by any deployment.
            unlisted.retain(|_, health| Arc::strong_count(health) > 1);
        }
        unlisted.entry(model.to_owned()).or_default().clone()
    }

    /// The unlisted models that were called, with their health.
    pub fn unlisted_models(&self) -> Vec<(String, Arc<Health>)> {
        self.unlisted.lock().iter().map(|(model, health)| (model.clone(), health.clone())).collect()
    }
}
