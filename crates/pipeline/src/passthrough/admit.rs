//! Who may pass to where: the provider by its name or type, the key's lists on every model the call names.

use std::sync::Arc;

use domain::access::{AccessLists, Verdict};
use domain::caller::Caller;
use domain::fault::{self, Fault, FaultKind};
use egress::Destination;

use super::Rules;
use crate::snapshot::routes::{Instance, Routes};

/// An instance of that name, else the first of that type; one that is switched off is not there.
pub(super) fn find(routes: &Routes, rules: &Rules, name: &str) -> Result<Arc<Instance>, Fault> {
    let instances = routes.instances_named(name);
    let served = |instance: &&Arc<Instance>| {
        let provider = &instance.provider;
        let named = |entry: &String| *entry == provider.name || *entry == provider.provider_type;
        rules.providers.is_empty() || rules.providers.iter().any(named)
    };
    let mut candidates = instances.iter().filter(served);
    let first = candidates.clone().find(|instance| instance.is_usable()).or_else(|| candidates.next());
    first.cloned().ok_or_else(|| fault::provider_not_found(name).param("provider"))
}

pub(super) fn destination(instance: &Instance) -> Result<Arc<Destination>, Fault> {
    if instance.core.vendor.answer.is_some() {
        return Err(fault::unsupported(
            "unsupported_operation",
            "passthrough: it is built in",
            instance.name(),
        ));
    }
    let unreachable = |reason: String| fault::upstream_unreachable(instance.name(), &reason);
    instance.core.destination.clone().map_err(unreachable)
}

/// A list that lets every model pass limits nothing.
pub(super) fn limits_models(lists: &AccessLists) -> bool {
    let open = |list: &Vec<String>| list.iter().any(|entry| entry == "*");
    !lists.denied_models.is_empty() || !lists.allowed_models.as_ref().is_none_or(open)
}

pub(super) fn judge(
    caller: &Caller,
    instance: &Instance,
    models: &[&str],
    limited: bool,
) -> Result<(), Fault> {
    let Some(key) = caller.key() else { return Ok(()) };
    let nameless: &[&str] = if models.is_empty() { &[""] } else { models };
    for model in nameless {
        let lane = instance.passing_lane(model);
        match lane.judge(&key.lists) {
            Verdict::ProviderDenied => {
                return Err(fault::key_provider_access_denied(instance.name()).param("provider"));
            }
            _ if limited && models.is_empty() => return Err(unreadable_model()),
            Verdict::ModelDenied => return Err(fault::key_model_access_denied(&lane.target.selector())),
            Verdict::Allowed => {}
        }
    }
    Ok(())
}

fn unreadable_model() -> Fault {
    let message = "This key is limited to certain models, and the request does not say readably which one it is for: \
                   name it in the path, or near the beginning of a plain JSON body with 'Content-Type: application/json'.";
    Fault::new(403, FaultKind::Authorization, "key_model_access_denied", message).param("model")
}
