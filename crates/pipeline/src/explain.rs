//! Explains the decisions about a request without making the call: runs every step that decides, and none that has an
//! effect.

mod caller_limits;
mod into_view;
mod view;

use std::sync::Arc;

use bytes::Bytes;
use domain::call::{Format, Surface};
use domain::fault::Fault;
use domain::principal::Principal;
use domain::scope::{Action, Scope};
use domain::user_path::UserPath;
use http_body_util::Full;
use store::Owner;

use crate::admission::budget_admission::{self, Pair};
use crate::admission::reserve;
use crate::budgets::BudgetScope;
use crate::cache::CachePreview;
use crate::call::arrival::Arrival;
use crate::call::authenticate;
use crate::call::context::CallContext;
use crate::call::effective_policy::EffectivePolicy;
use crate::call::receive::{self, Call};
use crate::dispatch;
use crate::gateway::Gateway;
use crate::guardrails::inspect_request;
use crate::inspect;
use crate::routing::choose::{Ranked, SelectionContext, SelectionMode};
use crate::routing::resolve::access::Access;
use crate::routing::resolve::trail::Trail as _;
use crate::routing::resolve::{self, Plan};
use crate::routing::routes::Deployment;
use crate::snapshot::Snapshot;
use crate::{budgets, cache, rate_limit, responses};

pub use caller_limits::limits_and_budgets;
pub use view::{
    BudgetRoom, Candidate, Clamped, Decision, EstimatedCost, ExplainedCache, ExplainedGuardrails,
    ExplainedSemanticCache, ExplainedWorkflow, Explanation, LimitView, PrincipalView, Refusal, RequestView,
    Resolution, UpstreamRequest,
};

/// A request to be explained.
#[derive(Clone)]
pub struct ExplanationRequest {
    /// The request. Credentials in its headers are ignored: `caller` is the one who would make the call.
    pub arrival: Arrival,
    pub body: Bytes,
    pub principal: Principal,
    /// The caller who asks for the explanation.
    pub asker: Principal,
    /// Whether a call of the past is explained. Rate limits, budgets and the response cache are left out then: their
    /// state was another one when the call was made.
    pub is_replay: bool,
}

/// Explains a request. The returned error concerns the explanation itself; an error of the call is part of the
/// explanation.
pub async fn explain(
    gateway: &Arc<Gateway>,
    snapshot: &Arc<Snapshot>,
    question: ExplanationRequest,
) -> Result<Explanation, Fault> {
    let ExplanationRequest { arrival, body, principal, asker, is_replay } = question;
    let same = asker.actor() == principal.actor();
    let confided = same || asker.may(Scope::Admin(None, Action::Read));
    let mut explanation = Explanation::new(into_view::principal(&principal));
    let snapshot = snapshot.clone().seen_by(principal.tenant().map(|tenant| &**tenant));
    let explainer = Explainer {
        gateway,
        snapshot: &snapshot,
        arrival: &arrival,
        principal: &principal,
        asker: &asker,
        confided,
        is_replay,
    };
    if let Err(stop) = explainer.follow(body, &mut explanation).await {
        match stop {
            Stop::Asker(fault) => return Err(fault),
            Stop::Call(fault) => explanation.decision.error = Some(into_view::refusal(&fault)),
        }
    }
    Ok(explanation)
}

enum Stop {
    /// The explanation itself is refused.
    Asker(Fault),
    /// The call would be refused.
    Call(Fault),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Call(fault)
    }
}

struct Explainer<'a> {
    gateway: &'a Arc<Gateway>,
    snapshot: &'a Arc<Snapshot>,
    arrival: &'a Arrival,
    principal: &'a Principal,
    asker: &'a Principal,
    /// Whether the asker may see the caller's stored conversations.
    confided: bool,
    is_replay: bool,
}

