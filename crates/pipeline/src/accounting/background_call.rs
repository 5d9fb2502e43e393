//! Calls with a background response: they stay open in the journal until the result is known.

use std::sync::Arc;

use domain::receipt::{Opening, OpeningRef, Receipt};
use domain::usage::Usage;
use http::HeaderValue;

use super::Ticket;
use super::holds::Holds;
use crate::accounting::reservation::Reservation;
use crate::call::arrival::RequestId;
use crate::gateway::Gateway;
use crate::routing::routes::Lane;

impl Ticket {
    /// Journals the response that the call waits for, so that another process can take it over.
    pub fn note_following(&self, id: &str) {
        let Some(receipt) = self.receipt.as_deref().filter(|_| self.gateway.policy.keeps_journal()) else {
            return;
        };
        let opening = OpeningRef {
            audited: self.audit.is_some(),
            follow: Some(id),
            ..receipt.opening(&self.reserved.usage, self.reserved.cost)
        };
        if let Err(error) = self.gateway.journal.open_call(opening) {
            self.gateway.metrics.journal_failures.inc();
            tracing::error!(%error, "journal write failed; background response not tracked after a restart");
        }
    }

    /// Drops the ticket without a receipt. The call stays open in the journal, for the next process.
    pub fn leave_open(mut self: Box<Self>) {
        if self.receipt.take().is_some() {
            self.gateway.metrics.in_flight.dec();
        }
    }

    /// Charges the reservation, because the provider will not report usage.
    pub fn charge_reservation(&mut self) {
        let usage = Usage { estimated: true, ..self.reserved.usage.clone() };
        self.consumed(usage, b"");
    }

    /// The ticket of a call that an ended process left open.
    pub fn take_over(gateway: &Arc<Gateway>, opening: Opening, lane: Arc<Lane>) -> Box<Self> {
        gateway.metrics.in_flight.inc();
        let reserved = Reservation {
            usage: opening.reserved.clone(),
            cost: opening.reserved_cost,
            ..Reservation::default()
        };
        let receipt = Receipt {
            provider_id: opening.follow.clone().unwrap_or_default(),
            interrupted: false,
            error_type: None,
            error_code: None,
            usage: Usage::default(),
            cost: None,
            ..Receipt::interrupted(opening)
        };
        Box::new(Self {
            gateway: gateway.clone(),
            request_id: request_id(&receipt.request_id),
            receipt: Some(Box::new(receipt)),
            started: gateway.clock.tick(),
            lane: Some(lane),
            prompt: Default::default(),
            waited: Default::default(),
            usage: None,
            content_bytes: 0,
            bound: None,
            reserved,
            left: true,
            billed: 0,
            lost: Vec::new(),
            dropped: Default::default(),
            keeping: None,
            earlier: None,
            holds: Holds::default(),
            limited: None,
            key: None,
            audit: None,
            trace: None,
        })
    }
}

fn request_id(text: &str) -> RequestId {
    let value = HeaderValue::from_str(text).ok();
    RequestId::accept(value.as_ref()).unwrap_or_else(|| RequestId::made(uuid::Uuid::nil()))
}
