//! Consumption of one key's limits. Requests are counted when a call is authenticated, tokens when it is admitted.

use std::borrow::Cow;
use std::time::Duration;

use domain::receipt::LimitCount;
use domain::resources::auth_key::RateLimits;

use super::bucket::{Charge, TokenBucket};
use super::limit_kind::{DAY, LimitKind, MINUTE, Unit};
use super::shared::{RecentOutage, SharedKey};
use super::window::Window;

/// The time to wait for a call in flight to end.
const PAUSE: Duration = Duration::from_secs(1);

pub struct Counts {
    /// The latest time seen. Threads read the clock before they wait for the lock, so that times may arrive out of
    /// order.
    latest: Duration,
    requests_per_minute: Window,
    requests_per_day: Window,
    tokens_per_minute: TokenBucket,
    /// Tokens that were consumed, without estimates.
    tokens_per_day: Window,
    /// Tokens that Redis has not counted: estimates of calls that this process has admitted by itself although replicas share
    /// the limit, and what calls have used beyond their estimates meanwhile.
    unreported_tokens: Window,
    /// The limit that replicas share, of which this process enforces a part when it counts by itself.
    shared_tokens_per_minute: Option<u64>,
    under_way: u64,
    /// Leases and figures from Redis; `None` if none was asked for them.
    pub shared: Option<Box<SharedKey>>,
    /// The segment of time in which amounts are counted: see [`Counts::begin_segment`].
    segment: u64,
}

/// The status of one limit of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitStatus {
    pub bound: LimitKind,
    pub limit: u64,
    pub remaining: u64,
    /// Time until more remains or, for `tokens_per_minute`, until all does; zero if nothing is used.
    pub reset: Duration,
    /// The time that a call has to wait, if the limit refuses it.
    pub wait: Option<Duration>,
}

impl LimitStatus {
    /// The amount used; a limit that was lowered meanwhile counts as used up.
    pub fn used(&self) -> u64 {
        self.limit.saturating_sub(self.remaining)
    }

    /// Its use for the audit log.
    pub fn count(&self) -> LimitCount {
        LimitCount { scope: self.bound.name().to_owned(), limit: self.limit, used: self.used() }
    }
}

/// The tokens that a call has taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct TakenTokens {
    per_minute: Option<Charge>,
    per_day: Option<u64>,
    pub estimate: u64,
    /// The time at which they were taken, if this process has admitted the call by itself.
    locally_at: Option<Duration>,
    /// The tokens that are counted after the last known usage, and the outage in which that bounds calls.
    in_outage: Option<(u64, Duration)>,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            latest: Duration::ZERO,
            requests_per_minute: Window::new(MINUTE),
            requests_per_day: Window::new(DAY),
            tokens_per_minute: TokenBucket::default(),
            tokens_per_day: Window::new(DAY),
            unreported_tokens: Window::new(MINUTE),
            shared_tokens_per_minute: None,
            under_way: 0,
            shared: None,
            segment: 0,
        }
    }
}

/// The limits of a key while this process counts by itself although replicas share them.
pub struct LocalShare<'a> {
    pub limits: &'a RateLimits,
    /// The share of the limits that this process enforces.
    pub share: Cow<'a, RateLimits>,
    pub replicas: u32,
    /// The outage in which the last known usage bounds the calls, too; `None` if it does not.
    pub outage: Option<RecentOutage>,
}

/// Amounts that were counted by this process alone, for the counts in Redis.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct UnreportedCounts {
    /// Each with its age in microseconds.
    pub requests_per_minute: Vec<(u64, u64)>,
    pub requests_per_day: Vec<(u64, u64)>,
    pub tokens_per_day: Vec<(u64, u64)>,
    pub tokens_per_minute: UnreportedTokens,
    pub under_way: u64,
}

/// Tokens for the bucket in Redis, and its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnreportedTokens {
    pub limit: u64,
    pub tokens: u64,
}

