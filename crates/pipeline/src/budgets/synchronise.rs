//! Synchronises budgets with the ledger, which is the source of truth. Periodic reads account for the calls of other
//! replicas, calls recovered after a crash, and corrected prices.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use domain::clock::{Clock, Timestamp};
use domain::money::Nanos;
use foldhash::HashMap;
use store::{RunSpent, Spent, Store, StoreError};

use super::Budgets;
use super::index::Index;
use super::rules::Rules;
use super::state::{BudgetState, Reading};
use super::window::Windows;

const INTERVAL: Duration = Duration::from_secs(1);
/// Interval at which the wall clock is checked between two reads: a window that has changed is read at once.
const CLOCK_INTERVAL: Duration = Duration::from_millis(500);
/// The pause after a read, as a multiple of its duration: reads take less than 5 % of the time.
const SHARE: u32 = 20;
/// Doubtful receipts that are looked up per read.
const MOST_DOUBTS: usize = 100;

/// Reads the spending of every budget from the ledger.
pub async fn synchronise(budgets: &Budgets, clock: &dyn Clock, store: &Store) -> Result<(), StoreError> {
    if budgets.index.load().is_none() {
        return Ok(());
    }
    budgets.asks(clock.tick());
    // No receipt of this process is booked meanwhile: it would be in the sums and still count as unbooked.
    let _still = store.ledger().hold_still().await;
    clear_doubts(budgets, store).await?;
    let Some((index, readings)) = wanted(budgets, clock) else { return Ok(()) };
    let ranges = fetch(store, &index, &readings).await?;
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
    if budgets.state.lock().apply(&readings) {
        budgets.crossed.notify_one();
    }
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
    let index = any.then(|| Arc::new(Index::new(rules)));
    // As in `synchronise`: no receipt of this process is booked between the read and its use.
    let _still = store.ledger().hold_still().await;
    let mut now = clock.now();
    let ranges = loop {
        let Some(index) = &index else { break Ranges::new() };
        let readings = windows_of(index, now);
        let ranges = fetch(store, index, &readings).await?;
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

#[derive(Default)]
struct RangeSums {
    by_path: Vec<Spent>,
    /// Only read for ranges of `per_run` budgets.
    by_run: Option<Vec<RunSpent>>,
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

/// Reads each time range from the ledger once.
async fn fetch(store: &Store, index: &Index, readings: &[Reading]) -> Result<Ranges, StoreError> {
    let mut ranges = Ranges::new();
    let ledger = store.ledger();
    for Reading { place, from, end, .. } in readings {
        let sums = match ranges.entry((*from, *end)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => {
                vacant.insert(RangeSums { by_path: ledger.spent(*from, *end).await?, by_run: None })
            }
        };
        if sums.by_run.is_none() && index.rule(*place).policy.per_run {
            sums.by_run = Some(ledger.spent_by_run(*from, *end).await?);
        }
    }
    Ok(ranges)
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

/// Looks up receipts that are still unbooked. Their transaction may have been committed without confirmation; then they
/// would count twice.
async fn clear_doubts(budgets: &Budgets, store: &Store) -> Result<(), StoreError> {
    let doubtful = budgets.state.lock().doubtful(MOST_DOUBTS);
    for (at, id) in doubtful {
        if store.ledger().has(at, &id).await? {
            budgets.state.lock().booked(&mut std::iter::once(&*id));
        }
    }
    Ok(())
}

pub async fn keep_synchronising(budgets: Arc<Budgets>, clock: Arc<dyn Clock>, store: Store) {
    let mut failing = false;
    loop {
        let before = clock.tick();
        let outcome = synchronise(&budgets, &*clock, &store).await;
        match &outcome {
            Err(error) if !failing => {
                tracing::warn!(%error, "ledger read failed; budgets use the figures of this process")
            }
            Ok(()) if failing => tracing::info!("ledger readable again"),
            _ => {}
        }
        failing = outcome.is_err();
        let took = clock.tick().saturating_sub(before);
        pause(&budgets, &*clock, INTERVAL.max(if failing { INTERVAL } else { took * SHARE })).await;
    }
}

/// Waits until the next read, or until a window has changed: after the clock was set, forwards or backwards, the
/// spending of the window it points to is known within a second.
async fn pause(budgets: &Budgets, clock: &dyn Clock, length: Duration) {
    let mut left = length;
    while !left.is_zero() {
        let slice = left.min(CLOCK_INTERVAL);
        if tokio::time::timeout(slice, budgets.turned.notified()).await.is_ok() {
            return;
        }
        left -= slice;
        budgets.turn(clock.now());
    }
}
