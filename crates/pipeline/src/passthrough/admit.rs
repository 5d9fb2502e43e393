//! Who may pass to where: the provider by its name or type, the key's lists on every model the call names.

use std::sync::Arc;

use domain::access::AccessLists;
use domain::fault::{self, Fault, FaultKind};
use egress::Destination;

use super::Rules;
use crate::resolve::access::Access;
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

/// Whether it matters which model a call is for.
pub(super) fn limits_models(access: &Access<'_>, instance: &Instance) -> bool {
    access.caller.key().is_some_and(|key| lists_models(&key.lists))
        || !access.enabled_by_default
        || instance.restricts(access.user_path)
}

/// A list that lets every model pass limits nothing.
pub(super) fn lists_models(lists: &AccessLists) -> bool {
    let open = |list: &Vec<String>| list.iter().any(|entry| entry == "*");
    !lists.denied_models.is_empty() || !lists.allowed_models.as_ref().is_none_or(open)
}

pub(super) fn judge(
    access: &Access<'_>,
    instance: &Instance,
    models: &[&str],
    limited: bool,
) -> Result<(), Fault> {
    let nameless: &[&str] = if models.is_empty() { &[""] } else { models };
    for model in nameless {
        let judged = access.judge(&instance.passing_lane(model));
        match judged {
            Err(fault) if fault.code == "key_provider_access_denied" => return Err(fault.param("provider")),
            _ if limited && models.is_empty() && access.caller.key().is_some() => {
                return Err(unreadable_model());
            }
            Err(fault) if !models.is_empty() => return Err(fault),
            _ => {}
        }
    }
    Ok(())
}

fn unreadable_model() -> Fault {
    let message = "This key is limited to certain models, and the request does not say readably which one it is for: \
                   name it in the path, or near the beginning of a plain JSON body with 'Content-Type: application/json'.";
    Fault::new(403, FaultKind::Authorization, "key_model_access_denied", message).param("model")
}
