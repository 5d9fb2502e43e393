//! Synchronises budgets with the ledger, which is the source of truth. Periodic reads account for the calls of other
//! replicas, calls recovered after a crash, and corrected prices.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::clock::{Clock, Timestamp};
use domain::money::Nanos;
use foldhash::HashMap;
use store::{LedgerReading, RangeSums, RunSpent, Store, StoreError, WindowFigures};

use super::Budgets;
use super::index::Index;
use super::rules::Rules;
use super::state::{BudgetState, Reading};
use super::window::Windows;

const INTERVAL: Duration = Duration::from_secs(1);
/// Interval at which one of the replicas that share budgets reads the ledger.
const SHARED_INTERVAL: Duration = Duration::from_secs(10);
/// Time for which windows that have ended are kept in the database: receipts may be booked late.
const KEPT_MICROS: i64 = 24 * 3600 * 1_000_000;
/// Interval at which the wall clock is checked between two reads: a window that has changed is read at once.
const CLOCK_INTERVAL: Duration = Duration::from_millis(500);
/// The pause after a read, as a multiple of its duration: reads take less than 5 % of the time.
const SHARE: u32 = 20;
/// Doubtful receipts that are looked up per read.
const MOST_DOUBTS: usize = 100;

/// Reads the spending of every budget from the ledger. If replicas share the budgets, the windows in the database are
/// corrected, too.
pub async fn synchronise(budgets: &Budgets, clock: &dyn Clock, store: &Store) -> Result<(), StoreError> {
    if budgets.index.load().is_none() {
        return Ok(());
    }
    budgets.asks(clock.tick());
    if let Some(journal) = &budgets.journal {
        confirm_leases(budgets, store, journal).await?;
    }
    // No receipt of this process is booked meanwhile: it would be in the sums and still count as unbooked.
    let still = store.ledger().hold_still().await;
    if !budgets.is_leased() {
        let booked = find_doubtful(budgets, store).await?;
        budgets.state.lock().booked(&mut booked.iter().map(|id| &**id), &[]);
    }
    let Some((index, readings)) = wanted(budgets, clock) else { return Ok(()) };
    let Fetched { ranges, windows } = fetch(store, &index, &readings, clock.now()).await?;
    drop(index);
    {
        let (now, mut state) = (clock.now(), budgets.state.lock());
        state.expire_runs(now);
        derive(&mut state, &ranges, now);
    }
    let Some((index, mut readings)) = wanted(budgets, clock) else { return Ok(()) };
    // A window that changed in the meantime is read the next time.
    readings.retain(|reading| ranges.contains_key(&(reading.from, reading.end)));
    sum_up(&index, &mut readings, &ranges);
    let changes = {
        let mut state = budgets.state.lock();
        if state.apply(&readings) {
            budgets.crossed.notify_one();
        }
        state.base_changes(&readings, &windows)
    };
    drop(still);
    if budgets.is_leased() {
        store.ledger().leases().set_bases(&changes).await?;
        let known = windows.iter().filter(|figures| figures.base.is_some()).map(|figures| &figures.key);
        let known = known.chain(changes.iter().map(|change| &change.key)).cloned().collect();
        budgets.state.lock().set_bases_known(&known);
        budgets.lease_wake.notify_one();
    }
    budgets.answered();
    Ok(())
}

/// Reads the own leases again, together with receipts that should have been booked: if their transaction was committed
/// without confirmation, they are no longer part of the lease.
async fn confirm_leases(budgets: &Budgets, store: &Store, journal: &str) -> Result<(), StoreError> {
    let _turn = budgets.lease_turn.lock().await;
    let _still = store.ledger().hold_still().await;
    let booked = find_doubtful(budgets, store).await?;
    let own = store.ledger().leases().own(journal, Timestamp(0)).await?;
    let mut state = budgets.state.lock();
    state.booked(&mut booked.iter().map(|id| &**id), &[]);
    state.resync(&own);
    Ok(())
}

