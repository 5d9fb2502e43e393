//! Admission of a passthrough call: caller, provider, endpoint, referenced objects and models, and reservations.

use std::sync::Arc;

use domain::fault::{self, Fault};
use domain::principal::Principal;
use domain::scope::{Action, Scope};
use domain::user_path::UserPath;
use egress::Destination;
use http::Method;
use store::Owner;

use super::endpoint::{self, Endpoint, Purpose};
use super::reservation::{self, RequestSize};
use super::upload::Upload;
use super::{AdmittedCall, PassthroughRoute, admit, guarded, headers};
use crate::accounting::reservation::Reservation;
use crate::accounting::ticket::Ticket;
use crate::budgets::{self, Check, Exceeded, NotHeld};
use crate::call::arrival::Arrival;
use crate::call::authenticate;
use crate::call::ownership;
use crate::responses;
use crate::routing::resolve::access::Access;
use crate::routing::routes::{Accept, Deployment, Instance, InstanceRequest};
use crate::snapshot::Snapshot;

/// Admits the call or returns the fault it is refused with. Nothing is sent to the provider yet.
pub(super) async fn prepare(
    snapshot: &Snapshot,
    arrival: &Arrival,
    wanted: &PassthroughRoute,
    mut upload: Upload,
    ticket: &mut Ticket,
) -> Result<AdmittedCall, Fault> {
    let principal = authenticate::authenticate_or_learn(ticket.gateway(), snapshot, arrival).await?;
    let user_path = ticket.identify(&principal, arrival).await?;
    // As the caller's tenant sees it.
    let snapshot = &*ticket.context.snapshot().clone();
    principal.require(Scope::Inference)?;
    let address = Address::find(snapshot, arrival, wanted, ticket)?;
    let access = Access::new(&ticket.gateway().policy, &snapshot.routes, &principal, &user_path);
    let stake = admit::ModelRequirement::of(&access, &address.instance, &wanted.method);
    let credential =
        arrival.client_credential.as_ref().filter(|credential| address.instance.core.takes(credential));
    let bills = address.bills && credential.is_none();
    if bills && ticket.gateway().budgets.covers(&ticket.receipt.budget_scope(&principal, &user_path)) {
        apply_budget(&address, &mut upload, ticket)?;
    }
    let parent = refuse_others_objects(&principal, &address.endpoint, &wanted.method, ticket).await?;
    let restricted = check_references(&principal, &address, &mut upload, ticket)?;
    judge(&access, &address, &mut upload, stake, restricted).await?;
    let writes = matches!(wanted.method, Method::POST | Method::PUT | Method::PATCH);
    let reads_back = address.endpoint.reads_answers_back(&wanted.method);
    let may_have_guardrails = (writes || reads_back)
        && ticket.gateway().policy.guardrails
        && snapshot.workflows.have_guardrails(&user_path);
    let guards = may_have_guardrails && writes && !address.endpoint.is_free;
    if may_have_guardrails && reads_back {
        admit::refuse_stored_answers(snapshot, &address.instance, &user_path)?;
    }
    let body = match guards {
        // The whole body, because its model decides which guardrails apply. Boxed, because most calls do not need this
        // future and should not carry its size.
        true => Box::pin(guarded::read_body(&address.endpoint, &mut upload, ticket)).await?,
        false => None,
    };
    let deployments = address.deployments(&upload);
    let mut deployment =
        deployments.first().cloned().unwrap_or_else(|| address.instance.passthrough_deployment(""));
    if let Some(credential) = credential {
        deployment = deployment.with_client_credential(credential);
    }
    ticket.receipt.names(&deployment.target.model);
    let guardrails = match guards {
        true => admit::guardrails_of(snapshot, &deployment, &deployments, &user_path)?,
        false => None,
    };
    let inspected = match guardrails {
        // Boxed for the same reason.
        Some(guardrails) => {
            let called = (&address.endpoint, &*deployment);
            let inspecting =
                guarded::inspect_request(arrival, called, &guardrails, body, &mut upload, ticket);
            Box::pin(inspecting).await?
        }
        // What guardrails would apply to and have not seen is not recorded.
        None if may_have_guardrails && !guards => None,
        None => {
            ticket.audit.skip_inspection();
            None
        }
    };
    let reservation =
        reserve(&principal, &user_path, &address, (&deployment, &deployments), &mut upload, ticket).await?;
    ticket.holds.confirm_tokens(&ticket.context).await?;
    let span_id = ticket.new_span_id();
    let trace = ticket.receipt.trace_headers(span_id.as_deref());
    let Address { instance, destination, endpoint, purpose, .. } = address;
    let sent = upload.sent();
    let request = InstanceRequest {
        destination,
        method: wanted.method.clone(),
        path_and_query: endpoint.path_and_query.clone(),
        accept: Accept::Document,
        body: upload.into_outbound(),
        client_credential: credential.cloned(),
    };
    let outbound =
        instance.core.outbound(request, |own| headers::up(&arrival.headers, &own, &instance, trace));
    Ok(AdmittedCall {
        instance,
        endpoint,
        deployment,
        sent,
        outbound,
        purpose,
        reservation,
        parent,
        span_id,
        inspected,
    })
}

/// The provider and endpoint that a call is addressed to.
struct Address {
    instance: Arc<Instance>,
    destination: Arc<Destination>,
    endpoint: Endpoint,
    purpose: Purpose,
    /// The provider may charge for the call.
    bills: bool,
}