impl Counts {
    /// Counts a request and a call in flight; or counts nothing, and returns the limit with the longest wait. The
    /// returned time is that of the request, for [`Counts::uncount_request`].
    pub fn admit_request(&mut self, limits: &RateLimits, now: Duration) -> Result<Duration, LimitStatus> {
        self.advance(limits, now);
        let statuses = self.statuses(limits).filter(|status| status.bound.unit() != Unit::Tokens);
        if let Some(status) = longest_wait(statuses) {
            return Err(status);
        }
        Ok(self.record_request(limits, now))
    }

    /// Counts a request that is admitted already. Returns its time, for [`Counts::uncount_request`].
    pub fn record_request(&mut self, limits: &RateLimits, now: Duration) -> Duration {
        self.advance_clock(now);
        if limits.requests_per_minute.is_some() {
            self.requests_per_minute.take(self.latest, 1);
        }
        if limits.requests_per_day.is_some() {
            self.requests_per_day.take(self.latest, 1);
        }
        self.under_way += 1;
        self.latest
    }

    /// Removes a request that was refused with a 429, which does not count.
    pub fn uncount_request(&mut self, at: Duration) {
        self.requests_per_minute.give_back(at, 1);
        self.requests_per_day.give_back(at, 1);
    }

    /// Like [`Counts::uncount_request`], for one that this process has admitted by itself in this outage.
    pub fn uncount_local_request(&mut self, at: Duration, outage: Option<RecentOutage>) {
        self.uncount_request(at);
        if let (Some(outage), Some(state)) = (outage.filter(|outage| at >= outage.since), &mut self.shared) {
            state.local_admissions.replace(Unit::Requests, (1, 0), outage.since);
        }
    }

    /// Takes an estimate of a call's tokens; or takes nothing, and returns the limit with the longest wait.
    pub fn admit_tokens(
        &mut self,
        limits: &RateLimits,
        estimate: u64,
        now: Duration,
    ) -> Result<TakenTokens, LimitStatus> {
        self.advance(limits, now);
        let statuses = self.statuses(limits).filter(|status| status.bound.unit() == Unit::Tokens);
        if let Some(status) = longest_wait(statuses) {
            return Err(status);
        }
        Ok(self.record_tokens(limits, estimate, now))
    }

    /// Like [`Counts::admit_request`], while replicas that share limits cannot.
    pub fn admit_request_locally(
        &mut self,
        local: &LocalShare,
        now: Duration,
    ) -> Result<Duration, LimitStatus> {
        self.check_last_known_usage(local, Unit::Requests, now)?;
        let at = self.admit_request(&local.share, now)?;
        if let (Some(outage), Some(state)) = (local.outage, &mut self.shared) {
            state.local_admissions.add(Unit::Requests, 1, outage.since);
        }
        Ok(at)
    }

    /// Like [`Counts::admit_tokens`], while replicas that share limits cannot.
    pub fn admit_tokens_locally(
        &mut self,
        local: &LocalShare,
        estimate: u64,
        now: Duration,
    ) -> Result<TakenTokens, LimitStatus> {
        self.check_last_known_usage(local, Unit::Tokens, now)?;
        let mut taken = self.admit_tokens(&local.share, estimate, now)?;
        if let (Some(outage), Some(state)) = (local.outage, &mut self.shared) {
            state.local_admissions.add(Unit::Tokens, estimate, outage.since);
            taken.in_outage = Some((estimate, outage.since));
        }
        self.shared_tokens_per_minute = local.limits.tokens_per_minute;
        if local.limits.tokens_per_minute.is_some() {
            self.unreported_tokens.take(self.latest, estimate);
            taken.locally_at = Some(self.latest);
        }
        Ok(taken)
    }

    /// Refuses a call if a limit is used up by the last known usage, while that bounds calls.
    fn check_last_known_usage(
        &self,
        local: &LocalShare,
        unit: Unit,
        now: Duration,
    ) -> Result<(), LimitStatus> {
        let (Some(outage), Some(state)) = (local.outage, &self.shared) else { return Ok(()) };
        match state.used_up(local.limits, unit, (local.replicas, outage), now) {
            Some(status) => Err(LimitStatus { remaining: 0, wait: Some(outage.left), ..status }),
            None => Ok(()),
        }
    }