/// Takes the figures of shared budgets over from the database, without reading the ledger.
async fn follow_windows(budgets: &Budgets, clock: &dyn Clock, store: &Store) -> Result<(), StoreError> {
    budgets.asks(clock.tick());
    if let Some(journal) = &budgets.journal {
        confirm_leases(budgets, store, journal).await?;
    }
    let _still = store.ledger().hold_still().await;
    let windows = store.ledger().leases().figures(clock.now()).await?;
    let Some((_, readings)) = wanted(budgets, clock) else { return Ok(()) };
    let mut state = budgets.state.lock();
    let readings = state.window_sums(readings, &windows);
    if state.apply(&readings) {
        budgets.crossed.notify_one();
    }
    drop(state);
    budgets.answered();
    Ok(())
}

/// Installs new rules together with the spending under them.
pub async fn install(
    budgets: &Budgets,
    clock: &dyn Clock,
    store: &Store,
    rules: Rules,
) -> Result<(), StoreError> {
    let any = !rules.budgets.is_empty() || !rules.closed.is_empty();
    let index = any.then(|| Arc::new(Index::new(rules).with_leases(budgets.is_leased())));
    // As in `synchronise`: no receipt of this process is booked between the read and its use.
    let _still = store.ledger().hold_still().await;
    let mut now = clock.now();
    let ranges = loop {
        let Some(index) = &index else { break Ranges::new() };
        let readings = windows_of(index, now);
        let Fetched { ranges, .. } = fetch(store, index, &readings, now).await?;
        now = clock.now();
        // A window that ended in the meantime is read again.
        if readings.iter().all(|reading| now < reading.end) {
            break ranges;
        }
    };
    let mut state = budgets.state.lock();
    state.install(index.clone(), now);
    derive(&mut state, &ranges, now);
    let crossed = state.wanted(now).is_some_and(|(index, mut readings)| {
        readings.retain(|reading| ranges.contains_key(&(reading.from, reading.end)));
        sum_up(&index, &mut readings, &ranges);
        drop(index);
        state.apply(&readings)
    });
    drop(state);
    budgets.index.store(index);
    budgets.answered();
    if budgets.is_leased() {
        budgets.lease_wake.notify_one();
        budgets.base_wanted.notify_one();
    }
    if crossed {
        budgets.crossed.notify_one();
    }
    Ok(())
}

fn windows_of(index: &Index, now: Timestamp) -> Vec<Reading> {
    let places = 0..index.rules.budgets.len();
    let reading = |place: usize| {
        let Windows { current, .. } = Windows::new(index.window(place, now));
        Reading { place, from: current.from, end: current.end, sum: Nanos::ZERO }
    };
    places.map(reading).collect()
}

/// The windows to read, turned to the wall clock.
fn wanted(budgets: &Budgets, clock: &dyn Clock) -> Option<(Arc<Index>, Vec<Reading>)> {
    let mut state = budgets.state.lock();
    let wanted = state.wanted(clock.now());
    state.take_turned();
    wanted
}

/// The sums of the ledger by time range.
type Ranges = BTreeMap<(Timestamp, Timestamp), RangeSums>;

struct Fetched {
    ranges: Ranges,
    /// The windows of shared budgets, from the same state of the database.
    windows: Vec<WindowFigures>,
}

/// Creates the budgets of child paths and runs with spending from before this process started, or from other replicas.
fn derive(state: &mut BudgetState, ranges: &Ranges, now: Timestamp) {
    for sums in ranges.values() {
        for spent in &sums.by_path {
            state.derive_children(&spent.user_path, &spent.tenant, now);
        }
        state.derive_runs(sums.by_run.iter().flatten(), now);
    }
}

/// Reads each time range from the ledger once; sums by run only for ranges of `per_run` budgets.
async fn fetch(
    store: &Store,
    index: &Index,
    readings: &[Reading],
    now: Timestamp,
) -> Result<Fetched, StoreError> {
    let mut wanted: BTreeMap<(Timestamp, Timestamp), bool> = BTreeMap::new();
    for Reading { place, from, end, .. } in readings {
        *wanted.entry((*from, *end)).or_default() |= index.rule(*place).policy.per_run;
    }
    let list: Vec<_> = wanted.iter().map(|((from, end), by_run)| (*from, *end, *by_run)).collect();
    let LedgerReading { ranges, windows } = store.ledger().spending_and_windows(&list, now).await?;
    Ok(Fetched { ranges: wanted.into_keys().zip(ranges).collect(), windows })
}