impl Explainer<'_> {
    /// Runs the steps of a call in their order. Request limits refuse before everything else; the later steps are
    /// explained all the same.
    async fn follow(&self, body: Bytes, explanation: &mut Explanation) -> Result<(), Stop> {
        let shown = &mut explanation.principal;
        let principal = authenticate::reauthenticate(self.snapshot, self.principal, self.arrival.at)
            .map_err(|reason| {
                (shown.active, shown.reason) = (false, Some(reason.as_str()));
                domain::fault::invalid_api_key()
            })?;
        let limits = || rate_limit::preview(&self.gateway.limiter, &principal, self.gateway.clock.tick());
        let Some(preview) = (!self.is_replay).then(limits).flatten() else {
            return self.judge(principal, body, None, explanation).await;
        };
        explanation.limits = Some(preview.statuses.iter().map(into_view::limit).collect());
        let judged = self.judge(principal, body, preview.tokens_refused, explanation).await;
        match preview.request_refused {
            Some(fault) if !matches!(judged, Err(Stop::Asker(_))) => Err(refused(fault, explanation)),
            _ => judged,
        }
    }

    async fn judge(
        &self,
        principal: Principal,
        body: Bytes,
        tokens_refused: Option<Fault>,
        explanation: &mut Explanation,
    ) -> Result<(), Stop> {
        let Self { gateway, snapshot, arrival, .. } = *self;
        let user_path = principal.user_path(arrival.user_path()?)?;
        gateway.user_paths.preview(&principal, &user_path, gateway.clock.tick())?;
        principal.require(Scope::Inference)?;
        explanation.principal.user_path = user_path.as_str().to_owned();
        let body = receive::receive(Full::new(body), &arrival.headers, gateway).await?;
        let mut call = receive::parse_here(body, arrival)?;
        let mut selection = call.selection(gateway, arrival.request_id.number(), SelectionMode::DryRun);
        explanation.request = Some(into_view::request(&call, arrival, &selection));
        let owner = self.owner(&principal, user_path.as_str());
        let mut context = CallContext::explained(gateway, snapshot, arrival, owner);
        self.look_back(&mut call, &principal, &context).await?;
        let access = Access::new(&gateway.policy, &snapshot.routes, &principal, &user_path);
        let asking = call.asking(access, arrival, &gateway.policy)?;
        let mut steps = Vec::new();
        let resolved = resolve::resolve(&asking, &mut steps);
        let error = resolved.as_ref().err().map(into_view::refusal);
        explanation.resolution = Some(Resolution { steps, error });
        let resolved = resolved?;
        let workflow = context.resolve_policy(&call, &resolved.primary().target, &user_path);
        explanation.workflow = into_view::workflow(&context);
        workflow?;
        call = self.inspect(call, &mut context, explanation)?;
        let policy = context.policy();
        if let (Some(resolution), Some(workflow)) = (&mut explanation.resolution, context.workflow())
            && !policy.features.fallback
        {
            resolution
                .steps
                .note("workflow", &workflow.id, || format!("'{}' allows no fallback", workflow.id));
        }
        // The state of conversations is that of the calls that are replayed.
        if !self.is_replay {
            selection.warm = call.warm_target(&context, arrival.session_id());
        }
        let mut ranked = resolved.with_options(&policy.routing, policy.features.fallback).ranked(&selection);
        self.apply_client_credential(&mut ranked, explanation);
        let first = ranked.first().map(|candidate| &candidate.choice);
        let cached = self.preview_cache(&call, first, &context).await?;
        let is_hit = cached.as_ref().is_some_and(|cached| cached.status.is_hit());
        // Entries belong to callers: others may not learn what is in the cache.
        explanation.cache = cached.filter(|_| self.confided).map(into_view::cache);
        if is_hit && self.confided {
            return Ok(());
        }
        let (call, unaffordable) =
            self.afford(call, &mut ranked, (&principal, user_path), &context, explanation)?;
        let plan = plan_of(&ranked);
        let reservation = reserve::reserve(&plan, &call);
        self.dry_run(&call, &plan, &ranked, &context, &selection, explanation);
        explanation.estimated_cost = Some(into_view::cost(&reservation));
        match unaffordable.or(tokens_refused) {
            Some(fault) => Err(refused(fault, explanation)),
            None => Ok(()),
        }
    }

    /// Keeps the targets that the client's own credential is sent to, if the call has one and its first target takes it.
    fn apply_client_credential(
        &self,
        ranked: &mut Vec<Ranked<Arc<Deployment>>>,
        explanation: &mut Explanation,
    ) {
        let Some(credential) = &self.arrival.client_credential else { return };
        let Plan { deployments, .. } = credential.apply(plan_of(ranked));
        if deployments.first().is_none_or(|first| first.client_credential.is_none()) {
            return;
        }
        ranked.retain(|candidate| candidate.choice.instance.takes(credential));
        for (candidate, deployment) in ranked.iter_mut().zip(deployments) {
            candidate.choice = deployment;
        }
        if let Some(resolution) = &mut explanation.resolution {
            resolution
                .steps
                .note("client credential", "", || "the call uses the client's own credential".to_owned());
        }
    }

    async fn preview_cache(
        &self,
        call: &Call,
        first: Option<&Arc<Deployment>>,
        context: &CallContext,
    ) -> Result<Option<CachePreview>, Fault> {
        if self.is_replay { Ok(None) } else { cache::preview(self.arrival, call, first, context).await }
    }

    /// Runs the guardrails of the request. Returns the call as they change it.
    fn inspect(
        &self,
        call: Box<Call>,
        context: &mut CallContext,
        explanation: &mut Explanation,
    ) -> Result<Box<Call>, Fault> {
        let Some(guardrails) = context.guardrails().cloned() else { return Ok(call) };
        let request = inspect::request_to_inspect(self.gateway, &call, &guardrails)?;
        let mut inspection = inspect_request(&guardrails.request, request, context.placeholder_key());
        let verdicts = std::mem::take(&mut inspection.verdicts);
        explanation.guardrails = Some(into_view::guardrails(&guardrails, verdicts));
        let (body, changes) = inspect::accept_changes(self.gateway, &call, &guardrails, inspection)?;
        let changed = body.map(|body| receive::parse_here(body, self.arrival)).transpose()?;
        let has_placeholders = !changes.placeholders.is_empty();
        context.set_placeholders(changes.placeholders);
        let call = inspect::apply_changes(call, changed, changes.history, &guardrails, has_placeholders);
        if call.holds_answer {
            context.hold_answer();
        }
        Ok(call)
    }

    /// Checks the budgets on the path. Returns the call as it would be sent, and the error if it is refused.
    fn afford(
        &self,
        call: Box<Call>,
        ranked: &mut Vec<Ranked<Arc<Deployment>>>,
        (principal, user_path): (&Principal, UserPath),
        context: &CallContext,
        explanation: &mut Explanation,
    ) -> Result<(Box<Call>, Option<Fault>), Stop> {
        let gateway = self.gateway;
        let run = self.arrival.run_id()?;
        let scope = BudgetScope::new(principal, user_path, self.arrival.at, run);
        let look = |plan: &Plan, explanation: &mut Explanation| {
            let history = Pair::of(gateway, principal, plan);
            budget_admission::fit(plan, &call, context.policy().prompt_cache, &history, |worst| {
                let (rooms, exceeded) = budgets::look(&gateway.budgets, &scope, worst, gateway.clock.now());
                explanation.budgets = Some(rooms.iter().map(|room| self.shown(room)).collect());
                exceeded.map_or(Ok(()), Err)
            })
        };
        let is_free = plan_of(ranked).uses_client_credential();
        if self.is_replay || is_free || !context.policy().features.budget {
            explanation.budgets = Some(Vec::new());
            return Ok((call, None));
        }
        match budgets::budgeted(&gateway.budgets, context.fail_closed_at(), || scope.clone()) {
            Ok(Some(_)) => {}
            Ok(None) => {
                explanation.budgets = Some(Vec::new());
                return Ok((call, None));
            }
            Err(fault) => {
                let (rooms, _) = budgets::look(&gateway.budgets, &scope, None, gateway.clock.now());
                explanation.budgets = Some(rooms.iter().map(|room| self.shown(room)).collect());
                return Ok((call, Some(fault)));
            }
        }
        let mut outcome = look(&plan_of(ranked), explanation);
        let mut refusal = None;
        if let Err(does_not_fit) = &outcome {
            refusal = Some(budgets::refused(
                &gateway.capabilities,
                self.asker,
                &does_not_fit.exceeded,
                gateway.clock.now(),
            ));
            if let Some((selector, cheaper)) =
                self.downgraded(&call, principal, &scope, &does_not_fit.exceeded, context.policy())
            {
                let fits = look(&plan_of(&cheaper), explanation);
                if fits.is_ok() {
                    explanation.downgraded_to = Some(selector);
                    *ranked = cheaper;
                    outcome = fits;
                }
            }
        }
        let Ok(fit) = outcome else { return Ok((call, refusal)) };
        explanation.max_tokens_clamped = fit.clamp.map(|clamp| into_view::clamp(&clamp));
        Ok((budget_admission::with_bound(call, fit.bound)?, None))
    }

    /// Resolves the budget's `downgrade_to` into the targets that the caller may use.
    fn downgraded(
        &self,
        call: &Call,
        principal: &Principal,
        scope: &BudgetScope,
        exceeded: &budgets::Exceeded,
        policy: &EffectivePolicy,
    ) -> Option<(String, Vec<Ranked<Arc<Deployment>>>)> {
        let selector = exceeded.downgrade_to.as_deref()?;
        let access = Access::new(&self.gateway.policy, &self.snapshot.routes, principal, &scope.user_path);
        let asking = budget_admission::downgrade(self.gateway, access, call, selector);
        let resolved = resolve::resolve(&asking, &mut ()).ok()?;
        let resolved = resolved.with_options(&policy.routing, policy.features.fallback);
        let selection = call.selection(self.gateway, self.arrival.request_id.number(), SelectionMode::DryRun);
        Some((selector.to_owned(), resolved.ranked(&selection)))
    }

    fn shown(&self, room: &budgets::Headroom) -> BudgetRoom {
        into_view::budget(
            room,
            budgets::is_visible(&self.gateway.capabilities, self.asker, &room.status.rule.key),
        )
    }

    fn dry_run(
        &self,
        call: &Call,
        plan: &Plan,
        ranked: &[Ranked<Arc<Deployment>>],
        context: &CallContext,
        selection: &SelectionContext,
        explanation: &mut Explanation,
    ) {
        let dry_run = dispatch::dry_run(call, &plan.deployments, context, selection.now);
        let candidates = ranked.iter().zip(&dry_run.outlooks).enumerate();
        let candidates = candidates
            .map(|(place, (candidate, outlook))| into_view::candidate(place, candidate, outlook, selection))
            .collect();
        explanation.candidates = Some(candidates);
        explanation.decision = into_view::decision(plan, &dry_run);
        explanation.upstream_request =
            dry_run.preview.map(|preview| into_view::upstream_request(preview, plan));
    }

    /// The owner of stored state. If the asker may not see that state, the key is empty, so that none is found.
    fn owner(&self, principal: &Principal, user_path: &str) -> Owner {
        Owner {
            key: if self.confided { principal.actor().to_owned() } else { String::new() },
            user_path: user_path.to_owned(),
            tenant: principal.tenant().map(|tenant| tenant.to_string()),
        }
    }

    /// Loads the history of a conversation, which the request would contain. Only its owner and admins may see it.
    async fn look_back(
        &self,
        call: &mut Call,
        principal: &Principal,
        context: &CallContext,
    ) -> Result<(), Stop> {
        if call.surface != Surface::Converse(Format::Responses) {
            return Ok(());
        }
        let request = &call.request;
        if !self.confided && request.object.value(&request.body, "previous_response_id").is_some() {
            let needed = Scope::Admin(None, Action::Read).to_string();
            return Err(Stop::Asker(domain::fault::insufficient_scope(needed)));
        }
        responses::look_back(call, principal, context.owner().clone(), &self.gateway.responses).await?;
        Ok(())
    }
}

fn plan_of(ranked: &[Ranked<Arc<Deployment>>]) -> Plan {
    Plan::of(ranked.iter().map(|candidate| candidate.choice.clone()).collect())
}

/// Clears the decision: a call that a limit or a budget refuses is sent to no target.
fn refused(fault: Fault, explanation: &mut Explanation) -> Stop {
    explanation.decision = Decision::default();
    explanation.upstream_request = None;
    Stop::Call(fault)
}
