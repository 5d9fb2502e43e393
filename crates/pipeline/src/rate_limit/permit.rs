//! The share of a call in its key's limits.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use domain::clock::Clock;
use domain::principal::KeyFacts;
use domain::resources::auth_key::RateLimits;
use domain::usage::Tokens;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::counts::{Counts, LimitStatus, LocalShare, TakenTokens, smallest_share};
use super::live_replicas::{LiveReplicas, share};
use super::shared::{Decision, GrantedRequest, GrantedTokens, SharedLimits};
use super::token_estimates::TokenEstimates;
use super::{RateLimitHeaders, Refusal, TokenDemand};

/// A call's share of its key's limits, held until the call is settled or dropped.
pub struct Permit {
    account: Account,
    /// `None` for a call that does not count as a request.
    request: Option<RequestShare>,
    /// `None` until the call's tokens are admitted.
    tokens: Option<Box<TokenShare>>,
    /// The tokens that Redis is asked about.
    asked: Option<Box<AskedTokens>>,
    pub(super) clock: Arc<dyn Clock>,
}

/// A request that was counted.
pub struct RequestShare {
    /// The time at which it was counted.
    pub at: Duration,
    /// Set if Redis counts it.
    pub granted: Option<GrantedRequest>,
}

struct TokenShare {
    demand: TokenDemand,
    taken: TakenTokens,
    /// Set if Redis counts them.
    granted: Option<GrantedTokens>,
    /// Tokens of the day that were counted in the segment of time with this number.
    today: (u64, u64),
    /// The tokens that the call has consumed, as far as is known when it is dropped.
    consumed: u64,
}

impl TokenShare {
    /// The charge in Redis. That of an earlier segment, or of a call that this process has admitted by itself, was counted
    /// with its estimate, of which nothing is credited any more.
    fn charge_in(&self, segment: u64) -> GrantedTokens {
        let granted = self.granted.filter(|granted| granted.segment == segment);
        granted.unwrap_or(GrantedTokens { charged: 0, estimate: self.taken.estimate, segment })
    }
}

struct AskedTokens {
    demand: TokenDemand,
    estimate: u64,
    receiver: oneshot::Receiver<Result<GrantedTokens, LimitStatus>>,
}

/// The counters of a limited key.
#[derive(Clone)]
pub struct Account {
    pub(super) key: Arc<KeyFacts>,
    pub(super) counts: Arc<Mutex<Counts>>,
    pub(super) estimates: Arc<TokenEstimates>,
    pub(super) live_replicas: LiveReplicas,
    pub(super) shared: Option<Arc<SharedLimits>>,
}

impl Account {
    /// The rate limit headers of a call that is being answered.
    pub fn rate_limit_headers(&self, now: Duration) -> Option<RateLimitHeaders> {
        self.tightest(1, now)
    }

    pub(super) fn tightest(&self, own: u64, now: Duration) -> Option<RateLimitHeaders> {
        let is_shared = self.shared.as_ref().is_some_and(|shared| shared.is_shared());
        let mut counts = self.counts.lock();
        if let Some(state) = counts.shared.as_ref().filter(|_| is_shared) {
            return smallest_share(state.statuses(&self.key.rate_limits, own, now))
                .map(RateLimitHeaders::from);
        }
        let limits = self.enforced();
        counts.advance(&limits, now);
        counts.tightest(&limits, own).map(RateLimitHeaders::from)
    }

    /// The limits that this process enforces by itself: its share of the key's.
    pub(super) fn enforced(&self) -> Cow<'_, RateLimits> {
        match self.live_replicas.get() {
            1 => Cow::Borrowed(&self.key.rate_limits),
            replicas => Cow::Owned(share(&self.key.rate_limits, replicas)),
        }
    }

    /// The same limits, while replicas that share them cannot.
    pub(super) fn local_share(&self, shared: &SharedLimits, now: Duration) -> LocalShare<'_> {
        LocalShare {
            limits: &self.key.rate_limits,
            share: self.enforced(),
            replicas: self.live_replicas.get(),
            outage: shared.recent_outage(now),
        }
    }

    /// The segment of time for the counts, and the limits in Redis if it decides.
    fn segment(&self, clock: &dyn Clock) -> (u64, Option<&SharedLimits>) {
        let Some(shared) = &self.shared else { return (0, None) };
        let (segment, is_shared) = shared.segment(clock.tick());
        (segment, is_shared.then_some(&**shared))
    }

    /// The tokens that count against the key's limits: cache reads only if the key counts them.
    fn counted(&self, tokens: &Tokens) -> (u64, u64) {
        let cached = if self.key.rate_limits.count_cached { 0 } else { tokens.cache_read };
        (tokens.total_input().saturating_sub(cached), tokens.total_output())
    }
}

