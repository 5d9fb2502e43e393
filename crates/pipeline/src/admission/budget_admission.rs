//! Admission against budgets: holds the worst-case cost of a call. If that does not fit, the cost is computed more
//! exactly, then the output bound is lowered, then a cheaper model may serve the call.

use std::sync::Arc;

use domain::fault::Fault;
use domain::money::Nanos;
use domain::principal::Principal;
use wire::codec::shape::reasoning_budget;

use super::Prepared;
use super::shared_room::{BudgetProgress, NotAdmitted, Short};
use crate::accounting::ticket::Ticket;
use crate::admission::reserve::WorstCost;
use crate::budgets::{self, BudgetScope, Clamp, Exceeded, Hold, KeyAndModel};
use crate::call::effective_policy::EffectivePolicy;
use crate::call::receive::Call;
use crate::gateway::Gateway;
use crate::policy::PromptCacheMode;
use crate::routing::choose::SelectionMode;
use crate::routing::resolve::access::Access;
use crate::routing::resolve::{self, Plan, RoutingRequest};

/// Attempts to clamp the output bound: other calls may take the room between reading it and placing the hold.
const CLAMP_ATTEMPTS: usize = 3;

/// An output bound at which a call fits into its budgets.
pub struct Fit<T> {
    pub held: T,
    pub worst: Option<Nanos>,
    /// `None` if the call has no output to bound, or no bound is known.
    pub bound: Option<u64>,
    pub clamp: Option<Clamp>,
}

/// A call that does not fit into its budgets, and the least amount it would need.
pub struct DoesNotFit {
    pub exceeded: Box<Exceeded>,
    pub need: Option<Nanos>,
}

/// Holds the worst-case cost of a call. The returned call carries its output bound if that was missing or had to be
/// lowered.
pub fn afford(
    gateway: &Gateway,
    draw: u64,
    prepared: Prepared,
    ticket: &mut Ticket,
    mut progress: BudgetProgress,
) -> Result<Prepared, NotAdmitted> {
    if !ticket.context.policy().features.budget || prepared.plan.uses_client_credential() {
        return Ok(prepared);
    }
    let scope = || ticket.receipt.budget_scope(&prepared.principal, &prepared.user_path);
    let Some(scope) = budgets::budgeted(&gateway.budgets, ticket.context.fail_closed_at(), scope)? else {
        return Ok(prepared);
    };
    let prompt_cache = ticket.context.policy().prompt_cache;
    let history = Pair::of(gateway, &prepared.principal, &prepared.plan);
    let mut clamps = false;
    let hold = |worst| {
        gateway.hold_instead(&scope, worst, progress.check, &mut progress.room).map_err(|mut exceeded| {
            clamps = exceeded.clamps;
            exceeded.clamps &= progress.is_final;
            exceeded
        })
    };
    let DoesNotFit { exceeded, need } =
        match fit(&prepared.plan, &prepared.call, prompt_cache, &history, hold) {
            Ok(fit) => return Ok(bounded(gateway, prepared, fit, &scope, ticket)?),
            Err(does_not_fit) => does_not_fit,
        };
    if !progress.is_final {
        let need = need.unwrap_or_default();
        return Err(NotAdmitted::Short(Box::new(Short { prepared, progress, scope, need, clamps })));
    }
    if let Some(refusal) = progress.refusal.take() {
        return Err(refusal.into());
    }
    budgets::exhausted(&gateway.budgets, &scope, need);
    let now = gateway.clock.now();
    let refusal = budgets::refused(&gateway.capabilities, &prepared.principal, &exceeded, now);
    let policy = ticket.context.policy();
    let Some(plan) = downgraded(gateway, draw, &prepared, &exceeded, policy) else {
        return Err(refusal.into());
    };
    let prepared = Prepared { plan, ..prepared };
    ticket.record_plan(&prepared.plan);
    afford(gateway, draw, prepared, ticket, progress.downgraded(gateway, refusal))
}

/// The key and model of a call, with access to their clamp history.
pub struct Pair<'a> {
    gateway: &'a Gateway,
    pub pair: KeyAndModel,
}

impl<'a> Pair<'a> {
    pub fn of(gateway: &'a Gateway, principal: &Principal, plan: &Plan) -> Self {
        let key = principal.key().map_or_else(|| Arc::from("master"), |key| key.id.clone());
        let model = plan.first().map(|deployment| deployment.target.model.clone()).unwrap_or_default();
        Self { gateway, pair: KeyAndModel { key, model } }
    }

