//! The condition for resuming a stream, and the state needed to continue it at another target.

use std::sync::Arc;

use crate::accounting::reservation::Reservation;
use crate::call::effective_policy::EffectivePolicy;
use crate::call::previous;
use crate::call::receive::Call;
use crate::routing::resolve::Plan;
use crate::routing::routes::Deployment;

/// Maximum number of resumptions per stream.
const MAX_RESUMPTIONS: u32 = 3;

/// The state needed to continue a stream at another target; created only if resuming is enabled.
pub struct Resumable {
    pub call: Box<Call>,
    pub deployments: Vec<Arc<Deployment>>,
    pub reservation: Reservation,
    pub resumed: u32,
}

/// Whether a stream can be resumed. Such a stream is always translated, so that any provider can continue it. Several
/// choices at once, and state that only one provider has, can only be passed on as they are.
pub fn is_resumable(call: &Call, policy: &EffectivePolicy) -> bool {
    policy.resume_streams
        && call.streams_upstream()
        && call.request.choices <= 1
        && previous::history_is_known(call)
        && !call.shape().bound_to_provider
}

/// The targets that could continue a stream, if resuming is enabled.
pub fn targets(plan: &Plan, policy: &EffectivePolicy) -> Option<Vec<Arc<Deployment>>> {
    policy.resume_streams.then(|| plan.deployments.clone())
}

impl Resumable {
    pub fn new(call: Box<Call>, deployments: Vec<Arc<Deployment>>, reservation: Reservation) -> Self {
        Self { call, deployments, reservation, resumed: 0 }
    }

    pub fn can_resume(&self) -> bool {
        self.resumed < MAX_RESUMPTIONS
    }

    pub fn resumed(&self) -> u32 {
        self.resumed
    }

    /// Moves the failed target to the end.
    pub fn order(&mut self, dead: Option<&Arc<Deployment>>) {
        let Some(dead) = dead else { return };
        self.deployments.sort_by_key(|deployment| Arc::ptr_eq(deployment, dead));
    }
}
