//! Budget admission: the worst-case cost of a call is held against every budget on its path until the call is settled,
//! so that spent and held amounts together never exceed a budget, at any concurrency.

pub mod alerts;
mod clamp_history;
mod index;
mod lease;
mod lease_driver;
mod lease_queue;
mod refusal;
mod reported_prefixes;
mod rules;
mod runs;
mod state;
mod synchronise;
#[cfg(test)]
mod tests;
mod window;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use domain::capability::{Capabilities, Capability};
use domain::clock::{Clock, Timestamp};
use domain::fault::{self, Fault};
use domain::money::Nanos;
use domain::principal::Principal;
use domain::resources::budget::BudgetKey;
use domain::user_path::UserPath;
use parking_lot::Mutex;
use store::LeaseKey;
use tokio::sync::Notify;

use index::Index;
use state::BudgetState;

pub use clamp_history::{Clamp, ClampHistory, KeyAndModel};
pub use lease_driver::{NotHeld, all_leases, hold_waiting, keep_leases};
pub use lease_queue::LeaseOutcome;
pub use reported_prefixes::{Prefix, ReportedPrefixes};
pub use rules::{ClosedScope, Rule, Rules, StoredBudget, StoredSettings};
pub use state::{Check, Exceeded, Headroom, LeaseSummary, Status};
pub use synchronise::{install, keep_synchronising, synchronise};

/// The time without an answer from the ledger after which `budgets_closed` refuses calls.
const PATIENCE: Duration = Duration::from_secs(5);
const NO_TROUBLE: u64 = u64::MAX;

/// The amounts spent and held of every budget.
pub struct Budgets {
    /// `None` while there are no budgets; most calls only check this.
    index: ArcSwapOption<Index>,
    state: Mutex<BudgetState>,
    /// The monotonic time, in microseconds, since when the ledger has not answered.
    trouble: AtomicU64,
    /// Notified when a threshold was crossed.
    crossed: Notify,
    /// Notified when a window has changed, so that the ledger is read at once.
    turned: Notify,
    clamps: ClampHistory,
    prefixes: ReportedPrefixes,
    /// The owner of this process's leases; `None` if budgets are not shared with other replicas.
    journal: Option<Box<str>>,
    /// Notified when the lease protocol has something to do.
    lease_wake: Notify,
    /// Held while leases are changed in the database or read from it.
    lease_turn: tokio::sync::Mutex<()>,
    /// Notified when the spending before the leases has to be read.
    base_wanted: Notify,
    /// The number of live replicas, as far as it is known.
    replicas: AtomicU32,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            index: ArcSwapOption::empty(),
            state: Mutex::default(),
            trouble: AtomicU64::new(NO_TROUBLE),
            crossed: Notify::new(),
            turned: Notify::new(),
            clamps: ClampHistory::default(),
            prefixes: ReportedPrefixes::default(),
            journal: None,
            lease_wake: Notify::new(),
            lease_turn: tokio::sync::Mutex::default(),
            base_wanted: Notify::new(),
            replicas: AtomicU32::new(2),
        }
    }
}

/// The properties of a call that decide which budgets apply. Windows go by the arrival time, as the ledger does.
#[derive(Clone, Debug)]
pub struct BudgetScope {
    pub at: Timestamp,
    pub tenant: Option<Arc<str>>,
    pub user_path: UserPath,
    /// The agent run that the call belongs to.
    pub run: Option<Arc<str>>,
}

impl BudgetScope {
    pub fn new(principal: &Principal, user_path: UserPath, at: Timestamp, run: Option<&str>) -> Self {
        let tenant = principal.tenant().cloned();
        Self { at, tenant, user_path, run: run.map(Arc::from) }
    }
}

/// The worst-case cost of a call, held until the call is settled. Dropping it releases the amount.
pub struct Hold {
    budgets: Arc<Budgets>,
    number: u64,
    /// Whether the receipt of this call will be booked in the ledger.
    kept: bool,
    open: bool,
}

impl Hold {
    pub fn clamps(&self) -> &ClampHistory {
        &self.budgets.clamps
    }

