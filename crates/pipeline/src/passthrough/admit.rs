//! Access checks of the passthrough: finds the provider by name or type, and applies access lists to every model that
//! the call names.

use std::sync::Arc;

use domain::access::AccessLists;
use domain::fault::{self, Fault, FaultCode};
use domain::user_path::UserPath;
use egress::Destination;
use http::Method;
use wire::vendors::Lifecycle;

use super::endpoint::Endpoint;
use crate::guardrails::CallGuardrails;
use crate::policy::PassthroughRules;
use crate::routing::resolve::access::{Access, Refusal};
use crate::routing::routes::{Deployment, Instance, Routes};
use crate::snapshot::Snapshot;
use crate::snapshot::workflows::ActiveWorkflow;

/// Finds the instance of that name, else the first of that type. Usable instances are preferred.
pub(super) fn find(routes: &Routes, rules: &PassthroughRules, name: &str) -> Result<Arc<Instance>, Fault> {
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
        let operation = "passthrough: it is built in";
        return Err(fault::unsupported(FaultCode::UnsupportedOperation, operation, instance.name()));
    }
    let unreachable = |reason: String| fault::upstream_unreachable(instance.name(), &reason);
    instance.core.destination.clone().map_err(unreachable)
}

/// Whether access depends on the model of the call.
pub(super) fn limits_models(access: &Access<'_>, instance: &Instance) -> bool {
    access.principal.key().is_some_and(|key| lists_models(&key.lists))
        || !access.enabled_by_default
        || instance.restricts(access.user_path)
}

/// Whether the lists limit models; an allowed list with `*` does not.
pub(super) fn lists_models(lists: &AccessLists) -> bool {
    let open = |list: &Vec<String>| list.iter().any(|entry| entry == "*");
    !lists.denied_models.is_empty() || !lists.allowed_models.as_ref().is_none_or(open)
}

/// The reasons for which the model of a call has to be known.
#[derive(Clone, Copy)]
pub(super) struct ModelRequirement {
    /// The caller may not use every model.
    pub(super) limited: bool,
    /// The call can incur cost, and models without a price are denied.
    pub(super) priced: bool,
}

impl ModelRequirement {
    pub(super) fn of(access: &Access<'_>, instance: &Instance, method: &Method) -> Self {
        let creates = !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS | Method::DELETE);
        Self { limited: limits_models(access, instance), priced: access.unpriced_denied && creates }
    }
}

