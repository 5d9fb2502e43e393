//! The facts of a call that do not change while it runs.

use std::sync::Arc;
use std::time::Duration;

use domain::clock::Timestamp;
use domain::principal::Principal;
use domain::user_path::UserPath;
use store::Owner;

use crate::call::arrival::{Arrival, RequestId};
use crate::call::effective_policy::EffectivePolicy;
use crate::call::receive::Call;
use crate::gateway::Gateway;
use crate::snapshot::Snapshot;

/// The context of a call: its ids, its caller, and the configuration that applies to it. Shared behind an `Arc`, and
/// complete once the call is resolved to its targets.
#[derive(Clone)]
pub struct CallContext {
    gateway: Arc<Gateway>,
    /// Pinned when the call arrives, so that a change of the configuration does not affect it midway.
    snapshot: Arc<Snapshot>,
    pub request_id: RequestId,
    /// The id of the call's receipt.
    id: String,
    at: Timestamp,
    started: Duration,
    owner: Owner,
    /// `None` before the call is authenticated.
    principal: Option<Principal>,
    policy: EffectivePolicy,
}

impl CallContext {
    /// The context of a call whose caller is not known yet.
    pub fn new(gateway: &Arc<Gateway>, arrival: &Arrival, id: String) -> Self {
        Self {
            gateway: gateway.clone(),
            snapshot: gateway.snapshot(),
            request_id: arrival.request_id.clone(),
            id,
            at: arrival.at,
            started: arrival.tick,
            owner: Owner { key: "master".into(), user_path: "/".into(), tenant: None },
            principal: None,
            policy: EffectivePolicy::defaults(&gateway.policy),
        }
    }

    /// The context of a call that another process began.
    pub fn taken_over(
        gateway: &Arc<Gateway>,
        request_id: RequestId,
        id: String,
        at: Timestamp,
        owner: Owner,
    ) -> Self {
        Self {
            gateway: gateway.clone(),
            snapshot: gateway.snapshot(),
            request_id,
            id,
            at,
            started: gateway.clock.tick(),
            owner,
            principal: None,
            policy: EffectivePolicy::defaults(&gateway.policy),
        }
    }

    /// The context of a call that is explained and not made. Without an id no ids can be derived: they are generated
    /// for responses, and there is none.
    pub fn explained(
        gateway: &Arc<Gateway>,
        snapshot: &Arc<Snapshot>,
        arrival: &Arrival,
        owner: Owner,
    ) -> Self {
        Self { snapshot: snapshot.clone(), owner, ..Self::new(gateway, arrival, String::new()) }
    }

    /// Sets the caller, and its user path unless that is invalid.
    pub fn identify(&mut self, principal: &Principal, user_path: Option<&UserPath>) {
        if self.owner.key != principal.actor() {
            self.owner.key = principal.actor().to_owned();
        }
        self.owner.tenant = principal.tenant().map(|tenant| tenant.to_string());
        self.principal = Some(principal.clone());
        if let Some(user_path) = user_path {
            self.owner.user_path = user_path.as_str().to_owned();
        }
    }

    /// Sets the policy of the call, once its targets are known.
    pub fn resolve_policy(&mut self, call: &Call) {
        self.policy = EffectivePolicy::resolve(&self.gateway.policy, call);
    }

    /// The policy of the call; before its targets are known, the gateway's.
    pub fn policy(&self) -> &EffectivePolicy {
        &self.policy
    }

    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// The caller, once it is authenticated.
    pub fn principal(&self) -> Option<&Principal> {
        self.principal.as_ref()
    }

    /// The owner of state that the call stores.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// A unique alphanumeric text from which the ids of this call are derived.
    pub fn seed(&self) -> String {
        self.id.replace('-', "")
    }

    /// The arrival time of the call, in Unix seconds.
    pub fn created(&self) -> i64 {
        self.at.micros() / 1_000_000
    }

    /// The monotonic time.
    pub fn now(&self) -> Duration {
        self.gateway.clock.tick()
    }

    /// The time at which budgets that cannot be read refuse the call; `None` if they let it pass.
    pub fn fail_closed_at(&self) -> Option<Duration> {
        self.policy.budgets_closed.then(|| self.now())
    }

    /// The time since the call arrived.
    pub fn elapsed(&self) -> Duration {
        self.now().saturating_sub(self.started)
    }
}
