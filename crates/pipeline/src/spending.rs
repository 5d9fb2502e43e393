//! Station: budgets. What a call may cost at worst is held against every budget on its path until it is settled, so that
//! spent and held together never exceed an amount, whatever the concurrency.

pub mod alerts;
mod books;
mod clamp_history;
mod index;
mod refusal;
mod reported_prefixes;
mod rules;
mod runs;
mod synchronise;
#[cfg(test)]
mod tests;
mod window;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use domain::caller::Caller;
use domain::capability::Capability;
use domain::clock::Timestamp;
use domain::fault::{self, Fault};
use domain::money::Nanos;
use domain::resources::budget::BudgetKey;
use domain::user_path::UserPath;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::gateway::Gateway;
use books::Books;
use index::Index;

pub use books::{Exceeded, Headroom, Status};
pub use clamp_history::{Clamp, ClampHistory, KeyAndModel};
pub use reported_prefixes::{Prefix, ReportedPrefixes};
pub use rules::{Rule, Rules};
pub use synchronise::{install, keep_synchronising, synchronise};

/// So long, figures that nobody could compare with the ledger are good enough even for those who want them checked.
const PATIENCE: Duration = Duration::from_secs(5);
const NO_TROUBLE: u64 = u64::MAX;

/// What is spent and held of every budget.
pub struct Spending {
    /// Nothing while there are no budgets: that is all most calls look at.
    index: ArcSwapOption<Index>,
    books: Mutex<Books>,
    /// Since when the ledger could not be read, by the ticking clock.
    trouble: AtomicU64,
    /// Rung when a threshold was crossed.
    crossed: Notify,
    /// Rung when a window has turned, so that the ledger is read at once.
    turned: Notify,
    clamps: ClampHistory,
    prefixes: ReportedPrefixes,
}

impl Default for Spending {
    fn default() -> Self {
        Self {
            index: ArcSwapOption::empty(),
            books: Mutex::default(),
            trouble: AtomicU64::new(NO_TROUBLE),
            crossed: Notify::new(),
            turned: Notify::new(),
            clamps: ClampHistory::default(),
            prefixes: ReportedPrefixes::default(),
        }
    }
}

/// A call as budgets see it. Windows go by the time of its arrival, as the ledger does.
#[derive(Clone, Debug)]
pub struct Occasion {
    pub at: Timestamp,
    pub tenant: Option<Arc<str>>,
    pub user_path: UserPath,
    /// The agent run that the call belongs to.
    pub run: Option<Arc<str>>,
}

/// What a call may cost at worst, held until it is settled. Dropped, it is given back.
pub struct Hold {
    spending: Arc<Spending>,
    number: u64,
    /// The receipt of this call will be booked in the ledger.
    kept: bool,
    open: bool,
}

impl Hold {
    pub fn clamps(&self) -> &ClampHistory {
        &self.spending.clamps
    }

    /// Another attempt at the call may cost as much again: false when no budget has room for it.
    pub fn extend(&mut self, more: Nanos) -> bool {
        self.spending.books.lock().extend(self.number, more)
    }

