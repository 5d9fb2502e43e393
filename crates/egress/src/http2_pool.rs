//! HTTP/2 connections of one origin, kept apart by the runtime that drives them.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::{Handle, Id};

use crate::http2::{Http2, MAX_STREAMS, StreamLease};
use crate::http2_demand::{Demand, DialTurn, WaitTurn};

/// Connections per origin and runtime. With 32 streams each, a call beyond them is refused as overload.
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
    /// Its number of uses when a sweep first found it without a stream, and when that was.
    idle: Option<(usize, Duration)>,
}

/// How a call gets a stream.
pub(crate) enum Turn {
    Stream(StreamLease),
    /// A connection is being opened that is expected to have room.
    Wait(WaitTurn),
    /// All connections are full, and another may be opened.
    Dial(DialTurn),
    /// No further connection may be opened.
    Exhausted,
}

impl Http2Pool {
    /// A stream on the oldest connection of the current runtime that has room. The newest ones become idle first.
    pub(crate) fn lease(&self) -> Option<StreamLease> {
        let mut pools = self.0.lock();
        let pool = here(&mut pools)?;
        let closed = pool.extract_closed();
        let lease = pool.lease();
        drop(pools);
        drop(closed);
        lease
    }

    /// The same, or what the call has to do for it.
    pub(crate) fn turn(&self) -> Turn {
        let mut pools = self.0.lock();
        let pool = here_or_new(&mut pools);
        let closed = pool.extract_closed();
        let turn = match pool.lease() {
            Some(lease) => Turn::Stream(lease),
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

    /// Adds a connection of the current runtime.
    pub(crate) fn add(&self, connection: Http2) {
        let streams = connection.stream_limit();
        let mut pools = self.0.lock();
        let pool = here_or_new(&mut pools);
        pool.connections.push(Pooled { connection, idle: None });
        pool.demand.expect_streams(streams);
    }

    /// Whether the current runtime has a connection.
    pub(crate) fn is_connected(&self) -> bool {
        let mut pools = self.0.lock();
        here(&mut pools)
            .is_some_and(|pool| pool.connections.iter().any(|pooled| !pooled.connection.is_closed()))
    }

    /// Resets unread streams and closes connections without a stream. Returns the number of streams that were reset.
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
        drop(gone);
        connections.iter().map(|open| open.reset_unread(now)).sum()
    }

    /// Lets go of all connections; each ends once its streams have.
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

    /// Whether it has connections, or calls that dial or wait.
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
            Some((known, since)) if known == uses => now.saturating_sub(since) >= timeout,
            _ => {
                self.idle = Some((uses, now));
                false
            }
        }
    }
}
