//! Windows that follow the clock: a new one counts what is held and unbooked in it.

use domain::clock::Timestamp;

use super::derived::covering;
use super::{BudgetState, RunningCall, Settled};
use crate::budgets::BudgetScope;
use crate::budgets::index::Index;
use crate::budgets::window::Turn;

impl BudgetState {
    /// Turns every window to the wall clock, backwards too if the clock was set back.
    pub fn turn(&mut self, now: Timestamp) {
        let Some(index) = self.index.clone() else { return };
        for place in 0..self.windows.len() {
            self.turn_to(&index, place, now);
        }
    }

    /// Turns the windows on this path to the wall clock.
    pub fn turn_covering(&mut self, scope: &BudgetScope, now: Timestamp) {
        let Some(index) = self.index.clone() else { return };
        for place in self.covering(scope) {
            self.turn_to(&index, place, now);
        }
    }

    /// Returns whether a window has changed since the last call, so that the ledger has to be read.
    pub fn take_turned(&mut self) -> bool {
        std::mem::take(&mut self.turned)
    }

    fn turn_to(&mut self, index: &Index, place: usize, now: Timestamp) {
        let turn = self.windows[place].turn(now, || index.window(place, now));
        self.turned(place, turn);
    }

    pub(super) fn turn_forward(&mut self, index: &Index, place: usize, at: Timestamp) {
        let turn = self.windows[place].turn_forward(at, || index.window(place, at));
        self.turned(place, turn);
    }

    fn turned(&mut self, place: usize, turn: Turn) {
        self.turned |= turn != Turn::Unchanged;
        if turn == Turn::New {
            self.count_current(place);
        }
    }

    /// Adds held and unbooked amounts to a new window. Its ledger sum is still to be read.
    pub(super) fn count_current(&mut self, place: usize) {
        self.turned = true;
        let Some(index) = &self.index else { return };
        let window = &mut self.windows[place].current;
        let counts = |scope: &BudgetScope| covering(index, &self.runs, scope).contains(&place);
        for RunningCall { scope, held, .. } in self.under_way.values() {
            if window.holds(scope.at) && counts(scope) {
                window.reserved += *held;
            }
        }
        for Settled { scope, cost, .. } in self.settled.values() {
            if window.holds(scope.at) && counts(scope) {
                window.unbooked += *cost;
            }
        }
    }
}