impl Address {
    fn find(
        snapshot: &Snapshot,
        arrival: &Arrival,
        wanted: &PassthroughRoute,
        ticket: &Ticket,
    ) -> Result<Self, Fault> {
        let rules = &ticket.gateway().policy.passthrough;
        let instance = admit::find(&snapshot.routes, rules, &wanted.provider)?;
        let destination = admit::destination(&instance)?;
        let token = authenticate::credential(&arrival.headers, arrival.query.as_deref()).unwrap_or_default();
        let endpoint = Endpoint::parse(
            &wanted.endpoint,
            destination.base_path(),
            endpoint::query(arrival.query.as_deref(), token, instance.core.api_version.as_deref()),
            rules.drop_version,
        )?;
        let purpose = endpoint.purpose(&wanted.method);
        let bills = wanted.method == Method::POST && !endpoint.is_free;
        Ok(Self { instance, destination, endpoint, purpose, bills })
    }

    /// The models that the path and the body name, as far as it was read.
    fn models(&self, upload: &Upload) -> Vec<String> {
        self.endpoint.model.iter().cloned().chain(upload.sent().models()).collect()
    }

    /// The deployments of these models.
    fn deployments(&self, upload: &Upload) -> Vec<Arc<Deployment>> {
        self.models(upload).iter().map(|model| self.instance.passthrough_deployment(model)).collect()
    }
}

/// Applies the rules for user paths with a budget: refuses unmetered work, and requires a body that can be inspected.
fn apply_budget(address: &Address, upload: &mut Upload, ticket: &Ticket) -> Result<(), Fault> {
    let rules = &ticket.gateway().policy.passthrough;
    admit::refuse_unmetered(rules, &address.endpoint)?;
    upload.apply_budget(address.purpose.infers, admit::background_untracked(rules, &address.instance))
}

/// Enables the check of objects that the body refers to, for a caller that may not read all of them. Returns true for
/// such a caller.
fn check_references(
    principal: &Principal,
    address: &Address,
    upload: &mut Upload,
    ticket: &Ticket,
) -> Result<bool, Fault> {
    let Some(owner) = responses::visible_to(principal, ticket.context.owner(), Action::Read) else {
        return Ok(false);
    };
    upload.check_references(ownership::check_for(ticket.gateway(), owner), address.purpose.infers)?;
    Ok(true)
}

/// Reserves the maximum cost of the call against budgets, and its tokens against rate limits. Returns the charge that
/// applies if the process crashes during the call.
async fn reserve(
    principal: &Principal,
    user_path: &UserPath,
    address: &Address,
    (deployment, named): (&Deployment, &[Arc<Deployment>]),
    upload: &mut Upload,
    ticket: &mut Ticket,
) -> Result<Reservation, Fault> {
    let Address { instance, purpose, bills, .. } = address;
    let reservation = reservation::reservation(deployment, &upload.sent(), *purpose);
    let gateway = ticket.gateway().clone();
    let scope = || ticket.receipt.budget_scope(principal, user_path);
    if deployment.client_credential.is_none()
        && let Some(scope) = budgets::budgeted(&gateway.budgets, ticket.context.fail_closed_at(), scope)?
    {
        let worst = bills.then(|| {
            let size = RequestSize::of(upload.whole().as_deref(), upload.most_answers());
            reservation::worst(instance, named, &size, *purpose)
        });
        let worst = worst.flatten();
        let policy = ticket.context.policy();
        let (is_closed, wait) = (policy.budgets_closed, policy.budget_lease_wait);
        let refused = |exceeded: Box<Exceeded>| {
            budgets::exhausted(&gateway.budgets, &scope, worst);
            budgets::refused(&gateway.capabilities, principal, &exceeded, gateway.clock.now())
        };
        let held = match gateway.hold_waiting(&scope, worst, wait).await {
            Ok(held) => held,
            Err(NotHeld::Exceeded(exceeded)) => return Err(refused(exceeded)),
            Err(NotHeld::Unknown) if is_closed => return Err(fault::budget_check_failed()),
            Err(NotHeld::Unknown) => gateway.hold(&scope, worst, Check::Amount).map_err(refused)?,
        };
        ticket.record_reservation(&scope, worst, None);
        ticket.holds.hold(held, None, None);
    }
    if purpose.infers {
        ticket.holds.limit_tokens(&ticket.context, || reservation.token_demand(deployment))?;
    }
    Ok(reservation)
}

/// Refuses ids in the path that are recorded for another owner. Ids without a record are left to the provider. Returns
/// the owner of the object that the path names.
async fn refuse_others_objects(
    principal: &Principal,
    endpoint: &Endpoint,
    method: &Method,
    ticket: &Ticket,
) -> Result<Option<Owner>, Fault> {
    let reads = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    let action = if reads { Action::Read } else { Action::Write };
    // A provider lists the objects of its whole account, whichever gateway key created them.
    if reads && endpoint.lists_account() && !responses::reaches_all(principal, Action::Read) {
        principal.require(Scope::Admin(None, Action::Read))?;
        return Err(fault::not_found("The list is not shown to a key that is bound to a user path."));
    }
    let visible = responses::visible_to(principal, ticket.context.owner(), action);
    ownership::refuse_others(ticket.gateway(), visible.as_ref(), &endpoint.objects).await
}

/// Checks that the caller may use every model that the call names; if models are limited, it must name one.
async fn judge(
    access: &Access<'_>,
    address: &Address,
    upload: &mut Upload,
    stake: admit::ModelRequirement,
    restricted: bool,
) -> Result<(), Fault> {
    upload.peek(stake.limited || stake.priced, restricted).await?;
    let models = address.models(upload);
    let models: Vec<&str> = models.iter().map(String::as_str).collect();
    admit::judge(access, &address.instance, &models, stake)?;
    upload.seal().await
}