    /// Takes the tokens of a call that Redis has admitted.
    pub fn record_granted_tokens(
        &mut self,
        limits: &RateLimits,
        estimate: u64,
        now: Duration,
    ) -> TakenTokens {
        self.shared_tokens_per_minute = limits.tokens_per_minute;
        self.record_tokens(limits, estimate, now)
    }

    /// Takes the tokens of a call that is admitted already.
    fn record_tokens(&mut self, limits: &RateLimits, estimate: u64, now: Duration) -> TakenTokens {
        self.advance(limits, now);
        TakenTokens {
            per_minute: limits.tokens_per_minute.map(|_| self.tokens_per_minute.charge(estimate)),
            per_day: limits.tokens_per_day.map(|_| 0),
            estimate,
            ..TakenTokens::default()
        }
    }

    /// Corrects the count to the tokens that a call has consumed, as far as is known. Returns the tokens that are added to
    /// those of the day.
    pub fn correct(&mut self, taken: &mut TakenTokens, tokens: u64, now: Duration) -> u64 {
        self.advance_clock(now);
        if let Some(charge) = &mut taken.per_minute {
            self.tokens_per_minute.correct(charge, tokens);
        }
        if let (Some((counted, outage)), Some(state)) = (&mut taken.in_outage, &mut self.shared) {
            state.local_admissions.replace(Unit::Tokens, (*counted, tokens), *outage);
            *counted = tokens;
        }
        if let Some(counted) = &mut taken.per_day
            && tokens > *counted
        {
            let added = tokens - *counted;
            self.tokens_per_day.take(self.latest, added);
            *counted = tokens;
            return added;
        }
        0
    }

    /// Ends the use of tokens by a call.
    pub fn close_tokens(&mut self, taken: TakenTokens) {
        if let Some(charge) = taken.per_minute {
            self.tokens_per_minute.close(charge);
        }
    }

    /// Corrects the tokens to report, at the end of a call while Redis does not decide. An estimate that was reported
    /// already stays.
    pub fn correct_unreported(&mut self, taken: &TakenTokens, consumed: u64) {
        if taken.per_minute.is_none() || self.shared_tokens_per_minute.is_none() {
            return;
        }
        if let Some(excess) = consumed.checked_sub(taken.estimate).filter(|excess| *excess > 0) {
            self.unreported_tokens.take(self.latest, excess);
        } else if let Some(at) = taken.locally_at {
            self.unreported_tokens.give_back(at, taken.estimate - consumed);
        }
    }

    /// Ends a call that was counted as a request.
    pub fn leave(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }

    /// The calls in flight that were counted as requests.
    pub fn under_way(&self) -> u64 {
        self.under_way
    }

    /// Keeps what is counted in one segment of time apart from what is counted in the next. A segment ends when this
    /// process begins or ceases to count by itself.
    pub fn begin_segment(&mut self, segment: u64) {
        if self.segment != segment {
            self.segment = segment;
            self.requests_per_minute.seal();
            self.requests_per_day.seal();
            self.tokens_per_day.seal();
            self.unreported_tokens.seal();
        }
    }

    /// The amounts counted at this time or later. If Redis has lost its counts, all tokens that are taken are reported.
    pub fn counted_since(&mut self, since: Duration, counts_lost: bool, now: Duration) -> UnreportedCounts {
        self.advance_clock(now);
        let admitted = || self.unreported_tokens.counted_since(since, self.latest);
        let tokens = match counts_lost {
            true => self.tokens_per_minute.taken(),
            false => admitted().iter().map(|(_, tokens)| tokens).sum(),
        };
        UnreportedCounts {
            requests_per_minute: self.requests_per_minute.counted_since(since, self.latest),
            requests_per_day: self.requests_per_day.counted_since(since, self.latest),
            tokens_per_day: self.tokens_per_day.counted_since(since, self.latest),
            tokens_per_minute: UnreportedTokens { limit: self.shared_tokens_per_minute.unwrap_or(0), tokens },
            under_way: self.under_way,
        }
    }

    /// Drops what no longer counts, and applies limits that may have changed.
    pub fn advance(&mut self, limits: &RateLimits, now: Duration) {
        self.advance_clock(now);
        if let Some(limit) = limits.tokens_per_minute {
            self.tokens_per_minute.set_limit(limit);
        }
    }

