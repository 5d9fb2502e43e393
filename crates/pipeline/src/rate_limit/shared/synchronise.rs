//! The task that exchanges batches with Redis, gives back what is not used, and reports what this process has counted by
//! itself before Redis decides again.

use std::sync::Arc;
use std::time::Duration;

use domain::clock::Clock;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use redis_client::Unavailable;

use super::operation::{Action, Operation};
use super::{LAST_KNOWN_USAGE_TTL, SharedLimits};
use crate::rate_limit::Limiter;
use crate::rate_limit::counts::UnreportedCounts;

const TICK: Duration = Duration::from_millis(500);
/// Batches under way at once.
const PIPELINED: usize = 8;
/// The age of an epoch from which Redis decides: all replicas have noticed it then and reported their counts.
const SETTLED: Duration = Duration::from_secs(2);
/// The most amounts of one report, so that Redis is not busy with it for long.
const MOST_AMOUNTS: usize = 1_000;
/// Places are confirmed this often; the script forgets those of a silent replica after 10 seconds.
const CONFIRMATION: Duration = Duration::from_secs(2);

/// A time in which this process counted by itself.
#[derive(Clone, Copy)]
struct Outage {
    since: Duration,
    until: Duration,
    is_short: bool,
    /// Whether Redis has nothing of what was counted before.
    counts_lost: bool,
}

impl SharedLimits {
    /// Exchanges batches until the process ends.
    pub async fn keep_sharing(&self, limiter: &Limiter, clock: &dyn Clock) {
        let mut exchanges = FuturesUnordered::new();
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            while exchanges.len() < PIPELINED
                && let Some(batch) = self.queue.take()
            {
                exchanges.push(self.exchange(batch, clock));
            }
            tokio::select! {
                Some(()) = exchanges.next() => {}
                () = self.queue.ready(), if exchanges.len() < PIPELINED => {}
                _ = ticks.tick() => {
                    let (_, is_shared) = self.segment(clock.tick());
                    if is_shared {
                        self.return_unused(clock.tick());
                        // Also without operations, to notice lost counts.
                        exchanges.push(self.exchange(Vec::new(), clock));
                    } else {
                        self.queue.clear();
                        let _ = self.rejoin(limiter, clock).await;
                    }
                },
            }
        }
    }

    /// Reports what this process has counted by itself, and lets Redis decide if its epoch is old enough.
    pub(in crate::rate_limit) async fn rejoin(
        &self,
        limiter: &Limiter,
        clock: &dyn Clock,
    ) -> Result<(), Unavailable> {
        let known = self.sharing.read().epoch;
        let (epoch, _) = self.call(known, &[]).await?;
        let outage = {
            let mut sharing = self.sharing.write();
            if sharing.epoch != epoch.id {
                sharing.epoch = epoch.id;
                sharing.unreported_since = Duration::ZERO;
                sharing.is_new_epoch = true;
            }
            sharing.segment += 1;
            let until = clock.tick();
            // Meanwhile the last known usage has bounded the replicas together.
            let is_short = sharing.local_since.is_some_and(|begun| until < begun + LAST_KNOWN_USAGE_TTL);
            Outage { since: sharing.unreported_since, until, is_short, counts_lost: sharing.is_new_epoch }
        };
        for batch in batches(self.unreported(limiter, &outage)) {
            let (other, _) = self.call(epoch.id, &batch).await?;
            if other.id != epoch.id {
                return Ok(());
            }
        }
        let mut sharing = self.sharing.write();
        sharing.unreported_since = outage.until;
        sharing.is_new_epoch = false;
        if epoch.age >= SETTLED {
            sharing.is_shared = true;
            sharing.local_since = None;
            sharing.segment += 1;
            drop(sharing);
            // Before the first decision: what was counted during the report.
            let rest = Outage { since: outage.until, until: clock.tick(), counts_lost: false, ..outage };
            self.queue.push_front(self.unreported(limiter, &rest));
            tracing::info!("rate limits are shared through Redis");
        }
        Ok(())
    }

    /// The operations that report what was counted in an outage.
    fn unreported(&self, limiter: &Limiter, outage: &Outage) -> Vec<Operation> {
        let &Outage { since, until, is_short, counts_lost } = outage;
        let segment = self.sharing.read().segment;
        let mut operations = Vec::new();
        limiter.each(|key, counts| {
            counts.begin_segment(segment);
            let has_places = counts.shared.as_ref().is_some_and(|state| state.has_places);
            let void_leases = counts.shared.as_mut().filter(|state| !counts_lost && state.segment != segment);
            let returns = void_leases.map(|state| state.return_leases()).unwrap_or_default();
            operations.extend(returns.into_iter().map(|action| Operation::of_any(key, action)));
            let counted = counts.counted_since(since, counts_lost, until);
            operations.extend(report(key, counted, has_places, is_short && !counts_lost));
        });
        operations
    }

    /// Gives back leases that have expired and free places, and confirms the places in use.
    fn return_unused(&self, now: Duration) {
        let segment = self.sharing.read().segment;
        self.listed.lock().retain(|(key, counts)| {
            let mut locked = counts.lock();
            let under_way = locked.under_way();
            let Some(state) = locked.shared.as_mut() else { return false };
            if state.segment == segment {
                for lease in state.expire_requests(now) {
                    let action = Action::GiveBack { slots: lease.slots, units: lease.units };
                    self.queue.push(Operation::of_any(key, action));
                }
                // The limit is that of the lease; a changed one would credit a little more or less.
                let limit = state.leased_limit;
                let lease = state.expire_tokens(false, now);
                self.queue_token_return(key, limit, lease);
                if state.calls.is_silent(now) {
                    self.release_places(key, state, 0);
                }
                let places = under_way + state.free_places;
                if state.has_places
                    && state.pending == 0
                    && now.saturating_sub(state.confirmed) >= CONFIRMATION
                {
                    state.confirmed = now;
                    self.queue.push(Operation::of_any(key, Action::SetPlaces(places)));
                }
                if state.requests.is_empty() && state.tokens.is_none() && places == 0 {
                    state.is_listed = false;
                }
            } else if under_way == 0 {
                state.is_listed = false;
            }
            state.is_listed
        });
    }
}

