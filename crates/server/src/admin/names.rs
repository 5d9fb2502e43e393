//! Names that a request can send as its model: checks for conflicts and resolution to targets.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::fault::{self, Fault};
use domain::resources::Resource;
use domain::resources::alias::Alias;
use domain::resources::combo::Combo;
use domain::resources::pool::Pool;
use domain::resources::provider::Provider;
use pipeline::routing::resolve;
use pipeline::routing::routes::{Deployment, Instance, Routes};
use store::StoreError;

use crate::nearest;
use crate::tenant_access::TenantAccess;

/// All names as currently stored, not as in the snapshot: a check must see the writes of other replicas.
#[derive(Clone)]
pub struct Names {
    pub routes: Arc<Routes>,
    pub pools: BTreeMap<String, Pool>,
    pub aliases: BTreeMap<String, Alias>,
    pub combos: BTreeMap<String, Combo>,
}

impl Names {
    /// The names that a tenant sees.
    pub async fn load(access: &TenantAccess<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            routes: access.snapshot().routes.clone(),
            pools: stored(access).await?,
            aliases: stored(access).await?,
            combos: stored(access).await?,
        })
    }

    /// These names as a tenant sees them: its own documents take the place of those with the same name.
    pub async fn with_own(mut self, access: &TenantAccess<'_>) -> Result<Self, StoreError> {
        self.pools.extend(own(access).await?);
        self.aliases.extend(own(access).await?);
        self.combos.extend(own(access).await?);
        Ok(self)
    }

    /// Checks that a name is not taken by another kind, so that every name is unambiguous. A record that already has
    /// the name may keep it, because the environment can add a provider of any name.
    pub fn free(&self, kind: &str, name: &str) -> Result<(), Fault> {
        let holders = [
            (Combo::KIND, "a combo", self.combos.contains_key(name)),
            (Alias::KIND, "an alias", self.aliases.contains_key(name)),
            (Pool::KIND, "a pool", self.pools.contains_key(name)),
            (Provider::KIND, "a provider", self.routes.instances.contains_key(name)),
        ];
        let holding: Vec<_> = holders.into_iter().filter(|(_, _, holds)| *holds).collect();
        match holding.first() {
            Some((_, title, _)) if holding.iter().all(|(holder, ..)| *holder != kind) => {
                Err(fault::conflict(format!("'{name}' is already the name of {title}.")).param("name"))
            }
            _ => Ok(()),
        }
    }

    /// Resolves a selector of the combo `own` to `instance/model` targets, or returns the reason why it has none.
    pub fn of_combo(&self, own: &str, selector: &str) -> Result<Vec<String>, String> {
        let is_combo = |name: &str| name == own || self.combos.contains_key(name);
        if is_combo(selector) {
            return Err(format!(
                "'{selector}' is a combo, and a combo is not made of combos. A model of that name is written 'provider/{selector}'."
            ));
        }
        match self.aliases.get(selector) {
            Some(alias) if is_combo(&alias.target) => Err(format!(
                "The alias '{selector}' leads to the combo '{}', and a combo is not made of combos.",
                alias.target
            )),
            Some(alias) => self.targets(&alias.target),
            None => self.targets(selector),
        }
    }

    /// Resolves a selector that is neither a combo nor an alias to `instance/model` targets.
    pub fn targets(&self, selector: &str) -> Result<Vec<String>, String> {
        if let Some(pool) = self.pools.get(selector) {
            let targets = members(&self.routes, pool, Instance::own_model);
            return targets.ok_or_else(|| {
                format!("No enabled member of the pool '{selector}' has a configured model: name one, as in '{selector}/model'.")
            });
        }
        if let Some((prefix, model)) = selector.split_once('/')
            && let Some(pool) = self.pools.get(prefix)
        {
            return members(&self.routes, pool, |instance| instance.deployment(model)).ok_or_else(|| {
                format!("No enabled member of the pool '{prefix}' serves '{model}'.{}", self.near(selector))
            });
        }
        let deployments = resolve::candidates(&self.routes, selector);
        if deployments.is_empty() { Err(self.lost(selector)) } else { Ok(selectors(&deployments)) }
    }

    fn lost(&self, selector: &str) -> String {
        let prefix = selector.split_once('/').map_or(selector, |(prefix, _)| prefix);
        match self.routes.instances.get(prefix) {
            Some(instance) if !instance.provider.enabled => format!("The provider '{prefix}' is disabled."),
            _ => format!("'{selector}' leads nowhere.{}", self.near(selector)),
        }
    }

    fn near(&self, selector: &str) -> String {
        let names = self.aliases.keys().chain(self.pools.keys()).chain(self.combos.keys());
        let own = nearest::nearest(selector, names.map(String::as_str)).map(str::to_owned);
        let near: Vec<String> =
            own.into_iter().chain(self.routes.nearest(selector, &|_| true, &|_| false)).take(3).collect();
        match near.as_slice() {
            [] => String::new(),
            near => format!(" Nearest: '{}'.", near.join("', '")),
        }
    }

    /// Checks that an instance exists; the fault suggests the nearest name.
    pub fn instance(&self, param: String, name: &str) -> Result<(), Fault> {
        if self.routes.instances.contains_key(name) {
            return Ok(());
        }
        let hint = nearest::hint(name, self.routes.instances.keys().map(String::as_str));
        Err(fault::invalid_parameter(param, format!("There is no provider '{name}'.{hint}")))
    }

    pub fn pool(&self, param: &str, name: &str) -> Result<(), Fault> {
        if self.pools.contains_key(name) {
            return Ok(());
        }
        let hint = nearest::hint(name, self.pools.keys().map(String::as_str));
        Err(fault::invalid_parameter(param, format!("There is no pool '{name}'.{hint}")))
    }
}

/// The targets of the enabled members that have one; `None` if there are none.
fn members(
    routes: &Routes,
    pool: &Pool,
    deployment: impl Fn(&Instance) -> Option<Arc<Deployment>>,
) -> Option<Vec<String>> {
    let instances = pool.members.iter().filter_map(|member| routes.instances.get(member));
    let enabled = instances.filter(|instance| instance.provider.enabled);
    let deployments: Vec<_> = enabled.filter_map(|instance| deployment(instance)).collect();
    (!deployments.is_empty()).then(|| selectors(&deployments))
}

fn selectors(deployments: &[Arc<Deployment>]) -> Vec<String> {
    deployments.iter().map(|deployment| deployment.target.selector()).collect()
}

/// The tenant's own documents, by name.
async fn own<T: Resource>(access: &TenantAccess<'_>) -> Result<BTreeMap<String, T>, StoreError> {
    let documents = access.collection::<T>().all().await?;
    Ok(documents.into_iter().map(|stored| (stored.value.name().to_owned(), stored.value)).collect())
}

async fn stored<T: Resource>(access: &TenantAccess<'_>) -> Result<BTreeMap<String, T>, StoreError> {
    let documents = access.effective::<T>().await?;
    Ok(documents.into_iter().map(|stored| (stored.value.name().to_owned(), stored.value)).collect())
}
