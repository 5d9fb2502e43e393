//! Station: call → plan. The ordered targets that may serve it, every access rule applied. A pure function of the snapshot.

use std::sync::Arc;

use domain::access::Verdict;
use domain::caller::Caller;
use domain::fault::{self, Fault};

use crate::receive::Call;
use crate::snapshot::Snapshot;
use crate::snapshot::routes::{Lane, Routes};

/// Targets in the order in which they are tried; never empty.
#[derive(Clone)]
pub struct Plan {
    pub lanes: Vec<Arc<Lane>>,
}

impl Plan {
    pub fn first(&self) -> Option<&Arc<Lane>> {
        self.lanes.first()
    }
}

pub fn resolve(snapshot: &Snapshot, caller: &Caller, call: &Call) -> Result<Plan, Fault> {
    let model = call.request.model.as_deref().map(str::trim).filter(|model| !model.is_empty());
    let model = model.ok_or_else(fault::model_required)?;
    if model.split('/').any(|segment| matches!(segment, "." | "..")) {
        return Err(fault::invalid_parameter("model", "A model's name has no segments '.' or '..'."));
    }
    let lanes = candidates(&snapshot.routes, model, call.request.provider_hint.as_deref())?;
    permitted(lanes, caller)
}

/// Selector → targets: an explicit hint, else `instance/model`, `type/model`, then the whole text as a model id.
pub fn candidates(routes: &Routes, model: &str, hint: Option<&str>) -> Result<Vec<Arc<Lane>>, Fault> {
    if let Some(hint) = hint {
        let instances = routes.instances_named(hint);
        if instances.is_empty() {
            return Err(fault::provider_not_found(hint).param("provider"));
        }
        let model = model.strip_prefix(hint).and_then(|rest| rest.strip_prefix('/')).unwrap_or(model);
        return found(routes, model, instances.iter().filter_map(|instance| instance.lane(model)).collect());
    }
    if let Some((prefix, rest)) = model.split_once('/')
        && routes.knows(prefix)
    {
        let instances = routes.instances_named(prefix);
        let lanes: Vec<_> = instances.iter().filter_map(|instance| instance.lane(rest)).collect();
        // `openai/gpt-5` may also be a whole id that another provider lists. One that lists nothing does not get it:
        // who names an instance that is switched off must not be served by somebody else.
        let lanes = if lanes.is_empty() { routes.listing(model) } else { lanes };
        return found(routes, model, lanes);
    }
    found(routes, model, routes.serving(model))
}

fn found(routes: &Routes, model: &str, lanes: Vec<Arc<Lane>>) -> Result<Vec<Arc<Lane>>, Fault> {
    if lanes.is_empty() { Err(fault::model_not_found(model, &routes.nearest(model))) } else { Ok(lanes) }
}

/// Key lists are judged on the resolved target; the plan keeps only what the caller may use.
fn permitted(mut lanes: Vec<Arc<Lane>>, caller: &Caller) -> Result<Plan, Fault> {
    let Some(key) = caller.key().filter(|key| !key.lists.is_unlimited()) else { return Ok(Plan { lanes }) };
    let mut refusal = None;
    lanes.retain(|lane| {
        let target = &lane.target;
        let fault = match lane.judge(&key.lists) {
            Verdict::Allowed => return true,
            Verdict::ProviderDenied => fault::key_provider_access_denied(&target.instance),
            Verdict::ModelDenied => fault::key_model_access_denied(&target.selector()),
        };
        refusal.get_or_insert(fault);
        false
    });
    match refusal {
        Some(fault) if lanes.is_empty() => Err(fault),
        _ => Ok(Plan { lanes }),
    }
}
