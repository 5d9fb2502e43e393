//! The leases of one key in this process, and its figures in Redis.

use std::collections::VecDeque;
use std::time::Duration;

use domain::resources::auth_key::RateLimits;

use super::local_admissions::{LocalAdmissions, RecentOutage};
use super::operation::{Action, Slots};
use crate::rate_limit::counts::{LimitStatus, places};
use crate::rate_limit::limit_kind::{LimitKind, MINUTE, Unit};

/// Calls per second from which units are leased.
const HOT: u64 = 8;
/// The most units that are leased at once.
const LARGEST_LEASE: u64 = 1_000;
/// The time for which a refusal is repeated without asking again.
const REFUSAL: Duration = Duration::from_millis(100);

/// The state of a key; void when its segment ends.
#[derive(Default)]
pub struct SharedKey {
    pub segment: u64,
    pub requests: VecDeque<RequestLease>,
    pub tokens: Option<TokenLease>,
    /// The limit per minute that the token lease was granted under.
    pub leased_limit: Option<u64>,
    /// Places that Redis counts for this process and no call uses.
    pub free_places: u64,
    /// The free places that may be kept.
    pub spare_places: u64,
    /// Calls that have asked for a place and are not counted yet.
    pub pending: u64,
    pub is_refilling: bool,
    /// Whether the key has a limit on parallel requests.
    pub has_places: bool,
    /// When the places were last reported.
    pub confirmed: Duration,
    pub is_listed: bool,
    pub calls: Rate,
    pub token_use: Rate,
    refused_requests: Option<Refusal>,
    refused_tokens: Option<Refusal>,
    last_known: [Option<KnownUsage>; LimitKind::ALL.len()],
    /// The admissions of this process after the last known usage, while Redis does not decide.
    pub local_admissions: LocalAdmissions,
}

/// Requests that calls may use without asking.
pub struct RequestLease {
    pub units: u64,
    pub expires: Duration,
    pub slots: Slots,
}

/// Tokens that calls may use without asking.
pub struct TokenLease {
    /// `None` if the key has no limit per minute.
    pub tokens: Option<u64>,
    /// The tokens left of the day; `None` if the key has no such limit.
    pub today: Option<u64>,
    pub expires: Duration,
    /// The end of the charge in the bucket.
    pub charged: i64,
}

impl TokenLease {
    /// The operation that gives the tokens back; `None` if there are none.
    pub fn into_return(self, per_minute: Option<u64>) -> Option<Action> {
        let tokens = self.tokens.filter(|tokens| *tokens > 0)?;
        let difference = i64::try_from(tokens).map_or(0, |tokens| -tokens);
        Some(Action::Correct { per_minute, difference, charged: self.charged, today: 0 })
    }
}

#[derive(Clone, Copy)]
struct Refusal {
    status: LimitStatus,
    at: Duration,
}

/// The use of a limit by all replicas at one time.
#[derive(Clone, Copy)]
pub struct KnownUsage {
    pub used: u64,
    pub reset: Duration,
    pub wait: Duration,
    pub at: Duration,
}

/// Amounts per second.
#[derive(Default)]
pub struct Rate {
    second: u64,
    current: u64,
    previous: u64,
}

impl Rate {
    pub fn add(&mut self, amount: u64, now: Duration) {
        let second = now.as_secs();
        if second != self.second {
            self.previous = if second == self.second + 1 { self.current } else { 0 };
            (self.second, self.current) = (second, 0);
        }
        self.current = self.current.saturating_add(amount);
    }

    pub fn per_second(&self) -> u64 {
        self.current.max(self.previous)
    }

    /// Whether nothing was added in this second and the one before.
    pub fn is_silent(&self, now: Duration) -> bool {
        now.as_secs() > self.second + 1
    }
}

impl SharedKey {
    pub fn in_segment(segment: u64) -> Self {
        Self { segment, ..Self::default() }
    }