    /// Holds more for another attempt at the call; false if a budget has no room for it.
    pub fn extend(&mut self, more: Nanos, check: Check) -> bool {
        let (is_extended, is_lease_due) = {
            let mut state = self.budgets.state.lock();
            (state.extend(self.number, more, check), state.take_lease_due())
        };
        if is_lease_due {
            self.budgets.lease_wake.notify_one();
        }
        is_extended
    }

    /// The room that an extension by this amount needs; `None` if replicas do not share the budgets, so that waiting is
    /// of no use.
    pub fn missing_room(&self, more: Nanos) -> Option<MissingRoom> {
        let budgets = self.budgets.clone();
        let scope = budgets.state.lock().scope_of(self.number).filter(|_| budgets.is_leased())?;
        Some(MissingRoom { budgets, scope, need: more })
    }

    /// Replaces the hold by the actual cost, which is zero if the call has no price. `receipt` is the id it is booked
    /// under.
    pub fn settle(mut self, receipt: &str, cost: Option<Nanos>) {
        self.open = false;
        let cost = cost.unwrap_or_default();
        let (crossed, is_lease_due) = {
            let mut state = self.budgets.state.lock();
            (state.settle(self.number, receipt, cost, self.kept), state.take_lease_due())
        };
        if crossed {
            self.budgets.crossed.notify_one();
        }
        if is_lease_due {
            self.budgets.lease_wake.notify_one();
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.open {
            let is_lease_due = {
                let mut state = self.budgets.state.lock();
                state.release(self.number);
                state.take_lease_due()
            };
            if is_lease_due {
                self.budgets.lease_wake.notify_one();
            }
        }
    }
}

/// Room in shared budgets that a call under way can wait for, without its hold being locked meanwhile.
pub struct MissingRoom {
    budgets: Arc<Budgets>,
    scope: BudgetScope,
    need: Nanos,
}

impl MissingRoom {
    /// Waits for the room, at most until the deadline (monotonic).
    pub async fn wait(&self, clock: &dyn Clock, deadline: Duration) -> LeaseOutcome {
        self.budgets.wait_for_room(clock, &self.scope, self.need, deadline).await
    }
}

/// The budget scope of a call, if any budget applies. Fails with 503 if such a budget cannot be read or, under
/// `budgets_closed`, if the ledger has not answered for too long.
///
/// `fail_closed_at` is the monotonic time if `budgets_closed` is set.
pub fn budgeted(
    budgets: &Budgets,
    fail_closed_at: Option<Duration>,
    scope: impl FnOnce() -> BudgetScope,
) -> Result<Option<BudgetScope>, Fault> {
    if budgets.index.load().is_none() {
        return Ok(None);
    }
    let scope = scope();
    if !budgets.covers(&scope) {
        return Ok(None);
    }
    if budgets.is_closed(&scope) {
        return Err(fault::budget_unreadable());
    }
    // Leases serve until they are used up.
    if !budgets.is_leased() && fail_closed_at.is_some_and(|tick| budgets.is_lost(tick)) {
        return Err(fault::budget_check_failed());
    }
    Ok(Some(scope))
}

/// Holds an amount against every budget on the path, or against none. `kept` tells whether the receipt of the call will
/// be booked in the ledger. An earlier hold of the call is replaced; it stays if the amount does not fit.
pub fn hold(
    budgets: &Arc<Budgets>,
    scope: &BudgetScope,
    worst: Option<Nanos>,
    now: Timestamp,
    kept: bool,
    check: Check,
    earlier: &mut Option<Hold>,
) -> Result<Hold, Box<Exceeded>> {
    // The windows are turned and the amount is held under one lock, so that the check and the hold see the same
    // windows. The synchroniser is woken after the lock is released.
    let (taken, turned, is_lease_due) = {
        let mut state = budgets.state.lock();
        state.turn_covering(scope, now);
        let taken = match earlier {
            Some(earlier) => state.replace(earlier.number, scope.clone(), worst, check),
            None => state.hold(scope.clone(), worst, check),
        };
        (taken, state.take_turned(), state.take_lease_due())
    };
    // The spending of a new window of a shared budget is read when it is leased.
    if turned && !budgets.is_leased() {
        budgets.turned.notify_one();
    }
    if is_lease_due {
        budgets.lease_wake.notify_one();
    }
    let number = taken?;
    if let Some(mut replaced) = earlier.take() {
        replaced.open = false;
    }
    Ok(Hold { budgets: budgets.clone(), number, kept, open: true })
}

/// Records the thresholds that a refused call of at least this cost crosses, and wakes the alert task.
pub fn exhausted(budgets: &Budgets, scope: &BudgetScope, need: Option<Nanos>) {
    let crossed = {
        let mut state = budgets.state.lock();
        state.exhausted(scope, need.unwrap_or_default());
        state.has_crossings()
    };
    if crossed {
        budgets.crossed.notify_one();
    }
}

/// Whether a caller may see the figures of a budget: one that is bound to a user path or a tenant sees only its own.
pub fn is_visible(capabilities: &Capabilities, principal: &Principal, key: &BudgetKey) -> bool {
    let known = capabilities.has(Capability::Identity);
    let tenant = principal.tenant().filter(|_| known).map(|tenant| &**tenant);
    let own = principal.own_path();
    own.is_none_or(|own| own.covers(&key.user_path)) && (tenant.is_none() || tenant == key.tenant.as_deref())
}

/// The error for a call that does not fit. It contains figures only if the caller may see them.
pub fn refused(
    capabilities: &Capabilities,
    hearer: &Principal,
    exceeded: &Exceeded,
    now: Timestamp,
) -> Fault {
    refusal::exceeded(exceeded, now, is_visible(capabilities, hearer, &exceeded.rule.key))
}

/// The headroom of every budget on the path, and the budget without room for a call of this cost. Holds nothing.
pub fn look(
    budgets: &Budgets,
    scope: &BudgetScope,
    worst: Option<Nanos>,
    now: Timestamp,
) -> (Vec<Headroom>, Option<Box<Exceeded>>) {
    if budgets.index.load().is_none() {
        return (Vec::new(), None);
    }
    let mut state = budgets.state.lock();
    state.turn_covering(scope, now);
    state.look(scope, worst)
}

impl Budgets {
    /// Budgets that replicas share by leases, if the journal that owns those of this process is given.
    pub fn new(journal: Option<&str>) -> Self {
        Self { journal: journal.map(Box::from), ..Self::default() }
    }

