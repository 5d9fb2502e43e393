//! The facts of a call that do not change while it runs.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ::guardrails::placeholder::{PlaceholderMap, ScopeKey};
use domain::call::Target;
use domain::clock::Timestamp;
use domain::fault::Fault;
use domain::principal::Principal;
use domain::user_path::UserPath;
use store::Owner;

use crate::call::arrival::{Arrival, RequestId};
use crate::call::effective_policy::EffectivePolicy;
use crate::call::receive::Call;
use crate::gateway::Gateway;
use crate::guardrails::{AnswerFilter, CallGuardrails, FilterInputs, scope_key};
use crate::snapshot::Snapshot;
use crate::snapshot::workflows::ActiveWorkflow;

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
    workflow: Option<Arc<ActiveWorkflow>>,
    /// The guardrails that apply to the call, if there are any.
    guardrails: Option<Arc<CallGuardrails>>,
    /// The values behind reversible placeholders in the request, which are restored in its answer.
    placeholders: Option<Arc<PlaceholderMap>>,
    /// The key of the caller's placeholders, once it is needed.
    placeholder_key: OnceLock<ScopeKey>,
    /// Whether policy and workflow are those of the call.
    is_resolved: bool,
    /// Whether they are those of its path alone.
    was_resolved_by_path: bool,
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
            workflow: None,
            guardrails: None,
            placeholders: None,
            placeholder_key: OnceLock::new(),
            is_resolved: false,
            was_resolved_by_path: false,
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
            workflow: None,
            guardrails: None,
            placeholders: None,
            placeholder_key: OnceLock::new(),
            is_resolved: false,
            was_resolved_by_path: false,
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

    /// Sets the caller, its user path unless that is invalid, and the configuration that its tenant sees.
    pub fn identify(&mut self, principal: &Principal, user_path: Option<&UserPath>) {
        if self.owner.key != principal.actor() {
            self.owner.key = principal.actor().to_owned();
        }
        self.owner.tenant = principal.tenant().map(|tenant| (**tenant).to_owned());
        if let Some(view) = self.snapshot.tenant_view(principal.tenant().map(|tenant| &**tenant)) {
            self.snapshot = view.clone();
        }
        self.principal = Some(principal.clone());
        self.placeholder_key = OnceLock::new();
        if let Some(user_path) = user_path {
            self.owner.user_path = user_path.as_str().to_owned();
        }
    }

    /// Sets the policy of the call, once its targets are known; `target` is the one that it names first.
    pub fn resolve_policy(&mut self, call: &Call, target: &Target, path: &UserPath) -> Result<(), Fault> {
        self.workflow = self.snapshot.workflows.find(&target.instance, &target.model, path).cloned();
        let policies = self.workflow.as_deref().map(ActiveWorkflow::require_policies).transpose()?;
        let payload = policies.map(|policies| &policies.payload);
        self.policy = EffectivePolicy::resolve(&self.gateway.policy, payload, call);
        let guardrails = policies.filter(|_| self.policy.features.guardrails);
        let guardrails = guardrails.and_then(|policies| policies.guardrails_for(path));
        self.guardrails = guardrails.map(Arc::new);
        self.is_resolved = true;
        Ok(())
    }

    /// Sets the policy of a call whose answer is held back until it is complete.
    pub fn hold_answer(&mut self) {
        self.policy = self.policy.for_held_answer();
    }

    /// Sets the guardrails of a call whose targets are not resolved.
    pub fn set_guardrails(&mut self, guardrails: Option<Arc<CallGuardrails>>) {
        self.guardrails = guardrails;
    }

    /// Sets the policy of a call of the gateway's own: no guardrails, and a time limit.
    pub fn make_internal(&mut self, timeout: Duration) {
        self.guardrails = None;
        self.policy = self.policy.within(timeout);
    }

    /// The guardrails that apply to the call; `None` if there are none.
    pub fn guardrails(&self) -> Option<&Arc<CallGuardrails>> {
        self.guardrails.as_ref()
    }

    /// Whether a guardrail may apply to the call: before its targets are known, one of a workflow on its path.
    pub fn may_have_guardrails(&self) -> bool {
        let has_none = self.is_resolved && self.guardrails.is_none() && !self.was_resolved_by_path;
        if has_none || !self.gateway.policy.guardrails {
            return false;
        }
        let Ok(path) = UserPath::parse(&self.owner.user_path) else { return true };
        self.guardrails.is_some() || self.snapshot.workflows.have_guardrails(&path)
    }

    /// The key of the caller's reversible placeholders. It is derived once: the request and the answer need it.
    pub fn placeholder_key(&self) -> &ScopeKey {
        self.placeholder_key.get_or_init(|| scope_key(self.snapshot.master, &self.owner))
    }

    /// Whether the answer is inspected, or placeholders are restored in it.
    pub fn filters_answer(&self) -> bool {
        self.placeholders.is_some()
            || self.guardrails().is_some_and(|guardrails| guardrails.inspects_answers(self.records_bodies()))
    }

    /// Whether the answer may not be sent as it is.
    pub fn must_filter_answer(&self) -> bool {
        let has_placeholders = self.placeholders.is_some();
        self.guardrails().is_some_and(|guardrails| guardrails.required_for_answer(has_placeholders).is_some())
    }

    /// Whether the audit log has the bodies of the call.
    pub fn records_bodies(&self) -> bool {
        self.policy.features.audit && self.gateway.policy.audit.bodies
    }

    /// The changes to the answer before it is sent; `None` if there can be none. `is_json` tells whether the client asked
    /// for JSON.
    pub fn answer_filter(&self, is_json: bool) -> Option<Box<AnswerFilter>> {
        self.filters_answer().then(|| {
            let inputs = FilterInputs {
                guardrails: self.guardrails().map(Arc::as_ref),
                placeholders: self.placeholders(),
                key: self.placeholder_key(),
                is_recorded: self.records_bodies(),
                is_json,
            };
            Box::new(AnswerFilter::new(&inputs))
        })
    }

    /// Sets the values that are restored in the answer.
    pub fn set_placeholders(&mut self, placeholders: PlaceholderMap) {
        self.placeholders = (!placeholders.is_empty()).then(|| Arc::new(placeholders));
    }

    pub fn placeholders(&self) -> Option<&Arc<PlaceholderMap>> {
        self.placeholders.as_ref()
    }

    /// Whether a workflow may apply that has not been looked up, because the targets of the call are not known.
    pub fn has_unresolved_workflow(&self) -> bool {
        !self.is_resolved && self.principal.is_some() && !self.snapshot.workflows.is_empty()
    }

    /// Sets the policy of a call whose targets will not be known: that of its user path alone.
    pub fn resolve_path_policy(&mut self) {
        (self.is_resolved, self.was_resolved_by_path) = (true, true);
        let Ok(path) = UserPath::parse(&self.owner.user_path) else { return };
        self.workflow = self.snapshot.workflows.find("", "", &path).cloned();
        if let Some(policies) = self.workflow.as_deref().and_then(|workflow| workflow.policies.as_ref()) {
            self.policy = EffectivePolicy::defaults(&self.gateway.policy).for_workflow(&policies.payload);
        }
    }

    /// The workflow that applies to the call; `None` before it is resolved, and for the managed default.
    pub fn workflow(&self) -> Option<&ActiveWorkflow> {
        self.workflow.as_deref()
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
