//! Holds of calls: placed against every budget on the path, extended, replaced by the actual cost, released.

use domain::money::Nanos;
use domain::resources::budget::{OnExhausted, OnTight};
use store::LeaseKey;

use super::{BudgetState, Check, Exceeded, RunningCall, Settled, crossings};
use crate::budgets::BudgetScope;

impl BudgetState {
    /// Holds an amount against all budgets on the path, or against none.
    pub fn hold(
        &mut self,
        scope: BudgetScope,
        worst: Option<Nanos>,
        check: Check,
    ) -> Result<u64, Box<Exceeded>> {
        let arrived = scope.at;
        let scope = self.timely(scope);
        let held = worst.unwrap_or_default();
        if worst.is_some()
            && let Some(exceeded) = self.exceeded(&scope, held, check)
        {
            return Err(exceeded);
        }
        self.reserve(&scope, held);
        self.note_hold(&scope, held);
        self.next += 1;
        self.under_way.insert(self.next, RunningCall { scope, arrived, held });
        Ok(self.next)
    }

    /// Holds an amount in place of an earlier hold of the call, which stays if the amount does not fit.
    pub fn replace(
        &mut self,
        earlier: u64,
        scope: BudgetScope,
        worst: Option<Nanos>,
        check: Check,
    ) -> Result<u64, Box<Exceeded>> {
        let Some(call) = self.under_way.remove(&earlier) else { return self.hold(scope, worst, check) };
        self.reserve(&call.scope, Nanos(-call.held.0));
        let taken = self.hold(scope, worst, check);
        if taken.is_err() {
            self.reserve(&call.scope, call.held);
            self.under_way.insert(earlier, call);
        }
        taken
    }

    pub fn extend(&mut self, number: u64, more: Nanos, check: Check) -> bool {
        let Some(scope) = self.scope_of(number) else { return true };
        if self.exceeded(&scope, more, check).is_some() {
            return false;
        }
        self.reserve(&scope, more);
        self.note_hold(&scope, more);
        if let Some(call) = self.under_way.get_mut(&number) {
            call.held += more;
        }
        true
    }

    /// The scope of a call under way.
    pub fn scope_of(&self, number: u64) -> Option<BudgetScope> {
        self.under_way.get(&number).map(|call| call.scope.clone())
    }

    pub fn release(&mut self, number: u64) {
        if let Some(RunningCall { scope, held, .. }) = self.under_way.remove(&number) {
            self.reserve(&scope, Nanos(-held.0));
            self.is_lease_due |= self.leasing.is_watched();
        }
    }

    /// Replaces the hold by the actual cost. Returns true if a threshold was crossed.
    pub fn settle(&mut self, number: u64, receipt: &str, cost: Nanos, kept: bool) -> bool {
        let Some(RunningCall { scope, arrived, held }) = self.under_way.remove(&number) else { return false };
        let before = self.crossings.len();
        let Some(index) = self.index.clone() else { return false };
        for place in self.covering(&scope) {
            let Some(window) = self.windows[place].at(scope.at) else { continue };
            window.reserved += Nanos(-held.0);
            *if kept { &mut window.unbooked } else { &mut window.unkept } += cost;
            let is_overdrawn = window.lease.is_some() && window.free() < Nanos::ZERO;
            if let Some(lease) = &mut window.lease {
                lease.note_settled(cost);
                self.is_lease_due |= is_overdrawn || self.leasing.is_watched();
            }
            self.crossings.extend(crossings(&index, place, window, window.spent()));
        }
        if kept && cost != Nanos::ZERO {
            self.settled.insert(receipt.into(), Settled { scope, arrived, cost, readings: 0 });
        }
        self.crossings.len() > before
    }

    /// Moves the cost of booked receipts from the unbooked sums to the ledger sums, and out of the leases.
    pub fn booked(&mut self, ids: &mut dyn Iterator<Item = &str>, leases: &[(LeaseKey, Nanos)]) {
        self.booked_under_leases(leases);
        for id in ids {
            if self.settled.is_empty() {
                return;
            }
            let Some(Settled { scope, cost, .. }) = self.settled.remove(id) else { continue };
            for place in self.covering(&scope) {
                if let Some(window) = self.windows[place].at(scope.at) {
                    window.unbooked += Nanos(-cost.0);
                    window.ledger += cost;
                }
            }
        }
    }

    /// Of all budgets without room, the one whose window ends last: until then no attempt succeeds. A budget whose lease
    /// alone is too small, and that has room for all replicas, comes after the others.
    pub(super) fn exceeded(
        &mut self,
        scope: &BudgetScope,
        worst: Nanos,
        check: Check,
    ) -> Option<Box<Exceeded>> {
        let index = self.index.clone()?;
        let mut found: Option<Box<Exceeded>> = None;
        let (mut min, mut clamps, mut blocks) = (Nanos(i64::MAX), true, false);
        let mut is_found_short = false;
        for place in self.covering(scope) {
            let Some(window) = self.windows[place].at(scope.at) else { continue };
            let rule = index.rule(place);
            let ((spent, reserved), end) = (window.shared_use(rule.amount), window.end);
            let left = match check {
                Check::Lease if window.lease.is_some() => window.available(),
                _ => Nanos(rule.amount.0.saturating_sub((window.spent() + window.reserved).0)),
            };
            min = min.min(left);
            if worst <= left {
                continue;
            }
            let is_short = check == Check::Amount || window.shared_left().is_none_or(|left| left < worst);
            clamps &= !is_short || rule.policy.on_tight == OnTight::Clamp;
            blocks |= is_short && rule.policy.on_exhausted == OnExhausted::Block;
            if found.as_ref().is_none_or(|known| (is_found_short, known.end) < (is_short, end)) {
                is_found_short = is_short;
                let downgrade_to = rule.policy.downgrade_to.clone();
                let (rule, room) = (rule.clone(), Nanos::ZERO);
                let exceeded = Exceeded { rule, spent, reserved, worst, end, room, clamps, downgrade_to };
                found = Some(Box::new(exceeded));
            }
        }
        if let Some(exceeded) = &mut found {
            (exceeded.room, exceeded.clamps) = (min, clamps);
            exceeded.downgrade_to = exceeded.downgrade_to.take().filter(|_| !blocks);
        }
        found
    }

    /// Moves a call that arrived outside all known windows into the current one. That happens if its body took longer
    /// than two windows, or if the clock was set back to before a reset.
    pub(super) fn timely(&mut self, mut scope: BudgetScope) -> BudgetScope {
        self.derive(&scope);
        let Some(index) = self.index.clone() else { return scope };
        let mut at = scope.at;
        for place in self.covering(&scope) {
            self.turn_forward(&index, place, scope.at);
            let windows = &mut self.windows[place];
            if windows.at(scope.at).is_none() {
                at = at.max(windows.current.from);
            }
        }
        scope.at = at;
        scope
    }

    pub(super) fn reserve(&mut self, scope: &BudgetScope, amount: Nanos) {
        for place in self.covering(scope) {
            if let Some(window) = self.windows[place].at(scope.at) {
                window.reserved += amount;
            }
        }
    }

    /// Counts a call in the demand for leases.
    fn note_hold(&mut self, scope: &BudgetScope, worst: Nanos) {
        if !self.index.as_ref().is_some_and(|index| index.is_leased()) {
            return;
        }
        for place in self.covering(scope) {
            let Some(window) = self.windows[place].at(scope.at) else { continue };
            let free = window.free();
            if let Some(lease) = &mut window.lease {
                self.is_lease_due |= lease.note_hold(worst, free);
            }
        }
    }
}