fn sum_up(index: &Index, readings: &mut [Reading], ranges: &Ranges) {
    let run_places = index.run_places();
    for (range, rows) in ranges {
        let mut sums: HashMap<usize, Nanos> = HashMap::default();
        for spent in &rows.by_path {
            for place in index.above(&spent.user_path, &spent.tenant) {
                *sums.entry(place).or_default() += spent.cost;
            }
        }
        // The spending of a run belongs to its own budget, not to that of the calls without a run.
        for RunSpent { run, spent, .. } in rows.by_run.iter().flatten() {
            for base in index.per_run(&spent.user_path, &spent.tenant) {
                *sums.entry(base).or_default() += Nanos(-spent.cost.0);
                if let Some(place) = run_places.get(&(base, run.as_str())) {
                    *sums.entry(*place).or_default() += spent.cost;
                }
            }
        }
        let within = readings.iter_mut().filter(|reading| (reading.from, reading.end) == *range);
        within.for_each(|reading| reading.sum = sums.get(&reading.place).copied().unwrap_or_default());
    }
}

/// Finds receipts that count as unbooked and are in the ledger. Their transaction was committed without confirmation;
/// they would count twice.
async fn find_doubtful(budgets: &Budgets, store: &Store) -> Result<Vec<Box<str>>, StoreError> {
    let doubtful = budgets.state.lock().doubtful(MOST_DOUBTS);
    let mut booked = Vec::new();
    for (at, id) in doubtful {
        if store.ledger().has(at, &id).await? {
            booked.push(id);
        }
    }
    Ok(booked)
}

/// Keeps the figures of budgets up to date. If replicas share the budgets, only one of them reads the ledger, and not as
/// often: leases enforce the amounts.
pub async fn keep_synchronising(budgets: Arc<Budgets>, clock: Arc<dyn Clock>, store: Store) {
    let interval = if budgets.is_leased() { SHARED_INTERVAL } else { INTERVAL };
    let (mut failing, mut turned) = (false, true);
    loop {
        let before = clock.tick();
        let outcome = match budgets.is_leased() && !turned {
            true => reconcile(&budgets, &*clock, &store).await,
            false => synchronise(&budgets, &*clock, &store).await,
        };
        match &outcome {
            Err(error) if !failing => {
                tracing::warn!(%error, "ledger read failed; budgets use the figures of this process")
            }
            Ok(()) if failing => tracing::info!("ledger readable again"),
            _ => {}
        }
        failing = outcome.is_err();
        let took = clock.tick().saturating_sub(before);
        let length = if failing { INTERVAL } else { interval.max(took * SHARE) };
        turned = pause(&budgets, &*clock, length).await || failing;
    }
}

/// Reads the ledger for all replicas if it is the turn of this one, else takes over the figures of another.
async fn reconcile(budgets: &Budgets, clock: &dyn Clock, store: &Store) -> Result<(), StoreError> {
    let leases = store.ledger().leases();
    if !leases.claim_reconciliation(SHARED_INTERVAL * 9 / 10).await? {
        return follow_windows(budgets, clock, store).await;
    }
    leases.prune(Timestamp(clock.now().micros() - KEPT_MICROS)).await?;
    synchronise(budgets, clock, store).await
}

/// Waits until the next read, or until a window has changed, and returns whether one has: after the clock was set, forwards or backwards, the
/// spending of the window it points to is known within a second.
async fn pause(budgets: &Budgets, clock: &dyn Clock, length: Duration) -> bool {
    let mut left = length;
    while !left.is_zero() {
        let slice = left.min(CLOCK_INTERVAL);
        if tokio::time::timeout(slice, budgets.turned.notified()).await.is_ok() {
            return true;
        }
        left -= slice;
        budgets.turn(clock.now());
    }
    false
}
