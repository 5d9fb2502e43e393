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
use domain::fault::Fault;
use parking_lot::Mutex;

use crate::gateway::Gateway;
use counts::{Counts, Taken};

pub use bound::Bound;
pub use counts::Standing;
pub use limiter::Limiter;
pub use told::{Told, refusal, seconds};

/// A call's place within its key's limits, held until the call is settled or dropped.
pub struct Permit {
    account: Account,
    taken: Taken,
    /// What the call has consumed, as far as is known when it is dropped.
    consumed: u64,
}

/// Where a limited key's calls are counted.
#[derive(Clone)]
pub struct Account {
    key: Arc<KeyFacts>,
    counts: Arc<Mutex<Counts>>,
}

impl Account {
    /// What a client that is being answered is told.
    pub fn told(&self, now: Duration) -> Option<Told> {
        let mut counts = self.counts.lock();
        counts.advance(now);
        counts.tightest(&self.key.rate_limits).map(Told::from)
    }
}

impl Permit {
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// So much is known to be consumed; the call is not over yet.
    pub fn consumed(&mut self, tokens: u64) {
        self.account.counts.lock().correct(&mut self.taken, tokens);
    }

    /// The call is over and has consumed so many tokens.
    pub fn settle(mut self, tokens: u64) {
        self.consumed = tokens;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut counts = self.account.counts.lock();
        counts.correct(&mut self.taken, self.consumed);
        counts.leave();
    }
}

/// None for a caller without limits; the limit that refuses the call is told with [`refusal`].
pub fn admit(gateway: &Gateway, caller: &Caller, tokens: u64) -> Result<Option<Permit>, Standing> {
    let Some(key) = limited(caller) else { return Ok(None) };
    let admitted = gateway.limiter.admit(key, tokens, gateway.clock.tick());
    admitted.map(Some).inspect_err(|standing| gateway.metrics.limited(standing.bound.name()))
}

/// How a call of so many tokens would stand, and what would refuse it. Nothing is taken.
pub fn foresee(gateway: &Gateway, caller: &Caller, tokens: u64) -> Option<(Vec<Standing>, Option<Fault>)> {
    let standings = gateway.limiter.look(limited(caller)?, tokens, gateway.clock.tick());
    let refused = counts::longest_wait(standings.iter().copied());
    Some((standings, refused.map(|standing| refusal(&standing, tokens))))
}

fn limited(caller: &Caller) -> Option<&Arc<KeyFacts>> {
    caller.key().filter(|key| !key.rate_limits.is_unlimited())
}