    /// The call is over and has cost so much; nothing when it has no price. `receipt` is the id it is booked under.
    pub fn settle(mut self, receipt: &str, cost: Option<Nanos>) {
        self.open = false;
        let cost = cost.unwrap_or_default();
        let crossed = self.spending.books.lock().settle(self.number, receipt, cost, self.kept);
        if crossed {
            self.spending.crossed.notify_one();
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.open {
            self.spending.books.lock().release(self.number);
        }
    }
}

/// The call as budgets see it, where one applies; 503 where nobody can say what is spent and that matters.
pub fn budgeted(gateway: &Gateway, occasion: impl FnOnce() -> Occasion) -> Result<Option<Occasion>, Fault> {
    let spending = &gateway.spending;
    if spending.index.load().is_none() {
        return Ok(None);
    }
    let occasion = occasion();
    if !spending.covers(&occasion) {
        return Ok(None);
    }
    if spending.is_closed(&occasion) {
        return Err(fault::budget_unreadable());
    }
    if gateway.policy.budgets_closed && spending.is_lost(gateway.clock.tick()) {
        return Err(fault::budget_check_failed());
    }
    Ok(Some(occasion))
}

/// Holds so much against every budget of the path, or nothing against any.
pub fn hold(gateway: &Gateway, occasion: &Occasion, worst: Option<Nanos>) -> Result<Hold, Box<Exceeded>> {
    let spending = &gateway.spending;
    let now = gateway.clock.now();
    let (taken, turned) = {
        let mut books = spending.books.lock();
        books.turn_covering(occasion, now);
        (books.hold(occasion.clone(), worst), books.take_turned())
    };
    if turned {
        spending.turned.notify_one();
    }
    let number = taken?;
    Ok(Hold { spending: spending.clone(), number, kept: gateway.policy.accounting, open: true })
}

/// A call is refused that needs at least so much: thresholds that are crossed by that are told.
pub fn exhausted(gateway: &Gateway, occasion: &Occasion, need: Option<Nanos>) {
    let spending = &gateway.spending;
    let crossed = {
        let mut books = spending.books.lock();
        books.exhausted(occasion, need.unwrap_or_default());
        books.has_crossings()
    };
    if crossed {
        spending.crossed.notify_one();
    }
}

/// Whether a budget applies, so that it matters what the call may cost.
pub fn concerns(gateway: &Gateway, occasion: &Occasion) -> bool {
    gateway.spending.covers(occasion)
}

/// A caller that is bound to a user path, or a tenant, sees the figures of what is its own.
pub fn is_visible(gateway: &Gateway, caller: &Caller, key: &BudgetKey) -> bool {
    let known = gateway.capabilities.has(Capability::Identity);
    let tenant = caller.key().filter(|_| known).and_then(|key| key.tenant_id.as_deref());
    let own = caller.key().and_then(|key| key.user_path.as_ref());
    own.is_none_or(|own| own.covers(&key.user_path)) && (tenant.is_none() || tenant == key.tenant.as_deref())
}

/// The answer to a call that does not fit; figures only for whom they are meant.
pub fn refused(gateway: &Gateway, hearer: &Caller, exceeded: &Exceeded) -> Fault {
    refusal::exceeded(exceeded, gateway.clock.now(), is_visible(gateway, hearer, &exceeded.rule.key))
}

/// Every budget on the path, and the one that has no room for a call that costs so much.
pub fn look(
    gateway: &Gateway,
    occasion: &Occasion,
    worst: Option<Nanos>,
) -> (Vec<Headroom>, Option<Box<Exceeded>>) {
    let spending = &gateway.spending;
    if spending.index.load().is_none() {
        return (Vec::new(), None);
    }
    let mut books = spending.books.lock();
    books.turn_covering(occasion, gateway.clock.now());
    books.look(occasion, worst)
}

impl Spending {
    fn covers(&self, occasion: &Occasion) -> bool {
        let index = self.index.load();
        let covers =
            |index: &Arc<Index>| index.covering(occasion).next().is_some() || index.is_closed(occasion);
        index.as_ref().is_some_and(covers)
    }

    fn is_closed(&self, occasion: &Occasion) -> bool {
        self.index.load().as_ref().is_some_and(|index| index.is_closed(occasion))
    }

    pub fn clamps(&self) -> &ClampHistory {
        &self.clamps
    }

    pub fn prefixes(&self) -> &ReportedPrefixes {
        &self.prefixes
    }

    /// How every budget stands now.
    pub fn statuses(&self, now: Timestamp) -> Vec<Status> {
        self.turn(now);
        self.books.lock().statuses(now)
    }

    /// Turns every window to the wall clock. A window that changes is read from the ledger at once.
    fn turn(&self, now: Timestamp) {
        let mut books = self.books.lock();
        books.turn(now);
        if books.take_turned() {
            self.turned.notify_one();
        }
    }

    fn is_lost(&self, tick: Duration) -> bool {
        let since = self.trouble.load(Ordering::Relaxed);
        since != NO_TROUBLE && tick.saturating_sub(Duration::from_micros(since)) > PATIENCE
    }

    /// The ledger is being asked: from now on its answer is awaited.
    fn asks(&self, tick: Duration) {
        let now = u64::try_from(tick.as_micros()).unwrap_or(NO_TROUBLE - 1);
        _ = self.trouble.compare_exchange(NO_TROUBLE, now, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn answered(&self) {
        self.trouble.store(NO_TROUBLE, Ordering::Relaxed);
    }
}

impl store::BookingListener for Spending {
    fn booked(&self, ids: &mut dyn Iterator<Item = &str>) {
        self.books.lock().booked(ids);
    }
}
