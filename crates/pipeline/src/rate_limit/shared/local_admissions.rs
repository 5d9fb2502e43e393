//! The requests and tokens that this process has admitted by itself during one outage of Redis, by limit.

use std::time::Duration;

use crate::rate_limit::limit_kind::{LimitKind, Unit};

/// The start of an outage, which tells it from others, and the time for which the last known usage still bounds calls.
#[derive(Clone, Copy, Debug)]
pub struct RecentOutage {
    pub since: Duration,
    pub left: Duration,
}

#[derive(Default)]
pub struct LocalAdmissions {
    /// The start of the outage that the amounts belong to.
    outage: Duration,
    amounts: [u64; LimitKind::ALL.len()],
}

impl LocalAdmissions {
    /// The amount that counts against a limit in this outage.
    pub fn of(&self, bound: LimitKind, outage: Duration) -> u64 {
        if self.outage == outage { self.amounts[bound as usize] } else { 0 }
    }

    pub fn add(&mut self, unit: Unit, amount: u64, outage: Duration) {
        if self.outage != outage {
            *self = Self { outage, ..Self::default() };
        }
        self.change(unit, |admitted| admitted.saturating_add(amount));
    }

    /// Replaces an amount that was added in this outage; in another one it no longer matters.
    pub fn replace(&mut self, unit: Unit, (amount, by): (u64, u64), outage: Duration) {
        if self.outage == outage {
            self.change(unit, |admitted| admitted.saturating_sub(amount).saturating_add(by));
        }
    }

    fn change(&mut self, unit: Unit, changed: impl Fn(u64) -> u64) {
        for bound in LimitKind::ALL.into_iter().filter(|bound| bound.unit() == unit) {
            let admitted = &mut self.amounts[bound as usize];
            *admitted = changed(*admitted);
        }
    }
}
