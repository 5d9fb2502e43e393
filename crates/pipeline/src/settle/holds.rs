//! What a call holds while it is under way and gives back when it is settled.

use domain::receipt::Receipt;
use http::HeaderMap;

use super::Ticket;
use crate::limit::Permit;
use crate::spending::Hold;

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
            budget.settle(receipt.total_cost());
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
}
