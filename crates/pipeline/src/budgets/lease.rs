//! The lease of this process on a window of a budget that replicas share: the part of the amount that it may spend
//! without asking the database.

use std::time::Duration;

use domain::money::Nanos;
use store::LeaseKey;

/// Spending that a lease is meant to last for.
const SUPPLY: f64 = 15.0;
/// Calls of usual worst-case cost that a lease covers besides.
const SPARE_CALLS: i64 = 4;
/// Time constant of the spending rate.
const RATE_SECONDS: f64 = 5.0;
/// Time without a call after which everything is given back.
const IDLE: Duration = Duration::from_secs(60);
/// Time for which a lease only takes what is needed, after a refill that yielded little and after a recall.
const SCARCE: Duration = Duration::from_secs(2);
/// Pause between two refills.
const REFILL_PAUSE: Duration = Duration::from_millis(250);
/// Time that a woken call has to hold what it waited for.
const PROMISE: Duration = Duration::from_millis(20);
/// Pause between two gifts of a recalled lease.
const GIFT_PAUSE: Duration = Duration::from_millis(20);

#[derive(Clone, Debug, PartialEq)]
pub struct Lease {
    pub key: LeaseKey,
    /// Granted and not booked. What calls hold, and what is settled and not booked, lies within it.
    pub granted: Nanos,
    /// Taken out of `granted`, not yet given back to the database.
    pub returning: Nanos,
    /// Whether the database has this window, with a lease of this process.
    pub is_registered: bool,
    /// Whether the database knows the spending before the leases; until then nothing can be taken.
    pub has_base: bool,
    /// The amount that was left for all replicas, by the last answer.
    pub rest: Option<Nanos>,
    /// More is spent and leased than the amount, since that was lowered or prices have changed: nothing of this lease is
    /// used until there is room again.
    pub is_overcommitted: bool,
    /// Another replica found no room and waits for an answer.
    pub is_answer_due: bool,
    demand: Demand,
    recalled_until: Duration,
    scarce_until: Duration,
    refill_at: Duration,
    gift_at: Duration,
    /// Meant for waiting calls that were woken, until they have had time to hold it.
    promised: Nanos,
    promised_until: Duration,
    /// Whether the protocol was told that little is free.
    is_low_reported: bool,
}

/// The spending of this process in the window.
#[derive(Clone, Debug, Default, PartialEq)]
struct Demand {
    /// Settled since the last tick.
    settled: i64,
    /// Per second.
    rate: f64,
    /// The usual worst-case cost of a call.
    worst: i64,
    has_held: bool,
    idle: Duration,
}

impl Lease {
    pub fn new(key: LeaseKey) -> Self {
        Self {
            key,
            granted: Nanos::ZERO,
            returning: Nanos::ZERO,
            is_registered: false,
            has_base: false,
            rest: None,
            is_overcommitted: false,
            is_answer_due: false,
            demand: Demand::default(),
            recalled_until: Duration::ZERO,
            scarce_until: Duration::ZERO,
            refill_at: Duration::ZERO,
            gift_at: Duration::ZERO,
            promised: Nanos::ZERO,
            promised_until: Duration::ZERO,
            is_low_reported: false,
        }
    }

    /// Counts a call in the demand. Returns true if little is free now, once until that is dealt with.
    pub fn note_hold(&mut self, worst: Nanos, free: Nanos) -> bool {
        let demand = &mut self.demand;
        demand.worst = if demand.worst == 0 { worst.0 } else { demand.worst + (worst.0 - demand.worst) / 8 };
        demand.has_held = true;
        let is_news = !self.is_low_reported && self.is_low(free);
        self.is_low_reported |= is_news;
        is_news
    }

    pub fn note_settled(&mut self, cost: Nanos) {
        self.demand.settled = self.demand.settled.saturating_add(cost.0);
    }

    /// Updates the spending rate after this time.
    pub fn tick(&mut self, elapsed: Duration) {
        let (demand, seconds) = (&mut self.demand, elapsed.as_secs_f64().max(0.001));
        let recent = demand.settled as f64 / seconds;
        demand.rate += (recent - demand.rate) * (seconds / RATE_SECONDS).min(1.0);
        demand.settled = 0;
        self.is_low_reported = false;
        demand.idle =
            if std::mem::take(&mut demand.has_held) { Duration::ZERO } else { demand.idle + elapsed };
    }

    /// The amount that this process would like to have free.
    pub fn want(&self) -> Nanos {
        if self.demand.idle >= IDLE {
            return Nanos::ZERO;
        }
        Nanos((self.demand.rate.max(0.0) * SUPPLY) as i64 + self.demand.worst.saturating_mul(SPARE_CALLS))
    }

    /// Whether another replica found no room lately: what becomes free is given back, and nothing is taken ahead.
    pub fn is_recalled(&self, now: Duration) -> bool {
        now < self.recalled_until
    }

    pub fn recall(&mut self, now: Duration) {
        self.is_answer_due = true;
        self.recalled_until = now + SCARCE;
    }

    /// The amount to take ahead of need; zero while the budget is scarce.
    pub fn ahead(&self, free: Nanos, now: Duration) -> Nanos {
        if now < self.scarce_until || self.is_recalled(now) {
            return Nanos::ZERO;
        }
        Nanos((self.want().0 - free.0).max(0))
    }