    /// Forgets everything but the calls that ask.
    pub fn begin_segment(&mut self, segment: u64) {
        let (is_listed, pending) = (self.is_listed, self.pending);
        *self = Self { is_listed, pending, ..Self::in_segment(segment) };
    }

    /// The units to lease besides what a call needs: about those of a second, if there are many calls.
    pub fn wanted(&self) -> u64 {
        let calls = self.calls.per_second();
        if calls >= HOT { calls.min(LARGEST_LEASE) } else { 0 }
    }

    pub fn wanted_tokens(&self) -> u64 {
        if self.calls.per_second() >= HOT { self.token_use.per_second() } else { 0 }
    }

    /// Takes a request and a place from the leases.
    pub fn take_request(&mut self, limits: &RateLimits, now: Duration) -> Option<Slots> {
        let needs_unit = limits.requests_per_minute.is_some() || limits.requests_per_day.is_some();
        let needs_place = limits.max_parallel_requests.is_some();
        if needs_place && self.free_places == 0 {
            return None;
        }
        let mut slots = Slots::NONE;
        if needs_unit {
            let lease = self.requests.iter_mut().find(|lease| lease.units > 0 && now < lease.expires)?;
            lease.units -= 1;
            slots = lease.slots;
        }
        if needs_place {
            self.free_places -= 1;
        }
        Some(slots)
    }

    /// Takes tokens from the lease; returns the end of their charge.
    pub fn take_tokens(&mut self, estimate: u64, now: Duration) -> Option<i64> {
        let lease = self.tokens.as_mut().filter(|lease| now < lease.expires && lease.today != Some(0))?;
        if let Some(tokens) = &mut lease.tokens {
            *tokens = tokens.checked_sub(estimate)?;
        }
        Some(lease.charged)
    }

    /// The units that are leased and not used.
    pub fn leased_units(&self) -> u64 {
        self.requests.iter().map(|lease| lease.units).sum()
    }

    /// Removes the request leases that have expired, and returns those with units left.
    pub fn expire_requests(&mut self, now: Duration) -> Vec<RequestLease> {
        let mut expired = Vec::new();
        while let Some(lease) = self.requests.pop_front_if(|lease| lease.units == 0 || lease.expires <= now) {
            if lease.units > 0 {
                expired.push(lease);
            }
        }
        expired
    }

    /// Removes the token lease if it has expired or `is_replaced`.
    pub fn expire_tokens(&mut self, is_replaced: bool, now: Duration) -> Option<TokenLease> {
        self.tokens.take_if(|lease| is_replaced || lease.expires <= now)
    }

    pub fn refuse(&mut self, status: LimitStatus, now: Duration) {
        let refusal = Some(Refusal { status, at: now });
        match status.bound {
            LimitKind::RequestsPerMinute | LimitKind::RequestsPerDay => self.refused_requests = refusal,
            LimitKind::TokensPerMinute | LimitKind::TokensPerDay => self.refused_tokens = refusal,
            // A place may be free at any time.
            LimitKind::ParallelRequests => {}
        }
    }

    /// The refusal of requests, or of tokens, that still holds.
    pub fn refused(&self, of_tokens: bool, limits: &RateLimits, now: Duration) -> Option<LimitStatus> {
        let Refusal { status, at } = if of_tokens { self.refused_tokens } else { self.refused_requests }?;
        let elapsed = now.saturating_sub(at);
        let wait = status.wait?.checked_sub(elapsed).filter(|wait| !wait.is_zero())?;
        let holds = elapsed < REFUSAL && status.bound.of(limits) == Some(status.limit);
        holds.then(|| LimitStatus { wait: Some(wait), reset: status.reset.saturating_sub(elapsed), ..status })
    }

    pub fn set_known_usage(&mut self, bound: LimitKind, usage: KnownUsage) {
        self.last_known[bound as usize] = Some(usage);
    }

