//! Resolves a call to the targets that may serve it: applies all access rules and orders the targets.

pub mod access;
pub mod fallback;
mod names;
pub mod trail;

use std::sync::Arc;

use domain::fault::{self, Fault};
use domain::resources::workflow::RoutingOptions;
use wire::vendors;

use crate::routing::choose::{self, Ranked, SelectionContext};
use crate::routing::member_calls::MemberCalls;
use crate::routing::routes::{Deployment, Routes};

use crate::policy::{Fallback, FallbackMode};
use access::Access;
use fallback::RequiredCapabilities;
use names::{AllowedNames, Deployments, Finder};
use trail::Trail;

/// Targets in the order in which they are tried. Not empty.
#[derive(Clone)]
pub struct Plan {
    pub deployments: Vec<Arc<Deployment>>,
    /// The pools that the targets come from, whose calls are counted.
    pub pools: Vec<Arc<MemberCalls>>,
}

impl Plan {
    pub fn first(&self) -> Option<&Arc<Deployment>> {
        self.deployments.first()
    }

    /// A plan with these targets, of no pool.
    pub fn of(deployments: Vec<Arc<Deployment>>) -> Self {
        Self { deployments, pools: Vec::new() }
    }

    /// Whether the call is made with the client's own credential, at no cost.
    pub fn uses_client_credential(&self) -> bool {
        self.first().is_some_and(|first| first.client_credential.is_some())
    }
}

/// A routing question: the requested model, the caller's access, and related request data.
pub struct RoutingRequest<'a> {
    pub access: Access<'a>,
    pub model: Option<&'a str>,
    /// The `provider` member of the body.
    pub hint: Option<&'a str>,
    /// An instance that a caller with admin access forces by header.
    pub forced: Option<&'a str>,
    pub fallback: &'a Fallback,
    /// Reports the capabilities that a fallback model must have.
    pub needs: &'a dyn RequiredCapabilities,
}

/// The targets that may serve a call, not yet ranked.
pub struct Resolved {
    choice: Deployments,
    /// Tried after all targets of `choice` have failed.
    fallbacks: Vec<Arc<Deployment>>,
    mode: FallbackMode,
}

/// Resolves a model name to targets. A pure function of the snapshot and the question.
pub fn resolve(asking: &RoutingRequest<'_>, trail: &mut impl Trail) -> Result<Resolved, Fault> {
    let model = asking.model.map(str::trim).filter(|model| !model.is_empty());
    let model = model.ok_or_else(fault::model_required)?;
    if model.as_bytes().split(|byte| *byte == b'/').any(|segment| matches!(segment, b"." | b"..")) {
        return Err(fault::invalid_parameter("model", "A model's name has no segments '.' or '..'."));
    }
    let asking = &RoutingRequest { access: asking.access.called(model), ..*asking };
    let access = &asking.access;
    let routes = access.routes;
    let choice = match asking.forced {
        Some(instance) => forced(routes, model, instance, trail)?,
        None => chosen(asking, model, trail)?,
    };
    let choice = permitted(choice, access, model, trail)?;
    let fallbacks = match asking.forced {
        Some(_) => Vec::new(),
        None => fallback::further(asking, model, &choice, trail),
    };
    Ok(Resolved { choice, fallbacks, mode: asking.fallback.mode })
}

impl Resolved {
    /// The target that comes first in the configuration, which the policy of the call depends on. The one that is tried
    /// first can differ with each call.
    pub fn primary(&self) -> &Arc<Deployment> {
        names::first_leaf(&self.choice)
    }

    /// Applies the options of a workflow: the strategy of the pool or combo, and no fallback.
    pub fn with_options(mut self, routing: &RoutingOptions, fallback: bool) -> Self {
        if let (choose::Choice::Among(group), Some(strategy)) = (&mut self.choice, routing.strategy)
            && group.is_configured
        {
            group.strategy = strategy;
        }
        if !fallback {
            self.mode = FallbackMode::Off;
        }
        self
    }

    /// Ranks the targets in the order in which they are tried, with reasons.
    pub fn ranked(&self, selection: &SelectionContext) -> Vec<Ranked<Arc<Deployment>>> {
        let mut ranked = choose::rank(&self.choice, selection);
        let further = self.fallbacks.iter().map(|deployment| Ranked {
            choice: deployment.clone(),
            score: None,
            reason: "tried when the others have failed".into(),
        });
        ranked.extend(further);
        if ranked.len() > 1 {
            let mut seen: Vec<Arc<Deployment>> = Vec::with_capacity(ranked.len());
            ranked.retain(|candidate| {
                let new = !seen.iter().any(|deployment| deployment.target == candidate.choice.target);
                seen.push(candidate.choice.clone());
                new
            });
        }
        if self.mode == FallbackMode::Off {
            ranked.truncate(1);
        }
        ranked
    }

    pub fn plan(self, selection: impl FnOnce() -> SelectionContext) -> Plan {
        match self.choice {
            choose::Choice::One(deployment)
                if self.fallbacks.is_empty() || self.mode == FallbackMode::Off =>
            {
                Plan::of(vec![deployment])
            }
            _ => {
                let ranked = self.ranked(&selection());
                let mut pools = Vec::new();
                self.choice.each_pool(&mut |calls| pools.push(calls.clone()));
                Plan { deployments: ranked.into_iter().map(|candidate| candidate.choice).collect(), pools }
            }
        }
    }
}

