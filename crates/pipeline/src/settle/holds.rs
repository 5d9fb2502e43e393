//! What a call holds while it is under way and gives back when it is settled.

use domain::caller::Caller;
use domain::fault::Fault;
use domain::receipt::Receipt;
use http::HeaderMap;

use super::Ticket;
use crate::limit::{self, Account, Permit, Told};
use crate::spending::Hold;

#[derive(Default)]
pub struct Holds {
    permit: Option<Permit>,
    /// The limit that refused the call.
    refused: Option<Told>,
    budget: Option<Hold>,
}

impl Holds {
    /// So many tokens are known to be consumed.
    pub fn consumed(&mut self, tokens: u64) {
        if let Some(permit) = &mut self.permit {
            permit.consumed(tokens);
        }
    }

    /// The receipt is complete: what was really consumed takes the place of what was held.
    pub fn settle(self, receipt: &Receipt) {
        if let Some(permit) = self.permit {
            permit.settle(receipt.usage.tokens.total());
        }
        if let Some(budget) = self.budget {
            budget.settle(receipt.total_cost());
        }
    }
}

impl Ticket {
    /// Takes the call's share of its key's limits.
    pub fn limit(&mut self, caller: &Caller, tokens: u64) -> Result<(), Fault> {
        match limit::admit(&self.gateway, caller, tokens) {
            Ok(permit) => self.holds.permit = permit,
            Err(standing) => {
                self.holds.refused = Some(Told::from(standing));
                return Err(limit::refusal(&standing, tokens));
            }
        }
        Ok(())
    }

    /// What the client is told of them, on success and on refusal alike.
    pub fn limits(&self, headers: &mut HeaderMap) {
        let told = || self.holds.permit.as_ref().and_then(|permit| permit.account().told(self.now()));
        if let Some(told) = self.holds.refused.or_else(told) {
            told.write(headers);
        }
    }

    /// Where the call is counted, if its key is limited.
    pub fn account(&self) -> Option<Account> {
        self.holds.permit.as_ref().map(|permit| permit.account().clone())
    }

    pub fn hold(&mut self, budget: Option<Hold>) {
        self.holds.budget = budget;
    }
}
