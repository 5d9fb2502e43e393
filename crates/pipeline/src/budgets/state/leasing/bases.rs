//! The spending of windows besides their leases.

use domain::money::Nanos;
use foldhash::HashSet;
use store::{BaseChange, LeaseKey, WindowFigures};

use crate::budgets::state::{BudgetState, Reading};

impl BudgetState {
    /// The bases that differ from the sums of the ledger, less what is booked under leases. Both are from one state of the
    /// database.
    pub fn base_changes(&self, readings: &[Reading], windows: &[WindowFigures]) -> Vec<BaseChange> {
        let change = |reading: &Reading| {
            let lease = self.windows.get(reading.place)?.current.lease.as_ref()?;
            let figures = windows.iter().find(|figures| figures.key == lease.key)?;
            let new = Nanos(reading.sum.0 - figures.booked.0);
            let is_new = figures.base != Some(new) && lease.key.opened == reading.from;
            is_new.then(|| BaseChange { key: lease.key.clone(), old: figures.base, new })
        };
        readings.iter().filter_map(change).collect()
    }

    /// The sums of windows whose figures are in the database.
    pub fn window_sums(&self, readings: Vec<Reading>, windows: &[WindowFigures]) -> Vec<Reading> {
        let sum = |reading: Reading| {
            let lease = self.windows.get(reading.place)?.current.lease.as_ref()?;
            let figures = windows.iter().find(|figures| figures.key == lease.key)?;
            Some(Reading { sum: figures.base? + figures.booked, ..reading })
        };
        readings.into_iter().filter_map(sum).collect()
    }

    /// Records that these windows have a base.
    pub fn set_bases_known(&mut self, keys: &HashSet<LeaseKey>) {
        let windows = self.windows.iter_mut().flat_map(|windows| windows.each());
        for lease in windows.filter_map(|window| window.lease.as_mut()) {
            lease.has_base |= keys.contains(&lease.key);
        }
    }
}
