//! Agent runs with a budget of their own, derived from one with `per_run`.

use std::sync::Arc;

use domain::clock::Timestamp;
use foldhash::HashMap;

/// Most runs that are tracked. Further ones count against the budget of calls without a run until a tracked one is
/// idle.
pub const MAX_RUNS: usize = 10_000;
/// Idle time after which a run is no longer tracked. If it comes back, its spending is read from the ledger.
pub const IDLE_MICROS: i64 = 3600 * 1_000_000;

/// The tracked runs, and the positions of their budgets in the index.
#[derive(Default)]
pub struct Runs {
    by_id: HashMap<Arc<str>, Run>,
    /// Positions that new runs may use.
    free: Vec<usize>,
    /// Positions freed by the last `expire`. A ledger read that is under way may still refer to them.
    freed: Vec<usize>,
}

struct Run {
    used: Timestamp,
    budgets: Vec<RunBudget>,
}

/// The positions of a `per_run` budget and of the run's budget derived from it.
#[derive(Clone, Copy)]
struct RunBudget {
    base: usize,
    place: usize,
}

impl Runs {
    pub fn place(&self, run: &str, base: usize) -> Option<usize> {
        let budgets = &self.by_id.get(run)?.budgets;
        budgets.iter().find(|budget| budget.base == base).map(|budget| budget.place)
    }

    pub fn is_full(&self) -> bool {
        self.by_id.len() >= MAX_RUNS
    }

    pub fn contains(&self, run: &str) -> bool {
        self.by_id.contains_key(run)
    }

    /// Takes a free position.
    pub fn free_place(&mut self) -> Option<usize> {
        self.free.pop()
    }

    pub fn insert(&mut self, run: &Arc<str>, base: usize, place: usize, used: Timestamp) {
        let entry = self.by_id.entry(run.clone()).or_insert_with(|| Run { used, budgets: Vec::new() });
        entry.used = entry.used.max(used);
        entry.budgets.push(RunBudget { base, place });
    }

    pub fn touch(&mut self, run: &str, at: Timestamp) {
        if let Some(run) = self.by_id.get_mut(run) {
            run.used = run.used.max(at);
        }
    }

    /// The number of runs with a budget derived from the one at this position.
    pub fn count(&self, base: usize) -> usize {
        let has = |run: &&Run| run.budgets.iter().any(|budget| budget.base == base);
        self.by_id.values().filter(has).count()
    }

    /// Drops runs that are idle and have nothing held or unbooked. Their positions become free at the next call.
    pub fn expire(&mut self, now: Timestamp, is_settled: impl Fn(usize) -> bool) -> Vec<usize> {
        self.free.append(&mut self.freed);
        let freed = &mut self.freed;
        self.by_id.retain(|_, run| {
            let idle = now.micros().saturating_sub(run.used.micros()) > IDLE_MICROS;
            let expired = idle && run.budgets.iter().all(|budget| is_settled(budget.place));
            if expired {
                freed.extend(run.budgets.iter().map(|budget| budget.place));
            }
            !expired
        });
        self.freed.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_run_is_removed_and_its_slot_reused() {
        let at = Timestamp::from_seconds;
        let mut runs = Runs::default();
        let (first, second): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        runs.insert(&first, 0, 5, at(0));
        runs.insert(&second, 0, 6, at(0));
        runs.touch("b", at(3000));
        assert_eq!((runs.place("a", 0), runs.place("a", 1), runs.count(0)), (Some(5), None, 2));
        assert!(runs.expire(at(3601), |place| place != 5).is_empty(), "a call is under way");
        assert_eq!(runs.expire(at(3601), |_| true), [5]);
        assert_eq!((runs.contains("a"), runs.contains("b"), runs.free_place()), (false, true, None));
        assert!(runs.expire(at(3602), |_| true).is_empty());
        assert_eq!(runs.free_place(), Some(5));
    }
}
