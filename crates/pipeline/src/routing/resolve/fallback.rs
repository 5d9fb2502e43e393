//! Fallback targets for a call whose own targets have all failed: by configured rule, or by similar model.

use std::sync::Arc;

use domain::model::Abilities;

use super::RoutingRequest;
use super::names::{self, AllowedNames, Deployments, Finder};
use super::trail::Trail;
use crate::policy::{Fallback, FallbackMode};
use crate::routing::routes::Deployment;

/// The most automatic fallback targets per call.
const MOST: usize = 5;

/// The capabilities that a request requires of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    pub tools: bool,
    pub vision: bool,
    pub json_schema: bool,
}

/// Reports required capabilities; computed only when needed.
pub trait RequiredCapabilities: Sync {
    fn needs(&self) -> Needs;
}

impl Needs {
    fn are_met_by(self, abilities: Abilities) -> bool {
        (!self.tools || abilities.tools)
            && (!self.vision || abilities.vision)
            && (!self.json_schema || abilities.json_schema)
    }
}

pub fn further(
    asking: &RoutingRequest<'_>,
    model: &str,
    choice: &Deployments,
    trail: &mut impl Trail,
) -> Vec<Arc<Deployment>> {
    let Fallback { mode, rules } = asking.fallback;
    if *mode == FallbackMode::Off || (*mode == FallbackMode::Manual && rules.is_empty()) {
        return Vec::new();
    }
    let named = names::leaves(choice);
    let mut found = by_rule(asking, model, &named, trail);
    if *mode == FallbackMode::Auto {
        found.extend(alike(asking, &named, trail));
    }
    found
}

fn by_rule(
    asking: &RoutingRequest<'_>,
    model: &str,
    named: &[Arc<Deployment>],
    trail: &mut impl Trail,
) -> Vec<Arc<Deployment>> {
    let concerned = |selector: &str| {
        selector == model
            || named.iter().any(|deployment| {
                *deployment.target.model == *selector || deployment.target.selector() == selector
            })
    };
    let routes = asking.access.routes;
    let mut found = Vec::new();
    for (selector, others) in asking.fallback.rules.iter().filter(|(selector, _)| concerned(selector)) {
        trail.note("fallback_rule", selector, || format!("'{selector}' → {}", others.join(", ")));
        for other in others {
            let choice = Finder { routes, bound: None, trail: &mut () }.find(other, AllowedNames::ALL);
            let deployments = choice.iter().flat_map(names::leaves);
            found.extend(deployments.filter(|deployment| asking.access.permits(deployment)));
        }
    }
    found
}

/// The same model at other instances, then models of its family that have the required capabilities.
fn alike(
    asking: &RoutingRequest<'_>,
    named: &[Arc<Deployment>],
    trail: &mut impl Trail,
) -> Vec<Arc<Deployment>> {
    let Some(first) = named.first() else { return Vec::new() };
    let routes = asking.access.routes;
    let mut found = routes.listing(&first.target.model);
    let (family, mode) = (first.family(), first.mode());
    let needs = asking.needs.needs();
    let relative = |deployment: &&Arc<Deployment>| {
        deployment.target.model != first.target.model
            && family.is_some()
            && deployment.family() == family
            && deployment.mode() == mode
            && deployment.facts.as_ref().is_some_and(|facts| needs.are_met_by(facts.abilities))
    };
    found.extend(routes.deployments_by_priority().filter(relative).cloned());
    found.retain(|deployment| {
        !named.iter().any(|known| known.target == deployment.target) && asking.access.permits(deployment)
    });
    found.truncate(MOST);
    if !found.is_empty() {
        trail.note("fallback_auto", &first.target.model, || {
            found.iter().map(|deployment| deployment.target.selector()).collect::<Vec<_>>().join(", ")
        });
    }
    found
}
