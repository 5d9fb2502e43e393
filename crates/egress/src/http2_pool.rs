//! HTTP/2 connections of one origin, partitioned by the runtime that drives them.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::{Handle, Id};

use crate::http2::{Http2, MAX_STREAMS, StreamLease};
use crate::http2_demand::{Demand, DialTurn, WaitTurn};

/// Maximum number of connections per origin and runtime. With 32 streams each, further calls fail as overloaded.
pub(crate) const MAX_CONNECTIONS: usize = 64;

#[derive(Default)]
pub(crate) struct Http2Pool(Mutex<Vec<RuntimePool>>);

struct RuntimePool {
    /// `None` outside of a runtime.
    runtime: Option<Id>,
    connections: Vec<Pooled>,
    demand: Arc<Demand>,
}

struct Pooled {
    connection: Http2,
    /// The use count and the time at which a sweep first found the connection without streams.
    idle: Option<(usize, Duration)>,
}

/// The next step for a call that needs a stream.
pub(crate) enum Turn {
    Stream(StreamLease),
    /// A connection that is expected to have capacity is being opened.
    Wait(WaitTurn),
    /// All connections are full, and another may be opened.
    Dial(DialTurn),
    /// The connection limit is reached.
    Exhausted,
}

impl Http2Pool {
    /// Leases a stream on the oldest connection of the current runtime with capacity, so that the newest ones become
    /// idle first.
    pub(crate) fn lease(&self) -> Option<StreamLease> {
        let mut pools = self.0.lock();
        let pool = here(&mut pools)?;
        let closed = pool.extract_closed();
        let lease = pool.lease();
        // Unlock before closing connections: dropping one wakes its driver, and other calls should not wait for that.
        drop(pools);
        drop(closed);
        lease
    }

    /// Leases a stream, or decides whether the call has to wait, dial or fail.
    pub(crate) fn turn(&self) -> Turn {
        let mut pools = self.0.lock();
        let pool = here_or_new(&mut pools);
        let closed = pool.extract_closed();
        let turn = match pool.lease() {
            Some(lease) => Turn::Stream(lease),
            // Still under the lock of the pool: `wait` and `dial` are separate steps on the counters, and only one call
            // at a time may decide between them.
            None => match pool.demand.wait() {
                Some(turn) => Turn::Wait(turn),
                None if pool.connections.len() + pool.demand.dials() >= MAX_CONNECTIONS => Turn::Exhausted,
                None => Turn::Dial(pool.demand.dial()),
            },
        };
        drop(pools);
        drop(closed);
        turn
    }

    /// Adds a connection that the current runtime drives.
    pub(crate) fn add(&self, connection: Http2) {
        let streams = connection.stream_limit();
        let mut pools = self.0.lock();
        let pool = here_or_new(&mut pools);
        pool.connections.push(Pooled { connection, idle: None });
        pool.demand.expect_streams(streams);
    }

    /// True if the current runtime has an open connection.
    pub(crate) fn is_connected(&self) -> bool {
        let mut pools = self.0.lock();
        here(&mut pools)
            .is_some_and(|pool| pool.connections.iter().any(|pooled| !pooled.connection.is_closed()))
    }

    /// Resets unread streams and closes idle connections. Returns the number of streams that were reset.
    pub(crate) fn sweep(&self, now: Duration, timeout: Duration) -> usize {
        let mut gone = Vec::new();
        let mut pools = self.0.lock();
        let connections: Vec<_> = pools
            .iter()
            .flat_map(|pool| pool.connections.iter().map(|pooled| pooled.connection.open.clone()))
            .collect();
        for pool in pools.iter_mut() {
            gone.extend(pool.connections.extract_if(.., |pooled| pooled.is_expired(now, timeout)));
        }
        pools.retain(RuntimePool::is_used);
        drop(pools);
        // Both outside of the lock: closing connections, and taking the locks of the streams.
        drop(gone);
        connections.iter().map(|open| open.reset_unread(now)).sum()
    }

    /// Drops all connections; each ends when its streams have ended.
    pub(crate) fn clear(&self) {
        let mut pools = self.0.lock();
        let connections: Vec<_> =
            pools.iter_mut().flat_map(|pool| std::mem::take(&mut pool.connections)).collect();
        pools.retain(RuntimePool::is_used);
        drop(pools);
        drop(connections);
    }
}

impl RuntimePool {
    fn lease(&self) -> Option<StreamLease> {
        self.connections.iter().find_map(|pooled| pooled.connection.lease())
    }

    fn extract_closed(&mut self) -> Vec<Pooled> {
        self.connections.extract_if(.., |pooled| pooled.connection.is_closed()).collect()
    }

    /// True if it has connections, or calls that dial or wait.
    fn is_used(&self) -> bool {
        !self.connections.is_empty() || Arc::strong_count(&self.demand) > 1
    }
}

fn current_runtime() -> Option<Id> {
    Handle::try_current().ok().map(|runtime| runtime.id())
}

fn here(pools: &mut [RuntimePool]) -> Option<&mut RuntimePool> {
    let runtime = current_runtime();
    pools.iter_mut().find(|pool| pool.runtime == runtime)
}

fn here_or_new(pools: &mut Vec<RuntimePool>) -> &mut RuntimePool {
    let runtime = current_runtime();
    let index = pools.iter().position(|pool| pool.runtime == runtime).unwrap_or_else(|| {
        let demand = Arc::new(Demand::new(MAX_STREAMS));
        pools.push(RuntimePool { runtime, connections: Vec::new(), demand });
        pools.len() - 1
    });
    &mut pools[index]
}

impl Pooled {
    fn is_expired(&mut self, now: Duration, timeout: Duration) -> bool {
        let uses = self.connection.uses();
        if self.connection.is_closed() {
            return true;
        }
        if self.connection.streams() > 0 {
            self.idle = None;
            return false;
        }
        match self.idle {
            // An unchanged use count means that the connection was idle since the last sweep, not only at both sweeps.
            Some((known, since)) if known == uses => now.saturating_sub(since) >= timeout,
            _ => {
                self.idle = Some((uses, now));
                false
            }
        }
    }
}
