//! Idle HTTP/1.1 connections of one origin, partitioned by the runtime that drives them.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::{Handle, Id};

use crate::http1::Http1;

/// A pool per runtime. A socket is registered with the reactor of the runtime that opened it; used from another
/// runtime, each of its events would wake two threads instead of one. Connections therefore return to their own
/// runtime.
#[derive(Default)]
pub(crate) struct IdlePool(Mutex<Vec<(Id, IdleConnections)>>);

type IdleConnections = VecDeque<Idle>;

struct Idle {
    connection: Box<Http1>,
    since: Duration,
}

impl Idle {
    fn is_stale(&self, now: Duration, timeout: Duration) -> bool {
        now.saturating_sub(self.since) >= timeout
    }
}

impl IdlePool {
    /// Takes the most recently used connection of the current runtime.
    pub(crate) fn pop(&self, now: Duration, timeout: Duration) -> Option<Box<Http1>> {
        let here = Handle::try_current().ok()?.id();
        let mut shelves = self.0.lock();
        let (_, shelf) = shelves.iter_mut().find(|(home, _)| *home == here)?;
        let newest = shelf.pop_back()?;
        // If the newest connection is stale, all others have been idle for even longer.
        let stale =
            if newest.is_stale(now, timeout) { std::mem::take(shelf) } else { IdleConnections::new() };
        drop(shelves);
        (!newest.is_stale(now, timeout)).then_some(newest.connection).inspect(|_| drop(stale))
    }

    /// Adds a connection, keeping at most `most` per runtime. Surplus and stale connections are closed outside of the
    /// lock.
    pub(crate) fn push(&self, connection: Box<Http1>, now: Duration, timeout: Duration, most: usize) {
        let home = connection.home();
        let mut shelves = self.0.lock();
        let place = shelves.iter().position(|(other, _)| *other == home).unwrap_or_else(|| {
            shelves.push((home, IdleConnections::new()));
            shelves.len() - 1
        });
        let shelf = &mut shelves[place].1;
        let spare = if shelf.len() >= most { shelf.pop_front() } else { None };
        if most > 0 {
            shelf.push_back(Idle { connection, since: now });
        }
        let stale =
            shelf.front().is_some_and(|oldest| oldest.is_stale(now, timeout)).then(|| shelf.pop_front());
        drop(shelves);
        drop((spare, stale));
    }

    /// The number of idle connections of the current runtime.
    pub(crate) fn len_here(&self) -> usize {
        let here = Handle::try_current().map(|runtime| runtime.id()).ok();
        self.0.lock().iter().find(|(home, _)| Some(*home) == here).map_or(0, |(_, shelf)| shelf.len())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().iter().map(|(_, shelf)| shelf.len()).sum()
    }

    pub(crate) fn sweep(&self, now: Duration, timeout: Duration) {
        let mut stale = Vec::new();
        let mut shelves = self.0.lock();
        for (_, shelf) in shelves.iter_mut() {
            while shelf.front().is_some_and(|oldest| oldest.is_stale(now, timeout)) {
                stale.extend(shelf.pop_front());
            }
        }
        shelves.retain(|(_, shelf)| !shelf.is_empty());
        drop(shelves);
    }

    pub(crate) fn clear(&self) {
        let shelves = std::mem::take(&mut *self.0.lock());
        drop(shelves);
    }
}
