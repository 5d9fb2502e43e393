//! Names that stand for other targets: pools, combos, aliases, compiled from their documents.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::access;
use domain::resources::alias::Alias;
use domain::resources::combo::Combo;
use domain::resources::pool::Pool;

use crate::choose::Turn;

#[derive(Default)]
pub struct Names {
    pub pools: BTreeMap<String, Named<Pool>>,
    pub combos: BTreeMap<String, Named<Combo>>,
    pub aliases: BTreeMap<String, Alias>,
}

/// A group of targets and whose turn it is in it.
pub struct Named<T> {
    pub document: T,
    pub name: Arc<str>,
    pub turn: Arc<Turn>,
}

impl Names {
    /// Whose turn it is carries over from what was in force before.
    pub fn compile(pools: Vec<Pool>, combos: Vec<Combo>, aliases: Vec<Alias>, before: &Self) -> Self {
        let turn = |known: Option<Arc<Turn>>| known.unwrap_or_default();
        let pool = |pool: Pool| {
            let turn = turn(before.pools.get(&pool.name).map(|known| known.turn.clone()));
            (pool.name.clone(), Named { name: pool.name.as_str().into(), document: pool, turn })
        };
        let combo = |combo: Combo| {
            let turn = turn(before.combos.get(&combo.name).map(|known| known.turn.clone()));
            (combo.name.clone(), Named { name: combo.name.as_str().into(), document: combo, turn })
        };
        Self {
            pools: pools.into_iter().map(pool).collect(),
            combos: combos.into_iter().map(combo).collect(),
            aliases: aliases.into_iter().map(|alias| (alias.name.clone(), alias)).collect(),
        }
    }

    /// The name is an alias's, and nothing that comes before aliases has it.
    pub fn is_alias(&self, name: &str) -> bool {
        !self.aliases.is_empty() && self.aliases.contains_key(name) && !self.combos.contains_key(name)
    }

    /// A combo, an alias or a pool has this name.
    pub fn holds(&self, name: &str) -> bool {
        self.combos.contains_key(name) || self.aliases.contains_key(name) || self.pools.contains_key(name)
    }

    /// Whether a list has the name of the alias, combo or pool that a selector calls. Such a name stands for itself:
    /// patterns are for models, but for those behind a pool's own name (`pool/*`).
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