    fn advance_clock(&mut self, now: Duration) {
        self.latest = self.latest.max(now);
        self.requests_per_minute.expire(self.latest);
        self.requests_per_day.expire(self.latest);
        self.tokens_per_day.expire(self.latest);
        self.unreported_tokens.expire(self.latest);
        self.tokens_per_minute.refill(self.latest);
    }

    /// Whether the counts are empty, so that they can be dropped.
    pub fn is_idle(&mut self, now: Duration) -> bool {
        self.advance_clock(now);
        let windows = [
            &self.requests_per_minute,
            &self.requests_per_day,
            &self.tokens_per_day,
            &self.unreported_tokens,
        ];
        self.under_way == 0 && self.tokens_per_minute.is_full() && windows.into_iter().all(Window::is_empty)
    }

    /// The status of each limit that is set, for the next call.
    pub fn statuses(&self, limits: &RateLimits) -> impl Iterator<Item = LimitStatus> {
        let set = |bound: LimitKind| Some((bound, bound.of(limits)?));
        LimitKind::ALL.into_iter().filter_map(set).map(|(bound, limit)| match bound {
            LimitKind::RequestsPerMinute => self.within(bound, limit, &self.requests_per_minute),
            LimitKind::RequestsPerDay => self.within(bound, limit, &self.requests_per_day),
            LimitKind::TokensPerMinute => self.bucket(limit),
            LimitKind::TokensPerDay => self.within(bound, limit, &self.tokens_per_day),
            LimitKind::ParallelRequests => places(limit, self.under_way),
        })
    }

    /// The limit with the smallest share left. The `own` calls, which are being answered, do not count as parallel
    /// requests.
    pub fn tightest(&self, limits: &RateLimits, own: u64) -> Option<LimitStatus> {
        let others = self.under_way.saturating_sub(own);
        let beside = |status: LimitStatus| match status.bound {
            LimitKind::ParallelRequests => places(status.limit, others),
            _ => status,
        };
        smallest_share(self.statuses(limits).map(beside))
    }

    /// The status of a sliding window, which admits while its sum is below the limit.
    fn within(&self, bound: LimitKind, limit: u64, window: &Window) -> LimitStatus {
        let used = window.used();
        let until = |at_most: u64| window.until(self.latest, at_most);
        LimitStatus {
            bound,
            limit,
            remaining: limit.saturating_sub(used),
            reset: if used == 0 { Duration::ZERO } else { until(used.min(limit).saturating_sub(1)) },
            wait: (used >= limit).then(|| until(limit.saturating_sub(1))),
        }
    }

    fn bucket(&self, limit: u64) -> LimitStatus {
        let bucket = &self.tokens_per_minute;
        LimitStatus {
            bound: LimitKind::TokensPerMinute,
            limit,
            remaining: bucket.remaining(),
            reset: bucket.until_full(),
            wait: (!bucket.is_open()).then(|| bucket.until_open()),
        }
    }
}

/// The limit with the longest wait, which refuses a call: after that wait the others admit it, too.
pub fn longest_wait(statuses: impl Iterator<Item = LimitStatus>) -> Option<LimitStatus> {
    statuses.filter(|status| status.wait.is_some()).max_by_key(|status| status.wait)
}

/// The limit with the smallest share left.
pub fn smallest_share(statuses: impl Iterator<Item = LimitStatus>) -> Option<LimitStatus> {
    statuses.min_by(|a, b| {
        let part =
            |one: &LimitStatus, other: &LimitStatus| u128::from(one.remaining) * u128::from(other.limit);
        part(a, b).cmp(&part(b, a))
    })
}

/// The status of `max_parallel_requests`.
pub fn places(limit: u64, under_way: u64) -> LimitStatus {
    LimitStatus {
        bound: LimitKind::ParallelRequests,
        limit,
        remaining: limit.saturating_sub(under_way),
        reset: if under_way == 0 { Duration::ZERO } else { PAUSE },
        wait: (under_way >= limit).then_some(PAUSE),
    }
}
