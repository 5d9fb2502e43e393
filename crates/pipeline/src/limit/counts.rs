//! What one key has taken of its limits. All of a call's share is taken, or nothing.

use std::time::Duration;

use domain::resources::auth_key::RateLimits;

use super::bound::{Bound, DAY, Demand, MINUTE};
use super::window::Window;

/// Until a call under way may have ended.
const PAUSE: Duration = Duration::from_secs(1);
const TOKENS: [Bound; 2] = [Bound::TokensPerMinute, Bound::TokensPerDay];

pub struct Counts {
    /// Threads read the clock before they wait for each other.
    latest: Duration,
    /// In the order of the bounds. The last of them, places, is not counted over time.
    windows: [Window; 4],
    /// What the calls under way hold of each limit on tokens, for as long as they go on.
    held: [u64; TOKENS.len()],
    under_way: u64,
    /// About the most that calls of late have consumed.
    usual: u64,
}

/// How a key stands with one of its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub bound: Bound,
    pub limit: u64,
    pub remaining: u64,
    /// Until more remains; zero when nothing is taken.
    pub reset: Duration,
    /// How long a call has to wait for its share, if it has to.
    pub wait: Option<Duration>,
}

/// The tokens that a call holds of each limit on them.
#[derive(Clone, Copy, Debug)]
pub struct Taken([Option<u64>; TOKENS.len()]);

impl Default for Counts {
    fn default() -> Self {
        let windows = [MINUTE, DAY, MINUTE, DAY].map(Window::new);
        Self { latest: Duration::ZERO, windows, held: [0; TOKENS.len()], under_way: 0, usual: 0 }
    }
}

impl Counts {
    /// Takes a call's share of every limit; or nothing, and says which one it would have to wait for longest.
    pub fn admit(&mut self, limits: &RateLimits, demand: Demand, now: Duration) -> Result<Taken, Standing> {
        self.advance(now);
        match longest_wait(self.standings(limits, demand)) {
            Some(standing) => Err(standing),
            None => Ok(self.take(limits, demand)),
        }
    }

    fn take(&mut self, limits: &RateLimits, demand: Demand) -> Taken {
        for bound in [Bound::RequestsPerMinute, Bound::RequestsPerDay] {
            if let (Some(_), Some(window)) = (bound.of(limits), self.windows.get_mut(bound as usize)) {
                window.take(self.latest, 1);
            }
        }
        let demand = self.usually(demand);
        let taken = TOKENS.map(|bound| {
            let limit = bound.of(limits)?;
            let Demand { most, least } = bound.share(limit, demand);
            Some(most.min(limit.saturating_sub(self.used(bound))).max(least))
        });
        for (held, taken) in self.held.iter_mut().zip(taken) {
            *held = held.saturating_add(taken.unwrap_or(0));
        }
        self.under_way += 1;
        Taken(taken)
    }

    /// What nothing bounds will be about as much as it usually is.
    fn usually(&self, demand: Demand) -> Demand {
        Demand { least: demand.least.max(self.usual.min(demand.most)), ..demand }
    }

    /// The call has consumed so many tokens, as far as is known.
    pub fn correct(&mut self, taken: &mut Taken, tokens: u64) {
        for (held, taken) in self.held.iter_mut().zip(&mut taken.0) {
            if let Some(taken) = taken {
                *held = held.saturating_sub(*taken).saturating_add(tokens);
                *taken = tokens;
            }
        }
    }

    /// A call is over, and what it has consumed counts from now on as long as a window lasts: also where the call lasted
    /// longer, no window holds more than its limit.
    pub fn leave(&mut self, mut taken: Taken, tokens: u64, now: Duration) {
        self.advance(now);
        self.correct(&mut taken, tokens);
        for ((held, taken), bound) in self.held.iter_mut().zip(taken.0).zip(TOKENS) {
            let tokens = taken.unwrap_or(0);
            *held = held.saturating_sub(tokens);
            if let Some(window) = self.windows.get_mut(bound as usize).filter(|_| tokens > 0) {
                window.take(self.latest, tokens);
            }
        }
        self.under_way = self.under_way.saturating_sub(1);
        self.usual = tokens.max(self.usual / 2);
    }

    /// Forgets what no longer counts.
    pub fn advance(&mut self, now: Duration) {
        self.latest = self.latest.max(now);
        for window in &mut self.windows {
            window.expire(self.latest);
        }
    }

    /// Nothing is lost when it is forgotten.
    pub fn is_idle(&self) -> bool {
        self.under_way == 0 && self.windows.iter().all(Window::is_empty)
    }

    /// One for each limit that is set, as a call of so many tokens meets them.
    pub fn standings(&self, limits: &RateLimits, demand: Demand) -> impl Iterator<Item = Standing> {
        let demand = self.usually(demand);
        let set = |bound: Bound| Some((bound, bound.of(limits)?));
        Bound::ALL.into_iter().filter_map(set).map(move |(bound, limit)| {
            let needed = bound.share(limit, demand).least;
            match self.windows.get(bound as usize) {
                Some(window) => self.over_time(bound, limit, needed, window),
                None => places(limit, self.under_way),
            }
        })
    }

    /// The limit of which the smallest part is left. The places of `own` calls, which are being answered, are as good as
    /// free.
    pub fn tightest(&self, limits: &RateLimits, own: u64) -> Option<Standing> {
        let others = self.under_way.saturating_sub(own);
        let beside = |standing: Standing| match standing.bound {
            Bound::ParallelRequests => places(standing.limit, others),
            _ => standing,
        };
        let by_part = |a: &Standing, b: &Standing| {
            let part = |one: &Standing, other: &Standing| u128::from(one.remaining) * u128::from(other.limit);
            part(a, b).cmp(&part(b, a))
        };
        self.standings(limits, Demand::default()).map(beside).min_by(by_part)
    }

    fn over_time(&self, bound: Bound, limit: u64, needed: u64, window: &Window) -> Standing {
        let used = self.used(bound);
        let held = used - window.used();
        // What is held is free when its calls end, and nobody knows when that is.
        let until = |at_most: u64| match at_most.checked_sub(held) {
            Some(at_most) => window.until(self.latest, at_most),
            None => PAUSE,
        };
        let full = needed > 0 && used.saturating_add(needed) > limit;
        Standing {
            bound,
            limit,
            remaining: limit.saturating_sub(used),
            reset: if used == 0 { Duration::ZERO } else { until(used.min(limit).saturating_sub(1)) },
            wait: full.then(|| until(limit.saturating_sub(needed))),
        }
    }

    fn used(&self, bound: Bound) -> u64 {
        let held = TOKENS.iter().zip(self.held).find(|(one, _)| **one == bound).map_or(0, |(_, held)| held);
        self.windows.get(bound as usize).map_or(0, Window::used).saturating_add(held)
    }
}

/// What refuses a call: when that has waited long enough, it has for the others.
pub fn longest_wait(standings: impl Iterator<Item = Standing>) -> Option<Standing> {
    standings.filter(|standing| standing.wait.is_some()).max_by_key(|standing| standing.wait)
}

fn places(limit: u64, under_way: u64) -> Standing {
    Standing {
        bound: Bound::ParallelRequests,
        limit,
        remaining: limit.saturating_sub(under_way),
        reset: if under_way == 0 { Duration::ZERO } else { PAUSE },
        wait: (under_way >= limit).then_some(PAUSE),
    }
}
