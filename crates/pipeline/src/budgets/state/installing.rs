//! New rules: known windows are kept, and held and unbooked amounts are counted again.

use std::sync::Arc;

use domain::clock::Timestamp;
use domain::money::Nanos;
use foldhash::HashMap;

use super::BudgetState;
use super::derived::covering;
use crate::budgets::index::Index;
use crate::budgets::runs::Runs;
use crate::budgets::window::{Turn, Windows};

impl BudgetState {
    /// Installs new rules, and counts held and unbooked amounts again by the scope of each call.
    pub fn install(&mut self, index: Option<Arc<Index>>, now: Timestamp) {
        let before = self.index.take();
        let mut lowered = Vec::new();
        let known = std::mem::take(&mut self.windows);
        let known = known.into_iter().enumerate();
        // The budget of a run has the key of its base.
        let is_base = |place: &usize| before.as_ref().is_some_and(|before| before.rule(*place).run.is_none());
        let mut known: HashMap<_, _> = known
            .filter(|(place, _)| is_base(place))
            .filter_map(|(place, windows)| Some((before.as_ref()?.rule(place).key.clone(), windows)))
            .collect();
        let amounts = before.iter().flat_map(|before| &before.rules.budgets);
        let amounts: HashMap<_, _> = amounts.map(|rule| (rule.key.clone(), rule.amount)).collect();
        if let Some(index) = &index {
            for (place, rule) in index.rules.budgets.iter().enumerate() {
                let amount = amounts.get(&rule.key).copied().unwrap_or_default();
                if rule.amount < amount {
                    lowered.push(place);
                }
                let known = known.remove(&rule.key);
                // A call may have turned the window after `now` was read.
                let now = known.as_ref().map_or(now, |known| now.max(known.current.start));
                let mut windows = Windows::new(index.window(place, now));
                if let Some(known) = known {
                    windows.inherit(known);
                }
                windows.each().for_each(|window| {
                    (window.reserved, window.unbooked, window.alerted) = (Nanos::ZERO, Nanos::ZERO, 0);
                    index.rename_lease(place, window);
                });
                self.windows.push(windows);
            }
        } else {
            self.settled.clear();
        }
        (self.index, self.runs) = (index, Runs::default());
        self.derive_for_known_calls(now);
        self.count_anew();
        self.recall_lowered(&lowered);
        self.schedule_resync();
        self.is_lease_due = true;
    }

    fn count_anew(&mut self) {
        let Some(index) = &self.index else { return };
        // Derived budgets have counted these calls already when they were created: start again from zero.
        self.windows.iter_mut().flat_map(Windows::each).for_each(|window| {
            (window.reserved, window.unbooked) = (Nanos::ZERO, Nanos::ZERO);
        });
        let held = self.under_way.values().map(|call| (&call.scope, call.held, Nanos::ZERO));
        let settled = self.settled.values().map(|call| (&call.scope, Nanos::ZERO, call.cost));
        for (scope, held, cost) in held.chain(settled) {
            for place in covering(index, &self.runs, scope) {
                let turn = self.windows[place].turn_forward(scope.at, || index.window(place, scope.at));
                self.turned |= turn != Turn::Unchanged;
                if let Some(window) = self.windows[place].at(scope.at) {
                    window.reserved += held;
                    window.unbooked += cost;
                }
            }
        }
    }
}
