//! The contents of requests: what has to be leased, what is given back, and what is asked for.

use std::time::Duration;

use domain::money::Nanos;
use foldhash::HashSet;
use store::{LeaseAsk, LeaseGift, LeaseKey, LeaseNeed, LeaseScope};

use super::AskedPath;
use crate::budgets::rules::Rule;
use crate::budgets::state::BudgetState;
use crate::budgets::window::Window;

impl BudgetState {
    /// Windows that are used beyond their lease, and unregistered ones on the path of a waiting call.
    pub(super) fn needs(&self) -> Vec<LeaseNeed> {
        let waited: HashSet<&LeaseKey> =
            self.leasing.queue.paths.iter().flat_map(|path| &path.keys).collect();
        let Some(index) = &self.index else { return Vec::new() };
        let mut needs = Vec::new();
        for (place, windows) in self.windows.iter().enumerate() {
            for window in std::iter::once(&windows.current).chain(&windows.previous) {
                let Some(lease) = &window.lease else { continue };
                let is_missing = !lease.is_registered && waited.contains(&lease.key);
                if is_missing || window.free() < Nanos::ZERO {
                    needs.push(LeaseNeed {
                        key: lease.key.clone(),
                        until: window.end,
                        scope: scope_of(index.rule(place)),
                        used: window.used(),
                    });
                }
            }
        }
        needs
    }

    /// Needs with what is used now. Nothing of this process may be booked until the answer to them is applied: what was
    /// booked since would be leased again.
    pub fn refresh_needs(&self, needs: &[LeaseNeed]) -> Vec<LeaseNeed> {
        let used = |need: &LeaseNeed| self.leased_by(&need.key).map_or(Nanos::ZERO, Window::used);
        needs.iter().map(|need| LeaseNeed { used: used(need), ..need.clone() }).collect()
    }

    pub(super) fn gifts(&mut self, now: Duration) -> Vec<LeaseGift> {
        let mut gifts = std::mem::take(&mut self.leasing.unused);
        for window in self.windows.iter_mut().flat_map(|windows| windows.each()) {
            let free = window.free();
            let Some(lease) = &mut window.lease else { continue };
            if let Some(part) = lease.gift(free, now) {
                lease.give_up(part, now);
                gifts.push(LeaseGift { key: lease.key.clone(), free: lease.returning });
            }
        }
        gifts
    }

    /// Takes for waiting calls on paths that have no window in common, smallest need first, and refills of leases that
    /// are low.
    pub(super) fn asks(&mut self, now: Duration) -> (Vec<LeaseAsk>, Vec<AskedPath>) {
        let mut queue = std::mem::take(&mut self.leasing.queue);
        queue.paths.sort_by_key(|path| path.smallest());
        let (mut asks, mut paths, mut asked) = (Vec::new(), Vec::new(), HashSet::default());
        for path in queue.paths.iter().filter(|path| path.retry_at <= now) {
            let number = paths.len() as i64;
            if path.keys.iter().any(|key| asked.contains(key)) {
                continue;
            }
            let (need, total) = (path.smallest(), path.total());
            let ask = |key: &LeaseKey| self.ask(key, number, need, total, path.since(key), now);
            let of_path: Option<Vec<Option<LeaseAsk>>> = path.keys.iter().map(ask).collect();
            let Some(of_path) = of_path else { continue };
            asks.extend(of_path.into_iter().flatten());
            asked.extend(path.keys.iter().cloned());
            paths.push(AskedPath { keys: path.keys.clone(), number, last: path.last() });
        }
        self.leasing.queue = queue;
        if asks.is_empty() {
            paths.clear();
        }
        let refills = self.refills(now, &asked, paths.len() as i64);
        asks.extend(refills);
        (asks, paths)
    }

    /// The request for one window of a path: `None` if nothing can be taken from it yet, `Some(None)` if enough is free.
    fn ask(
        &self,
        key: &LeaseKey,
        path: i64,
        need: Nanos,
        total: Nanos,
        since: i64,
        now: Duration,
    ) -> Option<Option<LeaseAsk>> {
        let (amount, window, lease) = self.leased_window(key)?;
        if !lease.is_registered || !lease.has_base {
            return None;
        }
        let free = window.available().0.max(0);
        let missing = need.0.saturating_sub(free);
        if missing <= 0 {
            return Some(None);
        }
        let ahead = lease.ahead(Nanos(free), now);
        // Enough for all waiting calls, unless the budget is scarce.
        let all = if ahead > Nanos::ZERO { total.0.saturating_sub(free) } else { 0 };
        let want = Nanos(missing.max(ahead.0).max(all));
        Some(Some(LeaseAsk { path, key: key.clone(), amount, need: Nanos(missing), want, since }))
    }

    fn refills(&self, now: Duration, asked: &HashSet<LeaseKey>, first: i64) -> Vec<LeaseAsk> {
        let Some(index) = &self.index else { return Vec::new() };
        let windows = self.windows.iter().enumerate().map(|(place, windows)| (place, &windows.current));
        let refill = |(place, window): (usize, &Window)| {
            let lease = window.lease.as_deref().filter(|lease| !asked.contains(&lease.key))?;
            let want = lease.refill(window.free(), now)?;
            Some((index.rule(place).amount, lease.key.clone(), want))
        };
        let refills = windows.filter_map(refill).enumerate();
        refills
            .map(|(number, (amount, key, want))| {
                let path = first + number as i64;
                LeaseAsk { path, key, amount, need: Nanos::ZERO, want, since: i64::MAX }
            })
            .collect()
    }
}

/// The calls that count against a budget.
fn scope_of(rule: &Rule) -> LeaseScope {
    let run = match &rule.run {
        Some(run) => Some(run.to_string()),
        None if rule.policy.per_run => Some(String::new()),
        None => None,
    };
    LeaseScope { tenant: rule.key.tenant.clone(), user_path: rule.key.user_path.as_str().to_owned(), run }
}