/// All targets of a selector, regardless of access; empty if it resolves to none.
pub fn candidates(routes: &Routes, selector: &str) -> Vec<Arc<Deployment>> {
    let choice = Finder { routes, bound: None, trail: &mut () }.find(selector, AllowedNames::ALL);
    choice.as_ref().map(names::leaves).unwrap_or_default()
}

/// The fault for an unknown model. Suggests only names that the caller may use.
pub fn not_found(access: &Access<'_>, model: &str) -> Fault {
    let routes = access.routes;
    if is_absent_demo(routes, model) {
        return fault::demo_model_not_found(model);
    }
    let usable = |deployment: &Deployment| access.permits(deployment);
    let usable_name = |name: &str| {
        let access = access.called(name);
        candidates(routes, name).iter().any(|deployment| access.permits(deployment))
    };
    fault::model_not_found(model, &routes.nearest(model, &usable, &usable_name))
}

/// Whether this is a model of a built-in vendor that has no instance.
fn is_absent_demo(routes: &Routes, model: &str) -> bool {
    let built_in = vendors::list().iter().filter(|vendor| vendor.answer.is_some());
    let bare = |vendor: &vendors::Vendor| {
        let rest = model.strip_prefix(vendor.name).and_then(|rest| rest.strip_prefix('/'));
        rest.unwrap_or(model).to_owned()
    };
    built_in.into_iter().any(|vendor| {
        let present = routes.instances.values().any(|instance| instance.core.vendor.name == vendor.name);
        !present && vendor.models.contains(&&*bare(vendor))
    })
}

fn chosen(asking: &RoutingRequest<'_>, model: &str, trail: &mut impl Trail) -> Result<Deployments, Fault> {
    let Access { routes, principal, .. } = asking.access;
    let pool = principal.key().and_then(|key| key.provider_pool.as_deref());
    let bound = pool.and_then(|pool| routes.names.pools.get(pool));
    if let Some(pool) = pool {
        trail.note("key_pool", pool, || format!("the key is bound to the pool '{pool}'"));
    }
    let mut finder = Finder { routes, bound, trail };
    let found = match asking.hint {
        Some(hint) => hinted(&mut finder, model, hint)?,
        None => finder.find(model, AllowedNames::ALL),
    };
    found.ok_or_else(|| not_found(&asking.access, model))
}

/// Resolves a model at the pool, instance or type that the body names.
fn hinted(
    finder: &mut Finder<'_, impl Trail>,
    model: &str,
    hint: &str,
) -> Result<Option<Deployments>, Fault> {
    let routes = finder.routes;
    let pool = routes.names.pools.get(hint);
    let instances = match pool {
        Some(pool) => {
            let members = pool.document.members.iter();
            members.filter_map(|name| routes.instances_named(name).pop()).collect()
        }
        None => routes.instances_named(hint),
    };
    if instances.is_empty() {
        return Err(fault::provider_not_found(hint).param("provider"));
    }
    finder.trail.note("hint", hint, || format!("the request names the provider '{hint}'"));
    if routes.names.combos.contains_key(model) || routes.names.aliases.contains_key(model) {
        let found = finder.find(model, AllowedNames::ALL);
        let at_hint = |deployment: &Arc<Deployment>| {
            instances.iter().any(|at| at.name() == &*deployment.target.instance)
        };
        return Ok(found.and_then(|choice| names::prune(choice, &mut |deployment| at_hint(deployment))));
    }
    let model = model.strip_prefix(hint).and_then(|rest| rest.strip_prefix('/')).unwrap_or(model);
    Ok(match pool {
        Some(pool) => names::pool_deployments(routes, pool, |instance| instance.deployment(model)),
        None => names::in_order(instances.iter().filter_map(|instance| instance.deployment(model)).collect()),
    })
}

/// Resolves a model at one forced instance, whatever provider the selector names.
fn forced(routes: &Routes, model: &str, name: &str, trail: &mut impl Trail) -> Result<Deployments, Fault> {
    let instance = routes.instances.get(name).filter(|instance| instance.provider.enabled);
    let instance = instance.ok_or_else(|| {
        let known: Vec<&str> = routes.instances.keys().map(String::as_str).collect();
        fault::invalid_parameter(
            "X-Gateway-Force-Provider",
            format!("'{name}' is not an enabled provider instance. There are: {}.", known.join(", ")),
        )
    })?;
    trail.note("forced", name, || format!("X-Gateway-Force-Provider names '{name}'"));
    let mut finder = Finder { routes, bound: None, trail };
    let meant =
        finder.find(model, AllowedNames::ALL).map(|choice| names::leaves(&choice)).unwrap_or_default();
    let mut models = meant.iter().map(|deployment| &*deployment.target.model).chain([model]);
    let deployment = models.find_map(|model| instance.deployment(model));
    deployment.map(names::Deployments::One).ok_or_else(|| fault::model_not_found(model, &[]))
}

/// Keeps the targets that the caller may use. If none is left, the fault is that of the first refusal.
fn permitted(
    choice: Deployments,
    access: &Access<'_>,
    model: &str,
    trail: &mut impl Trail,
) -> Result<Deployments, Fault> {
    let mut first = None;
    let kept = names::prune(choice, &mut |deployment| match access.judge(deployment) {
        Ok(()) => true,
        Err(refusal) => {
            let target = &deployment.target;
            trail.note("refused", &target.instance, || format!("{}: {}", target.selector(), refusal.code()));
            first.get_or_insert(refusal);
            false
        }
    });
    // The fault uses the requested name: the targets behind it may be confidential.
    kept.ok_or_else(|| first.map_or_else(fault::internal_error, |refusal| refusal.of(model)))
}
