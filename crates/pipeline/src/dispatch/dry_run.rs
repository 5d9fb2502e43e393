//! Simulates a dispatch: makes its decisions in the same order, but takes, sends and records nothing.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::call::{Format, Surface};
use domain::canon::Dropped;
use domain::fault::{self, Fault};
use http::{HeaderMap, Method};

use super::failover_plan::{FailoverPlan, RetryContext};
use super::outbound::{self, PreparedRequest};
use crate::call::context::CallContext;
use crate::call::receive::Call;
use crate::routing::health::Availability;
use crate::routing::routes::Deployment;
use crate::streaming::{ForwardingMode, TranslationReason};

pub struct DryRun {
    /// One for each target, in the order of the plan.
    pub outlooks: Vec<TargetOutlook>,
    /// Positions in the plan of the targets that would be tried, each if those before it fail.
    pub would_try: Vec<usize>,
    /// The first request that would be sent.
    pub preview: Option<RequestPreview>,
    /// The error for the client, if nothing would be sent.
    pub fault: Option<Fault>,
}

/// The outlook for one target, whatever happens at those before it.
pub struct TargetOutlook {
    pub availability: Availability,
    /// The format of the request to the target, and whether and why it is translated; `None` if the target cannot be
    /// called.
    pub dialect: Option<Dialect>,
    pub dropped: Dropped,
    /// The reason why the target cannot be called.
    pub fault: Option<Fault>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Native,
    Translated(Format, TranslationReason),
}

/// A request as it would be sent.
pub struct RequestPreview {
    /// The position of the target in the plan.
    pub place: usize,
    pub method: Method,
    /// `None` for a built-in model.
    pub url: Option<String>,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// The state of the simulated failover.
struct SimulatedFailover {
    failover: FailoverPlan,
    would_try: Vec<usize>,
    preview: Option<RequestPreview>,
}

pub fn dry_run(call: &Call, deployments: &[Arc<Deployment>], context: &CallContext, now: Duration) -> DryRun {
    let failover = FailoverPlan::new(deployments.to_vec());
    let mut simulation = SimulatedFailover { failover, would_try: Vec::new(), preview: None };
    let mut outlooks = Vec::with_capacity(deployments.len());
    for (place, deployment) in deployments.iter().enumerate() {
        let availability = deployment.health.availability(now);
        let prepared = outbound::prepare(call, deployment, context);
        let (dialect, dropped, fault) = match &prepared {
            Ok(prepared) => (Some(dialect(prepared)), prepared.dropped(), destination_error(deployment)),
            Err(fault) => (None, Dropped::default(), Some(fault.clone())),
        };
        simulation.visit(place, availability, prepared, fault.as_ref(), (call, deployment, context, now));
        outlooks.push(TargetOutlook { availability, dialect, dropped, fault });
    }
    let SimulatedFailover { failover, would_try, preview } = simulation;
    let fault = preview.is_none().then(|| failover.final_error(now));
    DryRun { outlooks, would_try, preview, fault }
}

impl SimulatedFailover {
    fn visit(
        &mut self,
        place: usize,
        availability: Availability,
        prepared: Result<PreparedRequest, Fault>,
        destination_error: Option<&Fault>,
        (call, deployment, context, now): (&Call, &Deployment, &CallContext, Duration),
    ) {
        if !availability.admits() {
            self.failover.pass_over(&availability);
            return;
        }
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(fault) => {
                self.failover.skip_unsupported(fault);
                return;
            }
        };
        self.would_try.push(place);
        let Some(fault) = destination_error else {
            self.preview.get_or_insert_with(|| preview(place, prepared, call, deployment));
            self.failover.move_on();
            return;
        };
        // With no time left nothing is retried: that would change neither the targets nor the final error.
        let retry_context = RetryContext {
            left: Duration::ZERO,
            chance: 0.0,
            policy: context.policy(),
            budget: &context.gateway().retry_budget,
            active: 0,
            now,
        };
        self.failover.failed(fault.clone(), &retry_context);
    }
}

fn dialect(prepared: &PreparedRequest) -> Dialect {
    match (prepared.response_mode.forwarding(), prepared.surface) {
        (ForwardingMode::Translated(why), Surface::Converse(format)) => Dialect::Translated(format, why),
        _ => Dialect::Native,
    }
}

/// The error of an instance that cannot be dialled as it is configured.
fn destination_error(deployment: &Deployment) -> Option<Fault> {
    let core = &deployment.instance;
    let reason = core.destination.as_ref().err().filter(|_| core.vendor.answer.is_none())?;
    Some(fault::upstream_unreachable(&deployment.target.instance, reason))
}

fn preview(
    place: usize,
    mut prepared: PreparedRequest,
    call: &Call,
    deployment: &Deployment,
) -> RequestPreview {
    let body = wire::splice::concat(&prepared.body);
    let Ok(destination) = deployment.instance.destination.clone() else {
        return RequestPreview { place, method: Method::POST, url: None, headers: HeaderMap::new(), body };
    };
    let outbound = outbound::build(destination, &mut prepared, call, deployment);
    let destination = &outbound.destination;
    let url = format!("{}{}{}", destination.origin(), destination.base_path(), outbound.path_and_query);
    RequestPreview {
        place,
        method: outbound.method,
        url: Some(url),
        headers: outbound.headers.to_map(),
        body,
    }
}