/// Divides reports into batches with a limited number of amounts each.
fn batches(operations: Vec<Operation>) -> Vec<Vec<Operation>> {
    let (mut batches, mut amounts) = (Vec::new(), MOST_AMOUNTS);
    for operation in operations {
        let own = match &operation.action {
            Action::ReportWindow { amounts, .. } => amounts.len(),
            _ => 1,
        };
        if amounts + own > MOST_AMOUNTS {
            batches.push(Vec::new());
            amounts = 0;
        }
        amounts += own;
        if let Some(batch) = batches.last_mut() {
            batch.push(operation);
        }
    }
    batches
}

fn report(
    key: &Arc<str>,
    counted: UnreportedCounts,
    has_places: bool,
    may_leave_debt: bool,
) -> Vec<Operation> {
    let UnreportedCounts {
        requests_per_minute,
        requests_per_day,
        tokens_per_day,
        tokens_per_minute,
        under_way,
    } = counted;
    let windows = [("m", requests_per_minute), ("d", requests_per_day), ("k", tokens_per_day)];
    let filled = windows.into_iter().filter(|(_, amounts)| !amounts.is_empty());
    let mut operations: Vec<Operation> = filled
        .map(|(window, amounts)| Operation::of_any(key, Action::ReportWindow { window, amounts }))
        .collect();
    if tokens_per_minute.limit > 0 && tokens_per_minute.tokens > 0 {
        let action = Action::ReportTokens { tokens: tokens_per_minute, may_leave_debt };
        operations.push(Operation::of_any(key, action));
    }
    if has_places && under_way > 0 {
        operations.push(Operation::of_any(key, Action::SetPlaces(under_way)));
    }
    operations
}