    /// Waits until a threshold was crossed. A crossing while nobody waits is kept for the next call.
    pub async fn threshold_crossed(&self) {
        self.crossed.notified().await;
    }

    /// Whether a budget applies to the call.
    pub fn covers(&self, scope: &BudgetScope) -> bool {
        let index = self.index.load();
        let covers = |index: &Arc<Index>| index.covering(scope).next().is_some() || index.is_closed(scope);
        index.as_ref().is_some_and(covers)
    }

    fn is_closed(&self, scope: &BudgetScope) -> bool {
        self.index.load().as_ref().is_some_and(|index| index.is_closed(scope))
    }

    pub fn clamps(&self) -> &ClampHistory {
        &self.clamps
    }

    pub fn prefixes(&self) -> &ReportedPrefixes {
        &self.prefixes
    }

    /// The current status of every budget.
    pub fn statuses(&self, now: Timestamp) -> Vec<Status> {
        self.turn(now);
        self.state.lock().statuses(now)
    }

    /// Turns every window to the wall clock, and has the ledger read at once if one has changed.
    fn turn(&self, now: Timestamp) {
        let mut state = self.state.lock();
        state.turn(now);
        if state.take_turned() {
            self.turned.notify_one();
        }
    }

    fn is_lost(&self, tick: Duration) -> bool {
        let since = self.trouble.load(Ordering::Relaxed);
        since != NO_TROUBLE && tick.saturating_sub(Duration::from_micros(since)) > PATIENCE
    }

    /// Records the start of a ledger query. The time of an earlier query without an answer is kept.
    fn asks(&self, tick: Duration) {
        let now = u64::try_from(tick.as_micros()).unwrap_or(NO_TROUBLE - 1);
        _ = self.trouble.compare_exchange(NO_TROUBLE, now, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn answered(&self) {
        self.trouble.store(NO_TROUBLE, Ordering::Relaxed);
    }
}

impl store::BookingListener for Budgets {
    fn booked(&self, ids: &mut dyn Iterator<Item = &str>, leases: &[(LeaseKey, Nanos)]) {
        self.state.lock().booked(ids, leases);
    }
}
