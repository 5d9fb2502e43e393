//! Rate limits of keys. A request is counted once its caller is known, its tokens when it is admitted; the tokens are
//! corrected when the call is settled.

mod bucket;
mod counts;
mod limit_kind;
mod limiter;
mod rate_limit_headers;
mod token_estimates;
mod user_paths;
mod window;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use domain::clock::Clock;
use domain::fault::Fault;
use domain::principal::{KeyFacts, Principal};
use domain::usage::Tokens;
use parking_lot::Mutex;

use counts::{Counts, TakenTokens};
use token_estimates::TokenEstimates;

pub use counts::LimitStatus;
pub use limit_kind::{LimitKind, TokenDemand, Unit};
pub use limiter::Limiter;
pub use rate_limit_headers::{RateLimitHeaders, refusal, seconds};
pub use user_paths::{PATHS_PER_KEY, UserPaths};

/// A call's share of its key's limits, held until the call is settled or dropped.
pub struct Permit {
    account: Account,
    /// The time at which the request was counted; `None` for a call that does not count as one.
    requested_at: Option<Duration>,
    /// `None` until the call's tokens are admitted.
    tokens: Option<Box<TokenShare>>,
    clock: Arc<dyn Clock>,
}

struct TokenShare {
    demand: TokenDemand,
    taken: TakenTokens,
    /// The tokens that the call has consumed, as far as is known when it is dropped.
    consumed: u64,
}

/// The counters of a limited key.
#[derive(Clone)]
pub struct Account {
    key: Arc<KeyFacts>,
    counts: Arc<Mutex<Counts>>,
    estimates: Arc<TokenEstimates>,
}

impl Account {
    /// The rate limit headers of a call that is being answered.
    pub fn rate_limit_headers(&self, now: Duration) -> Option<RateLimitHeaders> {
        self.tightest(1, now)
    }

    fn tightest(&self, own: u64, now: Duration) -> Option<RateLimitHeaders> {
        let mut counts = self.counts.lock();
        counts.advance(&self.key.rate_limits, now);
        counts.tightest(&self.key.rate_limits, own).map(RateLimitHeaders::from)
    }

    /// The tokens that count against the key's limits: cache reads only if the key counts them.
    fn counted(&self, tokens: &Tokens) -> (u64, u64) {
        let cached = if self.key.rate_limits.count_cached { 0 } else { tokens.cache_read };
        (tokens.total_input().saturating_sub(cached), tokens.total_output())
    }
}

impl Permit {
    fn new(account: Account, requested_at: Option<Duration>, clock: Arc<dyn Clock>) -> Self {
        Self { account, requested_at, tokens: None, clock }
    }

    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Takes an estimate of the call's tokens, or returns the limit that refuses it.
    pub fn admit_tokens(&mut self, demand: TokenDemand) -> Result<(), LimitStatus> {
        let Account { key, counts, estimates } = &self.account;
        let now = self.clock.tick();
        let estimate = estimates.estimate(&key.id, &demand, now);
        let taken = counts.lock().admit_tokens(&key.rate_limits, estimate, now)?;
        self.tokens = Some(Box::new(TokenShare { demand, taken, consumed: 0 }));
        Ok(())
    }

    /// Removes the request from the counts: a call that the gateway refuses with a 429 does not count.
    pub fn uncount_request(&mut self) {
        if let Some(requested_at) = self.requested_at {
            self.account.counts.lock().uncount_request(requested_at);
        }
    }

    /// Corrects the tokens to what is known to be consumed, while the call is still in flight.
    pub fn consumed(&mut self, tokens: &Tokens) {
        let (input, output) = self.account.counted(tokens);
        self.correct(input.saturating_add(output));
    }

    /// Settles the call with the tokens that it has consumed, and records them for later estimates.
    pub fn settle(mut self, tokens: &Tokens) {
        let (input, output) = self.account.counted(tokens);
        self.correct(input.saturating_add(output));
        if let Some(share) = self.tokens.as_ref().filter(|_| tokens.total() > 0) {
            let Account { key, estimates, .. } = &self.account;
            estimates.record(&key.id, &share.demand, input, output, self.clock.tick());
        }
    }

    fn correct(&mut self, tokens: u64) {
        if let Some(share) = &mut self.tokens {
            share.consumed = tokens;
            self.account.counts.lock().correct(&mut share.taken, tokens, self.clock.tick());
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let consumed = self.tokens.as_ref().map_or(0, |share| share.consumed);
        self.correct(consumed);
        let taken = self.tokens.as_ref().map(|share| share.taken).unwrap_or_default();
        let mut counts = self.account.counts.lock();
        counts.close_tokens(taken);
        if self.requested_at.is_some() {
            counts.leave();
        }
    }
}

/// Counts a request. `None` for a caller without limits; [`refusal`] is the error for the limit that refuses the call.
pub fn admit(
    limiter: &Limiter,
    principal: &Principal,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Permit>, LimitStatus> {
    let Some(key) = limited(principal) else { return Ok(None) };
    limiter.admit(key, clock).map(Some)
}

/// The permit of a call that takes tokens and is not counted as a request; `None` for a caller without limits.
pub fn join(limiter: &Limiter, principal: &Principal, clock: &Arc<dyn Clock>) -> Option<Permit> {
    limited(principal).map(|key| limiter.join(key, clock))
}

/// The limits of a key as they apply to its next call.
pub struct LimitPreview {
    pub statuses: Vec<LimitStatus>,
    /// The refusal by a request limit, which comes before every other check.
    pub request_refused: Option<Fault>,
    /// The refusal by a token limit, which comes last, after the budgets.
    pub tokens_refused: Option<Fault>,
}

/// The limits as they apply to the caller's next call, and their refusals. Nothing is counted.
pub fn preview(limiter: &Limiter, principal: &Principal, now: Duration) -> Option<LimitPreview> {
    let statuses = limiter.look(limited(principal)?, now);
    let refused = |of_tokens: bool| {
        let concerned = |status: &LimitStatus| (status.bound.unit() == Unit::Tokens) == of_tokens;
        counts::longest_wait(statuses.iter().copied().filter(concerned)).map(|status| refusal(&status))
    };
    let (request_refused, tokens_refused) = (refused(false), refused(true));
    Some(LimitPreview { statuses, request_refused, tokens_refused })
}

/// The rate limit headers of a call that takes nothing.
pub fn rate_limit_headers(limiter: &Limiter, key: &Arc<KeyFacts>, now: Duration) -> Option<RateLimitHeaders> {
    limiter.account(key).tightest(0, now)
}

pub fn limited(principal: &Principal) -> Option<&Arc<KeyFacts>> {
    principal.key().filter(|key| !key.rate_limits.is_unlimited())
}
