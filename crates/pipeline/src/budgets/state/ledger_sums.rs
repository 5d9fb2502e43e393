//! Sums of the ledger: which are to be read, and their use.

use std::sync::Arc;

use domain::clock::Timestamp;
use domain::money::Nanos;

use super::derived::covering;
use super::{BudgetState, Reading, crossings};
use crate::budgets::index::Index;
use crate::budgets::window::Windows;

/// Ledger reads after which an unbooked receipt is looked up.
const DOUBTFUL: u32 = 5;
/// Ledger reads for which a settled call is kept after its windows have ended, in case the clock is set back.
const KEPT_READINGS: u32 = 300;

impl BudgetState {
    /// Turns all windows to `now`, and lists those whose sums are to be read.
    pub fn wanted(&mut self, now: Timestamp) -> Option<(Arc<Index>, Vec<Reading>)> {
        let index = self.index.clone()?;
        self.turn(now);
        let windows = self.windows.iter().enumerate();
        let wanted = windows.map(|(place, Windows { current, .. })| Reading {
            place,
            from: current.from,
            end: current.end,
            sum: Nanos::ZERO,
        });
        Some((index, wanted.collect()))
    }

    /// Applies the sums read from the ledger. Returns true if a threshold was crossed.
    pub fn apply(&mut self, readings: &[Reading]) -> bool {
        let before = self.crossings.len();
        let Some(index) = self.index.clone() else { return false };
        for Reading { place, from, end, sum } in readings {
            let mut windows = self.windows[*place].each();
            if let Some(window) = windows.find(|window| (window.from, window.end) == (*from, *end)) {
                window.ledger = *sum;
            }
        }
        for (place, windows) in self.windows.iter_mut().enumerate() {
            let spent = windows.current.spent();
            self.crossings.extend(crossings(&index, place, &mut windows.current, spent));
        }
        let (windows, runs) = (&mut self.windows, &self.runs);
        self.settled.retain(|_, call| {
            call.readings += 1;
            call.readings < KEPT_READINGS
                || covering(&index, runs, &call.scope)
                    .into_iter()
                    .any(|place| windows[place].at(call.scope.at).is_some())
        });
        self.crossings.len() > before
    }

    /// Arrival times and ids of receipts that should have been booked by now.
    pub fn doubtful(&self, max: usize) -> Vec<(Timestamp, Box<str>)> {
        let doubtful = self.settled.iter().filter(|(_, call)| call.readings >= DOUBTFUL);
        doubtful.map(|(id, call)| (call.arrived, id.clone())).take(max).collect()
    }
}
