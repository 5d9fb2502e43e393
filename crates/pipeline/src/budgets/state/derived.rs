//! Budgets that are derived from another one: for child paths (`child_default`) and for agent runs (`per_run`).

use std::sync::Arc;

use domain::clock::Timestamp;
use domain::money::Nanos;
use store::RunSpent;

use super::BudgetState;
use crate::budgets::BudgetScope;
use crate::budgets::index::Index;
use crate::budgets::runs::{IDLE_MICROS, Runs};
use crate::budgets::window::{Window, Windows};

/// The positions of the budgets that a call counts against. A `per_run` budget is replaced by that of the call's run.
pub fn covering(index: &Index, runs: &Runs, scope: &BudgetScope) -> Vec<usize> {
    let place = |base: usize| match &scope.run {
        Some(run) if index.rule(base).policy.per_run => runs.place(run, base).unwrap_or(base),
        _ => base,
    };
    index.covering(scope).map(place).collect()
}

impl BudgetState {
    pub(super) fn covering(&self, scope: &BudgetScope) -> Vec<usize> {
        self.index.as_ref().map(|index| covering(index, &self.runs, scope)).unwrap_or_default()
    }

    /// Creates the missing budgets that are derived for the path and run of a call.
    pub(super) fn derive(&mut self, scope: &BudgetScope) {
        let BudgetScope { user_path, tenant, at, run } = scope;
        let tenant = tenant.as_deref().unwrap_or_default();
        self.derive_children(user_path.as_str(), tenant, *at);
        if let Some(run) = run {
            self.derive_run(user_path.as_str(), tenant, run, *at);
        }
    }

    /// Creates the budgets that a path derives from a `child_default` above it.
    pub fn derive_children(&mut self, user_path: &str, tenant: &str, at: Timestamp) {
        let before = self.windows.len();
        self.add_children(user_path, tenant, at);
        for place in before..self.windows.len() {
            self.count_current(place);
        }
    }

    pub(super) fn add_children(&mut self, user_path: &str, tenant: &str, at: Timestamp) {
        let Some(index) = &mut self.index else { return };
        for rule in index.missing_children(user_path, tenant) {
            if !Arc::make_mut(index).add_child(rule) {
                tracing::warn!(user_path, "too many child budgets; only the budgets above this path apply");
                return;
            }
            self.windows.push(Windows::new(index.window(self.windows.len(), at)));
        }
    }

    /// Creates the budgets that a run derives from `per_run` budgets on its path. Its earlier spending is still to be
    /// read.
    fn derive_run(&mut self, user_path: &str, tenant: &str, run: &Arc<str>, at: Timestamp) {
        let Some(index) = self.index.as_ref().filter(|index| index.has_per_run()) else { return };
        let bases: Vec<usize> = index.per_run(user_path, tenant).collect();
        for base in bases {
            if self.runs.place(run, base).is_some() {
                continue;
            }
            if self.runs.is_full() && !self.runs.contains(run) {
                tracing::warn!(
                    user_path,
                    "too many runs; further ones share the budget of calls without a run"
                );
                return;
            }
            self.add_run(base, run, at);
        }
        self.runs.touch(run, at);
    }

    fn add_run(&mut self, base: usize, run: &Arc<str>, at: Timestamp) {
        let Some(index) = &mut self.index else { return };
        let place = Arc::make_mut(index).add_run(base, run.clone(), self.runs.free_place());
        let windows = Windows::new(index.window(place, at));
        match self.windows.get_mut(place) {
            Some(free) => *free = windows,
            None => self.windows.push(windows),
        }
        self.runs.insert(run, base, place, at);
        self.count_current(place);
    }

    /// Creates the derived budgets of calls that are in flight or not booked yet, after the rules have changed.
    pub(super) fn derive_for_known_calls(&mut self, now: Timestamp) {
        let derives = |index: &Arc<Index>| index.gives_children() || index.has_per_run();
        if !self.index.as_ref().is_some_and(derives) {
            return;
        }
        let held = self.under_way.values().map(|call| &call.scope);
        let known = held.chain(self.settled.values().map(|call| &call.scope));
        let known: Vec<BudgetScope> = known.cloned().map(|scope| BudgetScope { at: now, ..scope }).collect();
        known.iter().for_each(|scope| self.derive(scope));
    }

    /// Tracks runs with calls in the ledger within the last hour: they may be of another replica or an earlier process.
    pub fn derive_runs<'a>(&mut self, spent: impl Iterator<Item = &'a RunSpent>, now: Timestamp) {
        let is_recent = |run: &&RunSpent| now.micros().saturating_sub(run.newest.micros()) <= IDLE_MICROS;
        for RunSpent { run, spent, newest } in spent.filter(is_recent) {
            self.derive_run(&spent.user_path, &spent.tenant, &Arc::from(run.as_str()), *newest);
        }
    }

    pub fn expire_runs(&mut self, now: Timestamp) {
        let windows = &self.windows;
        let is_settled = |place: usize| {
            let Windows { current, previous } = &windows[place];
            let mut each = std::iter::once(current).chain(previous);
            let is_returned =
                |window: &Window| window.lease.as_ref().is_none_or(|lease| lease.granted == Nanos::ZERO);
            each.all(|window| {
                window.reserved == Nanos::ZERO && window.unbooked == Nanos::ZERO && is_returned(window)
            })
        };
        let expired = self.runs.expire(now, is_settled);
        if let Some(index) = self.index.as_mut().filter(|_| !expired.is_empty()) {
            let index = Arc::make_mut(index);
            expired.into_iter().for_each(|place| index.remove_run(place));
        }
    }
}
