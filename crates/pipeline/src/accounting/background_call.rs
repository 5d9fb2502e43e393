//! Calls with a background response: they stay open in the journal until the result is known.

use std::sync::Arc;

use domain::receipt::{Opening, OpeningRef, Receipt};
use domain::usage::Usage;
use http::HeaderValue;
use store::{Owner, ShardId};

use crate::accounting::audit_tap::AuditTap;
use crate::accounting::holds::Holds;
use crate::accounting::receipt_builder::ReceiptBuilder;
use crate::accounting::reservation::Reservation;
use crate::accounting::ticket::Ticket;
use crate::call::arrival::RequestId;
use crate::call::cache_use::CacheUse;
use crate::call::context::CallContext;
use crate::gateway::Gateway;
use crate::routing::routes::Deployment;

impl Ticket {
    /// Journals the response that the call waits for, so that another process can take it over.
    pub fn note_following(&self, id: &str) {
        let gateway = self.gateway();
        let Some(receipt) = self.journaled_receipt() else { return };
        let reserved = &self.receipt.reserved;
        let opening = OpeningRef {
            audited: self.audit.is_on(),
            follow: Some(id),
            ..receipt.opening(&reserved.usage, reserved.cost)
        };
        if let Err(error) = gateway.journal.open_call(opening, self.receipt.shard) {
            gateway.metrics.journal_failures.inc();
            tracing::error!(%error, "journal write failed; background response not tracked after a restart");
        }
    }

    /// Drops the ticket without a receipt. The call stays open in the journal, for the next process.
    pub fn leave_open(mut self: Box<Self>) {
        if self.receipt.receipt.take().is_some() {
            self.gateway().metrics.in_flight.dec();
        }
    }

    /// Charges the reservation, because the provider will not report usage.
    pub fn charge_reservation(&mut self) {
        let usage = Usage { estimated: true, ..self.receipt.reserved.usage.clone() };
        self.consumed(usage, b"");
    }

    /// The ticket of a call that an ended process left open.
    pub fn take_over(gateway: &Arc<Gateway>, opening: Opening, deployment: Arc<Deployment>) -> Box<Self> {
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
        let owner = Owner {
            key: receipt.auth_key_id.clone().unwrap_or_else(|| "master".into()),
            user_path: receipt.user_path.clone(),
            tenant: receipt.tenant_id.clone(),
        };
        let (request_id, id) = (request_id(&receipt.request_id), receipt.id.clone());
        let context = CallContext::taken_over(gateway, request_id, id, receipt.at, owner);
        let mut builder = ReceiptBuilder::new(Box::new(receipt), None);
        (builder.deployment, builder.reserved, builder.left) = (Some(deployment), reserved, true);
        builder.shard = ShardId::SHARED;
        Box::new(Self {
            context: Arc::new(context),
            receipt: builder,
            holds: Holds::default(),
            audit: AuditTap::off(),
            keeping: None,
            cache: CacheUse::default(),
            is_uninspected: false,
            is_optional: false,
        })
    }
}

fn request_id(text: &str) -> RequestId {
    let value = HeaderValue::from_str(text).ok();
    RequestId::accept(value.as_ref()).unwrap_or_else(|| RequestId::made(uuid::Uuid::nil()))
}
