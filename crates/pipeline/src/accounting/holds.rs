//! Rate limit permits and budget holds of a call in flight, released at settlement.

use domain::fault::Fault;
use domain::money::Nanos;
use domain::principal::Principal;
use domain::receipt::Receipt;
use domain::usage::Tokens;
use http::{HeaderMap, HeaderValue};
use parking_lot::Mutex;

use crate::budgets::{Check, Clamp, Hold, KeyAndModel, LeaseOutcome, MissingRoom};
use crate::call::context::CallContext;
use crate::rate_limit::{self, Account, Permit, RateLimitHeaders, Refusal, TokenDemand};

/// The permits and budget holds of a call. Dropping them releases what is held.
#[derive(Default)]
pub struct Holds {
    permit: Option<Permit>,
    /// Headers of the limit that refused the call.
    refused: Option<RateLimitHeaders>,
    /// Behind a lock because concurrent attempts share it.
    budget: Mutex<Option<BudgetHold>>,
}

/// The amount held against budgets.
struct BudgetHold {
    hold: Hold,
    cover: HeldAttempts,
    /// The key and model whose output is recorded, and the clamp that was applied to the output limit.
    history: Option<(KeyAndModel, Option<Clamp>)>,
}

/// The number of attempts that the hold covers.
struct HeldAttempts {
    /// The maximum cost of one attempt.
    worst: Nanos,
    attempts: u32,
}

impl HeldAttempts {
    /// The amount that this many attempts need in addition.
    fn missing(&self, attempts: u32) -> Nanos {
        Nanos(self.worst.0.saturating_mul(i64::from(attempts.saturating_sub(self.attempts))))
    }

    fn reach(&mut self, attempts: u32, mut extend: impl FnMut(Nanos) -> bool) -> bool {
        while self.attempts < attempts {
            if !extend(self.worst) {
                return false;
            }
            self.attempts += 1;
        }
        true
    }
}

impl Holds {
    /// Records the tokens that are known to be consumed.
    pub fn consumed(&mut self, tokens: &Tokens) {
        if let Some(permit) = &mut self.permit {
            permit.consumed(tokens);
        }
    }

    /// Whether a budget applies to the call. Only `/v1` calls count, since passthrough calls have no history.
    pub fn is_budgeted(&self) -> bool {
        self.budget.lock().as_ref().is_some_and(|stake| stake.history.is_some())
    }

    /// Replaces the held amounts by the actual usage of the complete receipt.
    pub fn settle(self, receipt: &Receipt) {
        if let Some(permit) = self.permit {
            // Tokens from the cache do not count against the limits of the key.
            let tokens = if receipt.is_from_cache() { Tokens::default() } else { receipt.usage.tokens };
            permit.settle(&tokens);
        }
        if let Some(BudgetHold { hold, history, .. }) = self.budget.into_inner() {
            let output = receipt.usage.tokens.total_output();
            if let Some((pair, clamp)) = history.filter(|_| receipt.status < 400 && output > 0) {
                hold.clamps().record(&pair, output, clamp);
            }
            hold.settle(&receipt.id, receipt.total_cost());
        }
    }

    /// Undoes the count against request limits, for a call that the gateway itself refuses with 429.
    pub fn uncount_request(&mut self) {
        if let Some(permit) = &mut self.permit {
            permit.uncount_request();
        }
    }

    /// Counts the call against its key's request limits. This happens right after authentication, whatever the outcome.
    pub async fn limit_request(&mut self, context: &CallContext, caller: &Principal) -> Result<(), Fault> {
        let gateway = context.gateway();
        match rate_limit::admit(&gateway.limiter, caller, &gateway.clock).await {
            Ok(permit) => self.permit = permit,
            Err(refusal) => return Err(self.refuse(context, &refusal)),
        }
        Ok(())
    }

    /// Takes part in the token limits of the key, for a call that does not count as a request.
    pub fn join_account(&mut self, context: &CallContext, caller: &Principal) {
        let gateway = context.gateway();
        self.permit = rate_limit::join(&gateway.limiter, caller, &gateway.clock);
    }

    /// Reserves the call's tokens against its key's limits; [`Holds::confirm_tokens`] comes after it.
    pub fn limit_tokens(
        &mut self,
        context: &CallContext,
        demand: impl FnOnce() -> TokenDemand,
    ) -> Result<(), Fault> {
        let Some(permit) = &mut self.permit else { return Ok(()) };
        if let Err(refusal) = permit.admit_tokens(demand()) {
            return Err(self.refuse(context, &refusal));
        }
        Ok(())
    }

