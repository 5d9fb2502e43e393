//! Resolves a selector to targets, in this order: combo, alias, pool, instance, type, whole id, bare model.

use std::sync::Arc;

use domain::resources::combo::Combo;
use domain::resources::pool::Pool;
use domain::strategy::Strategy;

use super::trail::Trail;
use crate::routing::choose::{Choice, Group, Member};
use crate::routing::names::Named;
use crate::routing::routes::{Deployment, Instance, Routes};

pub type Deployments = Choice<Arc<Deployment>>;

/// The kinds of name that a selector may still resolve through. A combo is entered at most once, and an alias at most
/// once before and once inside it, so that resolution cannot loop.
#[derive(Clone, Copy)]
pub struct AllowedNames {
    combos: bool,
    aliases: bool,
}

impl AllowedNames {
    pub const ALL: Self = Self { combos: true, aliases: true };
}

pub struct Finder<'a, T> {
    pub routes: &'a Routes,
    /// The pool that a key is bound to; it serves models without a provider prefix.
    pub bound: Option<&'a Named<Pool>>,
    pub trail: &'a mut T,
}

impl<T: Trail> Finder<'_, T> {
    pub fn find(&mut self, selector: &str, through: AllowedNames) -> Option<Deployments> {
        let names = &self.routes.names;
        if through.combos
            && let Some(combo) = names.combos.get(selector)
        {
            return self.combo(combo);
        }
        if through.aliases
            && let Some(alias) = names.aliases.get(selector)
        {
            self.trail.note("alias", selector, || format!("'{selector}' stands for '{}'", alias.target));
            return self.find(&alias.target, AllowedNames { aliases: false, ..through });
        }
        if let Some(pool) = names.pools.get(selector) {
            self.trail.note("pool", selector, || format!("'{selector}': each member with its first model"));
            return pool_deployments(self.routes, pool, |instance| instance.own_model());
        }
        if let Some((prefix, model)) = selector.split_once('/') {
            if let Some(pool) = names.pools.get(prefix) {
                self.trail.note("pool", prefix, || format!("'{model}' in the pool '{prefix}'"));
                return pool_deployments(self.routes, pool, |instance| instance.deployment(model));
            }
            if self.routes.has_provider(prefix) {
                return self.at_provider(selector, prefix, model);
            }
        }
        self.anywhere(selector)
    }

    fn combo(&mut self, combo: &Named<Combo>) -> Option<Deployments> {
        let document = &combo.document;
        self.trail
            .note("combo", &combo.name, || format!("'{}': {}", combo.name, document.selectors.join(", ")));
        // A combo member may be an alias, even if the combo was itself reached through an alias.
        let inner = AllowedNames { combos: false, aliases: true };
        let mut members = Vec::with_capacity(document.selectors.len());
        for selector in &document.selectors {
            let weight = document.weights.get(selector).copied().unwrap_or(1.0);
            match self.find(selector, inner) {
                Some(choice) => members.push(Member { weight, choice }),
                None => {
                    self.trail
                        .note("combo", selector, || format!("'{selector}' leads nowhere at the moment"));
                }
            }
        }
        let name = combo.name.clone();
        let turn = combo.turn.clone();
        group(Group {
            name,
            is_configured: true,
            strategy: document.strategy,
            health_aware: true,
            turn,
            calls: None,
            members,
        })
    }

    fn at_provider(&mut self, selector: &str, prefix: &str, model: &str) -> Option<Deployments> {
        let kind = if self.routes.instances.contains_key(prefix) { "instance" } else { "type" };
        let instances = self.routes.instances_named(prefix);
        let deployments: Vec<_> =
            instances.iter().filter_map(|instance| instance.deployment(model)).collect();
        if !deployments.is_empty() {
            self.trail.note(kind, prefix, || format!("'{model}' at '{prefix}'"));
            return in_order(deployments);
        }
        // `openai/gpt-5` may also be a whole id that another provider lists. Only a listed id counts: a call for a
        // disabled instance must not be served by an instance that merely accepts any model.
        let deployments = self.routes.listing(selector);
        if !deployments.is_empty() {
            self.trail.note("whole_id", selector, || format!("'{selector}' is a model's whole id"));
        }
        in_order(deployments)
    }

    fn anywhere(&mut self, model: &str) -> Option<Deployments> {
        if let Some(pool) = self.bound
            && let Some(deployments) =
                pool_deployments(self.routes, pool, |instance| instance.deployment(model))
        {
            self.trail.note("bare_model", model, || format!("'{model}' in the key's pool '{}'", pool.name));
            return Some(deployments);
        }
        let deployments = self.routes.serving(model);
        if !deployments.is_empty() {
            let kind = if model.contains('/') { "whole_id" } else { "bare_model" };
            self.trail
                .note(kind, model, || format!("'{model}' at {} in order of priority", places(&deployments)));
        }
        in_order(deployments)
    }
}

