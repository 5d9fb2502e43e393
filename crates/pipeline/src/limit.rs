//! Station: a key's rate limits. What is taken here is given back, or corrected, when the call is settled.

mod bound;
mod counts;
mod limiter;
mod told;
mod window;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use domain::caller::{Caller, KeyFacts};
use domain::clock::Clock;
use domain::fault::Fault;
use parking_lot::Mutex;

use crate::gateway::Gateway;
use counts::{Counts, Taken};

pub use bound::{Bound, Demand};
pub use counts::Standing;
pub use limiter::Limiter;
pub use told::{Told, refusal, seconds};

/// A call's place within its key's limits, held until the call is settled or dropped.
pub struct Permit {
    account: Account,
    taken: Taken,
    /// What the call has consumed, as far as is known when it is dropped.
    consumed: u64,
    clock: Arc<dyn Clock>,
}

/// Where a limited key's calls are counted.
#[derive(Clone)]
pub struct Account {
    key: Arc<KeyFacts>,
    counts: Arc<Mutex<Counts>>,
}

impl Account {
    /// What a client is told while its call is answered.
    pub fn told(&self, now: Duration) -> Option<Told> {
        self.tightest(1, now)
    }

    fn tightest(&self, own: u64, now: Duration) -> Option<Told> {
        let mut counts = self.counts.lock();
        counts.advance(now);
        counts.tightest(&self.key.rate_limits, own).map(Told::from)
    }
}

impl Permit {
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// So much is known to be consumed; the call is not over yet.
    pub fn consumed(&mut self, tokens: u64) {
        self.consumed = tokens;
        self.account.counts.lock().correct(&mut self.taken, tokens);
    }

    /// The call is over and has consumed so many tokens.
    pub fn settle(mut self, tokens: u64) {
        self.consumed = tokens;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let now = self.clock.tick();
        self.account.counts.lock().leave(self.taken, self.consumed, now);
    }
}

/// None for a caller without limits; the limit that refuses the call is told with [`refusal`].
pub fn admit(gateway: &Gateway, caller: &Caller, demand: Demand) -> Result<Option<Permit>, Standing> {
    let Some(key) = limited(caller) else { return Ok(None) };
    let admitted = gateway.limiter.admit(key, demand, &gateway.clock);
    admitted.map(Some).inspect_err(|standing| gateway.metrics.limited(standing.bound.name()))
}

/// How a call would stand, and what would refuse it. Nothing is taken.
pub fn foresee(gateway: &Gateway, caller: &Caller, demand: Demand) -> Option<(Vec<Standing>, Option<Fault>)> {
    let standings = gateway.limiter.look(limited(caller)?, demand, gateway.clock.tick());
    let refused = counts::longest_wait(standings.iter().copied());
    Some((standings, refused.map(|standing| refusal(&standing, demand))))
}

/// What the client of a call that takes nothing is told.
pub fn told(gateway: &Gateway, key: &Arc<KeyFacts>) -> Option<Told> {
    gateway.limiter.account(key).tightest(0, gateway.clock.tick())
}

pub fn limited(caller: &Caller) -> Option<&Arc<KeyFacts>> {
    caller.key().filter(|key| !key.rate_limits.is_unlimited())
}