pub(super) fn judge(
    access: &Access<'_>,
    instance: &Instance,
    models: &[&str],
    stake: ModelRequirement,
) -> Result<(), Fault> {
    let nameless: &[&str] = if models.is_empty() { &[""] } else { models };
    for model in nameless {
        match access.judge(&instance.passthrough_deployment(model)) {
            Err(Refusal::Provider) => return Err(Refusal::Provider.of(instance.name()).param("provider")),
            _ if stake.limited && models.is_empty() && access.principal.key().is_some() => {
                return Err(unreadable_model());
            }
            _ if stake.priced && models.is_empty() => return Err(unreadable_price()),
            Err(Refusal::Unpriced) if !stake.priced => {}
            Err(refusal) if !models.is_empty() => {
                return Err(refusal.of(&format!("{}/{model}", instance.name())));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Refuses work that is billed later and reported in no answer, since it cannot be charged to a budget.
pub(super) fn refuse_unmetered(rules: &PassthroughRules, endpoint: &Endpoint) -> Result<(), Fault> {
    if rules.unmetered || !endpoint.is_unmetered {
        return Ok(());
    }
    Err(unmetered("Batches, fine-tuning and other work whose cost no answer tells"))
}

/// The fault for a background response whose provider offers no way to retrieve its result; none if it can be tracked.
pub(super) fn background_untracked(rules: &PassthroughRules, instance: &Instance) -> Option<Fault> {
    let followed = instance.core.vendor.paths.lifecycle.contains(&Lifecycle::Retrieve);
    (!rules.unmetered && !followed)
        .then(|| unmetered("Background responses of this provider").param("background"))
}

/// The guardrails of the workflow that applies to a call; `None` if there are none. A call that names several models of
/// different workflows is inspected by those of the first, and the guardrails of the others cannot inspect it. One whose
/// model is not known may be for any model of the provider.
pub(super) fn guardrails_of(
    snapshot: &Snapshot,
    deployment: &Arc<Deployment>,
    named: &[Arc<Deployment>],
    path: &UserPath,
) -> Result<Option<Arc<CallGuardrails>>, Fault> {
    let mut found: Option<(&str, CallGuardrails)> = None;
    for workflow in workflows_of(snapshot, deployment, named, path) {
        if found.as_ref().is_some_and(|(id, _)| *id == workflow.id) {
            continue;
        }
        let Some(guardrails) = workflow.require_policies()?.guardrails_for(path) else { continue };
        match &found {
            None => found = Some((&workflow.id, guardrails)),
            Some(_) => refuse_uninspected(&guardrails)?,
        }
    }
    Ok(found.map(|(_, guardrails)| Arc::new(guardrails)))
}

/// The workflows that apply to a call, or may apply to it if its model is not known.
fn workflows_of<'a>(
    snapshot: &'a Snapshot,
    deployment: &Arc<Deployment>,
    named: &[Arc<Deployment>],
    path: &UserPath,
) -> Vec<&'a Arc<ActiveWorkflow>> {
    let deployments = std::iter::once(deployment).chain(named);
    let mut found: Vec<&Arc<ActiveWorkflow>> = deployments
        .filter_map(|deployment| {
            let target = &deployment.target;
            snapshot.workflows.find(&target.instance, &target.model, path)
        })
        .collect();
    if deployment.target.model.is_empty() {
        found.extend(snapshot.workflows.of_any_model(&deployment.target.instance, path));
    }
    found
}

/// Refuses a call that cannot be inspected, if one of its guardrails blocks such calls.
pub(super) fn refuse_uninspected(guardrails: &CallGuardrails) -> Result<(), Fault> {
    match guardrails.blocking_unreadable() {
        Some(name) => Err(fault::guardrail_blocked(name, "kind of call, which is not inspected")),
        None => Ok(()),
    }
}

/// Refuses to read answers back where a guardrail has an effect on answers: the provider stores them as they were before.
/// Their model is not known.
pub(super) fn refuse_stored_answers(
    snapshot: &Snapshot,
    instance: &Arc<Instance>,
    path: &UserPath,
) -> Result<(), Fault> {
    for workflow in snapshot.workflows.of_any_model(instance.name(), path) {
        let guardrails = workflow.require_policies()?.guardrails_for(path);
        if let Some(name) = guardrails.as_ref().and_then(|guardrails| guardrails.required_for_answer(false)) {
            let subject = "kind of call, which reads answers back without inspection";
            return Err(fault::guardrail_blocked(name, subject));
        }
    }
    Ok(())
}

fn unmetered(work: &str) -> Fault {
    let message = format!(
        "{work} cannot be metered, and a budget applies to this user path. Use a path without a budget, or set \
         PASSTHROUGH_UNMETERED=allow."
    );
    Fault::new(FaultCode::UnmeteredOperation, message)
}

const MODEL_HINT: &str =
    "name it in the path, or near the beginning of a plain JSON body with 'Content-Type: application/json'.";

fn unreadable_model() -> Fault {
    let message = format!(
        "This key is limited to certain models, and the request does not say readably which one it is for: {MODEL_HINT}"
    );
    Fault::new(FaultCode::KeyModelAccessDenied, message).param("model")
}

fn unreadable_price() -> Fault {
    let message = format!(
        "Models without a price may not be used here (UNPRICED_POLICY=deny), and the request does not say readably which \
         one it is for: {MODEL_HINT}"
    );
    Fault::new(FaultCode::ModelAccessDenied, message).param("model")
}
