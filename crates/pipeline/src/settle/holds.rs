//! What a call holds while it is under way and gives back when it is settled.

use std::sync::Arc;

use domain::caller::Caller;
use domain::fault::Fault;
use domain::money::Nanos;
use domain::receipt::Receipt;
use domain::usage::Tokens;
use domain::user_path::UserPath;
use http::{HeaderMap, HeaderValue};
use parking_lot::Mutex;

use super::Ticket;
use crate::limit::{self, Account, Permit, Standing, TokenDemand, Told};
use crate::spending::{Clamp, Hold, KeyAndModel, Occasion};

#[derive(Default)]
pub struct Holds {
    permit: Option<Permit>,
    /// The limit that refused the call.
    refused: Option<Told>,
    /// Two attempts at the same time share it.
    budget: Mutex<Option<Stake>>,
}

/// What is held of the budgets.
struct Stake {
    hold: Hold,
    cover: Cover,
    /// Whose output is remembered, and the bound that was lowered for it.
    history: Option<(KeyAndModel, Option<Clamp>)>,
}

/// For how many attempts that is enough.
struct Cover {
    /// What one may cost.
    worst: Nanos,
    attempts: u32,
}

impl Cover {
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
    /// So many tokens are known to be consumed.
    pub fn consumed(&mut self, tokens: &Tokens) {
        if let Some(permit) = &mut self.permit {
            permit.consumed(tokens);
        }
    }

    /// A budget applies to the call, by way of `/v1`.
    pub fn is_budgeted(&self) -> bool {
        self.budget.lock().as_ref().is_some_and(|stake| stake.history.is_some())
    }

    /// The receipt is complete: what was really consumed takes the place of what was held.
    pub fn settle(self, receipt: &Receipt) {
        if let Some(permit) = self.permit {
            permit.settle(&receipt.usage.tokens);
        }
        if let Some(Stake { hold, history, .. }) = self.budget.into_inner() {
            let output = receipt.usage.tokens.total_output();
            if let Some((pair, clamp)) = history.filter(|_| receipt.status < 400 && output > 0) {
                hold.clamps().record(&pair, output, clamp);
            }
            hold.settle(&receipt.id, receipt.total_cost());
        }
    }

    /// The call is refused with a 429 of the gateway, which does not count against request limits.
    pub fn uncount_request(&mut self) {
        if let Some(permit) = &mut self.permit {
            permit.uncount_request();
        }
    }
}

impl Ticket {
    /// Counts the call against its key's request limits: from authentication on, whatever becomes of it.
    pub fn limit_request(&mut self, caller: &Caller) -> Result<(), Fault> {
        match limit::admit(&self.gateway, caller) {
            Ok(permit) => self.holds.permit = permit,
            Err(standing) => return Err(self.limit_reached(&standing)),
        }
        Ok(())
    }

    /// Takes the call's tokens of its key's limits.
    pub fn limit_tokens(&mut self, demand: impl FnOnce() -> TokenDemand) -> Result<(), Fault> {
        let Some(permit) = &mut self.holds.permit else { return Ok(()) };
        if let Err(standing) = permit.admit_tokens(demand()) {
            limit::refused(&self.gateway, &standing);
            return Err(self.limit_reached(&standing));
        }
        Ok(())
    }

    fn limit_reached(&mut self, standing: &Standing) -> Fault {
        self.holds.refused = Some(Told::from(*standing));
        limit::refusal(standing)
    }

    /// What the client is told of them, on success and on refusal alike.
    pub fn limits(&self, headers: &mut HeaderMap) {
        let permitted = || self.holds.permit.as_ref().and_then(|permit| permit.account().told(self.now()));
        let counted = || self.limited.as_ref().and_then(|key| limit::told(&self.gateway, key));
        if let Some(told) = self.holds.refused.or_else(permitted).or_else(counted) {
            told.write(headers);
        }
    }

    /// Where the call is counted, if its key is limited.
    pub fn account(&self) -> Option<Account> {
        self.holds.permit.as_ref().map(|permit| permit.account().clone())
    }

    /// Held for one attempt, at what that may cost at worst.
    pub fn hold(&mut self, hold: Hold, worst: Option<Nanos>, history: Option<(KeyAndModel, Option<Clamp>)>) {
        let cover = Cover { worst: worst.unwrap_or(Nanos::ZERO), attempts: 1 };
        *self.holds.budget.get_mut() = Some(Stake { hold, cover, history });
    }

    /// Tells the client that its output bound was lowered: the bound it asked for and the one that was used.
    pub fn clamped(&self) -> Option<HeaderValue> {
        let budget = self.holds.budget.lock();
        let (_, clamp) = budget.as_ref()?.history.as_ref()?;
        let Clamp { asked, used, .. } = clamp.as_ref()?;
        HeaderValue::try_from(format!("{asked}, {used}")).ok()
    }

    /// Whether so many attempts may be under way, beside those that are over and cost something. False when a budget has
    /// no room for that.
    pub fn covers(&self, attempts: u32) -> bool {
        let needed = self.billed + attempts;
        if needed <= 1 {
            return true;
        }
        let mut budget = self.holds.budget.lock();
        budget.as_mut().is_none_or(|Stake { hold, cover, .. }| cover.reach(needed, |more| hold.extend(more)))
    }

    /// The call as budgets see it.
    pub fn occasion(&self, caller: &Caller, user_path: &UserPath) -> Occasion {
        Occasion {
            at: self.receipt().map(|receipt| receipt.at).unwrap_or_default(),
            tenant: caller.key().and_then(|key| key.tenant_id.clone()),
            user_path: user_path.clone(),
            run: self.receipt().and_then(|receipt| receipt.run_id.as_deref().map(Arc::from)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_grows_by_what_another_attempt_may_cost_and_only_once() {
        let mut cover = Cover { worst: Nanos(7), attempts: 1 };
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
