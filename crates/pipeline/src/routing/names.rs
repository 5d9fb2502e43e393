//! Names that resolve to other targets: pools, combos and aliases, compiled from their documents.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::access;
use domain::resources::Resource;
use domain::resources::alias::Alias;
use domain::resources::combo::Combo;
use domain::resources::pool::Pool;

use crate::routing::choose::RoundRobinCursor;
use crate::routing::member_calls::MemberCalls;

#[derive(Default)]
pub struct Names {
    pub pools: BTreeMap<String, Named<Pool>>,
    pub combos: BTreeMap<String, Named<Combo>>,
    pub aliases: BTreeMap<String, Alias>,
}

/// A group of targets with its rotation state and call counts.
pub struct Named<T> {
    pub document: T,
    pub name: Arc<str>,
    /// The tenant that it belongs to; `None` for those of the default tenant.
    pub tenant: Option<Arc<str>>,
    pub turn: Arc<RoundRobinCursor>,
    /// The calls of a pool's members; empty for a combo.
    pub calls: Arc<MemberCalls>,
}

/// The names whose rotation state and call counts carry over. A tenant shares those of the pools and combos that it
/// inherits with the default tenant, and has its own for its own.
pub struct PreviousNames<'a> {
    /// Those of the previous snapshot, as the same tenant saw it.
    pub own: &'a Names,
    /// Those of the default tenant; for the default tenant itself, the same as `own`.
    pub inherited: &'a Names,
    /// The tenant that a document of this kind and name belongs to; `None` for the default tenant.
    pub owner: &'a dyn Fn(&str, &str) -> Option<Arc<str>>,
}

impl<'a> PreviousNames<'a> {
    /// The names of an installation without tenants.
    pub fn of_default(names: &'a Names) -> Self {
        Self { own: names, inherited: names, owner: &|_, _| None }
    }

    /// The owner of a document, and the group of the same name and owner.
    fn find<T: Resource>(
        &self,
        name: &str,
        groups: impl Fn(&Names) -> &BTreeMap<String, Named<T>>,
    ) -> (Option<Arc<str>>, Option<&Named<T>>) {
        let tenant = (self.owner)(T::KIND, name);
        let names = if tenant.is_some() { self.own } else { self.inherited };
        let known = groups(names).get(name).filter(|known| known.tenant == tenant);
        (tenant, known)
    }
}

impl Names {
    /// Compiles the names.
    pub fn compile(
        pools: Vec<Pool>,
        combos: Vec<Combo>,
        aliases: Vec<Alias>,
        before: &PreviousNames<'_>,
    ) -> Self {
        let pool = |pool: Pool| {
            let (tenant, known) = before.find(&pool.name, |names| &names.pools);
            let turn = known.map(|known| known.turn.clone()).unwrap_or_default();
            let calls = Arc::new(MemberCalls::of(&pool.members, known.map(|known| &*known.calls)));
            let name = pool.name.as_str().into();
            (pool.name.clone(), Named { name, tenant, document: pool, turn, calls })
        };
        let combo = |combo: Combo| {
            let (tenant, known) = before.find(&combo.name, |names| &names.combos);
            let turn = known.map(|known| known.turn.clone()).unwrap_or_default();
            let name = combo.name.as_str().into();
            (combo.name.clone(), Named { name, tenant, document: combo, turn, calls: Arc::default() })
        };
        Self {
            pools: pools.into_iter().map(pool).collect(),
            combos: combos.into_iter().map(combo).collect(),
            aliases: aliases.into_iter().map(|alias| (alias.name.clone(), alias)).collect(),
        }
    }

    /// Whether the name resolves to an alias, and not to a combo of the same name.
    pub fn is_alias(&self, name: &str) -> bool {
        !self.aliases.is_empty() && self.aliases.contains_key(name) && !self.combos.contains_key(name)
    }

    /// Whether a combo, alias or pool has this name.
    pub fn holds(&self, name: &str) -> bool {
        self.combos.contains_key(name) || self.aliases.contains_key(name) || self.pools.contains_key(name)
    }

    /// Whether a list contains the name of the alias, combo or pool that a selector uses. Such names must match
    /// exactly; patterns apply to models only, except behind a pool's name (`pool/*`).
    pub fn is_listed(&self, selector: &str, entries: &[String]) -> bool {
        if self.holds(selector) {
            return entries.iter().any(|entry| entry == selector);
        }
        let Some((prefix, _)) = selector.split_once('/') else { return false };
        let of_pool = |entry: &String| {
            entry.split_once('/').is_some_and(|(pool, _)| pool == prefix) && access::matches(entry, selector)
        };
        self.pools.contains_key(prefix) && entries.iter().any(of_pool)
    }

    pub fn all(&self) -> impl Iterator<Item = &str> {
        let named = self.combos.keys().chain(self.aliases.keys()).chain(self.pools.keys());
        named.map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use domain::strategy::Strategy;

    use super::*;

    fn names(before: &PreviousNames<'_>) -> Names {
        let pool = Pool {
            name: "team".into(),
            description: String::new(),
            members: vec!["a".into()],
            strategy: Strategy::RoundRobin,
            weights: Default::default(),
            health_aware: true,
        };
        Names::compile(vec![pool], Vec::new(), Vec::new(), before)
    }

    #[test]
    fn a_tenant_has_the_counts_of_its_own_pools_and_shares_those_of_inherited_ones() {
        let now = Duration::from_secs(10);
        let calls = |names: &Names| names.pools["team"].calls.last_hour("a", now);
        let base = names(&PreviousNames::of_default(&Names::default()));
        base.pools["team"].calls.count("a", now);
        let inherits = |own: &Names| names(&PreviousNames { own, inherited: &base, owner: &|_, _| None });
        let owns =
            |own: &Names| names(&PreviousNames { own, inherited: &base, owner: &|_, _| Some("acme".into()) });
        let inherited = inherits(&base);
        assert!(Arc::ptr_eq(&inherited.pools["team"].turn, &base.pools["team"].turn));
        let own = owns(&inherited);
        assert!(!Arc::ptr_eq(&own.pools["team"].turn, &base.pools["team"].turn));
        own.pools["team"].calls.count("a", now);
        own.pools["team"].calls.count("a", now);
        assert_eq!((calls(&base), calls(&inherited), calls(&own)), (1, 1, 2));
        assert_eq!(calls(&owns(&own)), 2, "carries over");
        assert_eq!(calls(&inherits(&own)), 1, "the tenant's pool is gone");
    }
}