fn places(deployments: &[Arc<Deployment>]) -> String {
    let names: Vec<_> =
        deployments.iter().map(|deployment| format!("'{}'", deployment.target.instance)).collect();
    names.join(", ")
}

pub fn pool_deployments(
    routes: &Routes,
    pool: &Named<Pool>,
    deployment: impl Fn(&Instance) -> Option<Arc<Deployment>>,
) -> Option<Deployments> {
    let document = &pool.document;
    let members = document.members.iter().filter_map(|name| {
        let instance = routes.instances.get(name).filter(|instance| instance.provider.enabled)?;
        let weight = document.weights.get(name).copied().unwrap_or(1.0);
        deployment(instance).map(|deployment| Member { weight, choice: Choice::One(deployment) })
    });
    group(Group {
        name: pool.name.clone(),
        is_configured: true,
        strategy: document.strategy,
        health_aware: document.health_aware,
        turn: pool.turn.clone(),
        calls: Some(pool.calls.clone()),
        members: members.collect(),
    })
}

/// A group as a choice. A combo with a single member is that member; a pool stays one, because its calls are counted.
fn group(mut group: Group<Arc<Deployment>>) -> Option<Deployments> {
    match group.members.len() {
        0 => None,
        1 if group.calls.is_none() => group.members.pop().map(|member| member.choice),
        _ => Some(Choice::Among(group)),
    }
}

/// Groups deployments of several instances, to be tried in the given order of priority.
pub fn in_order(mut deployments: Vec<Arc<Deployment>>) -> Option<Deployments> {
    if deployments.len() < 2 {
        return deployments.pop().map(Choice::One);
    }
    let members = deployments
        .into_iter()
        .map(|deployment| Member { weight: 1.0, choice: Choice::One(deployment) })
        .collect();
    Some(Choice::Among(Group {
        name: "priority".into(),
        is_configured: false,
        strategy: Strategy::PrimaryFallback,
        health_aware: true,
        turn: Arc::default(),
        calls: None,
        members,
    }))
}

/// Removes the targets that `keep` rejects; none if nothing is left.
pub fn prune(choice: Deployments, keep: &mut impl FnMut(&Arc<Deployment>) -> bool) -> Option<Deployments> {
    match choice {
        Choice::One(deployment) => keep(&deployment).then_some(Choice::One(deployment)),
        Choice::Among(group) => {
            let kept = group.members.into_iter().filter_map(|member| {
                let weight = member.weight;
                prune(member.choice, keep).map(|choice| Member { weight, choice })
            });
            let members: Vec<_> = kept.collect();
            (!members.is_empty()).then(|| Choice::Among(Group { members, ..group }))
        }
    }
}

/// The first target in the order of the configuration. Groups are not empty.
pub fn first_leaf(choice: &Deployments) -> &Arc<Deployment> {
    match choice {
        Choice::One(deployment) => deployment,
        Choice::Among(group) => first_leaf(&group.members[0].choice),
    }
}

/// All targets of a choice, in order.
pub fn leaves(choice: &Deployments) -> Vec<Arc<Deployment>> {
    match choice {
        Choice::One(deployment) => vec![deployment.clone()],
        Choice::Among(group) => group.members.iter().flat_map(|member| leaves(&member.choice)).collect(),
    }
}