impl Permit {
    pub(super) fn new(account: Account, request: Option<RequestShare>, clock: Arc<dyn Clock>) -> Self {
        Self { account, request, tokens: None, asked: None, clock }
    }

    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Takes an estimate of the call's tokens, or returns the reason that refuses it. If replicas share limits and the key
    /// has no lease, Redis is asked: [`Permit::confirm_tokens`] has its verdict.
    pub fn admit_tokens(&mut self, demand: TokenDemand) -> Result<(), Refusal> {
        let now = self.clock.tick();
        let Account { key, counts, estimates, .. } = &self.account;
        let estimate = estimates.estimate(&key.id, &demand, now);
        if let (segment, Some(shared)) = self.account.segment(&*self.clock) {
            match shared.decide_tokens(key, counts, estimate, segment, now) {
                Decision::Made(verdict) => self.take_granted(demand, verdict?, now),
                Decision::Asked(receiver) => {
                    self.asked = Some(Box::new(AskedTokens { demand, estimate, receiver }));
                }
            }
            return Ok(());
        }
        self.admit_locally(demand, estimate, now)
    }

    /// Waits for the verdict of Redis about the call's tokens, if it was asked.
    pub async fn confirm_tokens(&mut self) -> Result<(), Refusal> {
        let Some(asked) = self.asked.take() else { return Ok(()) };
        let AskedTokens { demand, estimate, receiver } = *asked;
        let verdict = match &self.account.shared {
            Some(shared) => shared.verdict(receiver, &*self.clock).await,
            None => None,
        };
        let now = self.clock.tick();
        match verdict {
            Some(verdict) => {
                self.take_granted(demand, verdict?, now);
                Ok(())
            }
            None => self.admit_locally(demand, estimate, now),
        }
    }

    /// Records tokens that Redis has granted.
    fn take_granted(&mut self, demand: TokenDemand, granted: GrantedTokens, now: Duration) {
        let Account { key, counts, .. } = &self.account;
        let taken = {
            let mut counts = counts.lock();
            counts.begin_segment(granted.segment);
            counts.record_granted_tokens(&key.rate_limits, granted.estimate, now)
        };
        let today = (granted.segment, 0);
        self.tokens =
            Some(Box::new(TokenShare { demand, taken, granted: Some(granted), today, consumed: 0 }));
    }

    /// Takes tokens from the limits of this process.
    fn admit_locally(&mut self, demand: TokenDemand, estimate: u64, now: Duration) -> Result<(), Refusal> {
        let (segment, _) = self.account.segment(&*self.clock);
        if let Some(shared) = &self.account.shared {
            if shared.fails_closed && self.account.has_token_limits() {
                return Err(Refusal::NotShared);
            }
            shared.decided_locally();
        }
        let taken = {
            let mut counts = self.account.counts.lock();
            counts.begin_segment(segment);
            match &self.account.shared {
                Some(shared) => {
                    counts.admit_tokens_locally(&self.account.local_share(shared, now), estimate, now)?
                }
                None => counts.admit_tokens(&self.account.enforced(), estimate, now)?,
            }
        };
        let today = (segment, 0);
        self.tokens = Some(Box::new(TokenShare { demand, taken, granted: None, today, consumed: 0 }));
        Ok(())
    }

    /// Removes the request from the counts: a call that the gateway refuses with a 429 does not count.
    pub fn uncount_request(&mut self) {
        let Some(RequestShare { at, granted }) = &self.request else { return };
        match (granted, &self.account.shared) {
            (Some(granted), Some(shared)) => {
                self.account.counts.lock().uncount_request(*at);
                shared.uncount_request(&self.account.key, granted);
            }
            (_, shared) => {
                let now = self.clock.tick();
                let outage = shared.as_ref().and_then(|shared| shared.recent_outage(now));
                self.account.counts.lock().uncount_local_request(*at, outage);
            }
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
        let now = self.clock.tick();
        let (segment, _) = self.account.segment(&*self.clock);
        if let Some(share) = &mut self.tokens {
            share.consumed = tokens;
            let mut counts = self.account.counts.lock();
            counts.begin_segment(segment);
            let added = counts.correct(&mut share.taken, tokens, now);
            if share.today.0 != segment {
                share.today = (segment, 0);
            }
            share.today.1 += added;
        }
    }
}

impl Account {
    fn has_token_limits(&self) -> bool {
        let limits = &self.key.rate_limits;
        limits.tokens_per_minute.is_some() || limits.tokens_per_day.is_some()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let consumed = self.tokens.as_ref().map_or(0, |share| share.consumed);
        self.correct(consumed);
        let (segment, shared) = self.account.segment(&*self.clock);
        let mut counts = self.account.counts.lock();
        if let Some(share) = &self.tokens {
            counts.close_tokens(share.taken);
            match shared {
                Some(shared) => {
                    let today = if share.today.0 == segment { share.today.1 } else { 0 };
                    let charge = (share.charge_in(segment), share.consumed);
                    shared.correct_tokens(&self.account.key, &mut counts, charge, today);
                }
                None => counts.correct_unreported(&share.taken, share.consumed),
            }
        }
        if let Some(request) = &self.request {
            counts.leave();
            if let (Some(granted), Some(shared)) =
                (request.granted.filter(|granted| granted.has_place), shared)
            {
                shared.release_place(&self.account.key, &mut counts, granted.segment);
            }
        }
    }
}
