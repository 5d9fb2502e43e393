//! The ledger is the truth: what is spent is read from it again and again, so that other replicas' calls, those that a
//! crash left behind and corrected prices count.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use domain::clock::Timestamp;
use domain::money::Nanos;
use foldhash::HashMap;
use store::{RunSpent, Spent, Store, StoreError};

use super::Spending;
use super::books::{Books, Reading};
use super::index::Index;
use super::rules::Rules;
use super::window::Windows;
use crate::gateway::Gateway;

const INTERVAL: Duration = Duration::from_secs(1);
/// How often the wall clock is looked at between two readings: a window that has turned is read at once.
const CLOCK_INTERVAL: Duration = Duration::from_millis(500);
/// Reading takes at most this part of the time.
const SHARE: u32 = 20;
/// So many receipts in doubt are asked for at a time.
const MOST_DOUBTS: usize = 100;

/// Reads what is spent of every budget.
pub async fn synchronise(gateway: &Gateway, store: &Store) -> Result<(), StoreError> {
    let spending = &gateway.spending;
    if spending.index.load().is_none() {
        return Ok(());
    }
    spending.asks(gateway.clock.tick());
    let _still = store.ledger().hold_still().await;
    clear_doubts(spending, store).await?;
    let Some((index, readings)) = wanted(gateway) else { return Ok(()) };
    let ranges = fetch(store, &index, &readings).await?;
    drop(index);
    {
        let (now, mut books) = (gateway.clock.now(), spending.books.lock());
        books.expire_runs(now);
        derive(&mut books, &ranges, now);
    }
    let Some((index, mut readings)) = wanted(gateway) else { return Ok(()) };
    // A window that turned in the meantime is read the next time.
    readings.retain(|reading| ranges.contains_key(&(reading.from, reading.end)));
    sum_up(&index, &mut readings, &ranges);
    if spending.books.lock().apply(&readings) {
        spending.crossed.notify_one();
    }
    spending.answered();
    Ok(())
}

/// Puts other rules into force, together with what is spent under them.
pub async fn install(gateway: &Gateway, store: &Store, rules: Rules) -> Result<(), StoreError> {
    let spending = &gateway.spending;
    let any = !rules.budgets.is_empty() || !rules.closed.is_empty();
    let index = any.then(|| Arc::new(Index::new(rules)));
    let _still = store.ledger().hold_still().await;
    let mut now = gateway.clock.now();
    let ranges = loop {
        let Some(index) = &index else { break Ranges::new() };
        let readings = windows_of(index, now);
        let ranges = fetch(store, index, &readings).await?;
        now = gateway.clock.now();
        // A window that turned in the meantime is read again.
        if readings.iter().all(|reading| now < reading.end) {
            break ranges;
        }
    };
    let mut books = spending.books.lock();
    books.install(index.clone(), now);
    derive(&mut books, &ranges, now);
    let crossed = books.wanted(now).is_some_and(|(index, mut readings)| {
        readings.retain(|reading| ranges.contains_key(&(reading.from, reading.end)));
        sum_up(&index, &mut readings, &ranges);
        drop(index);
        books.apply(&readings)
    });
    drop(books);
    spending.index.store(index);
    spending.answered();
    if crossed {
        spending.crossed.notify_one();
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

/// The windows that are to be read, turned to the wall clock.
fn wanted(gateway: &Gateway) -> Option<(Arc<Index>, Vec<Reading>)> {
    let mut books = gateway.spending.books.lock();
    let wanted = books.wanted(gateway.clock.now());
    books.take_turned();
    wanted
}

/// What the ledger holds of each range of time.
type Ranges = BTreeMap<(Timestamp, Timestamp), RangeSums>;

#[derive(Default)]
struct RangeSums {
    by_path: Vec<Spent>,
    /// Only read for ranges of `per_run` budgets.
    by_run: Option<Vec<RunSpent>>,
}

/// Makes the budgets of child paths and runs that spent something before this process began, or by way of other replicas.
fn derive(books: &mut Books, ranges: &Ranges, now: Timestamp) {
    for sums in ranges.values() {
        for spent in &sums.by_path {
            books.derive_children(&spent.user_path, &spent.tenant, now);
        }
        books.derive_runs(sums.by_run.iter().flatten(), now);
    }
}

/// One look at the ledger for all budgets that began at the same time.
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
        // What a run has spent is its own, and not of the calls without a run.
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

/// A transaction whose end nobody heard of may have been committed: then its receipts would count twice.
async fn clear_doubts(spending: &Spending, store: &Store) -> Result<(), StoreError> {
    let doubtful = spending.books.lock().doubtful(MOST_DOUBTS);
    for (at, id) in doubtful {
        if store.ledger().has(at, &id).await? {
            spending.books.lock().booked(&mut std::iter::once(&*id));
        }
    }
    Ok(())
}

pub async fn keep_synchronising(gateway: Arc<Gateway>, store: Store) {
    let mut failing = false;
    loop {
        let before = gateway.clock.tick();
        let outcome = synchronise(&gateway, &store).await;
        match &outcome {
            Err(error) if !failing => {
                tracing::warn!(%error, "what is spent cannot be read: budgets go by what this process knows")
            }
            Ok(()) if failing => tracing::info!("what is spent can be read again"),
            _ => {}
        }
        failing = outcome.is_err();
        let took = gateway.clock.tick().saturating_sub(before);
        pause(&gateway, INTERVAL.max(if failing { INTERVAL } else { took * SHARE })).await;
    }
}

/// Waits until the next reading, or until a window has turned: after the clock was set, forwards or backwards, what is
/// spent in the window of the wall clock is known within a second.
async fn pause(gateway: &Gateway, length: Duration) {
    let spending = &gateway.spending;
    let mut left = length;
    while !left.is_zero() {
        let slice = left.min(CLOCK_INTERVAL);
        if tokio::time::timeout(slice, spending.turned.notified()).await.is_ok() {
            return;
        }
        left -= slice;
        spending.turn(gateway.clock.now());
    }
}
