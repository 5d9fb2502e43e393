//! Records the decisions about a call for the audit log. Calls that are not audited record nothing.

use std::time::Duration;

use domain::money::Nanos;
use domain::principal::Principal;
use domain::receipt::{BudgetBalance, BudgetReservation, MOST_TARGETS};
use wire::response_facts::ResponseFacts;

use crate::accounting::ticket::Ticket;
use crate::budgets::{self, BudgetScope, Clamp, Headroom};
use crate::call::cache_use::CacheStatus;
use crate::rate_limit::{self, LimitStatus};
use crate::routing::resolve::Plan;

/// Most budgets that are recorded.
const MOST_BUDGETS: usize = 8;

impl Ticket {
    /// Records the targets of the call.
    pub fn record_plan(&mut self, plan: &Plan) {
        self.audit.record_journey(|journey| {
            let targets = plan.deployments.iter().take(MOST_TARGETS);
            journey.targets = targets.map(|deployment| deployment.target.selector()).collect();
            journey.target_count = u32::try_from(plan.deployments.len()).unwrap_or(u32::MAX);
        });
    }

    /// Whether the model and finish reasons of the answer are recorded, in its trace or in the audit log.
    pub fn records_response(&self) -> bool {
        self.receipt.is_traced() || self.audit.is_on()
    }

    /// Records the model and finish reasons of the last attempt's answer.
    pub fn record_response(&mut self, response: ResponseFacts) {
        self.audit.record_journey(|journey| journey.finish_reason = response.finish_reasons.first().cloned());
        self.receipt.trace_response(response);
    }

    /// Records the time of the inspection of the request, which began at this time.
    pub fn record_inspection(&mut self, begun: Option<Duration>) {
        let Some(begun) = begun else { return };
        let took = self.context.now().saturating_sub(begun);
        self.audit.record_journey(|journey| journey.inspection_us = u64::try_from(took.as_micros()).ok());
    }

    /// Records the amount that is held against budgets, and what these have left.
    pub fn record_reservation(
        &mut self,
        scope: &BudgetScope,
        reserved: Option<Nanos>,
        clamp: Option<&Clamp>,
    ) {
        let gateway = self.context.gateway();
        self.audit.record_journey(|journey| {
            let (mut rooms, _) = budgets::look(&gateway.budgets, scope, None, gateway.clock.now());
            rooms.sort_by_key(|room| room.status.remaining());
            journey.budget = Some(BudgetReservation {
                reserved,
                budgets: rooms.iter().take(MOST_BUDGETS).map(balance).collect(),
                clamped: clamp.map(|clamp| (clamp.asked, clamp.used)),
            });
        });
    }

    /// Records how the call ended: its cache verdict, the limits of its key and the length of its stream.
    pub(super) fn record_end(&mut self) {
        let Self { context, receipt, audit, cache, .. } = self;
        audit.record_journey(|journey| {
            journey.key_name = context.principal().and_then(Principal::key).map(|key| key.name.to_string());
            if cache.status != CacheStatus::Off {
                cache.status.as_str().clone_into(&mut journey.cache);
                journey.cache_reason = cache.reason.map(|reason| reason.as_str().to_owned());
            }
            let key = context.principal().and_then(rate_limit::limited);
            let statuses = key.map(|key| context.gateway().limiter.look(key, context.now()));
            journey.limits = statuses.iter().flatten().map(LimitStatus::count).collect();
            journey.close_stream(receipt.receipt(), context.elapsed());
        });
    }
}

fn balance(room: &Headroom) -> BudgetBalance {
    let key = &room.status.rule.key;
    BudgetBalance {
        user_path: key.user_path.as_str().to_owned(),
        tenant: key.tenant.clone(),
        period: key.period.label(),
        remaining: room.status.remaining(),
    }
}
