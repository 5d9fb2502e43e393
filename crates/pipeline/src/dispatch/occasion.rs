//! What a call is made ready with besides itself: a ticket's own, or what an explanation puts in its place.

use domain::receipt::TraceContext;
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

    fn trace(&self) -> Option<&TraceContext>;
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

    fn trace(&self) -> Option<&TraceContext> {
        self.receipt()?.trace.as_ref()
    }
}
