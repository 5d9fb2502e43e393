//! Fallback targets for a call whose own targets have all failed: by configured rule, or by similar model.

use std::sync::Arc;

use domain::model::Abilities;

use super::Asking;
use super::names::{self, Finder, Lanes, Through};
use super::trail::Trail;
use crate::policy::{Fallback, FallbackMode};
use crate::routing::routes::Lane;

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
pub trait Asks {
    fn needs(&self) -> Needs;
}

impl Needs {
    fn are_met_by(self, abilities: Abilities) -> bool {
        (!self.tools || abilities.tools)
            && (!self.vision || abilities.vision)
            && (!self.json_schema || abilities.json_schema)
    }
}

pub fn further(asking: &Asking<'_>, model: &str, choice: &Lanes, trail: &mut impl Trail) -> Vec<Arc<Lane>> {
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

fn by_rule(asking: &Asking<'_>, model: &str, named: &[Arc<Lane>], trail: &mut impl Trail) -> Vec<Arc<Lane>> {
    let concerned = |selector: &str| {
        selector == model
            || named.iter().any(|lane| *lane.target.model == *selector || lane.target.selector() == selector)
    };
    let routes = asking.access.routes;
    let mut found = Vec::new();
    for (selector, others) in asking.fallback.rules.iter().filter(|(selector, _)| concerned(selector)) {
        trail.note("fallback_rule", || format!("'{selector}' → {}", others.join(", ")));
        for other in others {
            let choice = Finder { routes, bound: None, trail: &mut () }.find(other, Through::ALL);
            let lanes = choice.iter().flat_map(names::leaves);
            found.extend(lanes.filter(|lane| asking.access.permits(lane)));
        }
    }
    found
}

/// The same model at other instances, then models of its family that have the required capabilities.
fn alike(asking: &Asking<'_>, named: &[Arc<Lane>], trail: &mut impl Trail) -> Vec<Arc<Lane>> {
    let Some(first) = named.first() else { return Vec::new() };
    let routes = asking.access.routes;
    let mut found = routes.listing(&first.target.model);
    let (family, mode) = (first.family(), first.mode());
    let needs = asking.needs.needs();
    let relative = |lane: &&Arc<Lane>| {
        lane.target.model != first.target.model
            && family.is_some()
            && lane.family() == family
            && lane.mode() == mode
            && lane.facts.as_ref().is_some_and(|facts| needs.are_met_by(facts.abilities))
    };
    found.extend(routes.lanes_by_priority().filter(relative).cloned());
    found
        .retain(|lane| !named.iter().any(|known| known.target == lane.target) && asking.access.permits(lane));
    found.truncate(MOST);
    if !found.is_empty() {
        trail.note("fallback_auto", || {
            found.iter().map(|lane| lane.target.selector()).collect::<Vec<_>>().join(", ")
        });
    }
    found
}