    /// Waits for the verdict about the call's tokens, if another process has to be asked.
    pub async fn confirm_tokens(&mut self, context: &CallContext) -> Result<(), Fault> {
        let Some(permit) = &mut self.permit else { return Ok(()) };
        if let Err(refusal) = permit.confirm_tokens().await {
            return Err(self.refuse(context, &refusal));
        }
        Ok(())
    }

    fn refuse(&mut self, context: &CallContext, refusal: &Refusal) -> Fault {
        match refusal {
            Refusal::Limit(status) => {
                context.gateway().metrics.limited(status.bound.name());
                self.refused = Some(RateLimitHeaders::from(*status));
                rate_limit::refusal(status)
            }
            Refusal::NotShared => rate_limit::not_shared(),
        }
    }

    /// Adds the rate limit headers, on success and on refusal alike.
    pub fn write_headers(&self, context: &CallContext, headers: &mut HeaderMap) {
        let permitted =
            || self.permit.as_ref().and_then(|permit| permit.account().rate_limit_headers(context.now()));
        // A call that is refused before limits are checked reports those of its key.
        let counted = || {
            let key = context.principal().and_then(rate_limit::limited)?;
            rate_limit::rate_limit_headers(&context.gateway().limiter, key, context.now())
        };
        if let Some(limits) = self.refused.or_else(permitted).or_else(counted) {
            limits.write(headers);
        }
    }

    /// The rate limit account of the call, if its key is limited.
    pub fn account(&self) -> Option<Account> {
        self.permit.as_ref().map(|permit| permit.account().clone())
    }

    /// Stores the budget hold for one attempt, with its maximum cost.
    pub fn hold(&mut self, hold: Hold, worst: Option<Nanos>, history: Option<(KeyAndModel, Option<Clamp>)>) {
        let cover = HeldAttempts { worst: worst.unwrap_or(Nanos::ZERO), attempts: 1 };
        *self.budget.get_mut() = Some(BudgetHold { hold, cover, history });
    }

    /// The header that reports a lowered output limit: the requested one and the one used.
    pub fn clamped(&self) -> Option<HeaderValue> {
        let budget = self.budget.lock();
        let (_, clamp) = budget.as_ref()?.history.as_ref()?;
        let Clamp { asked, used, .. } = clamp.as_ref()?;
        HeaderValue::try_from(format!("{asked}, {used}")).ok()
    }

    /// Whether the hold covers this many attempts; extends it if needed. False if a budget has too little left, or if
    /// replicas share it and the lease of this process has.
    pub fn cover(&self, attempts: u32, check: Check) -> bool {
        if attempts <= 1 {
            return true;
        }
        let mut budget = self.budget.lock();
        budget.as_mut().is_none_or(|BudgetHold { hold, cover, .. }| {
            cover.reach(attempts, |more| hold.extend(more, check))
        })
    }

    /// The same once the lease has room for it, or the shared budgets turn out to have too little left.
    pub async fn cover_waiting(&self, attempts: u32, context: &CallContext) -> bool {
        let (clock, policy) = (&*context.gateway().clock, context.policy());
        let deadline = clock.tick() + policy.budget_lease_wait;
        while let Some(missing) = self.missing_room(attempts) {
            match missing.wait(clock, deadline).await {
                LeaseOutcome::Room if !self.cover(attempts, Check::Lease) => {}
                LeaseOutcome::Room => return true,
                LeaseOutcome::Refused { .. } => return self.cover(attempts, Check::Lease),
                LeaseOutcome::Unknown if policy.budgets_closed => return false,
                LeaseOutcome::Unknown => return self.cover(attempts, Check::Amount),
            }
        }
        false
    }

    fn missing_room(&self, attempts: u32) -> Option<MissingRoom> {
        let budget = self.budget.lock();
        let BudgetHold { hold, cover, .. } = budget.as_ref()?;
        hold.missing_room(cover.missing(attempts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_grows_by_what_another_attempt_may_cost_and_only_once() {
        let mut cover = HeldAttempts { worst: Nanos(7), attempts: 1 };
        let mut room = 20;
        let mut extend = |more: Nanos| {
            room -= more.0;
            room >= 0
        };
        assert!(cover.reach(1, &mut extend), "the first is held for");
        assert!(cover.reach(2, &mut extend) && cover.reach(2, &mut extend));
        assert!(cover.reach(3, &mut extend), "14 of 20");
        assert!(!cover.reach(4, &mut extend), "21 of 20");
        assert_eq!((cover.attempts, room), (3, -1));
    }
}
