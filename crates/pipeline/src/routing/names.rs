//! Names that resolve to other targets: pools, combos and aliases, compiled from their documents.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::access;
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
    pub turn: Arc<RoundRobinCursor>,
    /// The calls of a pool's members; empty for a combo.
    pub calls: Arc<MemberCalls>,
}

impl Names {
    /// Compiles the names. Rotation state and call counts carry over from the previous snapshot.
    pub fn compile(pools: Vec<Pool>, combos: Vec<Combo>, aliases: Vec<Alias>, before: &Self) -> Self {
        let turn = |known: Option<Arc<RoundRobinCursor>>| known.unwrap_or_default();
        let pool = |pool: Pool| {
            let known = before.pools.get(&pool.name);
            let turn = turn(known.map(|known| known.turn.clone()));
            let calls = Arc::new(MemberCalls::of(&pool.members, known.map(|known| &*known.calls)));
            (pool.name.clone(), Named { name: pool.name.as_str().into(), document: pool, turn, calls })
        };
        let combo = |combo: Combo| {
            let turn = turn(before.combos.get(&combo.name).map(|known| known.turn.clone()));
            (
                combo.name.clone(),
                Named { name: combo.name.as_str().into(), document: combo, turn, calls: Arc::default() },
            )
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
