//! What a call is made ready with besides itself: a ticket's own, or what an explanation puts in its place.

use std::sync::Arc;

use store::Owner;

use crate::gateway::Gateway;
use crate::settle::Ticket;

pub trait Occasion {
    fn gateway(&self) -> &Gateway;

    /// Unique to the call, of letters and digits: what its ids are made from.
    fn seed(&self) -> String;

    /// When the call arrived, in seconds.
    fn created(&self) -> i64;

    /// Who stored state belongs to.
    fn owner(&self) -> Owner;
}

impl Occasion for Ticket {
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

/// A copy of a ticket's values for work on another thread. A call is prepared without its trace.
pub struct OwnedOccasion {
    gateway: Arc<Gateway>,
    seed: String,
    created: i64,
    owner: Owner,
}

impl OwnedOccasion {
    pub fn of(ticket: &Ticket) -> Self {
        Self {
            gateway: ticket.gateway().clone(),
            seed: ticket.seed(),
            created: ticket.created(),
            owner: ticket.owner(),
        }
    }
}

impl Occasion for OwnedOccasion {
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