    /// Whether so little is free that more should be taken in the background.
    pub fn is_low(&self, free: Nanos) -> bool {
        self.is_registered && self.has_base && free.0 < self.want().0 / 2
    }

    /// The amount of a background refill that is due.
    pub fn refill(&self, free: Nanos, now: Duration) -> Option<Nanos> {
        let is_due = self.is_low(free) && now >= self.refill_at;
        is_due.then(|| self.ahead(free, now)).filter(|ahead| *ahead > Nanos::ZERO)
    }

    pub fn next_refill(&self) -> Duration {
        self.refill_at.max(self.scarce_until).max(self.recalled_until)
    }

    /// Adds a grant. `wanted` is the amount that was asked for ahead of need.
    pub fn add(&mut self, got: Nanos, rest: Nanos, wanted: Nanos, now: Duration) {
        self.granted += got;
        self.rest = Some(rest);
        self.is_overcommitted = rest < Nanos::ZERO;
        self.refill_at = now + REFILL_PAUSE;
        if wanted > Nanos::ZERO && got.0 < wanted.0 / 4 {
            self.scarce_until = now + SCARCE;
        }
    }

    /// Keeps a part of what is free for calls that were just woken.
    pub fn promise(&mut self, part: Nanos, now: Duration) {
        let earlier = if now < self.promised_until { self.promised } else { Nanos::ZERO };
        (self.promised, self.promised_until) = (earlier + part, now + PROMISE);
    }

    /// The part of what is free that is to be given back now; `None` if nothing has to be told to the database.
    pub fn gift(&self, free: Nanos, now: Duration) -> Option<Nanos> {
        let promised = if now < self.promised_until { self.promised.0 } else { 0 };
        let free = Nanos((free.0 - promised).max(0));
        if !self.is_registered {
            return None;
        }
        if self.is_answer_due {
            return Some(free);
        }
        let is_scarce = self.is_recalled(now) || self.is_overcommitted;
        let want = if is_scarce { Nanos::ZERO } else { self.want() };
        // Twice the want, so that a lease is not taken and given back in turns.
        let excess = if want == Nanos::ZERO { free } else { Nanos((free.0 - 2 * want.0).max(0)) };
        let is_due = self.returning > Nanos::ZERO || excess > Nanos::ZERO && now >= self.gift_at;
        is_due.then_some(excess)
    }

    /// Takes a part out of the lease before it is given back.
    pub fn give_up(&mut self, part: Nanos, now: Duration) {
        self.granted += Nanos(-part.0);
        self.returning += part;
        self.rest = self.rest.map(|rest| rest + part);
        self.gift_at = now + if self.is_recalled(now) { GIFT_PAUSE } else { REFILL_PAUSE };
    }

    pub fn given(&mut self, part: Nanos) {
        self.returning += Nanos(-part.0);
        self.is_answer_due = false;
    }
}

#[cfg(test)]
mod tests {
    use domain::clock::Timestamp;

    use super::*;

    fn lease() -> Lease {
        let key = LeaseKey { budget: "/|86400".into(), opened: Timestamp(0) };
        Lease { is_registered: true, has_base: true, ..Lease::new(key) }
    }

    const QUARTER: Duration = Duration::from_millis(250);

    #[test]
    fn a_lease_lasts_for_fifteen_seconds_and_four_calls() {
        let mut lease = lease();
        for _ in 0..200 {
            lease.note_hold(Nanos(100), Nanos(0));
            lease.note_settled(Nanos(250));
            lease.tick(QUARTER);
        }
        let want = lease.want().0;
        assert!((15_300..=15_400).contains(&want), "{want}");
        assert!(lease.is_low(Nanos(want / 2 - 1)) && !lease.is_low(Nanos(want / 2)));
        assert_eq!(lease.gift(Nanos(2 * want), QUARTER), None);
        assert_eq!(lease.gift(Nanos(2 * want + 7), QUARTER), Some(Nanos(7)));
        (0..240).for_each(|_| lease.tick(QUARTER));
        assert_eq!((lease.want(), lease.gift(Nanos(9), QUARTER)), (Nanos::ZERO, Some(Nanos(9))), "idle");
    }

    #[test]
    fn a_scarce_budget_is_taken_by_need_for_a_while() {
        let (mut lease, now) = (lease(), Duration::from_secs(10));
        lease.note_hold(Nanos(100), Nanos(0));
        lease.tick(QUARTER);
        assert_eq!(lease.refill(Nanos(0), now), Some(Nanos(400)));
        lease.add(Nanos(99), Nanos(0), Nanos(400), now);
        assert_eq!(lease.ahead(Nanos(0), now + Duration::from_millis(1999)), Nanos::ZERO);
        assert_eq!(lease.ahead(Nanos(0), now + SCARCE), Nanos(400));
        lease.recall(now + SCARCE);
        assert_eq!(lease.gift(Nanos(5), now + SCARCE), Some(Nanos(5)));
        lease.give_up(Nanos(5), now + SCARCE);
        lease.given(Nanos(5));
        assert_eq!(lease.gift(Nanos(5), now + SCARCE + GIFT_PAUSE / 2), None);
        assert_eq!(lease.gift(Nanos(5), now + SCARCE + GIFT_PAUSE), Some(Nanos(5)));
    }
}
