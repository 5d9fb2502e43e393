//! What one key has taken of its limits. All of a call's share is taken, or nothing.

use std::time::Duration;

use domain::resources::auth_key::RateLimits;

use super::bound::{Bound, DAY, MINUTE};
use super::window::Window;

/// Nobody knows when a call will end.
const PARALLEL_PAUSE: Duration = Duration::from_secs(1);
const TOKENS: [Bound; 2] = [Bound::TokensPerMinute, Bound::TokensPerDay];

pub struct Counts {
    /// Threads read the clock before they wait for each other.
    latest: Duration,
    /// In the order of the bounds. The last of them, places, is not counted over time.
    windows: [Window; 4],
    under_way: u64,
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

/// When a call was admitted, and the tokens it holds of each limit on them.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    at: Duration,
    tokens: [Option<u64>; TOKENS.len()],
}

impl Default for Counts {
    fn default() -> Self {
        let windows = [MINUTE, DAY, MINUTE, DAY].map(Window::new);
        Self { latest: Duration::ZERO, windows, under_way: 0 }
    }
}

impl Counts {
    /// Takes a call's share of every limit; or nothing, and says which one it would have to wait for longest.
    pub fn admit(&mut self, limits: &RateLimits, tokens: u64, now: Duration) -> Result<Taken, Standing> {
        self.advance(now);
        match longest_wait(self.standings(limits, tokens)) {
            Some(standing) => Err(standing),
            None => Ok(self.take(limits, tokens)),
        }
    }

    fn take(&mut self, limits: &RateLimits, tokens: u64) -> Taken {
        for (window, bound) in self.windows.iter_mut().zip(Bound::ALL) {
            let share = bound.of(limits).map_or(0, |limit| bound.share(limit, tokens));
            if share > 0 {
                window.take(self.latest, share);
            }
        }
        self.under_way += 1;
        let held = TOKENS.map(|bound| bound.of(limits).map(|limit| bound.share(limit, tokens)));
        Taken { at: self.latest, tokens: held }
    }

    /// The call has consumed so many tokens, as far as is known.
    pub fn correct(&mut self, taken: &mut Taken, tokens: u64) {
        for (held, bound) in taken.tokens.iter_mut().zip(TOKENS) {
            if let (Some(held), Some(window)) = (held, self.windows.get_mut(bound as usize)) {
                window.correct(taken.at, *held, tokens);
                *held = tokens;
            }
        }
    }

    /// A call is over.
    pub fn leave(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
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
    pub fn standings(&self, limits: &RateLimits, tokens: u64) -> impl Iterator<Item = Standing> {
        let set = |bound: Bound| Some((bound, bound.of(limits)?));
        Bound::ALL.into_iter().filter_map(set).map(move |(bound, limit)| {
            let share = bound.share(limit, tokens);
            match self.windows.get(bound as usize) {
                Some(window) => self.over_time(bound, limit, share, window),
                None => places(limit, self.under_way),
            }
        })
    }

    /// The limit of which the smallest part is left. The place of the call that is being answered is as good as free.
    pub fn tightest(&self, limits: &RateLimits) -> Option<Standing> {
        let others = self.under_way.saturating_sub(1);
        let beside = |standing: Standing| match standing.bound {
            Bound::ParallelRequests => places(standing.limit, others),
            _ => standing,
        };
        let by_part = |a: &Standing, b: &Standing| {
            let part = |one: &Standing, other: &Standing| u128::from(one.remaining) * u128::from(other.limit);
            part(a, b).cmp(&part(b, a))
        };
        self.standings(limits, 0).map(beside).min_by(by_part)
    }

    fn over_time(&self, bound: Bound, limit: u64, share: u64, window: &Window) -> Standing {
        let used = window.used();
        let full = share > 0 && used.saturating_add(share) > limit;
        Standing {
            bound,
            limit,
            remaining: limit.saturating_sub(used),
            reset: window.until(self.latest, used.min(limit).saturating_sub(1)),
            wait: full.then(|| window.until(self.latest, limit.saturating_sub(share))),
        }
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
        reset: if under_way == 0 { Duration::ZERO } else { PARALLEL_PAUSE },
        wait: (under_way >= limit).then_some(PARALLEL_PAUSE),
    }
}
