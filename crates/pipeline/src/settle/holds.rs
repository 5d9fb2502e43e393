//! What a call holds while it is under way and gives back when it is settled.

use domain::caller::Caller;
use domain::money::Nanos;
use domain::receipt::Receipt;
use domain::user_path::UserPath;
use http::HeaderMap;

use super::Ticket;
use crate::limit::Permit;
use crate::spending::{Hold, Occasion};

#[derive(Default)]
pub struct Holds {
    permit: Option<Permit>,
    budget: Option<Hold>,
}

impl Holds {
    pub fn headers(&self, headers: &mut HeaderMap) {
        if let Some(permit) = &self.permit {
            permit.headers(headers);
        }
    }

    /// The receipt is complete: what was really consumed takes the place of what was held.
    pub fn settle(self, receipt: &Receipt) {
        if let Some(permit) = self.permit {
            permit.settle(receipt.usage.tokens.total());
        }
        if let Some(budget) = self.budget {
            budget.settle(&receipt.id, receipt.total_cost());
        }
    }
}

impl Ticket {
    pub fn permit(&mut self, permit: Option<Permit>) {
        self.holds.permit = permit;
    }

    pub fn hold(&mut self, budget: Option<Hold>) {
        self.holds.budget = budget;
    }

    /// The call goes on at another provider's cost: false when no budget has room for that.
    pub fn hold_more(&mut self, more: impl FnOnce() -> Option<Nanos>) -> bool {
        match &mut self.holds.budget {
            Some(budget) => more().is_none_or(|more| budget.extend(more)),
            None => true,
        }
    }

    /// The call as budgets see it.
    pub fn occasion(&self, caller: &Caller, user_path: &UserPath) -> Occasion {
        Occasion {
            at: self.receipt().map(|receipt| receipt.at).unwrap_or_default(),
            tenant: caller.key().and_then(|key| key.tenant_id.clone()),
            user_path: user_path.clone(),
        }
    }
}
