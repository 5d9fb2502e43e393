//! The context in which a call is prepared: that of a ticket, or a substitute for an explanation.

use std::sync::Arc;

use store::Owner;

use crate::accounting::settle::Ticket;
use crate::gateway::Gateway;

pub trait CallContext {
    fn gateway(&self) -> &Gateway;

    /// Letters and digits that are unique to the call; its ids are derived from them.
    fn seed(&self) -> String;

    /// The arrival time of the call, in seconds.
    fn created(&self) -> i64;

    /// The owner of stored state.
    fn owner(&self) -> Owner;
}

impl CallContext for Ticket {
    fn gateway(&self) -> &Gateway {
        self.gateway()
    }

    fn seed(&self) -> String {
        self.seed()
    }

    fn created(&self) -> i64 {
        self.created()
    }

    fn owner(&self) -> Owner {
        self.owner()
    }
}

/// A copy of a ticket's values for work on another thread. It has no trace, which is not needed to prepare a call.
pub struct OwnedCallContext {
    gateway: Arc<Gateway>,
    seed: String,
    created: i64,
    owner: Owner,
}

impl OwnedCallContext {
    pub fn of(ticket: &Ticket) -> Self {
        Self {
            gateway: ticket.gateway().clone(),
            seed: ticket.seed(),
            created: ticket.created(),
            owner: ticket.owner(),
        }
    }
}

impl CallContext for OwnedCallContext {
    fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    fn seed(&self) -> String {
        self.seed.clone()
    }

    fn created(&self) -> i64 {
        self.created
    }

    fn owner(&self) -> Owner {
        self.owner.clone()
    }
}
