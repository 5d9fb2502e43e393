//! The driver of the lease protocol: sends its requests to the database one at a time, and lets calls wait for room.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use domain::clock::{Clock, Timestamp};
use domain::money::Nanos;
use store::{BudgetLease, Store, StoreError};
use tokio::sync::watch;

use super::lease_queue::LeaseOutcome;
use super::state::{Check, LeaseAnswer, LeaseRequest, LeaseSummary};
use super::{BudgetScope, Budgets, Exceeded, Hold, synchronise};

/// Pause between two reads of the spending of new windows.
const BASE_PAUSE: Duration = Duration::from_millis(20);
/// The same after a read that failed.
const BASE_RETRY: Duration = Duration::from_millis(250);

/// Why a call holds nothing.
pub enum NotHeld {
    Exceeded(Box<Exceeded>),
    /// The database did not answer in time, so that shared budgets cannot be checked.
    Unknown,
}

/// Keeps the leases of this process until stopped. Ends at once if budgets are not shared.
pub async fn keep_leases(
    budgets: Arc<Budgets>,
    clock: Arc<dyn Clock>,
    store: Store,
    mut stop: watch::Receiver<bool>,
) {
    let Some(journal) = budgets.journal.clone() else { return };
    let driving = async {
        tokio::join!(drive(&budgets, &*clock, &store, &journal), keep_bases(&budgets, &*clock, &store))
    };
    tokio::select! {
        _ = driving => {}
        _ = stop.wait_for(|stop| *stop) => {}
    }
}

/// The leases of all replicas, for views; empty if budgets are not shared.
pub async fn all_leases(store: &Store, now: Timestamp) -> Result<Vec<BudgetLease>, StoreError> {
    store.ledger().leases().all(now).await
}

/// Holds an amount against every budget on the path. A call that does not fit into the lease of this process waits for
/// room, at most for `wait`.
pub async fn hold_waiting(
    budgets: &Arc<Budgets>,
    clock: &dyn Clock,
    scope: &BudgetScope,
    worst: Option<Nanos>,
    kept: bool,
    wait: Duration,
) -> Result<Hold, NotHeld> {
    let deadline = clock.tick() + wait;
    let mut is_final = !budgets.is_leased();
    loop {
        match super::hold(budgets, scope, worst, clock.now(), kept, Check::Lease, &mut None) {
            Ok(hold) => return Ok(hold),
            Err(exceeded) if is_final => return Err(NotHeld::Exceeded(exceeded)),
            Err(_) => {}
        }
        // Boxed, because most calls do not wait.
        let need = worst.unwrap_or_default();
        match Box::pin(budgets.wait_for_room(clock, scope, need, deadline)).await {
            LeaseOutcome::Room => {}
            // Held once more, for the figures as they are now.
            LeaseOutcome::Refused { .. } => is_final = true,
            LeaseOutcome::Unknown => return Err(NotHeld::Unknown),
        }
    }
}

impl Budgets {
    /// Whether replicas share the budgets by leases.
    pub fn is_leased(&self) -> bool {
        self.journal.is_some()
    }

    /// Waits until the lease of this process has room for an amount, until the budgets turn out to have none, or until
    /// the deadline (monotonic).
    pub async fn wait_for_room(
        &self,
        clock: &dyn Clock,
        scope: &BudgetScope,
        need: Nanos,
        deadline: Duration,
    ) -> LeaseOutcome {
        let now = clock.tick();
        let Some(receiver) = self.state.lock().wait_for_room(scope, need, now) else {
            return LeaseOutcome::Room;
        };
        self.lease_wake.notify_one();
        match tokio::time::timeout(deadline.saturating_sub(now), receiver).await {
            Ok(Ok(outcome)) => outcome,
            _ => LeaseOutcome::Unknown,
        }
    }

    /// The leases of this process; `None` if budgets are not shared.
    pub fn lease_summary(&self, tick: Duration) -> Option<LeaseSummary> {
        self.is_leased().then(|| self.state.lock().lease_summary(tick))
    }

