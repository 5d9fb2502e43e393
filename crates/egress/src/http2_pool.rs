//! HTTP/2 connections of one origin, kept apart by the runtime that drives them.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::{Handle, Id};

use crate::http2::{Http2, StreamLease};

/// Connections per origin and runtime. With 32 streams each, a call beyond them is refused as overload.
pub(crate) const MAX_CONNECTIONS: usize = 64;

#[derive(Default)]
pub(crate) struct Http2Pool(Mutex<Vec<(Id, Vec<Pooled>)>>);

struct Pooled {
    connection: Http2,
    /// Its number of uses when a sweep first found it without a stream, and when that was.
    idle: Option<(usize, Duration)>,
}

pub(crate) enum Lease {
    Stream(StreamLease),
    /// All connections are full, and another may be opened.
    Dial,
    /// No further connection may be opened.
    Exhausted,
}

impl Http2Pool {
    /// A stream on the oldest connection of the current runtime that has room. The newest ones become idle first.
    /// `dialling`: connections that are being opened, and count as well.
    pub(crate) fn lease(&self, dialling: usize) -> Lease {
        let Ok(runtime) = Handle::try_current() else { return Lease::Dial };
        let mut closed = Vec::new();
        let mut pools = self.0.lock();
        let Some((_, pool)) = pools.iter_mut().find(|(home, _)| *home == runtime.id()) else {
            return Lease::Dial;
        };
        closed.extend(pool.extract_if(.., |pooled| pooled.connection.is_closed()));
        let lease = pool.iter().find_map(|pooled| pooled.connection.lease());
        let full = pool.len() + dialling >= MAX_CONNECTIONS;
        drop(pools);
        match lease {
            Some(lease) => Lease::Stream(lease),
            None if full => Lease::Exhausted,
            None => Lease::Dial,
        }
    }

    /// Adds a connection of the current runtime.
    pub(crate) fn add(&self, connection: Http2) {
        let Ok(runtime) = Handle::try_current() else { return };
        let pooled = Pooled { connection, idle: None };
        let mut pools = self.0.lock();
        match pools.iter_mut().find(|(home, _)| *home == runtime.id()) {
            Some((_, pool)) => pool.push(pooled),
            None => pools.push((runtime.id(), vec![pooled])),
        }
    }

    /// Whether the current runtime has a connection.
    pub(crate) fn is_connected(&self) -> bool {
        let Ok(runtime) = Handle::try_current() else { return false };
        let pools = self.0.lock();
        let pool = pools.iter().find(|(home, _)| *home == runtime.id());
        pool.is_some_and(|(_, pool)| pool.iter().any(|pooled| !pooled.connection.is_closed()))
    }

    /// Resets unread streams and closes connections without a stream. Returns the number of streams that were reset.
    pub(crate) fn sweep(&self, now: Duration, timeout: Duration) -> usize {
        let mut gone = Vec::new();
        let mut pools = self.0.lock();
        let connections: Vec<_> = pools
            .iter()
            .flat_map(|(_, pool)| pool.iter().map(|pooled| pooled.connection.open.clone()))
            .collect();
        for (_, pool) in pools.iter_mut() {
            gone.extend(pool.extract_if(.., |pooled| pooled.is_expired(now, timeout)));
        }
        pools.retain(|(_, pool)| !pool.is_empty());
        drop(pools);
        drop(gone);
        connections.iter().map(|open| open.reset_unread(now)).sum()
    }

    /// Lets go of all connections; each ends once its streams have.
    pub(crate) fn clear(&self) {
        let pools = std::mem::take(&mut *self.0.lock());
        drop(pools);
    }
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