    /// The status of each limit, as Redis has told it last. The `own` calls do not count as parallel requests.
    pub fn statuses(
        &self,
        limits: &RateLimits,
        own: u64,
        now: Duration,
    ) -> impl Iterator<Item = LimitStatus> {
        let set = |bound: LimitKind| Some((bound, bound.of(limits)?));
        LimitKind::ALL
            .into_iter()
            .filter_map(set)
            .map(move |(bound, limit)| self.status(bound, limit, own, now))
    }

    /// The units of a limit that Redis has counted and no call has used yet.
    fn leased(&self, bound: LimitKind) -> u64 {
        match bound {
            LimitKind::RequestsPerMinute | LimitKind::RequestsPerDay => self.leased_units(),
            LimitKind::TokensPerMinute => self.tokens.as_ref().and_then(|lease| lease.tokens).unwrap_or(0),
            LimitKind::TokensPerDay | LimitKind::ParallelRequests => 0,
        }
    }

    /// The limit of this unit that is used up as far as this process knows: of what was left at the last known usage it may
    /// use its leases, and one of `replicas` parts of the rest.
    pub fn used_up(
        &self,
        limits: &RateLimits,
        unit: Unit,
        (replicas, outage): (u32, RecentOutage),
        now: Duration,
    ) -> Option<LimitStatus> {
        let mut known = self.statuses(limits, 0, now).filter(|status| {
            // Of an unused limit each replica has its share, which is at least 1.
            status.bound.unit() == unit
                && status.remaining < status.limit
                && self.is_recent(status.bound, now)
        });
        known.find(|status| {
            let leased = self.leased(status.bound).min(status.remaining);
            let part = (status.remaining - leased) / u64::from(replicas.max(1));
            self.local_admissions.of(status.bound, outage.since) >= leased + part
        })
    }

    /// Whether the last known usage of a limit still says something: that of a day does not after its reset.
    fn is_recent(&self, bound: LimitKind, now: Duration) -> bool {
        let known = self.last_known[bound as usize];
        known.is_some_and(|KnownUsage { reset, at, .. }| now.saturating_sub(at) < reset.max(MINUTE))
    }

    /// Takes the leases, which are void, as the operations that give them back: Redis has counted them.
    pub fn return_leases(&mut self) -> Vec<Action> {
        let requests = self.requests.drain(..).filter(|lease| lease.units > 0);
        let mut actions: Vec<Action> =
            requests.map(|lease| Action::GiveBack { slots: lease.slots, units: lease.units }).collect();
        let lease = self.tokens.take();
        actions.extend(lease.and_then(|lease| lease.into_return(self.leased_limit)));
        actions
    }

    fn status(&self, bound: LimitKind, limit: u64, own: u64, now: Duration) -> LimitStatus {
        let unused = LimitStatus { bound, limit, remaining: limit, reset: Duration::ZERO, wait: None };
        let Some(KnownUsage { used, reset, wait, at }) = self.last_known[bound as usize] else {
            return unused;
        };
        let elapsed = now.saturating_sub(at);
        let (reset, wait) = (reset.saturating_sub(elapsed), wait.saturating_sub(elapsed));
        if bound == LimitKind::ParallelRequests {
            return places(limit, used.saturating_sub(self.free_places).saturating_sub(own));
        }
        let used = match bound {
            // The bucket refills while nobody asks.
            LimitKind::TokensPerMinute => tokens_in(reset, limit),
            LimitKind::RequestsPerMinute if elapsed >= MINUTE => 0,
            _ => used,
        };
        if used == 0 {
            return unused;
        }
        LimitStatus {
            remaining: limit.saturating_sub(used.saturating_sub(self.leased(bound))),
            reset,
            wait: (used >= limit && !wait.is_zero()).then_some(wait),
            ..unused
        }
    }
}

/// The tokens that a bucket refills in this time, rounded up.
pub fn tokens_in(time: Duration, per_minute: u64) -> u64 {
    let tokens = (time.as_micros() * u128::from(per_minute)).div_ceil(MINUTE.as_micros());
    u64::try_from(tokens).unwrap_or(u64::MAX)
}