    /// Sets the number of live replicas, which limits what one of them takes ahead of need.
    pub fn set_live_replicas(&self, replicas: u32) {
        self.replicas.store(replicas.max(1), Ordering::Relaxed);
    }

    /// Has recalls looked for at once: a replica has announced that it found no room.
    pub fn lease_notified(&self, now: Duration) {
        let mut state = self.state.lock();
        state.notices_arrive(Some(now));
        state.look_for_recalls();
        drop(state);
        self.lease_wake.notify_one();
    }

    /// Records that notices arrive: recalls are looked for by themselves less often.
    pub fn notices_arrive(&self, now: Duration) {
        self.state.lock().notices_arrive(Some(now));
    }

    /// Has recalls looked for regularly again: notices do not arrive any more.
    pub fn lease_notifications_lost(&self) {
        self.state.lock().notices_arrive(None);
    }
}

async fn drive(budgets: &Budgets, clock: &dyn Clock, store: &Store, journal: &str) {
    let mut failing = false;
    loop {
        // Held until the answer is applied: nothing else may read the own leases and set them meanwhile.
        let turn = budgets.lease_turn.lock().await;
        let request = {
            let mut state = budgets.state.lock();
            state.take_lease_due();
            state.next_lease_request(clock.tick())
        };
        let Some(request) = request else {
            drop(turn);
            let pause = budgets.state.lock().lease_pause(clock.tick());
            _ = tokio::time::timeout(pause, budgets.lease_wake.notified()).await;
            continue;
        };
        let outcome = send(budgets, clock, store, journal, &request).await;
        match &outcome {
            Err(error) if !failing => tracing::warn!(%error, "budget lease request failed"),
            Ok(()) if failing => tracing::info!("budget leases available again"),
            _ => {}
        }
        failing = outcome.is_err();
        if failing {
            budgets.state.lock().lease_failed(clock.tick());
        }
    }
}

async fn send(
    budgets: &Budgets,
    clock: &dyn Clock,
    store: &Store,
    journal: &str,
    request: &LeaseRequest,
) -> Result<(), StoreError> {
    let leases = store.ledger().leases();
    let apply = |answer| budgets.state.lock().lease_answered(request, answer, clock.tick());
    match request {
        LeaseRequest::Resync => {
            // What is booked between the read and its use would be missing from the leases.
            let _still = store.ledger().hold_still().await;
            apply(LeaseAnswer::Own(leases.own(journal, Timestamp(0)).await?));
        }
        LeaseRequest::Ensure(needs) => {
            let _still = store.ledger().hold_still().await;
            let needs = budgets.state.lock().refresh_needs(needs);
            let own = leases.ensure(journal, &needs).await?;
            apply(LeaseAnswer::Own(own));
            // What was booked before the lease existed is part of the base.
            budgets.base_wanted.notify_one();
        }
        LeaseRequest::Give(gifts) => {
            leases.give(journal, gifts).await?;
            apply(LeaseAnswer::Given);
        }
        LeaseRequest::Take { asks, .. } => {
            let share = 2 * i64::from(budgets.replicas.load(Ordering::Relaxed).max(1));
            let taken = leases.take(journal, asks, share).await?;
            let is_short = taken.iter().any(|taken| !taken.is_granted);
            apply(LeaseAnswer::Taken(taken));
            if is_short {
                leases.notify_wanted().await?;
            }
        }
        LeaseRequest::Poll => apply(LeaseAnswer::Own(leases.recalled(journal, clock.now()).await?)),
    }
    Ok(())
}

/// Reads the spending of new windows from the ledger.
async fn keep_bases(budgets: &Budgets, clock: &dyn Clock, store: &Store) {
    loop {
        budgets.base_wanted.notified().await;
        if let Err(error) = synchronise::synchronise(budgets, clock, store).await {
            tracing::debug!(%error, "spending of new budget windows not read");
            tokio::time::sleep(BASE_RETRY).await;
            budgets.base_wanted.notify_one();
        }
        tokio::time::sleep(BASE_PAUSE).await;
    }
}