    fn least(&self, call: &Call) -> Option<u64> {
        let now = self.gateway.clock.now();
        self.gateway.budgets.clamps().least(&self.pair, reasoning_budget(&call.request), now)
    }
}

/// Finds the first output bound that fits, in the order given above. `attempt` places the hold for a call; for an
/// explanation it only checks the budgets.
pub fn fit<T>(
    plan: &Plan,
    call: &Call,
    prompt_cache: PromptCacheMode,
    history: &Pair<'_>,
    mut attempt: impl FnMut(Option<Nanos>) -> Result<T, Box<Exceeded>>,
) -> Result<Fit<T>, DoesNotFit> {
    let mut cost = WorstCost::new(plan, call, prompt_cache);
    let asked = cost.bound(plan);
    let worst = cost.at(asked);
    let mut exceeded = match attempt(worst) {
        Ok(held) => return Ok(Fit { held, worst, bound: asked, clamp: None }),
        Err(exceeded) => exceeded,
    };
    if cost.tighten(call, history.gateway.budgets.prefixes()) {
        let worst = cost.at(asked);
        match attempt(worst) {
            Ok(held) => return Ok(Fit { held, worst, bound: asked, clamp: None }),
            Err(still) => exceeded = still,
        }
    }
    let need = cost.at(asked);
    let clampable = asked.filter(|_| exceeded.clamps).and_then(|asked| Some((asked, history.least(call)?)));
    let Some((asked, least)) = clampable else { return Err(DoesNotFit { exceeded, need }) };
    for _ in 0..CLAMP_ATTEMPTS {
        let Some(bound) = cost.largest_within(exceeded.room, least, asked.saturating_sub(1)) else { break };
        let worst = cost.at(Some(bound));
        match attempt(worst) {
            Ok(held) => {
                let clamp = Some(Clamp { asked, used: bound, until: exceeded.end });
                return Ok(Fit { held, worst, bound: Some(bound), clamp });
            }
            Err(still) => exceeded = still,
        }
    }
    Err(DoesNotFit { need: cost.at(Some(least.min(asked))), exceeded })
}

fn bounded(
    gateway: &Gateway,
    prepared: Prepared,
    fit: Fit<Hold>,
    scope: &BudgetScope,
    ticket: &mut Ticket,
) -> Result<Prepared, Fault> {
    let Fit { held, worst, bound, clamp } = fit;
    let pair = Pair::of(gateway, &prepared.principal, &prepared.plan).pair;
    ticket.record_reservation(scope, worst, clamp.as_ref());
    ticket.holds.hold(held, worst, Some((pair, clamp)));
    Ok(Prepared { call: with_bound(prepared.call, bound)?, ..prepared })
}

/// Sets the output bound of a budgeted call, so that the amount held is the most that it can cost.
pub fn with_bound(call: Box<Call>, bound: Option<u64>) -> Result<Box<Call>, Fault> {
    match bound.filter(|bound| call.shape().max_output != Some(*bound)) {
        Some(bound) => call.with_max_output(bound),
        None => Ok(call),
    }
}

/// Resolves the budget's `downgrade_to` into the targets that the caller may use: a new resolution, which reads the
/// gateway's settings as the first one did. The workflow stays that of the first one.
fn downgraded(
    gateway: &Gateway,
    draw: u64,
    prepared: &Prepared,
    exceeded: &Exceeded,
    policy: &EffectivePolicy,
) -> Option<Plan> {
    let Prepared { snapshot, principal, user_path, call, .. } = prepared;
    let access = Access::new(&gateway.policy, &snapshot.routes, principal, user_path);
    let asking = downgrade(gateway, access, call, exceeded.downgrade_to.as_deref()?);
    let resolved = resolve::resolve(&asking, &mut ()).ok()?;
    let resolved = resolved.with_options(&policy.routing, policy.features.fallback);
    Some(resolved.plan(|| call.selection(gateway, draw, SelectionMode::Live)))
}

pub fn downgrade<'a>(
    gateway: &'a Gateway,
    access: Access<'a>,
    call: &'a Call,
    selector: &'a str,
) -> RoutingRequest<'a> {
    let fallback = &gateway.policy.fallback;
    RoutingRequest { access, model: Some(selector), hint: None, forced: None, fallback, needs: call }
}
